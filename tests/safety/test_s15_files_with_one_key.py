"""S15: ``a//b`` and ``a/b`` are two files of an object store with one key, and each has an outcome of its own."""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from collecting import Collector
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core.algorithms import subtract
from nessie_gc_core.algorithms.listing import sidecar_owner, stored_row
from nessie_gc_core.algorithms.planned import PLANNED_FILES
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.model.relations import FILE_KEYS, STORED_FILES
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.outcome_file import OutcomeFile

STORE, DISK = "s3://b/t/", "file:///wh/t/"


def planned(engine: Engine, *paths: str) -> Dataset:
    rows = [(STORE, "a/b", STORE, path, 5, 0, False) for path in paths]
    return engine.dataset(to_batches(rows, PLANNED_FILES), PLANNED_FILES)


@pytest.mark.parametrize(("gone", "left"), [("a//b", "a/b"), ("a/b", "a//b")])
def test_s15_a_file_that_is_gone_is_named_though_another_with_its_key_is_there(
    engine: Engine, tmp_path: Path, gone: str, left: str
) -> None:
    path = tmp_path / "outcomes.jsonl"

    def opened() -> OutcomeFile:
        return OutcomeFile(str(path), live_set_id=UUID(int=7), clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    with ExitStack() as stack:
        stack.enter_context(opened()).plan(planned(engine, gone, left))  # and is killed
        with opened() as resumed:
            resumed.name_earlier(planned(engine, left), [STORE], engine)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(gone, "deleted")] == [(line["path"], line["outcome"]) for line in lines]


@pytest.mark.parametrize("bloom", [False, True])
def test_s15_files_with_one_key_stay_apart_in_a_run_with_checksum_sidecars(engine: Engine, *, bloom: bool) -> None:
    paths = [(STORE, "a/b", "a//b"), (STORE, "a/b", "a/b"), (DISK, "a", "a"), (DISK, ".a.crc", ".a.crc")]
    rows = [
        stored_row(
            unit,
            key,
            FileReference(location=unit, path=path, size=5, modified=None),
            sidecar_owner(key) if unit == DISK else None,
        )
        for unit, key, path in paths
    ]
    stored, nothing = engine.dataset(to_batches(rows, STORED_FILES), STORED_FILES), engine.empty(FILE_KEYS)
    membership = subtract.bloom(nothing, capacity=10, false_positive_rate=1e-9) if bloom else subtract.exact(nothing)
    found = subtract.unreferenced(stored, membership, with_sidecars=[DISK]).summary().to_pylist()
    assert {(STORE, "a//b", 5, None), (STORE, "a/b", 5, None), (DISK, "a", 5, ".a.crc")} == {
        (row["unit"], row["path"], row["size"], row["sidecar_path"]) for row in found
    }
    assert 3 == len(found)


def test_s15_deferred_deletions_keep_files_with_one_key_apart_beside_checksum_sidecars(
    lake: MemoryLake, collector: Collector, tmp_path: Path
) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
    lake.commit("main", put(table.version))
    twins = {lake.put(f"memory://wh/db/t/data/{name}") for name in ("a//b", "a/b")}
    lake.advance(timedelta(days=3))
    folder = tmp_path / "x" / "y" / "z"
    folder.mkdir(parents=True)
    live_set = collector.mark("1")
    places = {f"file://{folder.resolve()}/": ("a", ".a.crc"), "memory://wh/db/t/": ("data/a//b", "data/a/b")}
    collector.store.start_expire(live_set, at=lake.time)
    for location, names in places.items():
        files = [
            FileDeletion(location=location, path=name, size=4, modified=lake.time - timedelta(days=2)) for name in names
        ]
        collector.store.add_file_deletions(live_set, files)
    collector.store.finish_expire(live_set, at=lake.time)
    for name in ("a", ".a.crc"):
        (folder / name).write_text("left")

    report = collector.delete_deferred(live_set)

    assert set() == twins & lake.paths()
    assert [] == list(folder.iterdir())
    assert (3, 1) == (report.outcomes[Outcome.DELETED].files, report.sidecars.files)
