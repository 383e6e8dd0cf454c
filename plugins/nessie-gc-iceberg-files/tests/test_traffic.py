"""What is counted of the calls of a thread."""

from __future__ import annotations

import pytest
from nessie_gc_iceberg_files.traffic import each_asked, taken


@pytest.fixture(autouse=True)
def nothing_counted_yet():
    taken()


def test_each_page_is_one_request_and_its_end_is_none() -> None:
    assert [1, 2, 3] == list(each_asked(iter([1, 2, 3])))
    assert taken().requests == 3


def test_a_page_that_cannot_be_fetched_was_asked_for() -> None:
    def pages():
        yield 1
        raise OSError("it broke off")

    with pytest.raises(OSError, match="it broke off"):
        list(each_asked(pages()))
    assert taken().requests == 2
