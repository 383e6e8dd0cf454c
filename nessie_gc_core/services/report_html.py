"""A report as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from nessie_gc_core.model.text import size_text

_MOST = 20
"""Rows of one list."""


def report_html(report: Mapping[str, Any], outcomes: Mapping[str, Mapping[str, int]]) -> str:
    """HTML without scripts or styles of its own; whatever text comes from data is escaped.

    Args:
        report: the report as :meth:`GcReport.to_dict` gives it.
        outcomes: files and bytes of each outcome.
    """
    title = "dry run" if report["dry_run"] else "run"
    head = f"Nessie GC, {title} on {report['address'] or report['repository']}, live set {report['live_set_id']}"
    rows = (
        (name.replace("_", " "), tally["files"], tally["bytes"]) for name, tally in outcomes.items() if tally["files"]
    )
    parts = [f"<h4>{escape(head)}</h4>", _table(("unreferenced", "files", "bytes"), rows)]
    count = {**report["counts"], "failed_files": report["failed"]["files"], "spared_files": report["spared"]["files"]}
    parts += [
        _list(f"{name}: nothing was deleted there", report[name], "location", count[name])
        for name in ("unknown", "unread")
    ]
    parts += [_list(name, report[name], "path", count[name]) for name in ("unreadable", "failed_files", "spared_files")]
    parts += [f"<p>warning: {escape(warning)}</p>" for warning in report["warnings"]]
    return "\n".join(part for part in parts if part)


def _table(columns: Iterable[str], rows: Iterable[tuple[str, int, int]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join(
        f"<tr><td>{escape(name)}</td><td>{files:,}</td><td>{size_text(size)}</td></tr>" for name, files, size in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _list(title: str, rows: list[dict[str, str | None]], name: str, count: int) -> str:
    if not rows:
        return ""
    items = "".join(
        f"<li><code>{escape(row[name] or '')}</code>: {escape(row['reason'] or '')}</li>" for row in rows[:_MOST]
    )
    left = count - min(len(rows), _MOST)
    more = f"<li>and {left:,} more</li>" if left > 0 else ""
    return f"<p>{escape(title.replace('_', ' '))}</p><ul>{items}{more}</ul>"
