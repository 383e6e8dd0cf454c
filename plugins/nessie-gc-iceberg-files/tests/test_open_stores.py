"""The stores of a process: shared, counted, closed with the last of those that have them."""

from __future__ import annotations

import gc
import weakref

import pytest
from nessie_gc_iceberg_files import open_stores
from nessie_gc_iceberg_files.local_store import LocalStore
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.places import place_of

HERE = place_of("/wh/t/")


class Counted(LocalStore):
    closed = 0

    def close(self):
        self.closed += 1


@pytest.fixture(autouse=True)
def of_this_test(monkeypatch):
    monkeypatch.setattr(open_stores, "_SHARED", open_stores._Shared())
    monkeypatch.setattr(open_stores, "_open", lambda place, properties: Counted())


def test_connectors_with_the_same_properties_share_a_store_until_the_last_gives_it_back():
    one, other, third = Stores({"a": "1"}), Stores({"a": "1"}), Stores({"a": "2"})
    store = one.of(HERE)
    assert isinstance(store, Counted)
    assert store is other.of(HERE) is one.of(HERE)
    assert store is not third.of(HERE)
    one.close()
    one.close()
    assert 0 == store.closed
    other.close()
    assert 1 == store.closed
    assert store is not one.of(HERE)


def test_what_a_connector_left_alone_is_not_counted_for_the_next_one_that_has_the_store(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t/link").symlink_to(tmp_path)
    place = place_of(f"{tmp_path}/t/")

    def left_alone(stores):
        list(stores.of(place).files(place.key))
        return stores

    first, second = left_alone(Stores({})), Stores({})
    assert first.of(place) is second.of(place)
    left_alone(second)
    assert (1, 0) == (second.take_left_alone(), first.take_left_alone())
    assert 2 == left_alone(left_alone(second)).take_left_alone()
    left_alone(second).close()
    assert 1 == left_alone(second).take_left_alone()


def test_the_garbage_collector_may_close_a_connector_while_a_store_is_opened(monkeypatch):
    """A collector that nobody has any more closes its connectors wherever the garbage collector runs."""

    class Garbage:
        pass

    old = Stores({})
    garbage: Garbage | None = Garbage()
    store = old.of(HERE)
    assert isinstance(store, Counted)
    weakref.finalize(garbage, old.close)

    def slowly(place, properties):
        nonlocal garbage
        garbage = None
        gc.collect()
        return Counted()

    monkeypatch.setattr(open_stores, "_open", slowly)
    new = Stores({"other": "properties"})
    assert store is not new.of(HERE)
    new.close()
    assert 1 == store.closed
