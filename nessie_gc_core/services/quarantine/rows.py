"""Records of files in quarantine as rows, so that they are joined with what was found in the lake."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.model.batches import Row, from_micros, to_micros
from nessie_gc_core.model.quarantine import HeldFile, HeldState, bucket_of_tags

_TEXTS = ("repository", "live_set_id", "place", "held_path", "location", "path", "table", "state")
_NUMBERS = ("size", "modified", "held", "until", "sidecar")
_TIMES = _NUMBERS[1:4]
RECORDS = pa.schema(
    [*(pa.field(name, pa.string(), nullable=False) for name in _TEXTS), *(pa.field(n, pa.int64()) for n in _NUMBERS)]
)
"""Whole records."""
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def record_row(file: HeldFile) -> Row:
    """A record as a row (:data:`RECORDS`)."""
    texts = {**{name: getattr(file, name) for name in _TEXTS}, "live_set_id": str(file.live_set_id)}
    numbers = {"size": file.size, "sidecar": int(file.sidecar)}
    numbers |= {name: None if (at := getattr(file, name)) is None else to_micros(at) for name in _TIMES}
    return (*(texts[name] for name in _TEXTS), *(numbers[name] for name in _NUMBERS))


def record_of(row: dict[str, Any]) -> HeldFile:
    """The other way round."""
    times = {name: from_micros(row[name]) for name in _TIMES}
    others = {name: row[name] for name in _TEXTS if name not in ("live_set_id", "state")}
    others |= {"live_set_id": UUID(row["live_set_id"]), "state": HeldState(row["state"])}
    others |= {"size": row["size"], "sidecar": bool(row["sidecar"])}
    return HeldFile(**others, **times)  # type: ignore[arg-type]  # the schema says what is null


def with_more_time(file: HeldFile, *, now: datetime, until: datetime) -> HeldFile:
    """The record of a file that is needed, or may be; it can be restored even if its purge had begun.

    What an earlier sweep found does not count any more: it may have had another policy.
    """
    state = HeldState.HELD if file.state is HeldState.PURGING else file.state
    held = now if bucket_of_tags(file.place) is None else _NEVER
    return replace(file, held=held, until=max(file.until, until), state=state)
