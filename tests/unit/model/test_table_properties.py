from __future__ import annotations

import pytest

from nessie_gc_core.model.table_properties import gc_enabled


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("TRUE", True), ("True", True), ("false", False), ("no", False), ("1", False), ("", False)],
)
def test_gc_enabled_is_read_as_iceberg_reads_it(value: str, expected: bool) -> None:
    assert expected == gc_enabled({"gc.enabled": value})


def test_a_table_that_does_not_say_may_be_collected() -> None:
    assert gc_enabled({"owner": "somebody"})
