"""Rows for the tests of live-set stores, and the fixtures that those tests share."""

# ruff: noqa: D102 - the fixtures are described where authors read, at LiveSetStoreContract
from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import ClassVar
from uuid import UUID, uuid4

import pytest

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.model.live_sets import FileDeletion
from nessie_gc_core.model.repository import ICEBERG_TABLE, ICEBERG_VIEW, ContentVersion
from nessie_gc_core.testing.demands import not_defined

NOON = datetime(2026, 3, 29, 12, 34, 56, 123457, tzinfo=UTC)
"""A time with microseconds, on a day on which clocks were changed in Europe."""
KOLKATA = timezone(timedelta(hours=5, minutes=30))
HONOLULU = timezone(timedelta(hours=-10))
LONG_TEXT = "long/ü/" + "0123456789" * 1000
"""More than 10,000 characters."""


class StoreFixtures:
    """The fixtures of the tests of live-set stores; described at ``LiveSetStoreContract``."""

    outlives_processes: ClassVar[bool] = True
    """Whether a store that is closed and opened again still has its live sets."""

    @pytest.fixture
    def open_store(self) -> Callable[[], LiveSetStore]:
        raise not_defined("open_store")

    @pytest.fixture
    def store(self, open_store: Callable[[], LiveSetStore]) -> Iterator[LiveSetStore]:
        with open_store() as store:
            yield store

    @pytest.fixture
    def repository(self) -> str:
        """A repository that no other test has."""
        return f"https://nessie.example/{uuid4()}"

    @pytest.fixture
    def identifying(self, store: LiveSetStore, repository: str) -> UUID:
        """A live set in IDENTIFY_IN_PROGRESS."""
        return start(store, repository)

    @pytest.fixture
    def expiring(self, store: LiveSetStore, identifying: UUID) -> UUID:
        """A live set in EXPIRY_IN_PROGRESS."""
        store.finish_identify(identifying, at=NOON)
        store.start_expire(identifying, at=NOON)
        return identifying


def start(store: LiveSetStore, repository: str, created: datetime = NOON) -> UUID:
    """A new live set in IDENTIFY_IN_PROGRESS."""
    live_set_id = uuid4()
    store.start_identify(live_set_id, repository=repository, created=created)
    return live_set_id


def version(number: int, *, content_id: str | None = None) -> ContentVersion:
    """The numbered content version; tables and views alternate."""
    return ContentVersion(
        content_id=content_id if content_id is not None else f"content-{number}",
        content_type=ICEBERG_VIEW if number % 2 else ICEBERG_TABLE,
        metadata_location=f"s3://bucket/t/metadata/{number}.metadata.json",
        snapshot_id=number - 1,
        content_key=f"db.table_{number}",
        commit_id=f"{number:064x}",
        commit_time=NOON - timedelta(microseconds=number),
        location=f"s3://bucket/t{number}",
    )


def deletion(number: int) -> FileDeletion:
    """The numbered deferred deletion."""
    return FileDeletion(
        location=f"s3://bucket/t{number % 3}/", path=f"data/{number}.parquet", size=number, modified=NOON
    )
