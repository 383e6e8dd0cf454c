"""Ranges of keys: whatever the keys and the bounds are, each key is listed once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nessie_gc_iceberg_files import key_ranges
from nessie_gc_iceberg_files.key_ranges import KeyRange, OrderedStore, listed
from nessie_gc_iceberg_files.stores import StoredFile

from nessie_gc_core.errors import ListingError

PAGE = 3
KEYS = st.sets(
    st.lists(st.sampled_from(["a", "b", "b-", "b.c", "0", "é", "\U0001f9ca", ""]), min_size=1, max_size=4).map("/".join)
)


class Listing(OrderedStore):
    """A store in memory that counts what it is asked."""

    is_ordered = True

    def __init__(self, keys, *, in_order=True):
        self.keys = sorted(keys) if in_order else list(keys)
        self.requests = 0

    def pages_after(self, prefix, after):
        found = [key for key in self.keys if key.startswith(prefix) and key > after]
        for start in range(0, max(len(found), 1), PAGE):
            self.requests += 1
            page = [StoredFile(key, 1, None) for key in found[start : start + PAGE]]
            yield page, start + PAGE >= len(found)

    def folders_after(self, prefix, after):
        self.requests += 1
        below = [key[len(prefix) :] for key in self.keys if key.startswith(prefix) and key > after]
        return sorted({prefix + rest.partition("/")[0] + "/" for rest in below if "/" in rest})[:PAGE]


def drained(store, prefix):
    """All keys, with the ranges in the worst order, and how many ranges there were."""
    files, waiting, ranges = list[str](), [KeyRange(prefix)], 0
    while waiting:
        ranges += 1
        for found in listed(store, waiting.pop()):
            if isinstance(found, KeyRange):
                waiting.append(found)
            else:
                files.extend(file.key for file in found)
    return sorted(files), ranges


@given(keys=KEYS.map(lambda keys: {key for key in keys if key}), pages=st.integers(1, 3))
def test_each_key_is_listed_once_whatever_the_keys_are(keys, pages):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_ranges, "PAGES", pages)
        for prefix in ("", "b/", "b"):
            expected = sorted(key for key in keys if key.startswith(prefix))
            assert expected == drained(Listing(keys), prefix)[0]


def test_a_large_prefix_is_cut_at_the_folders_that_come_next():
    keys = {f"t/data/p={part}/{number:03}" for part in range(9) for number in range(20)} | {"t/metadata/1", "t/v"}
    found, ranges = drained(Listing(keys), "t/")
    assert sorted(keys) == found
    assert ranges > 9


def test_a_prefix_of_few_pages_costs_no_more_requests_than_its_pages():
    store = Listing({f"t/data/{number}" for number in range(PAGE * key_ranges.PAGES)})
    assert (12, 1) == (len(drained(store, "t/")[0]), drained(store, "t/")[1])
    assert key_ranges.PAGES * 2 == store.requests


def test_files_in_one_folder_are_listed_in_one_go():
    store = Listing({f"t/{number:03}" for number in range(100)})
    found, ranges = drained(store, "t/")
    assert (100, 1) == (len(found), ranges)


def test_s06_a_store_that_keeps_another_order_is_an_error_and_not_a_short_listing():
    store = Listing(["t/a/x", "t/a-b/y"], in_order=False)
    with pytest.raises(ListingError, match=r"s3\.list-in-key-order"):
        drained(store, "t/")
