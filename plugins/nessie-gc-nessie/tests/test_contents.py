from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from nessie_gc_nessie.contents import NO_COMMIT, content_of, log_entry_of

from nessie_gc_core.errors import RepositoryError
from nessie_gc_core.model.repository import ContentVersion, LogEntry

TIME = datetime(2026, 1, 2, tzinfo=UTC)


HASH, PARENT, OTHER = ("aa" * 32, "bb" * 32, "cc" * 32)


def entry(answer: Mapping[str, object]) -> LogEntry:
    return log_entry_of(answer, lambda commit_id: commit_id == NO_COMMIT)


def parsed(content: dict[str, object]) -> ContentVersion | None:
    return content_of(content, key="n.c", commit_id="aa", commit_time=TIME)


def test_a_namespace_has_no_files() -> None:
    assert parsed({"type": "NAMESPACE", "id": "1", "elements": ["n"]}) is None


@pytest.mark.parametrize(
    "fields", [{}, {"sqlText": "x + 1", "dialect": "SPARK"}, {"versionId": "1", "signatureId": "a"}]
)
def test_s23_a_function_that_is_only_text_has_no_files(fields: dict[str, object]) -> None:
    assert parsed({"type": "UDF", "id": "1", **fields}) is None


def test_s23_a_function_with_a_metadata_file_is_live_with_its_place() -> None:
    version = parsed({"type": "UDF", "id": "1", "metadataLocation": "s3://b/f/metadata/1.json"})
    assert version is not None
    assert ("UDF", "s3://b/f/") == (version.content_type, version.location)


@pytest.mark.parametrize(
    ("fields", "metadata_location", "location"),
    [
        ({"lastCheckpoint": "s3://b/d/_delta_log/9.parquet"}, "s3://b/d/_delta_log/9.parquet", "s3://b/d/"),
        ({"metadataLocationHistory": ["s3://b/d/_delta_log/0.json"]}, "s3://b/d/_delta_log/0.json", "s3://b/d/"),
        ({"checkpointLocationHistory": ["s3://b/d/1.parquet"]}, "s3://b/d/1.parquet", "s3://b/d/"),
        ({"metadataLocation": "s3://b/u/metadata/1.json"}, "s3://b/u/metadata/1.json", "s3://b/u/"),
        ({"metadataLocation": "s3://metadata/1.json"}, "s3://metadata/1.json", "s3://metadata/"),
        ({"metadataLocation": "/lake/u/1.json"}, "/lake/u/1.json", "/lake/u/"),
        ({"metadataLocation": "s3://b/u/1.json", "location": "s3://b/place"}, "s3://b/u/1.json", "s3://b/place"),
        ({"metadataLocation": "nowhere"}, "nowhere", None),
        ({}, None, None),
        ({"metadataLocationHistory": [], "lastCheckpoint": None}, None, None),
    ],
)
def test_a_content_of_a_foreign_type_keeps_what_is_known_of_its_place(
    fields: dict[str, object], metadata_location: str | None, location: str | None
) -> None:
    version = parsed({"type": "SOMETHING_NEW", "id": "1", **fields})

    expected = ContentVersion(
        content_id="1",
        content_type="SOMETHING_NEW",
        metadata_location=metadata_location,
        snapshot_id=None,
        content_key="n.c",
        commit_id="aa",
        commit_time=TIME,
        location=location,
    )
    assert expected == version


@pytest.mark.parametrize(
    "content",
    [
        {"type": "ICEBERG_TABLE", "id": "1", "snapshotId": 1},
        {"type": "ICEBERG_TABLE", "metadataLocation": "s3://b/1.json", "snapshotId": 1},
        {"type": "ICEBERG_TABLE", "id": "1", "metadataLocation": "s3://b/1.json", "snapshotId": "1"},
        {"type": "ICEBERG_VIEW", "id": "1", "metadataLocation": "s3://b/1.json", "versionId": True},
        {"id": "1", "metadataLocation": "s3://b/1.json"},
    ],
)
def test_an_iceberg_content_that_lacks_what_decides_is_an_error(content: dict[str, object]) -> None:
    with pytest.raises(RepositoryError, match="Nessie's answer") as raised:
        parsed(content)

    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("time", ["yesterday", " ", "+1000000000-12-31T23:59:59Z"])
def test_a_commit_with_an_unreadable_time_is_an_error(time: str) -> None:
    with pytest.raises(RepositoryError, match="unreadable time"):
        entry({"commitMeta": {"hash": HASH, "commitTime": time, "parentCommitHashes": [PARENT]}, "operations": []})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05.123Z", datetime(2026, 1, 2, 3, 4, 5, 123000, tzinfo=UTC)),
        ("2026-01-02T03:04:05.123456789Z", datetime(2026, 1, 2, 3, 4, 5, 123456, tzinfo=UTC)),
        ("2026-01-02T03:04:05+02:00", datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("0001-01-01T00:00:00+02:00", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_commit_times_are_utc_with_microseconds(text: str, expected: datetime) -> None:
    found = entry({"commitMeta": {"hash": HASH, "commitTime": text}, "parentCommitHash": PARENT})

    assert expected == found.commit_time
    assert found.commit_time.tzinfo is UTC
    assert found.operations is None


META = {"hash": HASH, "commitTime": "2026-01-02T03:04:05Z"}


def test_the_parent_is_found_in_either_place() -> None:
    both: dict[str, object] = {
        "commitMeta": {**META, "parentCommitHashes": [PARENT, OTHER]},
        "parentCommitHash": PARENT,
    }

    assert PARENT == entry({"commitMeta": both["commitMeta"]}).parent_id
    assert PARENT == entry({"commitMeta": META, "parentCommitHash": PARENT}).parent_id
    assert PARENT == entry(both).parent_id
    assert entry({"commitMeta": META, "parentCommitHash": NO_COMMIT}).parent_id is None


@pytest.mark.parametrize(
    "answer",
    [
        {"commitMeta": META},
        {"commitMeta": META, "parentCommitHash": None},
        {"commitMeta": META, "parentCommitHash": ""},
        {"commitMeta": META, "parentCommitHash": "first"},
        {"commitMeta": {**META, "parentCommitHashes": []}},
        {"commitMeta": {**META, "parentCommitHashes": [None]}},
        {"commitMeta": {**META, "parentCommitHashes": [OTHER]}, "parentCommitHash": PARENT},
        {"commitMeta": {**META, "hash": None}, "parentCommitHash": PARENT},
        {"commitMeta": {**META, "hash": ""}, "parentCommitHash": PARENT},
        {"commitMeta": {**META, "commitTime": None}, "parentCommitHash": PARENT},
        {"commitMeta": META, "parentCommitHash": PARENT, "operations": [None]},
        {"commitMeta": META, "parentCommitHash": PARENT, "operations": {}},
    ],
)
def test_s34_a_commit_that_lacks_its_parent_or_anything_else_is_an_error(answer: dict[str, object]) -> None:
    with pytest.raises(RepositoryError) as raised:
        entry(answer)

    assert "\n" not in str(raised.value)


def test_an_unknown_operation_is_an_error() -> None:
    operation = {"type": "MERGE_KEYS", "key": {"elements": ["t"]}}

    with pytest.raises(RepositoryError, match="unknown operation 'MERGE_KEYS'"):
        entry({"commitMeta": META, "parentCommitHash": PARENT, "operations": [operation]})
