"""Both sides on copies of one case, and the verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nessie_gc_core.dataset import Engine
from versus.cases import Asked, Case
from versus.sides import Done, ours, theirs
from versus.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAME = "same"
RIGHT = "ours is right"
KEEPS_MORE = "ours keeps more"
DIFFERENT = "DIFFERENT"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of one case."""

    case: Case
    asked: Asked
    theirs: Done
    ours: Done
    unreadable: str | None
    """What could not be read of the tables after ours."""

    @property
    def differences(self) -> list[str]:
        """In what both differ that nobody expected."""
        return list(_differences(self))

    @property
    def verdict(self) -> str:
        """One word, and the reason."""
        if self.differences:
            return f"{DIFFERENT}: {'; '.join(self.differences)}"
        known = self.asked.known
        if known is not None:
            return f"{KEEPS_MORE if known.keeps_more else RIGHT}: {known.reason}"
        if self.asked.both_refuse:
            return f"{SAME} (both refuse)"
        said = self.asked.only_plan or self.asked.why_left_out
        return f"{SAME} ({said})" if said else SAME

    @property
    def is_right(self) -> bool:
        """Whether nothing differs but what is known."""
        return not self.differences


def _differences(result: Result) -> Iterator[str]:
    asked, left_out = result.asked, result.asked.left_out
    their_files = {path for path in result.theirs.deleted if not left_out(path)}
    our_files = {path for path in result.ours.deleted if not left_out(path)}
    known = asked.known
    yield from _beyond("only theirs", their_files - our_files, known.only_theirs if known else frozenset())
    yield from _beyond("only ours", our_files - their_files, known.only_ours if known else frozenset())
    if result.ours.error and not asked.both_refuse:
        yield f"ours: {result.ours.error}"
    fails = asked.both_refuse or (known is not None and known.they_fail)
    if result.theirs.error and not fails:
        yield f"theirs: {result.theirs.error}"
    if fails and not result.theirs.error:
        yield "theirs did not fail"
    yield from _listed_otherwise(result)
    if result.unreadable:
        yield f"unreadable after ours: {result.unreadable}"


def _listed_otherwise(result: Result) -> Iterator[str]:
    """Snapshots, branches and tags; a known difference may have cost a table its metadata file."""
    for table, found in result.ours.kept.items():
        theirs = result.theirs.kept[table]
        lost = not theirs and result.asked.known is not None
        failed = result.asked.known is not None and result.asked.known.they_fail
        if theirs != found and not (lost or failed or result.asked.only_plan):
            yield f"{table} lists: theirs {theirs}, ours {found}"


def _beyond(side: str, found: set[str], expected: frozenset[str]) -> Iterator[str]:
    if found != expected:
        odd = sorted(found ^ expected)
        yield f"{side} {len(found)} (expected {len(expected)}): {', '.join(odd[:3])}"


def compare(case: Case, spark: SparkSession, folder: Path, catalog: str, engine: Callable[[], Engine]) -> Result:
    """Writes the tables, runs both, each on its copy, and reads what ours left."""
    stage = Stage(spark, folder, catalog)
    asked = case.write(stage)
    stage.keep(young=case.young)
    done = theirs(stage, case.procedure, asked)
    stage.put_back()
    with engine() as opened:
        mine = ours(stage, case.procedure, asked, opened)
    unreadable = None if asked.both_refuse else _unreadable(stage)
    return Result(case=case, asked=asked, theirs=done, ours=mine, unreadable=unreadable)


def _unreadable(stage: Stage) -> str | None:
    """Reads every snapshot of every table that is still listed; gives the first error."""
    for table in stage.tables():
        for snapshot in stage.snapshots(table):
            try:
                stage.sql(f"SELECT * FROM {{{table}}} VERSION AS OF {snapshot}").collect()
            except Exception as error:  # noqa: BLE001 - whatever Spark says about a file that is gone
                return f"{table} at {snapshot}: {str(error).splitlines()[0][:200]}"
    return None
