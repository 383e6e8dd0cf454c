"""S35: the right to delete is asked before every batch, where it happens; whoever lost it takes one batch at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

import pytest
from collecting import LakeServices
from in_quarantine import DEAD, look, purge, with_garbage
from lakes_by_hand import commit_and_let_age
from nessie_gc_memory import MemoryFileDeleter, MemoryLake, MemoryLiveSetStore

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.hold import HELD_FILES, Purge, Restore, held_row
from nessie_gc_core.algorithms.still_held import NOT_BEGUN, InThisProcess
from nessie_gc_core.connectors import FileDeleter
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import SafetyError, StoreError
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.quarantine import HeldState
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.finding_parameters import NoncurrentVersions
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.parameters import SweepParameters

MINUTE = timedelta(minutes=1)
BATCH = 2
VERBS = ("delete_files", "move_files", "hide_files", "tag_files", "delete_with_versions")


class Suspended(MemoryFileDeleter):
    """Is suspended in its first batch, while something happens."""

    name = "suspended"
    batch_size = BATCH
    meanwhile: ClassVar[list[Callable[[], object]]] = []


def _suspended(verb: str) -> Callable[..., Iterator[Any]]:
    def call(self: Suspended, *given: Any) -> Iterator[Any]:
        if Suspended.meanwhile:
            Suspended.meanwhile.pop()()
        yield from getattr(MemoryFileDeleter, verb)(self, *given)

    return call


for _verb in VERBS:
    setattr(Suspended, _verb, _suspended(_verb))


class SuspendedPlugin:
    @hookimpl
    def nessie_gc_register_file_deleter(self) -> type[FileDeleter]:
        return Suspended


@pytest.fixture
def suspended(services: LakeServices, plugins: PluginRegistry, lake: MemoryLake) -> Iterator[LakeServices]:
    """Services with a deleter that is suspended, and one worker, so that one batch at a time is in flight."""
    plugins.register(SuspendedPlugin(), name="suspended")
    options = {**services.choice.options, ("file-deleter", "suspended"): {"lake": lake.name}}
    with LocalEngine(workers=1) as engine:
        yield replace(services, engine=engine).choosing(options=options, deleter="suspended", plugins=plugins)
    Suspended.meanwhile = []


TAGS, VERSIONS, FOLDER = "tags:memory://wh/", "versions:memory://wh/", "memory://wh/.quarantine/"
KINDS = {
    "deletes": SweepParameters(),
    "moves": SweepParameters(quarantine=[FOLDER]),
    "hides": SweepParameters(quarantine=[VERSIONS]),
    "tags": SweepParameters(quarantine=[TAGS]),
    "deletes with versions": SweepParameters(noncurrent_versions=NoncurrentVersions.DELETE),
}


def garbage(lake: MemoryLake) -> list[str]:
    """Files that nobody needs now."""
    table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
    for number in range(7):
        lake.put(f"memory://wh/db/t/data/dead-{number}.parquet")
    commit_and_let_age(lake, table)
    return sorted(lake.paths() - table.needed)


def untouched(lake: MemoryLake, paths: Sequence[str]) -> list[str]:
    """Those of some files that are visible and have no tag of a quarantine."""
    found = {path: lake.objects.tagged(path) for path in paths if lake.objects.get(path) is not None}
    return [path for path, tagged in found.items() if tagged is None or tagged.mark is None]


@pytest.mark.parametrize("kind", KINDS)
def test_s35_a_sweep_that_is_suspended_until_others_have_the_lease_takes_one_batch(
    lake: MemoryLake, suspended: LakeServices, kind: str
) -> None:
    lake.objects.keeps_versions = kind in ("hides", "deletes with versions")
    paths = garbage(lake)
    live_set = suspended.mark("1")
    identity = suspended.repository.identity()

    def others_collect() -> None:
        lake.advance(3 * MINUTE)
        with hold_lease(suspended.store, [identity], MINUTE, elapsed=suspended.elapsed) as theirs:
            theirs.check()

    Suspended.meanwhile = [others_collect]
    with pytest.raises(SafetyError, match="lease"):
        suspended.sweep(live_set, KINDS[kind])
    assert len(paths) - BATCH == len(untouched(lake, paths))
    report = suspended.sweep(live_set, replace(KINDS[kind], resume=True))
    assert [] == untouched(lake, paths)
    done = Outcome.QUARANTINED if KINDS[kind].quarantine else Outcome.DELETED
    assert len(paths) == sum(report.outcomes[each].files for each in (done, Outcome.ALREADY_GONE))


def test_s35_a_machine_whose_clocks_all_stood_still_asks_the_store(lake: MemoryLake, suspended: LakeServices) -> None:
    """As a virtual machine that was paused: by its own clocks no time has passed."""
    paths = garbage(lake)
    services = replace(suspended, elapsed=lambda: 0.0)
    live_set = services.mark("1")
    identity = services.repository.identity()
    holder = hold_lease(services.store, [identity], timedelta(hours=1))

    def others_collect() -> None:
        lake.advance(3 * MINUTE)
        holder.__enter__()

    Suspended.meanwhile = [others_collect]
    with pytest.raises(SafetyError, match="has the lease on the repository now"):
        services.sweep(live_set)
    assert len(paths) - BATCH == len(untouched(lake, paths))
    holder.__exit__(None, None, None)


def test_s35_a_lease_that_others_had_and_gave_back_is_lost_though_it_was_renewed(lake: MemoryLake) -> None:
    store = MemoryLiveSetStore.from_options({})
    store.clock = lambda: lake.time
    with hold_lease(store, ["r"], MINUTE, elapsed=lambda: 0.0) as lease:
        holder = store.lease("r")
        assert holder is not None
        lake.advance(2 * MINUTE)
        store.acquire_lease("r", holder.owner, host="h", process=1, duration=MINUTE)
        with pytest.raises(SafetyError, match="ran out"):
            lease.check()


def test_s35_a_store_that_cannot_be_asked_lets_no_batch_begin(lake: MemoryLake, suspended: LakeServices) -> None:
    class Silent(MemoryLiveSetStore):
        """Cannot be asked for leases for a while."""

        silent = False

        def lease(self, repository: str) -> Any:
            if Silent.silent:
                raise StoreError("no answer")
            return super().lease(repository)

    paths = garbage(lake)
    store = Silent.from_options({})
    store.clock = lambda: lake.time
    services = replace(suspended, store=store)

    def silence() -> None:
        Silent.silent = True

    Suspended.meanwhile = [silence]
    with pytest.raises(StoreError, match="no answer"):
        services.collect("1")
    assert len(paths) - BATCH == len(untouched(lake, paths))


def test_s35_whoever_lost_the_lease_changes_no_record_of_the_quarantine(
    lake: MemoryLake, suspended: LakeServices
) -> None:
    with_garbage(lake)
    suspended.sweep(suspended.mark(), KINDS["moves"])
    lake.advance(timedelta(days=40))
    look(suspended)
    lost = replace(suspended, elapsed=lambda: lake.time.timestamp())
    Suspended.meanwhile = [lambda: lake.advance(3 * MINUTE)]
    with pytest.raises(SafetyError, match="lease"):
        purge(lost)
    store = lost.store
    assert isinstance(store, MemoryLiveSetStore)
    assert {HeldState.PURGING} == {file.state for file in store.held_files()}
    report = purge(suspended)
    assert len(DEAD) == report.done.files + report.missing.files
    assert [] == list(store.held_files())


@pytest.mark.parametrize("function", [Restore, Purge])
def test_s35_files_in_quarantine_are_released_batch_by_batch(
    lake: MemoryLake, services: LakeServices, function: type[Restore | Purge]
) -> None:
    with_garbage(lake)
    services.sweep(services.mark(), KINDS["moves"])
    store = services.store
    assert isinstance(store, MemoryLiveSetStore)
    answers = iter([None, "the lease on the repository ran out", "the lease on the repository ran out"])
    batches = [batch for file in store.held_files() for batch in to_batches([held_row(file)], HELD_FILES)]
    released = function(services.choice, InThisProcess(lambda: next(answers)))(iter(batches))
    said = [(row["status"], row["reason"]) for batch in released for row in batch.to_pylist()]
    left = (Outcome.SPARED.value, NOT_BEGUN + "the lease on the repository ran out")
    assert [left, left] == said[1:]
    assert {Outcome.DELETED.value, "MOVED"} >= {said[0][0]}
