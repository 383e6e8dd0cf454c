"""What is to be done about the tags of one holder: pure decisions, from what should be there, what is, and records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from datetime import datetime

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.model.text import time_text
from nessie_gc_core.services.autotag.policies import WantedTag

Places = Mapping[tuple[str, str], Set[str]]
"""Branch and prefix of the policies that are worked on, with their periods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the tags of a holder."""

    existing: Mapping[str, str | None]
    """The names of its tags with what they are at, and those of its branches with ``None``."""
    records: Mapping[str, TagRecord]
    """The records of its tags, by their names."""

    def is_where_it_was(self, record: TagRecord) -> bool:
        """Whether the tag is there, at what its record says."""
        return record.target is not None and self.existing.get(record.name) == record.target


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPlan:
    """What is to be done."""

    make: tuple[WantedTag, ...] = ()
    """Tags to make, the oldest first."""
    delete: tuple[TagRecord, ...] = ()
    """Our tags that no policy keeps any more."""
    record: tuple[TagRecord, ...] = ()
    """Records that change, though their tags do not: more or fewer periods ask for them, or someone deleted them."""
    forget: tuple[TagRecord, ...] = ()
    """Records of tags that are gone, were never made, or are no longer ours."""
    foreign: tuple[WantedTag, ...] = ()
    """Names that someone else gave to something."""
    changed: tuple[TagRecord, ...] = ()
    """Tags that someone moved since they were made, and that no policy keeps: theirs now. They are forgotten, too."""
    vanished: tuple[TagRecord, ...] = ()
    """Tags that a policy keeps and that someone deleted. They are not made again."""
    doubtful: tuple[TagRecord, ...] = ()
    """Tags that may be ours or not; they stay."""
    kept: int = 0
    """How many of our tags stay."""
    others: int = 0
    """How many of our tags belong to other branches, prefixes or periods; they stay as well."""


def plan_tags(wanted: Mapping[str, WantedTag], known: Known, *, places: Places, at: datetime) -> TagPlan:
    """Decides.

    A tag is made for the latest roll-over of each period, and for each roll-over since the oldest one for which the
    period has a record: those that were missed while nothing ran. A name that someone else uses is left to them. A tag
    is deleted only if it is known to be ours, is still where it was made, and is not kept by any period. Periods that
    these policies do not name still keep their tags, because other runs have policies of their own.

    Raises:
        ConfigurationError: a policy gives a name that one of our tags has for another instant.
    """
    here = {name: each for name, each in known.records.items() if (each.branch, each.prefix) in places}
    _check_instants(wanted, here)
    left = [_released(each, places) for name, each in here.items() if name not in wanted and each.instant <= at]
    rolled = [each for each in left if not each.periods]
    due = sorted(_due(wanted, here), key=lambda each: each.instant)
    vanished = [each for name, each in here.items() if name in wanted and each.made and name not in known.existing]
    at_work = {each.name for each in rolled} | wanted.keys()
    there = [each for each in known.records.values() if each.made and known.is_where_it_was(each)]
    return TagPlan(
        make=tuple(each for each in due if each.name not in known.existing and each.name not in _made(here)),
        record=(
            *_claims(due, here, known),
            *(each for each in left if each.periods and each != here[each.name]),
            *(replace(each, target=None, made=False) for each in vanished),
        ),
        foreign=tuple(each for each in due if each.name in known.existing and each.name not in here),
        vanished=tuple(vanished),
        kept=sum(1 for each in there if each.name in wanted and each.name in here),
        others=sum(1 for each in there if each.name not in here or each.name not in at_work),
        **_gone(rolled, known),
        doubtful=tuple(
            each for each in here.values() if each.name in at_work and not each.made and known.is_where_it_was(each)
        ),
    )


def _released(record: TagRecord, places: Places) -> TagRecord:
    """A record without the periods of the policies, none of which keeps it any more."""
    mine = places[record.branch, record.prefix]
    return replace(record, periods=tuple(period for period in record.periods if period not in mine))


def _gone(rolled: Iterable[TagRecord], known: Known) -> dict[str, tuple[TagRecord, ...]]:
    """What becomes of records that no policy keeps any more."""
    delete, forget, changed = list[TagRecord](), list[TagRecord](), list[TagRecord]()
    for each in rolled:
        if known.is_where_it_was(each):
            delete.extend([each] if each.made else [])  # one that is in doubt stays, and so does its record
            continue
        forget.append(each)
        changed.extend([each] if each.made and each.name in known.existing else [])
    return {"delete": tuple(delete), "forget": tuple(forget), "changed": tuple(changed)}


def _due(wanted: Mapping[str, WantedTag], here: Mapping[str, TagRecord]) -> Iterator[WantedTag]:
    """What periods ask for that have no record of it: since their oldest record, or now."""
    oldest = _oldest(here.values())
    for name, each in wanted.items():
        record = here.get(name)
        asking = tuple(
            period
            for period in each.periods
            if (record is None or period not in record.periods)
            and (period in each.is_latest or (period in oldest and each.instant >= oldest[period]))
        )
        if record is not None and not record.made and record.target is not None:
            yield replace(each, periods=tuple(dict.fromkeys((*record.periods, *asking))))  # nobody knows of it
        elif asking:
            yield replace(each, periods=asking)


def _claims(due: Iterable[WantedTag], here: Mapping[str, TagRecord], known: Known) -> Iterator[TagRecord]:
    """Records of what is there for other periods already, with those that ask for it now."""
    for each in due:
        record = here.get(each.name)
        if record is not None and (record.made or record.target is None or known.is_where_it_was(record)):
            yield replace(record, periods=tuple(dict.fromkeys((*record.periods, *each.periods))))


def _made(here: Mapping[str, TagRecord]) -> set[str]:
    """The names of tags that were made, or that there is nothing to make of."""
    return {name for name, record in here.items() if record.made or record.target is None}


def _check_instants(wanted: Mapping[str, WantedTag], here: Mapping[str, TagRecord]) -> None:
    for name, each in wanted.items():
        record = here.get(name)
        if record is not None and (record.instant, record.state_at) != (each.instant, each.state_at):
            raise ConfigurationError(
                f"the tag {name!r} shows the state at {time_text(record.state_at)}, and would show the state at "
                f"{time_text(each.state_at)}: a policy with another time zone or delay needs another prefix"
            )


def _oldest(records: Iterable[TagRecord]) -> dict[str, datetime]:
    """The oldest roll-over of each period of which there is a record."""
    found: dict[str, datetime] = {}
    for record in records:
        for period in record.periods:
            found[period] = min(found.get(period, record.instant), record.instant)
    return found
