"""The version of the format of reports, and of everything else that is written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

FORMAT = 1
"""Raised when a field is removed or renamed, or when its type, its unit or its meaning changes. New fields, new names
of states and findings, and other words in texts do not raise it."""
KEY = "format"
"""The name of the field."""
FILE_KEY = b"nessie-gc.format"
"""The key of the metadata of Parquet files."""


def with_format(body: Mapping[str, Any]) -> dict[str, Any]:
    """An object as it is written: its first field says the version."""
    return {KEY: FORMAT, **{name: value for name, value in body.items() if name != KEY}}
