"""The settings that were given, on a command line or in Python, and how strong the source of each is."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, TypeVar

from nessie_gc_core.config.environment import variable_of
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions, OptionValue

P = TypeVar("P", bound=ConnectorOptions)


EXCLUSIVE = (("live_set_id", "read_live_set_id_from"),)
"""Parameters of which the one from the stronger source counts."""


class Rank(IntEnum):
    """Where a value comes from; a stronger source wins."""

    DEFAULT = 0
    FILE = 1
    ENVIRONMENT = 2
    CALLER = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The typed values of the settings that were given, with their ranks; others are absent."""

    values: Mapping[str, Any] = field(default_factory=dict, repr=False)
    ranks: Mapping[str, Rank] = field(default_factory=dict)
    file: ConfigFile = field(default_factory=ConfigFile)
    """The configuration file; its tables hold the options of connectors."""
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def read(
        cls,
        groups: Iterable[type[ConnectorOptions]],
        keywords: Mapping[str, OptionValue],
        *,
        file: ConfigFile,
        environment: Mapping[str, str],
    ) -> Given:
        """Reads settings from keywords, the environment and a configuration file; pairs come from all of them.

        Raises:
            ConfigurationError: a keyword is unknown, or a value does not fit.
        """
        declared = {f.name: group for group in groups for f in dataclasses.fields(group)}
        _refuse_unknown(keywords, declared)
        values: dict[str, Any] = {}
        ranks: dict[str, Rank] = {}
        said = {
            Rank.FILE: f"{file.name}: the key",
            Rank.ENVIRONMENT: "the environment variable of",
            Rank.CALLER: "the keyword",
        }
        for name, group in declared.items():
            sources = {
                Rank.FILE: file.options.get(name.replace("_", "-")),
                Rank.ENVIRONMENT: environment.get(variable_of(name)),
                Rank.CALLER: keywords.get(name),
            }
            for rank, value in sources.items():
                if value is not None:
                    refuse_blank(name, value, said[rank])
                    values[name] = _merged(values.get(name), group.typed({name: value})[name])
                    ranks[name] = rank
        return cls(values=values, ranks=ranks, file=file, environment=environment)

    def settings(self, wanted: type[P]) -> P:
        """One group of settings, with their defaults.

        Raises:
            ConfigurationError: two of them are mutually exclusive and come from the same source.
        """
        names = {f.name for f in dataclasses.fields(wanted)}
        for pair in EXCLUSIVE:
            if names.issuperset(pair) and (chosen := self.one_of(*pair)) is not None:
                names -= {*pair} - {chosen}
        return wanted(**wanted.typed({name: self.values[name] for name in names if name in self.values}))

    def rank(self, name: str) -> Rank:
        """How strong the source of a setting is."""
        return self.ranks.get(name, Rank.DEFAULT)

    def one_of(self, *names: str) -> str | None:
        """Which of some mutually exclusive settings is given; a stronger source overrules a weaker one.

        Raises:
            ConfigurationError: two of them come from the same source.
        """
        given = [name for name in names if self.rank(name) and self.values.get(name) not in (None, False)]
        strongest = max((self.rank(name) for name in given), default=Rank.DEFAULT)
        found = [name for name in given if self.rank(name) == strongest]
        if len(found) > 1:
            raise ConfigurationError(f"`{found[0]}` and `{found[1]}` are mutually exclusive")
        return found[0] if found else None


def _merged(weaker: object, stronger: object) -> object:
    """The stronger value; of pairs, those of both."""
    if isinstance(weaker, Mapping) and isinstance(stronger, Mapping):
        return {**weaker, **stronger}
    return stronger


def refuse_blank(name: str, value: object, said: str) -> None:
    """Refuses a setting that is set to nothing: an allow-list without a location would allow everything (S27).

    Raises:
        ConfigurationError: the value is a text without anything in it.
    """
    if isinstance(value, str) and not value.strip(" \t\n,"):
        raise ConfigurationError(f"{said} `{name}` is empty; remove it, or give a value")


def _refuse_unknown(keywords: Mapping[str, object], declared: Mapping[str, object]) -> None:
    for name in keywords:
        if name not in declared:
            near = difflib.get_close_matches(name, declared, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(sorted(declared))}"
            raise ConfigurationError(f"unknown setting {name!r}; {hint}")
