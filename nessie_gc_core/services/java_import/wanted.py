"""What a live set of the Java tool becomes; none that is incomplete or in doubt can be swept (S10, S18)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.model.java_tables import JavaLiveSet
from nessie_gc_core.model.live_sets import LiveSet, LiveSetStatus
from nessie_gc_core.model.text import time_text
from nessie_gc_core.services.java_import.rows import DoubtError

_COMPLETE = frozenset({LiveSetStatus.IDENTIFY_SUCCESS, LiveSetStatus.EXPIRY_SUCCESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedLiveSet:
    """A live set as it will be here."""

    id: UUID
    """The id that it has there."""
    created: datetime
    """When its mark began, UTC."""
    completed: datetime
    """When its mark ended, UTC."""
    swept: tuple[datetime, datetime] | None
    """When its sweep began and ended, UTC, if it was complete; only then has it deferred deletions."""
    failure: str | None
    """Why it cannot be swept; ``None``: it can, or was swept."""


def wanted_of(java: JavaLiveSet, zone: ZoneInfo) -> WantedLiveSet:
    """What a live set becomes.

    Raises:
        DoubtError: nothing; the message says why.
    """
    try:
        id_, status = UUID(java.live_set_id), LiveSetStatus(java.status or "")
    except ValueError as error:
        raise DoubtError("its id or its status is unknown") from error
    if status is LiveSetStatus.IDENTIFY_IN_PROGRESS:
        raise DoubtError("its mark is under way, or was killed")
    if java.identify_started is None:
        raise DoubtError("the start of its mark is unknown, so its age cannot be checked")
    failure = None
    if status not in _COMPLETE or java.error_message is not None:
        failure = f"the Java tool left it in {status}" + (f": {java.error_message}" if java.error_message else "")
    created = _utc(java.identify_started, zone)
    started, ended = (_utc(time, zone) if time else created for time in (java.expire_started, java.expire_finished))
    return WantedLiveSet(
        id=id_,
        created=created,
        completed=_utc(java.identify_finished, zone) if java.identify_finished else created,
        swept=(started, ended) if status is LiveSetStatus.EXPIRY_SUCCESS else None,
        failure=failure,
    )


def what_is_left(wanted: WantedLiveSet, found: LiveSet | None, identity: str, store: LiveSetStore) -> tuple[bool, bool]:
    """Whether the mark, and whether the sweep of a live set is still to be imported; an import may have been killed.

    Raises:
        DoubtError: another live set has its id.
    """
    if found is None:
        return True, wanted.swept is not None
    if (found.repository, found.created) != (identity, wanted.created):
        raise DoubtError(
            f"there is a live set of {found.repository}, created at {time_text(found.created)}, with its id; check the "
            "repository and `java_time_zone`"
        )
    if found.status is LiveSetStatus.IDENTIFY_IN_PROGRESS:
        return True, wanted.swept is not None
    if wanted.swept is None:
        return False, False
    was_cut_off = (
        found.status is LiveSetStatus.EXPIRY_IN_PROGRESS
        and found.expiry_started == wanted.swept[0]
        and next(iter(store.steps(found.id)), None) is None
    )
    return False, was_cut_off or found.status is LiveSetStatus.IDENTIFY_SUCCESS


def _utc(time: datetime, zone: ZoneInfo) -> datetime:
    """Of two instants with this local time, the first: a live set is rather too old than too young."""
    return (time if time.tzinfo is not None else time.replace(tzinfo=zone, fold=0)).astimezone(UTC)
