"""What a finished run says: an exit code, a report, numbers, and one line if it failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.report_format import KEY, with_format
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.model.text import json_text, shown
from nessie_gc_core.services.schedule.report_parts import inside, number, text

MOST_NUMBERS = 500
"""Numbers of a report that are kept beside it."""
WITH_OUTCOMES = ("collection", "outcomes", "done")
"""Objects of reports in which there are outcomes of files; ``done`` is that of a run that failed."""
_WRONG = ("unknown", "unreadable", "failed")
"""What went wrong, in reports of all services."""
_LEFT_OUT = "left_out"
"""What a report is instead that a store does not take."""
_NAME = re.compile(r"[a-z_]+(\.[a-z_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended."""

    exit_code: int | None
    """``None`` if it could not be started."""
    report: str | None = None
    """Its report as JSON; ``None`` if it made none."""
    error: str | None = None
    """Why, where the report does not say it."""
    not_due: str | None = None
    """Why the service was not needed; ``None``: it was."""

    def finished(self, run: JobRun, at: datetime, status: RunStatus | None = None) -> JobRun:
        """The run with this outcome.

        Args:
            run: the run that ended.
            at: when.
            status: what became of it, if its exit code does not say so.
        """
        body = self.body()
        ended = status or self._status()
        return replace(
            run,
            status=ended,
            ended=max(at, run.started),
            exit_code=self.exit_code,
            error=None if ended is RunStatus.SUCCEEDED else self.not_due or self._why(body),
            numbers=dict(numbers_of(body)),
            report=self.report if body else None,
        )

    def _status(self) -> RunStatus:
        if self.not_due is not None:
            return RunStatus.NOT_DUE
        if self.exit_code == 0:
            return RunStatus.SUCCEEDED
        return RunStatus.BUSY if self.body().get("busy") is True else RunStatus.FAILED

    def body(self) -> Mapping[str, Any]:
        """The report as an object; empty if there is none."""
        return body_of(self.report)

    def _why(self, body: Mapping[str, Any]) -> str:
        for said in (text(body.get("error")), self.error or ""):
            if words := said.split():
                return shown(" ".join(words))
        counts = ((name, _count(body.get(name, inside(body, "collection", name)))) for name in _WRONG)
        said = ", ".join(f"{count:,} {name}" for name, count in counts if count)
        return f"exit code {self.exit_code}: {said or ('see its report' if body else 'see its log')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run that has ended."""

    run: JobRun
    """With its outcome."""
    is_recorded: bool
    """Whether the store has this outcome. If not, another scheduler takes the run for lost, and reports that."""


def _count(value: object) -> int:
    """How many a report names or counts, in whatever form: a number, names, or files with their bytes."""
    if isinstance(value, Mapping) and "files" in value:
        value = value["files"]
    return len(value) if isinstance(value, Mapping | list) else number(value)


def body_of(report: str | None) -> Mapping[str, Any]:
    """A report as an object; empty if there is none."""
    try:
        found = parsed_json(report or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def numbers_of(body: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """The numbers of a report: those at its top, and those of the objects there, such as ``deleted.bytes``.

    Outcomes of files count wherever they are, such as ``collection.deleted.bytes``, or ``done.deleted.bytes`` of a run
    that failed. A name is made of identifiers: a key that is data, such as a time, would be a new name in each report.
    """
    found = 0
    for name, value in body.items():
        if name == KEY:
            continue
        for key, said in [(name, value), *_inside(name, value)]:
            is_number = isinstance(said, int) and not isinstance(said, bool)
            if is_number and _NAME.fullmatch(key) and found < MOST_NUMBERS:
                found += 1
                yield key, said


def _inside(name: str, value: object) -> list[tuple[str, object]]:
    if not isinstance(value, Mapping) or name == "tables":
        return []
    found = [(f"{name}.{key}", inner) for key, inner in value.items()]
    outcomes = value.items() if name in WITH_OUTCOMES else ()
    return [*found, *(pair for key, inner in outcomes for pair in _inside(f"{name}.{key}", inner))]


def smaller(run: JobRun) -> JobRun:
    """A run for a store that refuses its report: with a word of it instead."""
    if run.report is None:
        return run
    said = f"the store did not take this report of {len(run.report):,} characters"
    return replace(run, report=json_text(with_format({_LEFT_OUT: said})))


class Work(Protocol):
    """A run that goes on."""

    def wait(self, seconds: float) -> Outcome | None:
        """How it ended; ``None`` if it goes on after that time."""

    def beat(self, renewed: float) -> None:
        """Tells it that it has its job for a lease since then; without this, it ends before its lease does.

        The moment is one of :func:`nessie_gc_core.model.times.elapsed_seconds`, which all processes share.
        """

    def stop(self, *, kill: bool) -> None:
        """Asks it to end, or ends it; does nothing if it has ended."""
