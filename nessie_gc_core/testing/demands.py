"""What the kit says: which rule a failing connector breaks and how to fix it, and what a skipped test lacks."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

import pytest

from nessie_gc_core.connectors import Connector
from nessie_gc_core.testing.not_possible import NotPossible

P = ParamSpec("P")
T = TypeVar("T")
_FAILURES = (AssertionError, pytest.fail.Exception)
"""What assert and pytest.raises raise; their message says enough."""


def possible(given: T | NotPossible, fixture: str, of: Connector | type[Connector]) -> T:
    """What a fixture returns; skips the test if the fixture says that its situation cannot exist."""
    if isinstance(given, NotPossible):
        pytest.skip(f"{shown(of)}: {fixture} is not possible: {given.reason}")
    return given


def skip_without(of: Connector | type[Connector], ability: type) -> NoReturn:
    """Skips a test of an optional ability that a connector does not have."""
    pytest.skip(f"{shown(of)} does not have the ability {ability.__name__}")


def skip_unless_shareable(of: Connector) -> None:
    """Skips a test with several threads on one instance if the connector is not shareable."""
    if not of.shareable:
        pytest.skip(f"{shown(of)} is not shareable: several threads never use one instance")


def shown(of: Connector | type[Connector]) -> str:
    """A connector as reports name it."""
    found = of if isinstance(of, type) else type(of)
    return f"{found.__name__} ({found.name!r})"


def not_defined(fixture: str, *, situation: bool = False) -> NotImplementedError:
    """The error for a fixture that a subclass must define."""
    otherwise = ", or let it return NotPossible('why') if the situation cannot exist" if situation else ""
    return NotImplementedError(f"the subclass must define the fixture {fixture}{otherwise}")


def demands(text: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """Declares what a test demands: the rule that a failing connector breaks, and what its author must do.

    Every failure of the test begins with this text, whatever the connector did.
    """

    def decorate(test: Callable[P, None]) -> Callable[P, None]:
        @functools.wraps(test)
        def run(*args: P.args, **kwargs: P.kwargs) -> None:
            __tracebackhide__ = True
            try:
                test(*args, **kwargs)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - whatever it is, it breaks the rule
                kind = "" if isinstance(error, _FAILURES) else f"{type(error).__name__}: "
                said = AssertionError(f"{text}\n{kind}{error}")
                raise said.with_traceback(error.__traceback__) from error.__cause__

        run.__dict__["demand"] = text
        return run

    return decorate
