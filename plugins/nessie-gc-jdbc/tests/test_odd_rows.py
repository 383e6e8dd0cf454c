"""Rows that somebody changed, or that a later version wrote, are errors of the store that name the row."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from nessie_gc_jdbc import JdbcLiveSetStore, JdbcScheduleStore

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.live_sets import SeenContent, SweepStep, SweepStepState
from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.testing.live_set_samples import NOON, deletion, start, version
from nessie_gc_core.testing.schedule_samples import done, job, run_of

DEEP = "[" * 5_000 + "]" * 5_000
FAR = 2**62
READS = {
    "live_sets": lambda store, found: list(store.live_sets()),
    "content_versions": lambda store, found: list(store.content_versions(found)),
    "steps": lambda store, found: list(store.steps(found)),
    "file_deletions": lambda store, found: list(store.file_deletions(found)),
    "seen_contents": lambda store, found: list(store.seen_contents("r")),
    "tags": lambda store, found: list(store.tags("r")),
    "held_files": lambda store, found: list(store.held_files(found)),
    "leases": lambda store, found: store.lease("r"),
}


@pytest.fixture
def database(sqlite_url: str) -> Path:
    """The file of a store that has a row in each of its tables."""
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        found = start(store, "r")
        store.add_content_versions(found, [version(1)])
        store.finish_identify(found, at=NOON)
        store.start_expire(found, at=NOON)
        step = SweepStep(unit="s3://lake/", part="a:1/1", state=SweepStepState.DONE, planned_files=1, planned_bytes=1)
        store.record_steps(found, [step])
        store.add_file_deletions(found, [deletion(1)])
        seen = SeenContent(content_id="c", content_type="T", location="s3://lake/t", first_seen=NOON, last_seen=NOON)
        store.register_contents("r", [seen])
        tag = TagRecord(
            name="date/1",
            periods=("daily",),
            target="1",
            made=True,
            holder="h",
            prefix="date/",
            branch="main",
            instant=NOON,
            state_at=NOON,
        )
        store.put_tags("r", [tag])
        store.put_held_files([held(found)])
        store.acquire_lease("r", "o", host="h", process=1, duration=timedelta(days=1))
    return Path(sqlite_url.removeprefix("sqlite:///"))


def held(live_set_id: UUID) -> HeldFile:
    return HeldFile(
        repository="r",
        live_set_id=live_set_id,
        place="s3://lake/held/",
        held_path="x",
        location="s3://lake/t/",
        path="x",
        size=1,
        held=NOON,
        until=NOON + timedelta(days=30),
        state=HeldState.HELD,
    )


def change(database: Path, table: str, column: str, value: object) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute(f"UPDATE nessie_gc_{table} SET {column} = ?", [value])


@pytest.mark.parametrize(
    ("read", "table", "column", "value", "said"),
    [
        ("live_sets", "live_sets", "policies", DEEP, "live set"),
        ("live_sets", "live_sets", "created", FAR, "live set"),
        ("content_versions", "content_versions", "commit_time", FAR, "a version of db.table_1"),
        ("steps", "steps", "outcomes", DEEP, "a step of the sweep of live set"),
        ("steps", "steps", "outcomes", "{", "a step of the sweep of live set"),
        ("steps", "steps", "outcomes", "[]", "a step of the sweep of live set"),
        ("steps", "steps", "outcomes", '{"deleted": 1}', "a step of the sweep of live set"),
        ("steps", "steps", "outcomes", '{"deleted": ["many", 1]}', "a step of the sweep of live set"),
        ("steps", "steps", "state", "WAITING", "a step of the sweep of live set"),
        ("file_deletions", "file_deletions", "modified", FAR, "data/1.parquet to delete"),
        ("seen_contents", "seen_contents", "last_seen", FAR, "content c"),
        ("tags", "tags", "periods", DEEP, "tag date/1"),
        ("held_files", "held_files", "state", "LENT", "x in quarantine"),
        ("held_files", "held_files", "held", FAR, "x in quarantine"),
        ("leases", "leases", "since", -FAR, "the lease of o"),
    ],
)
def test_a_row_that_cannot_be_understood_is_named(
    database: Path, read: str, table: str, column: str, value: object, said: str
) -> None:
    change(database, table, column, value)
    with JdbcLiveSetStore.from_options({"url": f"sqlite:///{database}"}) as store, pytest.raises(StoreError) as caught:
        with closing(sqlite3.connect(database)) as other:
            found = UUID(other.execute("SELECT live_set_id FROM nessie_gc_live_sets").fetchone()[0])
        READS[read](store, found)
    assert f"the row of {said}" in str(caught.value)
    assert "restore the database from a backup" in str(caught.value)
    assert 1 == len(str(caught.value).splitlines())


@pytest.mark.parametrize(
    ("table", "column", "value", "said"),
    [
        ("job_runs", "numbers", DEEP, "of job nightly"),
        ("job_runs", "status", "LATE", "of job nightly"),
        ("jobs", "outcome", "LATE", "job nightly"),
        ("jobs", "last", FAR, "job nightly"),
    ],
)
def test_a_row_of_a_schedule_that_cannot_be_understood_is_named(
    sqlite_url: str, table: str, column: str, value: object, said: str
) -> None:
    with JdbcScheduleStore.from_options({"url": sqlite_url}) as store:
        run = run_of(job())
        store.define_jobs("s", [job()])
        store.start_run("s", run, then=None, lease=timedelta(hours=1))
        store.finish_run("s", done(run))
        change(Path(sqlite_url.removeprefix("sqlite:///")), table, column, value)
        with pytest.raises(StoreError, match=rf"the row of .*{said} in the database cannot be understood"):
            _ = (list(store.jobs("s")), store.run("s", run.id))
