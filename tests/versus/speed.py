"""The measurements: 100,000 files, Spark's procedures beside ours on Spark's session and on the local engine."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nessie_gc_memory.mock import MockChanges, MockLake, MockLakeSpec, write_lake
from nessie_gc_memory.mock.layout import Role
from pyiceberg.catalog import load_catalog

from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.engines.spark import SparkEngine
from versus.cases import Asked, Procedure, days_ago
from versus.sides import Done, ours, theirs
from versus.stage import NAMESPACE, Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_TIMES, LOCAL_TIMES = 3.0, 10.0
"""So many times faster than the procedure each engine is meant to be."""
PLAN_SECONDS = 1.0
"""So long the local engine is meant to take for a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One table, and what is asked of it."""

    name: str
    procedure: Procedure
    spec: MockLakeSpec
    retain_last: int | None = None
    dry_run: bool = False
    plan_seconds: float | None = None
    """A target in seconds for the local engine, instead of a ratio."""

    def asked(self) -> Asked:
        """The arguments of both sides."""
        return Asked(older_than=days_ago(2), retain_last=self.retain_last, dry_run=self.dry_run)


def _spec(**more: Any) -> MockLakeSpec:
    return MockLakeSpec(
        **{
            "references": 1,
            "table_count": 1,
            "partitions": 20,
            "columns": 2,
            "compressed": True,
            "overwrite_every": 0,
            "listed_snapshots": 100,
            "logged_metadata": 100,
            "garbage_files": 0,
            "file_bytes": 1000,
            **more,
        }
    )


def measurements(scale: float = 1.0) -> Iterator[Measurement]:
    """All; a scale below 1 makes files fewer."""
    files = round(1000 * scale)
    yield Measurement(
        name="expire 90,000 of 100,000 files: 90 of 100 snapshots",
        procedure=Procedure.EXPIRE,
        spec=_spec(commits=100, files_per_commit=files, overwrite_every=10),
        retain_last=10,
    )
    yield Measurement(
        name="expire 90 of 100 snapshots that only append",
        procedure=Procedure.EXPIRE,
        spec=_spec(commits=100, files_per_commit=files),
        retain_last=10,
    )
    orphans = _spec(commits=95, files_per_commit=files, garbage_files=5 * files)
    yield Measurement(name="5,000 orphans of 100,000 files", procedure=Procedure.ORPHANS, spec=orphans)
    yield Measurement(
        name="5,000 orphans of 100,000 files, dry run", procedure=Procedure.ORPHANS, spec=orphans, dry_run=True
    )
    yield Measurement(
        name="plan over 105,000 files, 5,000 of them referenced",
        procedure=Procedure.ORPHANS,
        spec=_spec(commits=10, files_per_commit=files // 2, garbage_files=100 * files),
        dry_run=True,
        plan_seconds=PLAN_SECONDS,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of one."""

    measurement: Measurement
    files: int
    theirs: Done
    on_spark: Done
    local: Done

    @property
    def is_right(self) -> bool:
        """Whether all three deleted the same."""
        same = self.theirs.deleted == self.on_spark.deleted == self.local.deleted
        return same and not (self.theirs.error or self.on_spark.error or self.local.error)

    @property
    def verdict(self) -> str:
        """Whether they did the same, and which targets are missed."""
        if not self.is_right:
            errors = [done.error for done in (self.theirs, self.on_spark, self.local) if done.error]
            return f"DIFFERENT: {'; '.join(errors)}"
        missed = list(self._missed())
        return f"same; missed: {', '.join(missed)}" if missed else "same; targets met"

    def _missed(self) -> Iterator[str]:
        target = self.measurement.plan_seconds
        if target is not None:
            if self.local.seconds > target:
                yield f"local in {target:g} s"
            return
        if self.times(self.on_spark) < SPARK_TIMES:
            yield f"Spark engine x{SPARK_TIMES:g}"
        if self.times(self.local) < LOCAL_TIMES:
            yield f"local x{LOCAL_TIMES:g}"

    def times(self, done: Done) -> float:
        """How many times faster than the procedure."""
        return self.theirs.seconds / done.seconds


def measure(measurement: Measurement, spark: SparkSession, folder: Path, catalog: str, *, repeat: int = 1) -> Measured:
    """Writes the table, and runs all three, each on its copy; the fastest of several runs counts."""
    stage = Stage(spark, folder, catalog, links=True)
    root = stage.warehouse / NAMESPACE
    lake = MockLake(replace(measurement.spec, root=f"file://{root}"), MockChanges())
    write_lake(lake, root)
    *_, last = lake.history.snapshots(0)
    with load_catalog(catalog, type="sql", uri=stage.uri) as opened:
        opened.register_table((NAMESPACE, "t"), lake.layout.path(lake.layout.block(last, Role.METADATA)))
    stage.keep()
    asked, files = measurement.asked(), len(stage.files())

    def on(engine: Callable[[], Engine]) -> Done:
        with engine() as working:
            done = ours(stage, measurement.procedure, replace(asked, names=False), working)
            if not asked.dry_run:
                return done
            named = ours(stage, measurement.procedure, asked, working)
            return replace(done, deleted=named.deleted)

    def fastest(side: Callable[[], Done]) -> Done:
        done = []
        for _ in range(repeat):
            done.append(side())
            stage.put_back()
        return min(done, key=lambda each: each.seconds)

    found = Measured(
        measurement=measurement,
        files=files,
        theirs=fastest(lambda: theirs(stage, measurement.procedure, asked)),
        on_spark=fastest(lambda: on(lambda: SparkEngine(spark))),
        local=fastest(lambda: on(LocalEngine)),
    )
    shutil.rmtree(folder)
    return found


def warm_up(spark: SparkSession, folder: Path) -> None:
    """Everything once on little data: what Spark and Python load and compile first is nobody's time."""
    for number, measurement in enumerate(measurements(scale=0.01)):
        measure(measurement, spark, folder / f"warm{number}", f"warm{number}")
