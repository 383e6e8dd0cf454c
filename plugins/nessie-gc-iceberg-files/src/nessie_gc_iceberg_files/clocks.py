"""A store's clock, read from its answers."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from nessie_gc_core.errors import ServiceUnavailableError


def from_date_header(value: str | None, asked: str) -> datetime:
    """The time of an HTTP Date header, UTC.

    Raises:
        ServiceUnavailableError: the answer has none.
    """
    try:
        return parsedate_to_datetime(value or "").astimezone(UTC)
    except ValueError as error:
        raise ServiceUnavailableError(f"the store of {asked} reports no valid time: {value!r}") from error
