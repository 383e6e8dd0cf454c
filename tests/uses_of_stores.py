"""What each role of a live-set store does with it, over a lake with garbage."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from collecting import LakeServices, in_memory
from expiry_lakes import ExpiryLake
from in_quarantine import DEAD, purge, restore, with_garbage
from lakes_by_hand import lake_at, respell
from lakes_together import table
from nessie_gc_jdbc import JdbcLiveSetStore, JdbcScheduleStore
from nessie_gc_memory import MemoryLake
from nessie_gc_memory.objects import StoredObject
from tagged_lakes import BEGIN, tagged_lake

from nessie_gc_core.connectors import RepositoryConnector, SupportsQuarantine
from nessie_gc_core.model.schedule import TableBytes
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.stored_live_sets import LiveSetService
from nessie_gc_core.testing.schedule_samples import HOUR, LONG, NOON, done, job, occasion, run_of


@dataclass(frozen=True, kw_only=True)
class Lake:
    """A lake with garbage, and its services with one store or another."""

    lake: MemoryLake
    services: LakeServices
    plain: RepositoryConnector
    """A plain catalog, of which a mark reads metadata."""

    def over(self, url: str) -> LakeServices:
        """The services with the store at a URL."""
        return replace(self.services, store=JdbcLiveSetStore.from_options({"url": url}))

    def grow_old(self) -> None:
        """What was restored a moment ago is not young."""
        self._put({path: self.lake.objects.get(path) for path in self.lake.paths()})

    def leave_garbage(self) -> None:
        """Once more."""
        self._put(dict.fromkeys(DEAD))

    def _put(self, files: Mapping[str, StoredObject | None]) -> None:
        """Writes files an hour ago; the lake's clock is that of the database from now on."""
        self.lake.now = utc_now() - HOUR
        for path, found in files.items():
            self.lake.put(path, b"" if found is None else found.data if found.data is not None else found.size)
        self.lake.now = utc_now()


@contextmanager
def lake_of_stores(catalog: ExpiryLake) -> Iterator[Lake]:
    """A lake with a table and its clone, and a plain catalog with a table."""
    catalog.table()
    with lake_at(utc_now() - timedelta(days=40)) as lake:
        with_garbage(lake)
        clone = table(lake, "clone")
        for manifest in clone.manifests[1]:
            respell(lake, manifest, lambda path: path.replace("clone/data/a.", "t/data/live."))
        lake.objects.delete("memory://wh/db/clone/data/a.parquet")
        with in_memory(lake) as services:
            yield Lake(lake=lake, services=services, plain=catalog.repository)


def at_once(**more: Any) -> SweepParameters:
    return SweepParameters.from_mapping({"min_age": "PT0S", "no_age_floor": True, **more})


HELD = at_once(quarantine=["memory://wh/.quarantine/"], quarantine_for="PT0S")


# ---- what each role does ------------------------------------------------------------------------------
def mark(lake: Lake, url: str, owner: str) -> None:
    with closing(lake.over(url).store) as store:
        replace(lake.services, store=store).mark("1")
        replace(lake.services, store=store, repository=lake.plain, clock=utc_now).mark()


def sweep(lake: Lake, url: str, owner: str) -> None:
    """All that happens to a live set: its files are held, restored, purged, deferred and deleted."""
    with closing(lake.over(url).store) as store, closing(lake.over(owner).store) as marking:
        replace(lake.services, store=marking, repository=lake.plain, clock=utc_now).mark()
        services, marks = replace(lake.services, store=store), replace(lake.services, store=marking)
        held = services.sweep(marks.mark("1"), HELD)
        assert 4 == held.outcomes[Outcome.QUARANTINED].files
        assert 4 == restore(services).done.files
        lake.grow_old()
        deleted = services.sweep(marks.mark("1"), at_once(dropped_after="P1D"))
        assert 4 == deleted.outcomes[Outcome.DELETED].files
        lake.leave_garbage()
        live_set = marks.mark("1")
        services.sweep(live_set, at_once(defer_deletes=True))
        assert 3 == services.delete_deferred(live_set, at_once()).outcomes[Outcome.DELETED].files
        lake.leave_garbage()
        services.sweep(marks.mark("1"), HELD)
        lake.lake.now = utc_now()
        assert 3 == purge(services).done.files


def deferred(lake: Lake, owner: str) -> str:
    """The id of a live set with deferred deletions."""
    with closing(lake.over(owner).store) as store:
        services = replace(lake.services, store=store)
        live_set = services.mark("1")
        services.sweep(live_set, at_once(defer_deletes=True))
    return str(live_set)


def read(lake: Lake, url: str, owner: str) -> None:
    live_set = deferred(lake, owner)
    with closing(lake.over(url).store) as store:
        stored = LiveSetService(store)
        stored.all()
        stored.details(live_set)
        assert [*stored.content_versions(live_set)]
        assert stored.base_locations(live_set)
        assert 4 == len([*stored.deferred(live_set)])
        assert isinstance(store, JdbcLiveSetStore)
        assert [] == [*store.held_files()]


def prune(lake: Lake, url: str, owner: str) -> None:
    live_set = deferred(lake, owner)
    with closing(lake.over(url).store) as store:
        LiveSetService(store).delete(live_set, discard_deferred=True)


def tag(lake: Lake, url: str, owner: str) -> None:
    with tagged_lake() as tagged, closing(lake.over(url).store) as store:
        tagged.services = replace(tagged.services, store=store)
        tagged.commit(BEGIN - 3 * HOUR)
        for hours in (0, 3):
            assert tagged.run(BEGIN + hours * HOUR, tag_branch="main", tag_policy=("hourly=1",)).tags


def schedule(lake: Lake, url: str, owner: str) -> None:
    """Each verb of the store, as a scheduler calls them, and what its page asks for."""
    with JdbcScheduleStore.from_options({"url": url}) as store:
        store.define_jobs("lake", [job()])
        store.add_job("lake", job("another"))
        (found,) = (each for each in store.jobs("lake") if each.name == job().name)
        run = run_of(found)
        assert 2 == len(store.due_jobs("lake", at=NOON + LONG, limit=3))
        assert store.start_run("lake", run, then=occasion(1), lease=HOUR)
        assert store.renew_run("lake", run.id, lease=HOUR)
        assert [] == store.lost_runs("lake")
        assert store.finish_run("lake", done(run), tables=[TableBytes(table="a", garbage=2, reclaimed=1)])
        again = run_of(replace(found, next=occasion(1)), started=NOON + HOUR)
        assert store.start_run("lake", again, then=occasion(2), lease=HOUR)
        assert store.finish_run("lake", done(again))
        assert store.days("lake", since=NOON.date())
        assert store.table_days("lake", since=NOON.date(), most=1)
        assert store.set_paused("lake", found.name, paused=True)
        assert store.set_next("lake", found.name, seen=occasion(2), then=None)
        assert store.run("lake", run.id)
        assert [*store.last_runs("lake", until=NOON + LONG)]
        assert store.now()
        assert store.forget_runs("lake", before=NOON + LONG)
        store.define_jobs("lake", [])
    with closing(lake.over(url).store) as live_sets:
        assert isinstance(live_sets, SupportsQuarantine)
        assert [] == [*live_sets.quarantines()]


USES: dict[str, Callable[[Lake, str, str], None]] = {
    "nessie_gc_mark": mark,
    "nessie_gc_sweep": sweep,
    "nessie_gc_read": read,
    "nessie_gc_prune": prune,
    "nessie_gc_tag": tag,
    "nessie_gc_schedule": schedule,
}
