"""A first configuration file, with a comment for each setting, made from the declarations of the settings."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nessie_gc_core.config.environment import connector_variable, variable_of
from nessie_gc_core.config.file import DEFAULT_REPOSITORY
from nessie_gc_core.config.given import Given, Rank
from nessie_gc_core.config.origins import holds_credentials, plain_value
from nessie_gc_core.config.plain_properties import is_plain_property
from nessie_gc_core.config.settings import RepositorySettings
from nessie_gc_core.config.specs import JDBC, chosen_store
from nessie_gc_core.connectors import Connector, LiveSetStore, RepositoryConnector
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.plugins import PluginRegistry

FIRST: Mapping[str, Any] = {
    "repository": "nessie",
    "uri": "http://localhost:19120/api/v2",
    "allow": ["s3://lake/warehouse/"],
    "default_cutoff": "P30D",
    "cutoff": ["main=P90D", "release/.*=NONE"],
    "min_age": None,
    "max_delete_percent": 20.0,
    "store": "jdbc",
    "jdbc_url": "postgresql://db.example.com/nessie_gc",
    "engine": None,
    "prune_older_than": "P90D",
    "iceberg": {"s3.endpoint": "http://localhost:9000", "s3.region": "eu-central-1"},
}
"""What a first run needs to know, with an example of each; ``None``: its default is example enough."""
_HEAD = """\
# Settings of nessie-gc: read from nessie-gc.toml in the working directory, or with --config FILE.
#
# To set a value, remove the '#' in front of its line. Each key is the name of an option:
# 'nessie-gc gc --help' lists them all, and 'nessie-gc config show' says which values are in effect.
# Keep secrets out of this file: each setting is an environment variable too: NESSIE_GC_TOKEN.
"""
_WIDTH = 100
_TABLES = "Tables"


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A first configuration file."""

    text: str
    """What it says."""
    written: tuple[str, ...]
    """The keys of the values that are set in it."""
    left_out: Mapping[str, str]
    """The keys of the values that were given and may be secret, and the variable to put each in."""


def starter(given: Given, groups: Sequence[type[ConnectorOptions]], registry: PluginRegistry) -> Starter:
    """A file with the values that the caller gave, and the first settings that one needs.

    Args:
        given: the settings; only those of the caller are written.
        groups: the groups of settings and parameters that the file may hold.
        registry: knows which options of connectors are secret.

    Raises:
        ConfigurationError, PluginError: an option of a connector is unknown, or its connector is not installed.
    """
    entries = list(_entries(given, groups, registry))
    parts, section = [_HEAD], ""
    headings = list(dict.fromkeys(entry.heading for entry in entries if not entry.is_table))
    for entry in sorted(entries, key=lambda entry: [*headings, _TABLES].index(entry.heading)):
        heading = entry.heading
        parts += [f"# ---- {heading} {'-' * (_WIDTH - 8 - len(heading))}\n"] if heading != section else []
        section = heading
        parts.append(entry.text())
    return Starter(
        text="\n".join(parts),
        written=tuple(key for entry in entries for key in entry.written),
        left_out={key: variable for entry in entries for key, variable in entry.left_out.items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """One setting with its comment."""

    key: str
    section: str
    help: str
    value: Any
    """What was given; of pairs, those that are written. ``None``: nothing, so that the example stands as a comment."""
    example: Any
    left_out: Mapping[str, str]

    @property
    def is_table(self) -> bool:
        return isinstance(self.value if self.value is not None else self.example, Mapping)

    @property
    def heading(self) -> str:
        """Tables stand at the end of a file."""
        return _TABLES if self.is_table else self.section

    @property
    def written(self) -> tuple[str, ...]:
        if isinstance(self.value, Mapping):
            return tuple(f"{self.key}.{pair}" for pair in self.value)
        return (self.key,) if self.value is not None else ()

    def text(self) -> str:
        """The comment, and the value or the example."""
        lines = [*textwrap.wrap(self.help, _WIDTH - 2)]
        lines += [f"{name} was given and may be secret: set {variable}" for name, variable in self.left_out.items()]
        said = "\n".join(f"# {line}" for line in lines)
        value = self.value if self.value is not None else self.example
        mark = "" if self.value is not None else "# "
        if isinstance(value, Mapping):
            pairs = "\n".join(f"{mark}{_toml(pair)} = {_toml(inner)}" for pair, inner in value.items())
            return f"{said}\n{mark}[{self.key}]\n{pairs}\n"
        return f"{said}\n{mark}{self.key} = {_toml(value)}\n" if value is not None else f"{said}\n"


def _entries(given: Given, groups: Sequence[type[ConnectorOptions]], registry: PluginRegistry) -> Iterator[_Entry]:
    mine = {name for name, value in given.values.items() if given.rank(name) is Rank.CALLER and value not in (None, ())}
    fields = {field.name: (group, field) for group in groups for field in dataclasses.fields(group)}
    named = [name for name in FIRST if name in fields]
    for name in (*named, *(name for name in fields if name in mine and name not in FIRST)):
        group, field = fields[name]
        given_value = plain_value(getattr(given.settings(group), name)) if name in mine else None
        value, left_out = without_secrets(name, given_value, field, given, registry)
        example = FIRST.get(name)
        yield _Entry(
            key=name.replace("_", "-"),
            section=str(field.metadata.get("section", "")),
            help=_help(field),
            value=value,
            example=plain_value(field.default) if example is None and name in FIRST else example,
            left_out=left_out,
        )


def _help(field: dataclasses.Field[Any]) -> str:
    said, default = str(field.metadata["help"]), plain_value(field.default)
    has_default = (
        not isinstance(default, (bool, dict)) and default not in (None, []) and default is not dataclasses.MISSING
    )
    return f"{said} [default: {default}]" if has_default else said


def without_secrets(
    name: str, value: Any, field: dataclasses.Field[Any], given: Given, registry: PluginRegistry
) -> tuple[Any, dict[str, str]]:
    """What of a plain value may be shown, and which variables take the rest, by their keys.

    Args:
        name: the name of the setting.
        value: its value.
        field: its declaration.
        given: the settings that were given, which choose the connector whose options a setting holds.
        registry: knows which options of connectors are secret.

    Raises:
        ConfigurationError, PluginError: an option of a connector is unknown, or its connector is not installed.
    """
    key, variable = name.replace("_", "-"), variable_of(name)
    if isinstance(value, dict):
        kept = {
            pair: inner for pair, inner in value.items() if not _is_secret(name, pair, inner, field, given, registry)
        }
        others = {f"{key}.{pair}": _variable(name, pair) for pair in value if pair not in kept}
        return kept or None, others
    is_secret = field.metadata.get("secret") and name != "jdbc_url"
    if value is not None and (is_secret or holds_credentials(value) or (name == "jdbc_url" and "?" in value)):
        return None, {key: variable}
    return value, {}


def _is_secret(
    name: str, pair: str, value: str, field: dataclasses.Field[Any], given: Given, registry: PluginRegistry
) -> bool:
    connector = _connector(name, given, registry)
    if connector is not None:
        connector.Options.typed({pair: value})  # an option that is unknown, or does not fit, is an error
        return pair in connector.Options.secret_names() or holds_credentials(value)
    is_secret = bool(field.metadata.get("secret")) and not is_plain_property(name, pair, value)
    return is_secret or holds_credentials(value)


def _connector(name: str, given: Given, registry: PluginRegistry) -> type[Connector] | None:
    """The connector whose options a setting holds."""
    if name == "repository_option":
        chosen = given.settings(RepositorySettings).repository
        named = chosen or str(given.file.repository.get("name", DEFAULT_REPOSITORY))
        return registry.connector_class(RepositoryConnector, named)
    if name == "store_option":
        named = chosen_store(given)[1] or str(given.file.store.get("name", JDBC))
        return registry.connector_class(LiveSetStore, named)
    return None


def _variable(name: str, pair: str) -> str:
    kind = {"repository_option": "repository", "store_option": "store"}.get(name)
    return connector_variable(kind, pair) if kind else variable_of(name)


def _toml(value: Any) -> str:
    """A plain value in TOML."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)
