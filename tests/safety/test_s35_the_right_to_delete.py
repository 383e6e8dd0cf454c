"""S35: the right to delete is asked before every batch, where it happens; whoever lost it takes one batch at most."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from collecting import LakeServices
from in_quarantine import DEAD, purge, with_garbage
from lakes_by_hand import commit_and_let_age
from nessie_gc_jdbc import JdbcLiveSetStore, JdbcOptions
from nessie_gc_memory import MemoryFileDeleter, MemoryLake, MemoryLiveSetStore

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.delete import DeleteFiles
from nessie_gc_core.algorithms.hold import HELD_FILES, Purge, Restore, held_row
from nessie_gc_core.algorithms.still_held import NOT_BEGUN, InStore, InThisProcess, StillHeld, Until
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import FileDeleter, LiveSetStore
from nessie_gc_core.dataset import Dataset, Engine, task_attempt
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import SafetyError, StoreError
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.quarantine import HeldState
from nessie_gc_core.model.relations import VERDICTS
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.finding_parameters import NoncurrentVersions
from nessie_gc_core.services.lease import Lease, hold_lease
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


# ---- where files are deleted by other processes ---------------------------------------------------------
def rows(folder: Path, places: int) -> Iterator[tuple[Any, ...]]:
    """A file in each of some places, so that each is a batch."""
    for number in range(places):
        place = folder / str(number)
        place.mkdir(parents=True)
        (place / "dead.parquet").write_text("dead")
        unit, location = f"file://{place}/", f"file://{place}/"
        yield (unit, "dead.parquet", location, "dead.parquet", 4, 0, None, 0, "UNREFERENCED", None, 0, False)


def in_one_task(engine: Engine, folder: Path) -> Dataset:
    verdicts = engine.dataset(to_batches(rows(folder, 4), VERDICTS), VERDICTS)
    if engine.name == "local":
        return verdicts
    frame: Any = verdicts.to_frame()
    return engine.from_frame(frame.coalesce(1), VERDICTS).checkpoint()


def begins_and_waits(folder: Path) -> Callable[..., Iterator[tuple[str, Outcome, str]]]:
    """Deletes as ever; the first batch waits until the lease is lost, and one that begins after that is noted."""
    begun, lost, late = (str(folder / name) for name in ("begun", "lost", "late"))

    def remove(deleter: Any, location: str, files: Any) -> Iterator[tuple[str, Outcome, str]]:
        import time
        from pathlib import Path

        from nessie_gc_core.algorithms.delete import delete_batch

        if files and Path(lost).exists():
            Path(late).touch()
        if files:
            Path(begun).touch()
        while files and not Path(lost).exists():
            time.sleep(0.01)
        yield from delete_batch(deleter, location, files)

    return remove


def when_begun(folder: Path, lose: Callable[[], object]) -> threading.Thread:
    def wait() -> None:
        ends = time.monotonic() + 60
        while not (folder / "begun").exists() and time.monotonic() < ends:
            time.sleep(0.01)
        lose()
        (folder / "lost").touch()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_s35_a_step_under_way_begins_no_batch_after_its_lease_was_lost(engine: Engine, tmp_path: Path) -> None:
    store = MemoryLiveSetStore.from_options({})
    with hold_lease(store, ["r"], MINUTE) as lease:
        verdicts = in_one_task(engine, tmp_path / "lake")
        function = DeleteFiles(
            ConnectorChoice(), DeleteMode.DELETE, {}, lease.still_held(engine), begins_and_waits(tmp_path)
        )
        thread = when_begun(tmp_path, lambda: lease.lose("somebody else has it"))
        outcomes = verdicts.flat_map(function).checkpoint().summary().to_pylist()
        thread.join()
    assert not (tmp_path / "late").exists()
    left = [row for row in outcomes if row["outcome"] == Outcome.SPARED.value]
    assert 4 == len(outcomes)
    assert len(left) >= 2, "each of two workers had one batch in flight at most"
    assert {True} == {row["reason"].startswith(NOT_BEGUN) for row in left}
    assert len(left) == len(list((tmp_path / "lake").rglob("*.parquet")))


def test_s35_workers_of_this_machine_learn_of_renewals(engine: Engine, tmp_path: Path) -> None:
    store = MemoryLiveSetStore.from_options({})
    with hold_lease(store, ["r"], timedelta(seconds=1.5)) as lease:
        still_held = lease.still_held(engine)
        time.sleep(2.5)
        function = DeleteFiles(ConnectorChoice(), DeleteMode.DELETE, {}, still_held)
        outcomes = in_one_task(engine, tmp_path).flat_map(function).summary().to_pylist()
    assert {Outcome.DELETED.value} == {row["outcome"] for row in outcomes}


class Cluster:
    """An engine whose workers may be anywhere."""

    distributed = True
    on_one_machine = False


def asked(still_held: StillHeld) -> str | None:
    with pickle.loads(pickle.dumps(still_held)).opened() as refusal:
        answer: str | None = refusal()
        return answer


def test_s35_workers_that_cannot_ask_have_a_deadline_before_the_end_of_the_lease() -> None:
    store = MemoryLiveSetStore.from_options({})
    with hold_lease(store, ["r"], 2 * MINUTE) as lease:
        until = lease.still_held(Cluster())
    assert isinstance(until, Until)
    assert 80 < (until.at - datetime.now(UTC)).total_seconds() <= 90, "clocks may differ by half a minute"
    assert None is asked(until)
    assert "the lease on the repository ran out" == asked(replace(until, at=datetime.now(UTC)))


class ManyProcesses(JdbcLiveSetStore):
    """Says of a file of SQLite what is true of a database server."""

    def __init__(self, options: JdbcOptions) -> None:
        super().__init__(options)
        self.multi_process = True


def in_store(store: LiveSetStore, lease: Lease) -> InStore:
    still_held = lease.still_held(Cluster())
    assert isinstance(still_held, InStore)
    return still_held


def test_s35_workers_anywhere_ask_a_store_that_they_can_reach(tmp_path: Path) -> None:
    with ManyProcesses.from_options({"url": f"sqlite:///{tmp_path}/store.db"}) as store:
        with hold_lease(store, ["r", "s"], MINUTE) as lease:
            still_held = in_store(store, lease)
            assert None is asked(still_held)
            expired = replace(still_held, until=Until(at=datetime(2020, 1, 1, tzinfo=UTC)))
            assert None is asked(expired), "the store knows of renewals"
        assert "the lease on the repository ran out" == asked(still_held)
        with hold_lease(store, ["s"], MINUTE), hold_lease(store, ["r"], MINUTE):
            assert "has the lease on the repository now" in str(asked(still_held))


def test_s35_workers_that_cannot_reach_the_store_have_the_deadline(tmp_path: Path) -> None:
    nowhere = ManyProcesses.from_options({"url": f"sqlite:///{tmp_path}/no/such/folder/store.db"})
    far, past = datetime.now(UTC) + MINUTE, datetime.now(UTC)
    since = {"r": datetime.now(UTC)}
    still_held = InStore(store=lambda: nowhere, owner="o", since=since, until=Until(at=far))
    with still_held.opened() as refusal:
        assert (None, None) == (refusal(), refusal())
    with replace(still_held, until=Until(at=past)).opened() as refusal:
        assert "ran out, and the store cannot be asked" in str(refusal())


def test_s35_what_an_attempt_did_that_was_tried_again_too_late_is_not_known(tmp_path: Path) -> None:
    function = DeleteFiles(ConnectorChoice(), DeleteMode.DELETE, {}, InThisProcess(lambda: "it ran out"))
    token = task_attempt.set(1)
    try:
        said = [row for batch in function(to_batches(rows(tmp_path, 1), VERDICTS)) for row in batch.to_pylist()]
    finally:
        task_attempt.reset(token)
    assert [Outcome.FAILED.value] == [row["outcome"] for row in said]
    assert "an earlier attempt of its task may have deleted it" in said[0]["reason"]
