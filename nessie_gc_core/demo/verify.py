"""Reads every live state of every reference, so that readings before and after a collection can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nessie_gc_core.demo.lake import Lake
from nessie_gc_core.demo.spark import CATALOG


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One table or view as one live commit of a reference sees it."""

    reference: str
    commit: str
    key: str
    metadata_location: str

    def __str__(self) -> str:
        return f"{self.key} at {self.reference}, commit {self.commit[:8]}"

    @property
    def sql_name(self) -> str:
        """How Spark names it."""
        *namespace, name = self.key.split(".")
        return ".".join([CATALOG, *namespace, f"`{name}@{self.reference}#{self.commit}`"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What reading a state gave."""

    rows: int
    checksum: str
    """Sum of the rows' hashes: does not depend on their order."""
    error: str = ""
    """Why it cannot be read; empty where it can."""


def live_states(lake: Lake, *, commits: int) -> Iterator[State]:
    """The states that the last commits of every reference see, each content version once per reference."""
    for reference in lake.references.names():
        seen = set()
        for commit in lake.references.commits(reference, limit=commits):
            for key, content in lake.references.contents(reference, commit).items():
                metadata = content["metadataLocation"]
                version = (key, metadata, content.get("snapshotId", content.get("versionId")))
                if version not in seen:
                    seen.add(version)
                    yield State(reference=reference, commit=commit, key=key, metadata_location=metadata)


def read_states(lake: Lake, *, commits: int) -> dict[State, Reading]:
    """Reads all rows of every live state."""
    return {state: read_state(lake, state) for state in live_states(lake, commits=commits)}


def differences(before: Mapping[State, Reading], after: Mapping[State, Reading]) -> Iterator[str]:
    """One line per state that reads otherwise, or not at all."""
    for state in sorted({*before, *after}, key=str):
        first, second = before.get(state), after.get(state)
        if second is None or first is None:
            yield f"{state}: seen {'before' if second is None else 'after'} the collection only"
        elif second.error:
            yield f"{state}: cannot be read any more: {second.error}"
        elif first != second:
            yield f"{state}: {first.rows} rows before, {second.rows} rows after, or other rows"


def read_state(lake: Lake, state: State) -> Reading:
    """Reads all rows of a state."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    total = "CAST(coalesce(sum(CAST(xxhash64(*) AS DECIMAL(38, 0))), 0) AS STRING)"
    try:
        row = lake.spark.sql(f"SELECT count(*), {total} FROM {state.sql_name}").first()
    except (PySparkException, Py4JError) as error:
        return Reading(rows=0, checksum="", error=_reason(str(error)))
    if row is None:
        return Reading(rows=0, checksum="", error="Spark gives no row for a count")
    return Reading(rows=row[0], checksum=row[1])


def _reason(stack_trace: str) -> str:
    """The innermost cause in a Java stack trace, or the first line of a plain message."""
    causes = [line for line in stack_trace.splitlines() if line.startswith("Caused by: ")]
    return causes[-1].removeprefix("Caused by: ") if causes else stack_trace.partition("\n")[0]
