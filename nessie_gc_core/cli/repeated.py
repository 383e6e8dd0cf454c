"""The options of a call that a command needs as well which its result or its error proposes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nessie_gc_core.config.flags import More
from nessie_gc_core.config.given import Given, Rank
from nessie_gc_core.config.origins import plain_value
from nessie_gc_core.config.settings import SETTINGS, PluginSettings
from nessie_gc_core.config.starter import without_secrets
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.parameters import GcParameters, SweepParameters

_TOGETHER = (
    frozenset({"gc", "mark", "sweep", "deferred-deletes"}),
    frozenset({"identify-unreferenced", "delete-unreferenced", "report"}),
)
"""Commands that work on the same thing within the same limits, so that one goes on within those of the other."""
_NEVER = frozenset(
    {
        "dry_run",
        "live_set_id",
        "plan",
        "read_live_set_id_from",
        "resume",
        "write_live_set_id_to",
    }
)
"""Options of one run: what it works on and writes, and whether it deletes, which whoever proposes a command says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionsOfCall:
    """The options of one call. Those in the environment and in a file that is found anyway need not be repeated."""

    command: str
    """The command that was called."""
    given: Given
    options_by_command: Callable[[], Mapping[str, Collection[str]]]
    """Gives the names of the options and arguments of each command, by its words; asked where a command is proposed."""
    config: str | None = None
    """The configuration file, where the call names one."""
    of_job: Collection[str] = field(default=())
    """Keys of the file that only the job has which is called."""

    def more(self, words: Sequence[str]) -> More:
        """What a command needs.

        Args:
            words: what it has, without the program.
        """
        options = self.options_by_command()
        name = next((name for name in (" ".join(words[:2]), *words[:1]) if name in options), None)
        if name is None or "--help" in words:
            return More()
        config = [] if self.config is None or "--config" in words else ["--config", self.config]
        try:
            found = list(self._found(name, options[name], {word.partition("=")[0] for word in words}))
        except NessieGcError:  # what is wrong with an option is said elsewhere
            found = []
        return More(
            words=[*config, *(word for words, _ in found for word in words)],
            variables=list(dict.fromkeys(variable for _, names in found for variable in names)),
        )

    def _found(
        self, name: str, options: Collection[str], flags: Collection[str]
    ) -> Iterator[tuple[list[str], list[str]]]:
        """The words of each option that is repeated, and the variables of what may be secret in it."""
        registry = installed().without(self.given.settings(PluginSettings).disable_plugin)
        settings, parameters = _fields(SETTINGS), _fields(_parameters_of(self.command))
        goes_on = name == self.command or any({name, self.command} <= each for each in _TOGETHER)
        apart = _NEVER if "--resume" in flags else _NEVER | {"outcomes_to"}  # a file that a resumed sweep goes on with
        for option, (group, declared) in (settings | (parameters if goes_on else {})).items():
            if option in apart or option not in options or _flag(option) in flags:
                continue
            if self._is_own(option):
                value = plain_value(getattr(self.given.settings(group), option))
                shown, left_out = without_secrets(option, value, declared, self.given, registry)
                positional = bool(declared.metadata.get("positional"))
                yield list(_words(option, shown, positional=positional)), list(left_out.values())

    def _is_own(self, option: str) -> bool:
        """Whether the call itself gives an option, or its job."""
        rank = self.given.rank(option)
        return rank is Rank.CALLER or (rank is Rank.FILE and option.replace("_", "-") in self.of_job)


def _fields(groups: Sequence[type[ConnectorOptions]]) -> dict[str, tuple[type[ConnectorOptions], Any]]:
    return {each.name: (group, each) for group in groups for each in dataclasses.fields(group)}


def _parameters_of(command: str) -> Sequence[type[ConnectorOptions]]:
    service = installed().services.by_name().get(command)
    return (GcParameters, SweepParameters) if service is None else (service.Parameters,)


def _words(option: str, value: Any, *, positional: bool) -> Iterator[str]:
    """A plain value as a command has it."""
    if isinstance(value, dict):
        value = [f"{key}={inner}" for key, inner in value.items()]
    for each in value if isinstance(value, list) else [value]:
        if each is None or isinstance(each, bool):
            yield from () if each is None else (_flag(option),) if each else (f"--no-{_flag(option)[2:]}",)
        elif positional:
            yield str(each)
        else:
            yield from (f"{_flag(option)}={each}",) if str(each).startswith("-") else (_flag(option), str(each))


def _flag(option: str) -> str:
    return "--" + option.replace("_", "-")
