"""What a run had done when it failed or was interrupted, and which command continues it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nessie_gc_core.cli.command import Session
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.tally import Tally

_WORDS = {
    Outcome.DELETED: "deleted",
    Outcome.ALREADY_GONE: "already gone",
    Outcome.FAILED: "failed",
    Outcome.DEFERRED: "recorded for later",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """Where a run stopped."""

    text: str
    """The live set, what was done, and what to run; empty after a mark that failed, which can only be run again."""
    done: Mapping[Outcome, Tally]
    """What became of files in the steps that were finished."""
    next: str
    """The command that goes on; it needs the options of this run."""


def how_it_ended(session: Session) -> Ended | None:
    """Where the run of a session stopped; ``None`` where it had not begun with a live set."""
    report = session.report
    if report.live_set_id is None or not report.phases:
        return None
    done = {outcome: tally for outcome, tally in report.outcomes.items() if outcome in _WORDS and tally.files}
    then = _next(session)
    text = ""
    if _marked(session) or "expand" in report.phases or session.command == "deferred-deletes":
        text = f"live set {report.live_set_id}: {_done(session, done)}; next: '{then}', with the options of this run"
    return Ended(text=text, done=done, next=then)


def _marked(session: Session) -> bool:
    """Whether a 'gc' is through with its mark."""
    return session.command == "gc" and "mark" in session.report.phases and session.report.finished is not None


def _done(session: Session, done: Mapping[Outcome, Tally]) -> str:
    if session.report.dry_run:
        return "nothing was deleted, this was a dry run"
    if "delete" not in session.report.phases:
        return "nothing was deleted"
    if not done:
        return "no step of the deletion was finished"
    counts = ", ".join(f"{tally.files:,} {_WORDS[outcome]}" for outcome, tally in done.items())
    return f"{counts} in the finished steps"


def _next(session: Session) -> str:
    report = session.report
    which = f"--live-set-id {report.live_set_id}"
    if session.command == "deferred-deletes":
        return f"nessie-gc deferred-deletes {which}" + (" --dry-run" if report.dry_run else "")
    swept = "expand" in report.phases
    if session.in_memory or not (swept or _marked(session)):
        return f"nessie-gc {session.command}" + (" --dry-run" if report.dry_run else "")
    if report.dry_run:
        return f"nessie-gc sweep --dry-run {which}"
    more = " --defer-deletes" if session.defers else ""  # without it, the files would be deleted
    return f"nessie-gc sweep{' --resume' if swept else ''}{more} {which}"
