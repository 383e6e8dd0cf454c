"""What reports on unreferenced assets say: how many near the threshold, and what the next deletion takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.schedule import JobRun, RunStatus, ScheduledJob
from nessie_gc_core.services.schedule.outcome import body_of
from nessie_gc_core.services.schedule.report_parts import inside, listed, number, text

SERVICE = "report"
"""The service that counts sightings."""
COUNTED = ("identify-unreferenced", "delete-unreferenced")
"""The services whose sightings it counts."""
MOST_REPORTS = 5
"""So many jobs of this service are shown: the first ones by name."""
MOST_TABLES = 10
"""So many tables of the next deletion are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetGroup:
    """Some unreferenced assets."""

    name: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetSightings:
    """What the latest report of a job says of a table of unreferenced assets."""

    run: JobRun
    """The run that made the report."""
    table: str
    """The table of unreferenced assets."""
    seen_count: int
    """In how many runs an asset must have been seen."""
    seen: Sequence[AssetGroup]
    """By the number of runs that have seen them, the fewest first; the last ones reach the threshold."""
    taken: AssetGroup
    """What the next deletion looks at again, and takes."""
    taken_tables: Sequence[AssetGroup]
    """The largest tables of it."""
    others: AssetGroup | None
    """All other tables of it together, if there are more."""

    @property
    def most(self) -> int:
        """Bytes of the largest group."""
        return max((group.bytes for group in self.seen), default=0)


def sightings_of(store: ScheduleStore, schedule: str, jobs: Iterable[ScheduledJob]) -> Iterator[AssetSightings]:
    """The latest reports of the jobs that make some.

    Raises:
        StoreError: the store cannot be used.
    """
    for job in [job for job in jobs if job.service == SERVICE][:MOST_REPORTS]:
        for run in store.runs(schedule, jobs=[job.name], statuses=[RunStatus.SUCCEEDED], limit=1):
            found = store.run(schedule, run.id)
            body = body_of(None if found is None else found.report)
            if inside(body, "latest", "sightings") is not None:
                yield _sightings(run, body)


def _sightings(run: JobRun, body: object) -> AssetSightings:
    taken = inside(body, "latest", "next_delete")
    tables = [_group(each) for each in listed(inside(taken, "groups"))]
    rest = [*tables[MOST_TABLES:], *([_group(other)] if (other := inside(taken, "other")) is not None else [])]
    return AssetSightings(
        run=run,
        table=text(inside(body, "table")),
        seen_count=number(inside(body, "threshold", "seen_count")),
        seen=[_group(each) for each in listed(inside(body, "latest", "sightings", "groups"))],
        taken=_group(taken),
        taken_tables=tables[:MOST_TABLES],
        others=AssetGroup(name="", files=sum(each.files for each in rest), bytes=sum(each.bytes for each in rest))
        if rest
        else None,
    )


def _group(value: object) -> AssetGroup:
    return AssetGroup(
        name=text(inside(value, "name")), files=number(inside(value, "files")), bytes=number(inside(value, "bytes"))
    )
