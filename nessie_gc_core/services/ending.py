"""The end of a run that failed or was interrupted: what it says, its exit code, and which command continues it."""

from __future__ import annotations

import errno
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

from nessie_gc_core.config.flags import as_command, is_complete, with_flags
from nessie_gc_core.engines.beside import BESIDE
from nessie_gc_core.errors import LeaseHeldError, NessieGcError
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.text import shown, without_passwords
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.report import GcReport, phase_of
from nessie_gc_core.services.tally import Tally

INTERRUPTED, TERMINATED = 130, 143
_TERMINATED = threading.Event()
"""Whether SIGTERM came."""
_OF_THE_MACHINE: Mapping[int, str] = {
    errno.ENOSPC: "free some space there, and run it again",
    errno.EDQUOT: "free some space there, or raise the quota, and run it again",
    errno.ENOMEM: "give the process more memory, and run it again",
    errno.EMFILE: "raise the number of files that the process may open (ulimit -n)",
    errno.ENFILE: "too many files are open on this machine: close some, and run it again",
}
"""Numbers of errors that are the fault of the machine, and what helps."""
_SWEEPS = ("gc", "sweep")
"""The commands that a sweep goes on with."""
_WORDS: Mapping[str, str] = {
    Outcome.DELETED: "deleted",
    Outcome.ALREADY_GONE: "already gone",
    Outcome.FAILED: "failed",
    Outcome.DEFERRED: "recorded for later",
    "restored": "restored",
    "purged": "purged",
    "missing": "missing",
}


class Terminated(KeyboardInterrupt):
    """Somebody asked the run to end; it closes what it has open, as for an interrupt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What was run."""

    name: str = ""
    report: GcReport
    """What it had found and done."""
    in_memory: bool = False
    """Whether the live set is lost when the process ends."""
    defers: bool = False
    """Whether deletions are only recorded."""
    quarantines: bool = False
    """Whether files are moved to a quarantine."""
    dry_run: bool = False
    """Whether it was asked to delete nothing, which its report says only when it comes to that."""
    plan: str | None = None
    """The plan that it was asked to write instead."""

    def proposed(self, name: str, **arguments: str | bool) -> str:
        """A command that goes on, and again is a dry run if this was one."""
        instead: dict[str, str | bool] = {"dry_run": True} if self.plan is None else {"plan": self.plan}
        return next_call(name, **(instead if self.dry_run else {}), **arguments)

    @property
    def does(self) -> str:
        """What the command that goes on does to files, to be said behind it."""
        if self.name == "restore" or self.report.only_looks:
            return ""
        if self.dry_run:
            return ", which deletes nothing"
        if self.defers:
            return ", which records what to delete"
        moves = self.quarantines and self.name != "purge"
        return ", which moves files to quarantine" if moves else ", which deletes files"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Where a run stopped."""

    text: str
    """The live set, what was done, and what to run; empty after a mark that failed, which can only be run again."""
    done: Mapping[str, Tally]
    """What became of files in the steps that were finished, by outcome."""
    next: str
    """The command that goes on, with the options of this run on a command line; elsewhere it needs them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What a run says that ended with an error."""

    message: str
    exit_code: int
    body: Mapping[str, Any]
    """The same as JSON has it, with what was done until then."""


def failure(message: str, exit_code: int, command: Command, *, busy: bool = False) -> Failure:
    """What a run says.

    Args:
        message: its error, as one line.
        exit_code: its exit code.
        command: what was run.
        busy: whether it deleted nothing because another process works on its repository.
    """
    ended = how_it_ended(command)
    message += f"; {ended.text}" if ended is not None and ended.text else ""
    body: dict[str, Any] = {"error": message, "exit_code": exit_code}
    if busy:
        body["busy"] = True
    if command.report.live_set_id is not None:
        body["live_set_id"] = command.report.live_set_id
    if ended is not None:
        body["done"] = {str(outcome): tally.to_dict() for outcome, tally in ended.done.items()}
        body["next"] = ended.next
    return Failure(message=message, exit_code=exit_code, body=body)


def describe(error: BaseException, command: Command | None = None) -> tuple[str, int]:
    """An error as one line, and its exit code; whether it was expected is told by its type, and by nothing else.

    Args:
        error: the error.
        command: what it ended; ``None``: nobody knows.
    """
    if isinstance(error, NessieGcError):
        return in_one_line(str(error) or type(error).__name__), error.exit_code
    if isinstance(error, Terminated) or isinstance(error.__cause__, Terminated):
        return "terminated", TERMINATED
    if isinstance(error, KeyboardInterrupt):
        if _TERMINATED.is_set():
            return "terminated", TERMINATED
        return "interrupted", INTERRUPTED
    where, said = _where(error, command), in_one_line(str(error) or "without a text")
    if (advice := _advice(error)) is not None:
        return f"{type(error).__name__}{where}: {said}; {advice}", 1
    return (
        f"unexpected error {type(error).__name__}{where}: {said}; this is a fault of the program, a plugin or a "
        "library: run it with -vv (log level DEBUG) for the traceback, and report that",
        1,
    )


def is_expected(error: BaseException) -> bool:
    """Whether an error is one that the program raises on purpose, or that a person or the machine causes."""
    return isinstance(error, (NessieGcError, KeyboardInterrupt)) or _advice(error) is not None


def _advice(error: BaseException) -> str | None:
    """What helps if the machine is short of something; ``None``: that is not why it failed."""
    if isinstance(error, MemoryError):
        return "give the process more memory, or let it do less at once (--identify-parallelism, --files-per-step)"
    return _OF_THE_MACHINE.get(error.errno or 0) if isinstance(error, OSError) else None


def _where(error: BaseException, command: Command | None) -> str:
    """In which phase of which command it was, or after which."""
    if command is None or not command.name:
        return ""
    if (phase := phase_of(error)) is not None:
        return f" in the phase {phase} of '{command.name}'"
    done = list(command.report.phases)
    return f" in '{command.name}', after its phase {done[-1]}" if done else f" at the beginning of '{command.name}'"


def terminate(number: int, frame: FrameType | None) -> None:
    """Handles SIGTERM: ends like an interrupt, so that a sweep says that it failed and gives its lease back.

    Raises:
        Terminated: always. A library in which the signal arrives may raise something else instead.
    """
    _TERMINATED.set()
    raise Terminated


def leaves_engine() -> bool:
    """Whether a thread still starts an engine for a run that has ended."""
    return any(thread.name == BESIDE for thread in threading.enumerate())


def is_busy(error: BaseException) -> bool:
    """Whether a run ended because another process holds a lease, so that it can simply wait for it."""
    return isinstance(error, LeaseHeldError)


def in_one_line(text: str) -> str:
    """A text that neither controls a terminal nor looks like another line, in the words of the command line.

    Users and passwords in URLs are left out.
    """
    return shown(with_flags(without_passwords(" ".join(text.split()))))


def how_it_ended(command: Command) -> Ended | None:
    """Where a run stopped; ``None`` where it had not begun with a live set, or with files in quarantine."""
    report = command.report
    if report.released is not None:
        return _released(command, report.released)
    if report.live_set_id is None or not report.phases:
        return None
    done, then = _some(report.outcomes), _next(command)
    text = ""
    if _marked(command) or "expand" in report.phases or command.name == "deferred-deletes":
        text = f"live set {report.live_set_id}: {_done(command, done)}; {_told(command, then)}"
    return Ended(text=text, done=done, next=as_command(then))


def _released(command: Command, released: Mapping[str, Tally]) -> Ended:
    """Where a restore or purge stopped; the next one goes on with the files that it had begun."""
    done, then = _some(released), command.proposed(command.name)
    text = f"{_counts(done) or 'no step was finished'}; {_told(command, then)}"
    return Ended(text=text, done=done, next=as_command(then))


def _told(command: Command, then: str) -> str:
    more = "" if is_complete() else ", with the options of this run"
    return f"next: {with_flags(then)}{more}{command.does}"


def _some(outcomes: Mapping[Any, Tally]) -> Mapping[str, Tally]:
    """The outcomes that are told, if there are files."""
    return {str(outcome): tally for outcome, tally in outcomes.items() if outcome in _WORDS and tally.files}


def _marked(command: Command) -> bool:
    """Whether a 'gc' is through with its mark."""
    return command.name == "gc" and "mark" in command.report.phases and command.report.finished is not None


def _done(command: Command, done: Mapping[str, Tally]) -> str:
    if command.dry_run:
        return "nothing was deleted, this was a dry run"
    if "delete" not in command.report.phases:
        return "nothing was deleted"
    return _counts(done) or "no step of the deletion was finished"


def _counts(done: Mapping[str, Tally]) -> str:
    counts = ", ".join(f"{tally.files:,} {_WORDS[outcome]}" for outcome, tally in done.items())
    return f"{counts} in the finished steps" if counts else ""


def _next(command: Command) -> str:
    report = command.report
    which = str(report.live_set_id)
    if command.name == "deferred-deletes":
        return command.proposed(command.name, live_set_id=which)
    swept = "expand" in report.phases
    # another service deletes less than a sweep of its live set would, and begins with a new one
    if command.name not in _SWEEPS or command.in_memory or not (swept or _marked(command)):
        return command.proposed(command.name)
    more = {"resume": swept and not command.dry_run, "defer_deletes": command.defers}  # else, files would be deleted
    return command.proposed("sweep", **more, live_set_id=which)
