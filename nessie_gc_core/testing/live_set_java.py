"""Tests of live-set stores that read the tables of Nessie's Java tool."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import uuid4

import pytest

from nessie_gc_core.connectors import LiveSetStore, SupportsJavaTables
from nessie_gc_core.model.java_tables import JavaBaseLocation, JavaContentVersion, JavaFileDeletion, JavaLiveSet
from nessie_gc_core.testing.demands import demands, not_defined, skip_without
from nessie_gc_core.testing.live_set_samples import StoreFixtures

ODD = "été / 表 % ' \\ x"


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaRows:
    """Rows of the Java tool's tables; those of a live set by its id."""

    live_sets: Sequence[JavaLiveSet] = ()
    content_versions: Mapping[str, Sequence[JavaContentVersion]] = field(default_factory=dict)
    base_locations: Mapping[str, Sequence[JavaBaseLocation]] = field(default_factory=dict)
    file_deletions: Mapping[str, Sequence[JavaFileDeletion]] = field(default_factory=dict)


PutJavaRows = Callable[[JavaRows], SupportsJavaTables]
"""Puts rows into new tables, and returns a store that reads them."""


class JavaTableTests(StoreFixtures):
    """The tables of the Java tool are read as they are."""

    @pytest.fixture
    def put_java_rows(self, store: LiveSetStore) -> PutJavaRows:
        if not isinstance(store, SupportsJavaTables):
            skip_without(store, SupportsJavaTables)
        raise not_defined("put_java_rows")

    @demands(
        "SupportsJavaTables: S17: every value comes back as it is in the table: NULL, long text, non-ASCII text, times "
        "without a zone."
    )
    def test_rows_of_the_java_tool_come_back_as_they_are(self, put_java_rows: PutJavaRows) -> None:
        rows = _odd_rows()
        reading = put_java_rows(rows)
        assert _sorted(rows.live_sets) == _sorted(reading.java_live_sets())
        for live_set in rows.live_sets:
            id_ = live_set.live_set_id
            assert _sorted(rows.content_versions[id_]) == _sorted(reading.java_content_versions(id_))
            assert _sorted(rows.base_locations[id_]) == _sorted(reading.java_base_locations(id_))
            assert _sorted(rows.file_deletions[id_]) == _sorted(reading.java_file_deletions(id_))

    @demands("SupportsJavaTables: rows of an unknown live set are none, and none of another live set is among them.")
    def test_an_unknown_live_set_of_the_java_tool_has_no_rows(self, put_java_rows: PutJavaRows) -> None:
        reading, unknown = put_java_rows(_odd_rows()), str(uuid4())
        assert list(reading.java_content_versions(unknown)) == []
        assert list(reading.java_base_locations(unknown)) == []
        assert list(reading.java_file_deletions(unknown)) == []


def _odd_rows() -> JavaRows:
    first, second = sorted(str(uuid4()) for _ in range(2))
    return JavaRows(
        live_sets=[
            JavaLiveSet(
                live_set_id=first,
                status="EXPIRY_SUCCESS",
                identify_started=datetime(2026, 3, 29, 4, 30, 1),  # noqa: DTZ001 - the tables have no zone
                identify_finished=datetime(2026, 3, 29, 4, 30, 2),  # noqa: DTZ001
                expire_started=datetime(2026, 3, 29, 4, 30, 3),  # noqa: DTZ001
                expire_finished=datetime(2026, 3, 29, 4, 30, 4),  # noqa: DTZ001
                error_message=ODD * 100,
            ),
            JavaLiveSet(
                live_set_id=second,
                status="IDENTIFY_IN_PROGRESS",
                identify_started=datetime(2026, 7, 1, 0, 0, 0),  # noqa: DTZ001
                identify_finished=None,
                expire_started=None,
                expire_finished=None,
                error_message=None,
            ),
        ],
        content_versions={first: [_content(number) for number in range(12)], second: [_content(3)]},
        base_locations={
            first: [
                JavaBaseLocation(content_id=f"c{number % 3}", base_location=f"s3://b/{ODD}{number}/")
                for number in range(12)
            ],
            second: [],
        },
        file_deletions={
            first: [
                JavaFileDeletion(
                    base_uri=f"s3://b/{number % 2}/",
                    path_uri=f"{number}/{ODD}".ljust(250, "x"),
                    modification_timestamp=-1 if number % 4 else 1_774_750_000_123,
                )
                for number in range(12)
            ],
            second: [JavaFileDeletion(base_uri="s3://b/0/", path_uri="0", modification_timestamp=None)],
        },
    )


def _content(number: int) -> JavaContentVersion:
    """One of three contents; some are odd."""
    return JavaContentVersion(
        content_id=f"c{number % 3}",
        commit_id=f"{number:064x}",
        content_key=f"{ODD}.{number}",
        content_type=None if number == 5 else "ICEBERG_TABLE",
        metadata_location=None if number == 4 else f"s3://b/{ODD}".ljust(1000, "m"),
        snapshot_id=None if number == 6 else 2**62 + number,
    )


def _sorted(rows: Iterable[object]) -> list[str]:
    """In one order, whatever is missing in them."""
    return sorted(map(repr, rows))
