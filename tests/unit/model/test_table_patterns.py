from __future__ import annotations

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.table_patterns import TablePatterns


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("sales", "sales.orders", True),
        ("sales", "sales.eu.orders", True),
        ("sales.*", "sales.orders", True),
        ("sales.*", "sales_2025.orders", False),
        ("sales", "sales_2025.orders", False),
        ("orders", "sales.orders", False),
        ("*.orders", "sales.eu.orders", True),
        ("*.orders", "sales.orders_2025", False),
        ("sales.o?ders", "sales.orders", True),
        ("sales.[ab]*", "sales.audit", True),
        ("SALES", "sales.orders", False),
        ("*", "anything", True),
    ],
)
def test_a_pattern_matches_the_whole_name_of_a_table_or_of_a_namespace(pattern: str, name: str, matches: bool) -> None:
    assert matches == TablePatterns(include=[pattern]).matches(name)
    assert matches != TablePatterns(exclude=[pattern]).matches(name)


def test_what_is_excluded_is_so_whatever_is_included() -> None:
    patterns = TablePatterns(include=["sales", "stock"], exclude=["sales.audit*"])
    names = ["sales.orders", "sales.audit_2025", "stock.items", "hr.people"]
    assert ["sales.orders", "stock.items"] == [name for name in names if patterns.matches(name)]


def test_an_empty_pattern_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must not be empty"):
        TablePatterns(exclude=[" "])
