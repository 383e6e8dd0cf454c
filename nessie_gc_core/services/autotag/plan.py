"""What is to be done about the tags of one holder: pure decisions, from what should be there, what is, and records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.services.autotag.policies import WantedTag


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of the tags of a holder."""

    holder: str
    """The content id of the table; empty for the repository itself."""
    existing: Mapping[str, str | None]
    """The names of its tags with what they are at, and those of its branches with ``None``."""
    records: Mapping[str, TagRecord]
    """The records of its tags, by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPlan:
    """What is to be done."""

    make: tuple[WantedTag, ...] = ()
    """Tags to make, the oldest first."""
    delete: tuple[TagRecord, ...] = ()
    """Tags of ours that no policy keeps any more."""
    forget: tuple[TagRecord, ...] = ()
    """Records of what is gone, was never made, or is no tag of ours any more."""
    foreign: tuple[WantedTag, ...] = ()
    """Names that somebody else gave to something."""
    changed: tuple[TagRecord, ...] = ()
    """Tags that somebody moved since they were made, and that no policy keeps: theirs now. They are forgotten, too."""
    doubtful: tuple[TagRecord, ...] = ()
    """Tags that may be ours or not, and that no policy keeps; they stay."""
    kept: int = 0
    """How many tags of ours stay."""


def plan_tags(
    wanted: Mapping[str, WantedTag], known: Known, *, places: Collection[tuple[str, str]], at: datetime
) -> TagPlan:
    """Decides.

    A tag is made for the latest roll-over of each period, and for each roll-over since the oldest one for which the
    period has a record: those that were missed while nothing ran. A name that somebody else uses is left to them.
    Only a tag that is known to be ours, and that is where it was made, is deleted.

    Args:
        wanted: the tags that should be there, by name.
        known: what is there.
        places: branch and prefix of the policies that are worked on; records of others are left alone.
        at: the instant.
    """
    mine = {name: each for name, each in known.records.items() if (each.branch, each.prefix) in places}
    due = sorted(_due(wanted, mine), key=lambda each: each.instant)
    rolled = [each for name, each in mine.items() if name not in wanted and each.instant <= at]
    there = [each for each in rolled if each.name in known.existing]
    unmoved = [each for each in there if each.target is not None and known.existing[each.name] == each.target]
    delete = [each for each in unmoved if each.made]
    doubtful = [each for each in unmoved if not each.made]
    changed = [each for each in there if each not in unmoved and each.made]
    stays = {each.key for each in (*delete, *doubtful)}
    return TagPlan(
        make=tuple(each for each in due if each.name not in known.existing),
        delete=tuple(delete),
        forget=tuple(each for each in rolled if each.key not in stays),
        foreign=tuple(each for each in due if each.name in known.existing and each.name not in mine),
        changed=tuple(changed),
        doubtful=tuple(doubtful),
        kept=sum(1 for name in wanted if name in mine and mine[name].made and name in known.existing),
    )


def _due(wanted: Mapping[str, WantedTag], mine: Mapping[str, TagRecord]) -> Iterator[WantedTag]:
    """What should be there and has no record, with the periods that ask for it: since their oldest record, or now.

    A tag of which nobody knows whether it was made is due again, unless it is there.
    """
    oldest = _oldest(mine.values())
    for name, each in wanted.items():
        record = mine.get(name)
        if record is not None and (record.made or record.target is None):
            continue
        asking = tuple(
            period
            for period in each.periods
            if period in each.is_latest or (period in oldest and each.instant >= oldest[period])
        )
        if asking or record is not None:
            yield replace(each, periods=asking if record is None else record.periods)


def _oldest(records: Iterable[TagRecord]) -> dict[str, datetime]:
    """The oldest roll-over of each period of which there is a record."""
    found: dict[str, datetime] = {}
    for record in records:
        for period in record.periods:
            found[period] = min(found.get(period, record.instant), record.instant)
    return found
