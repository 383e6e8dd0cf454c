"""Content versions on their way to the store."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.algorithms.mark import BatchingContents
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion

VERSION = ContentVersion(
    content_id="id",
    content_type=ICEBERG_TABLE,
    metadata_location="s3://b/t/1.metadata.json",
    snapshot_id=1,
    content_key="db.t",
    commit_id="c",
    commit_time=datetime(2026, 1, 1, tzinfo=UTC),
)


def test_s07_a_version_keeps_its_time_whatever_came_first() -> None:
    stored: list[ContentVersion] = []
    batches = BatchingContents(stored.extend, batch_size=1)
    batches([replace(VERSION, commit_time=None)])
    batches([VERSION])
    batches([replace(VERSION, commit_time=None)])
    batches.flush()
    assert [VERSION] == stored


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans())), st.integers(1, 4), st.integers(0, 3))
def test_every_version_is_stored_whatever_is_remembered(
    steps: list[tuple[int, bool]], batch_size: int, remembered: int
) -> None:
    stored: list[ContentVersion] = []
    batches = BatchingContents(stored.extend, batch_size=batch_size, remembered=remembered)
    for number, timed in steps:
        batches([replace(VERSION, snapshot_id=number, commit_time=VERSION.commit_time if timed else None)])
    batches.flush()
    assert {number for number, _ in steps} == {version.snapshot_id for version in stored}
