"""S35: Spark's executors ask for the lease before every batch: the store, a file of this machine, or the clock."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from nessie_gc_jdbc import JdbcLiveSetStore, JdbcOptions
from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core.algorithms.delete import DeleteFiles
from nessie_gc_core.algorithms.still_held import NOT_BEGUN, InStore, InThisProcess, StillHeld, Until
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import Dataset, Engine, task_attempt
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.relations import VERDICTS
from nessie_gc_core.model.verdicts import DeleteMode
from nessie_gc_core.services.lease import Lease, hold_lease

MINUTE = timedelta(minutes=1)


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
