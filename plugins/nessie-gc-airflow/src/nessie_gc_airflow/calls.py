"""A call of a service, and what came of it."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

USAGE = 2
"""The exit code of an error that only another configuration mends."""
_NAME = re.compile(r"[a-z][a-z0-9-]*")
_MAY_BE_SECRET = re.compile(
    r"token|passw|pwd|secret|credential|connection[._-]string|[._-]sas\b|[._-]key\b|_url$|_properties$", re.IGNORECASE
)
_DOUBTFUL_VALUE = re.compile(
    r"[?;=#%{}]|:[^/@]*@|secret|passw|pwd|token|credential|key|bearer|"
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9]*[0-9])(?=[A-Za-z0-9]*[A-Za-z])[A-Za-z0-9]{16,}",
    re.IGNORECASE,
)
"""An address with a password or a query, options in a value, and what looks like a token. A container of Azure before
an ``@`` is none of these."""
_WORDS = {"true": True, "false": False}


class CallError(Exception):
    """A call that failed, in one line."""

    def __init__(self, message: str, *, may_retry: bool = True) -> None:
        """Takes the line.

        Args:
            message: what failed, and what to do.
            may_retry: whether the same call may succeed later.
        """
        super().__init__(" ".join(message.split()))
        self.may_retry = may_retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What to run."""

    service: str
    """The name of the service."""
    config: str | None = None
    """A configuration file (TOML)."""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """Settings by their names in Python; some are secret."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the service by their names in Python."""
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Variables of the environment; some are secret."""

    @property
    def deletes(self) -> bool:
        """Whether the call asks for more than a dry run: only ``dry_run=False`` does.

        Raises:
            CallError: ``dry_run`` is neither true nor false.
        """
        value = self.parameters.get("dry_run")
        if value is None or isinstance(value, bool):
            return value is False
        try:
            return not _WORDS[str(value).strip().lower()]
        except KeyError:
            raise CallError(f"`dry_run` must be True or False, not {value!r}", may_retry=False) from None

    @property
    def checked(self) -> Mapping[str, Any]:
        """The parameters that have values; ``dry_run`` is true or false.

        Raises:
            CallError: the name of the service or ``dry_run`` is invalid.
        """
        if not _NAME.fullmatch(self.service):
            raise CallError(f"{self.service!r} is not the name of a service", may_retry=False)
        given = {name: value for name, value in self.parameters.items() if value is not None}
        return {**given, "dry_run": not self.deletes} if "dry_run" in given else given


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a service returned."""

    report: Mapping[str, Any]
    """Its report, of plain values."""
    exit_code: int
    """0 if everything was done."""


class Runner(ABC):
    """Runs calls somewhere."""

    @abstractmethod
    def run(self, call: Call) -> Result:
        """Runs one.

        Raises:
            CallError: it failed without a report.
        """

    @abstractmethod
    def stop(self) -> None:
        """Ends the call that runs, if any; may come from the handler of a signal."""


def may_be_secret(name: str) -> bool:
    """Whether a setting or a parameter of this name may hold a secret; an address may contain a password."""
    return _MAY_BE_SECRET.search(name) is not None


def secrets_in(settings: Mapping[str, Any]) -> Iterator[str]:
    """The texts among settings that may be secrets, by their names or by what they look like."""
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from secrets_in(value)
            continue
        for each in value if isinstance(value, list | tuple) else (value,):
            if isinstance(each, str) and (may_be_secret(name) or _DOUBTFUL_VALUE.search(each)):
                yield each


def check_variables(env: Mapping[str, object]) -> None:
    """Refuses variables whose values are not text; what they are is not said, because they may be secrets.

    Raises:
        CallError: one of them is something else.
    """
    for name, value in env.items():
        if not isinstance(value, str):
            kind = type(value).__name__
            raise CallError(f"the variable {name} in `env` must be text, not {kind}: put it in quotes", may_retry=False)


def refuse_secrets(parameters: Iterable[str]) -> None:
    """Refuses parameters that may hold secrets: Airflow stores what templates become, and shows it.

    Raises:
        ValueError: one of them may.
    """
    for name in parameters:
        if may_be_secret(name):
            raise ValueError(
                f"the parameter {name!r} may hold a secret, and Airflow stores and shows parameters: give it in "
                "`settings`, which are neither stored nor shown"
            )
