"""What the report of a run that is not complete says, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_BAD = frozenset({"conflict", "refused", "unknown", "unreadable", "failed"})
"""Outcomes of tables and tags that were not done."""


def what_failed(service: str, report: Mapping[str, Any]) -> str:
    """Counts what was not done, and names one of those things."""
    said = ", ".join(_counts(report)) or "exit code 1"
    which = f" (live set {report['live_set_id']})" if report.get("live_set_id") else ""
    return f"{service}: {said}{which}; the report is in XCom, as return_value"


def _counts(report: Mapping[str, Any]) -> Iterator[str]:
    for name, words in {
        "failed": "{} could not be deleted",
        "unknown": "{} stayed unknown",
        "unreadable": "{} could not be read",
    }.items():
        if number := _number(report, name):
            yield words.format(f"{number:,}")
    if isinstance(report.get("failed"), str):
        yield str(report["failed"])
    yield from _items(report)
    if isinstance(collection := report.get("collection"), Mapping):
        yield from _counts(collection)


def _number(report: Mapping[str, Any], name: str) -> int:
    """How many of something a report has: a number, files with their bytes, or a list that may have been cut."""
    counts = report.get("counts")
    value = counts[name] if isinstance(counts, Mapping) and name in counts else report.get(name)
    if isinstance(value, Mapping):
        value = value.get("files")
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = len(value)
    return value if isinstance(value, int) else 0


def _items(report: Mapping[str, Any]) -> Iterator[str]:
    for kind in ("tables", "tags"):
        items = [item for item in report.get(kind) or () if isinstance(item, Mapping) and item.get("outcome") in _BAD]
        if items:
            first, more = items[0], f" and {len(items) - 1:,} more" if len(items) > 1 else ""
            name = first.get("table") or first.get("name")
            yield f"{name}{more}: {first['outcome']}: {first.get('reason')}"
