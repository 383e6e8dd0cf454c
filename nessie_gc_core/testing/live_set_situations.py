"""Tests of live-set stores in situations that are easy to get wrong: failures, and optional abilities."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest

from nessie_gc_core.connectors import LiveSetStore, SupportsSharedClock, SupportsSqlSchema
from nessie_gc_core.errors import ConfigurationError, LiveSetNotFoundError, StoreError
from nessie_gc_core.testing.demands import demands, not_defined, possible, skip_without
from nessie_gc_core.testing.live_set_samples import NOON, StoreFixtures, version
from nessie_gc_core.testing.not_possible import NotPossible

OpenStore = Callable[[], LiveSetStore]
"""Opens a store."""


class StoreSituationTests(StoreFixtures):
    """What happens when the store cannot be used, and what only some stores can."""

    @pytest.fixture
    def unusable(self) -> Sequence[OpenStore] | NotPossible:
        raise not_defined("unusable", situation=True)

    # ---- failures -------------------------------------------------------------------------------------
    @demands(
        "S15: an unusable store never counts as an empty one. Raise StoreError or ConfigurationError, in one line "
        "without secrets; a bare error of the driver does not say what to do."
    )
    def test_a_store_that_cannot_be_used_is_an_error_and_not_empty(
        self, store: LiveSetStore, unusable: Sequence[OpenStore] | NotPossible
    ) -> None:
        for open_unusable in possible(unusable, "unusable", store):
            for act in (_list, _start, _read, _remember):
                with pytest.raises((StoreError, ConfigurationError)) as caught, open_unusable() as opened:
                    act(opened)
                assert not isinstance(caught.value, LiveSetNotFoundError)
                assert len(str(caught.value).splitlines()) == 1

    # ---- optional abilities ---------------------------------------------------------------------------
    @demands("S8: the clock of the store gives an aware time in UTC, or None if it cannot tell.")
    def test_the_shared_clock_is_aware_utc_or_not_known(self, store: LiveSetStore) -> None:
        if not isinstance(store, SupportsSharedClock):
            skip_without(store, SupportsSharedClock)
        now = store.shared_time()
        assert now is None or timedelta(0) == now.utcoffset()

    @demands("S27: an unknown strategy is refused with a ConfigurationError that names it, and changes nothing.")
    def test_an_unknown_schema_strategy_is_refused(self, store: LiveSetStore, identifying: UUID) -> None:
        if not isinstance(store, SupportsSqlSchema):
            skip_without(store, SupportsSqlSchema)
        with pytest.raises(ConfigurationError, match="NO_SUCH_STRATEGY"):
            store.create_schema("NO_SUCH_STRATEGY")
        assert identifying == store.get(identifying).id

    @demands(
        "SupportsSqlSchema: CREATE refuses tables that exist, and CREATE_IF_NOT_EXISTS leaves them with their rows."
    )
    def test_tables_that_exist_are_refused_or_left(self, store: LiveSetStore, identifying: UUID) -> None:
        if not isinstance(store, SupportsSqlSchema):
            skip_without(store, SupportsSqlSchema)
        store.add_content_versions(identifying, [version(1)])
        with pytest.raises(StoreError):
            store.create_schema("CREATE")
        store.create_schema("CREATE_IF_NOT_EXISTS")
        assert [version(1)] == list(store.content_versions(identifying))

    @demands("SupportsSqlSchema: the script contains the statements that create the tables, and needs no connection.")
    def test_the_schema_is_shown_as_a_script(self, open_store: OpenStore) -> None:
        with open_store() as store:
            if not isinstance(store, SupportsSqlSchema):
                skip_without(store, SupportsSqlSchema)
            assert "CREATE TABLE" in store.schema_script().upper()


def _list(store: LiveSetStore) -> None:
    list(store.live_sets())


def _start(store: LiveSetStore) -> None:
    store.start_identify(uuid4(), repository="r", created=NOON)


def _read(store: LiveSetStore) -> None:
    list(store.seen_contents("r"))


def _remember(store: LiveSetStore) -> None:
    store.add_tombstones("r", ["s3://bucket/a"], at=NOON)
