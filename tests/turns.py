"""Runs that have to end at some time: what they are asked, and what they do, in their order."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import wraps
from itertools import pairwise
from typing import Any

import pytest

from nessie_gc_core.services.ending import Terminated

ASKED = "asked"
_TRIES = 5


class Turns:
    """Asked whether a run goes on: so often it does. Notes what is done, and what is done although it had to end."""

    def __init__(self, most: int | None = None) -> None:
        self.log: list[str] = []
        self.late: list[str] = []
        self._most, self._lock = most, threading.Lock()
        self._ended = False

    def go_on(self) -> None:
        with self._lock:
            self._ended = self._ended or self.log.count(ASKED) == self._most
            if self._ended:
                raise Terminated
            self.log.append(ASKED)

    def note(self, deed: str) -> None:
        """Something is deleted or committed."""
        with self._lock:
            (self.late if self._ended else self.log).append(deed)

    def noting(self, monkeypatch: pytest.MonkeyPatch, where: object, *names: str) -> None:
        """Notes the calls of some functions."""
        for name in names:
            monkeypatch.setattr(where, name, self._noted(getattr(where, name)))

    def _noted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def noted(*given: Any, **more: Any) -> Any:
            self.note(function.__name__)
            return function(*given, **more)

        return noted

    @property
    def deeds(self) -> list[str]:
        """What was done."""
        return [each for each in self.log if each != ASKED]

    @property
    def unasked(self) -> list[str]:
        """What was done although nobody was asked since the deed before."""
        return [deed for before, deed in pairwise(["", *self.log]) if deed != ASKED != before]


def deeds_of(scene: Callable[[Turns], object]) -> list[str]:
    """What a scene does, each deed after a question; where the answer is no, neither that nor anything else is done."""
    whole = Turns()
    scene(whole)
    assert [] == whole.unasked
    done = list[str]()
    for at, deed in enumerate(whole.log):
        if deed == ASKED:
            continue
        assert done in _ended_after(whole.log[:at].count(ASKED) - 1, scene)
        done.append(deed)
    return done


def _ended_after(questions: int, scene: Callable[[Turns], object]) -> Iterator[list[str]]:
    """What a scene does that ends after so many questions, and nothing late.

    It may do one deed more or less from time to time: progress asks as well, and how often depends on threads.
    """
    for _ in range(_TRIES):
        ends = Turns(questions)
        with suppress(Terminated):
            scene(ends)
        assert [] == ends.late
        yield ends.deeds
