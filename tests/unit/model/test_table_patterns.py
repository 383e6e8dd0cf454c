from __future__ import annotations

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.table_patterns import TablePatterns


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("sales[.].*", "sales.orders", True),
        ("sales[.].*", "sales.eu.orders", True),
        ("sales[.].*", "sales_2025.orders", False),
        ("sales", "sales.orders", False),
        ("orders", "sales.orders", False),
        (".*[.]orders", "sales.eu.orders", True),
        (".*[.]orders", "sales.orders_2025", False),
        ("SALES.*", "sales.orders", False),
        ("sales.orders|stock.items", "stock.items", True),
        ("sales.orders|stock.items", "stock.items_2025", False),
    ],
)
def test_s12_a_pattern_matches_the_whole_name(pattern: str, name: str, matches: bool) -> None:
    assert matches == TablePatterns.parse([pattern]).matches(name)
    assert matches != TablePatterns.parse((), [pattern]).matches(name)


def test_what_is_excluded_is_so_whatever_is_included() -> None:
    patterns = TablePatterns.parse(["sales[.].*", "stock[.].*"], [".*audit.*"])
    names = ["sales.orders", "sales.audit_2025", "stock.items", "hr.people"]
    assert ["sales.orders", "stock.items"] == [name for name in names if patterns.matches(name)]


def test_a_text_that_is_no_pattern_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"option 'exclude': 'sales\(' is not a valid regular expression"):
        TablePatterns.parse((), ["sales("])
