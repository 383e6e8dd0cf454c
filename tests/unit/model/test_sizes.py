from __future__ import annotations

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.sizes import parse_size

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("text", "size"),
    [("8MB", 8 * MB), ("8 MiB", 8 * MB), ("8m", 8 * MB), ("1.5 kb", 1536), ("2GB", 2048 * MB), ("100B", 100)],
)
def test_units_are_binary(text: str, size: int) -> None:
    assert size == parse_size(text, "target")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("8", "has no unit; write 8MiB or 8B"),
        ("8 XB", "is not a size"),
        ("-8MB", "is not a size"),
        ("", "is not a size"),
    ],
)
def test_what_is_no_size_or_has_no_unit_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        parse_size(text, "target")
