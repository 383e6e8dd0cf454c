"""The configuration file: option names at its top, and tables for the typed options of connectors."""

from __future__ import annotations

import difflib
import hashlib
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import OptionValue
from nessie_gc_core.model.parsing import TooDeepError, parsed_toml

DEFAULT_REPOSITORY = "nessie"
"""The default repository connector."""
DEFAULT_FILE = "nessie-gc.toml"
"""Read from the working directory if it exists and no other file is named."""
SECTIONS = ("repository", "repositories", "store", "connectors", "schedule")
"""Tables: the options of connectors, and the schedule."""
_LABEL = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryEntry:
    """One of several ``[[repositories]]``."""

    label: str
    """Its ``label``, by which other settings name it; the connector's name where it has none."""
    name: str
    """The connector's ``name`` (default: ``nessie``)."""
    options: Mapping[str, OptionValue] = field(repr=False)
    """The connector's options."""

    @property
    def section(self) -> str:
        """What stands for it in the names of variables."""
        return "repositories_" + self.label.replace("-", "_").lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigFile:
    """The contents of a configuration file."""

    name: str = ""
    """As it was given; empty without a file."""
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Option name, as on the command line without its dashes in front, to its value."""
    repository: Mapping[str, OptionValue] = field(default_factory=dict, repr=False)
    """``[repository]``: the connector's ``name`` and its options."""
    repositories: Sequence[RepositoryEntry] = ()
    """``[[repositories]]``: several over the same storage, which are marked and swept together."""
    store: Mapping[str, OptionValue] = field(default_factory=dict, repr=False)
    """``[store]``: the connector's ``name`` and its options."""
    connectors: Mapping[tuple[str, str], Mapping[str, OptionValue]] = field(default_factory=dict, repr=False)
    """``[connectors.KIND.NAME]``: the options of any other connector."""
    schedule: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """``[schedule]`` as it is; ``[schedule.jobs.NAME.options]`` are the options of a job."""

    @classmethod
    def read(cls, path: Path, known: Iterable[str], contents: bytes | None = None) -> ConfigFile:
        """Reads a file.

        Args:
            path: the file.
            known: all option names there are.
            contents: what it has, if that was read already.

        Raises:
            ConfigurationError: it cannot be read, is not TOML, or has an unknown key; the message names it.
        """
        try:
            found = io.BytesIO(path.read_bytes() if contents is None else contents)
            data = parsed_toml(io.TextIOWrapper(found, encoding="utf-8").read())
        except ValueError as error:
            raise ConfigurationError(f"{path} is not a TOML file: {_where(error)}") from error
        except OSError as error:
            raise ConfigurationError(f"cannot read the configuration file {path}: {error.strerror or error}") from error
        entries = _entries(path, data.pop("repositories")) if "repositories" in data else ()
        if entries and "repository" in data:
            raise ConfigurationError(f"{path}: [repository] and [[repositories]] are mutually exclusive")
        sections = {name: data.pop(name) for name in SECTIONS if isinstance(data.get(name), dict)}
        names = frozenset(known)
        _check_keys(path, data, names)
        _check_options_of_jobs(path, sections.get("schedule", {}), names)
        return cls(
            name=str(path),
            options=data,
            repository=_flat(path, "repository", sections.get("repository", {})),
            repositories=entries,
            store=_flat(path, "store", sections.get("store", {})),
            connectors=_by_connector(path, sections.get("connectors", {})),
            schedule=sections.get("schedule", {}),
        )

    def job(self, name: str) -> Mapping[str, Any] | None:
        """The table of a job; ``None`` if there is none of this name."""
        jobs = self.schedule.get("jobs", {})
        table = jobs.get(name) if isinstance(jobs, dict) else None
        return table if isinstance(table, dict) else None

    def of_job(self, name: str) -> ConfigFile:
        """The file as it is for a run of a job, whose options count instead of those at the top."""
        own = (self.job(name) or {}).get("options", {})
        return replace(self, options={**self.options, **(own if isinstance(own, dict) else {})})


def keys_of(names: Iterable[str]) -> set[str]:
    """The keys of a configuration file for some settings."""
    return {name.replace("_", "-") for name in names if name != "config"}


def _where(error: ValueError) -> str:
    """Where it went wrong, without the text, which may be a secret."""
    if isinstance(error, TooDeepError):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    _, found, place = str(error).rpartition("(at ")
    return f"it cannot be understood at {place.rstrip(')')}" if found else "it cannot be understood"


def _check_keys(path: Path, data: Mapping[str, Any], known: Iterable[str]) -> None:
    names = sorted(known)
    for key in data:
        if key in names:
            continue
        near = difflib.get_close_matches(key.replace("_", "-"), [*names, *SECTIONS], n=1)
        hint = f"did you mean {near[0]!r}?" if near else "its keys are the long option names, such as default-cutoff"
        raise ConfigurationError(f"{path}: unknown key {key!r}; {hint}")


def digest_of(value: object) -> str:
    """A digest of plain values."""
    return hashlib.blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()


def _check_options_of_jobs(path: Path, schedule: Mapping[str, Any], known: Iterable[str]) -> None:
    """Makes sure that the options of jobs exist; whatever else is wrong with a job is said by whoever reads it."""
    jobs = schedule.get("jobs", {})
    for name, job in jobs.items() if isinstance(jobs, dict) else ():
        if not isinstance(job, dict) or not isinstance(job.get("options"), dict):
            continue
        try:
            _check_keys(path, job["options"], known)
        except ConfigurationError as error:
            raise ConfigurationError(f"{error} (in [schedule.jobs.{name}.options])") from error


def _flat(path: Path, section: str, table: Mapping[str, Any]) -> dict[str, OptionValue]:
    """The options of one connector; a table in it is a ``k=v`` option."""
    for key, value in table.items():
        if isinstance(value, dict) and not all(isinstance(inner, str) for inner in value.values()):
            raise ConfigurationError(f"{path}: the values of [{section}.{key}] must be strings")
        if not isinstance(value, (str, int, float, bool, list, dict)):
            raise ConfigurationError(
                f"{path}: {key!r} in [{section}] is a {type(value).__name__}; write it as a string"
            )
    return cast("dict[str, OptionValue]", dict(table))


def _entries(path: Path, tables: object) -> tuple[RepositoryEntry, ...]:
    """The ``[[repositories]]``, each with a unique label."""
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise ConfigurationError(f"{path}: write [[repositories]], one for each repository")
    entries = tuple(_entry(path, table) for table in tables)
    known: dict[str, RepositoryEntry] = {}
    for entry in entries:
        label = entry.label
        if _LABEL.fullmatch(label) is None:
            raise ConfigurationError(f"{path}: the label {label!r} may only contain letters, digits, - and _")
        other = known.setdefault(entry.section, entry)
        if other is not entry:
            raise ConfigurationError(
                f"{path}: two of the [[repositories]] are {label!r} and {other.label!r}, which environment "
                "variables cannot distinguish; give each its own `label`"
            )
    return entries


def _entry(path: Path, table: Mapping[str, Any]) -> RepositoryEntry:
    options = _flat(path, "repositories", table)
    name = str(options.pop("name", DEFAULT_REPOSITORY))
    return RepositoryEntry(label=str(options.pop("label", name)), name=name, options=options)


def _by_connector(path: Path, table: Mapping[str, Any]) -> dict[tuple[str, str], Mapping[str, OptionValue]]:
    found: dict[tuple[str, str], Mapping[str, OptionValue]] = {}
    for kind, connectors in table.items():
        if not isinstance(connectors, dict) or not all(isinstance(inner, dict) for inner in connectors.values()):
            raise ConfigurationError(f"{path}: write [connectors.{kind}.NAME] with the options of the connector NAME")
        for name, options in connectors.items():
            found[kind, name] = _flat(path, f"connectors.{kind}.{name}", options)
    return found
