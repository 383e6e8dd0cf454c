"""The local engine's worker processes: who does what, and what happens when one of them fails."""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from datetime import timedelta
from pathlib import Path

import elsewhere
import pyarrow as pa
import pytest
from collecting import on_disk
from elsewhere import NUMBERS, Function
from lakes_in_memory import START, lake_at
from nessie_gc_memory import MemoryLake, put
from nessie_gc_memory.files import MemoryFileLister

from nessie_gc_core.algorithms.listing import ListFiles
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.config.meter import METER
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import ENDED
from nessie_gc_core.engines.local import LocalEngine, processes
from nessie_gc_core.engines.local.workers import Shared
from nessie_gc_core.errors import IncompleteError, PluginError
from nessie_gc_core.model.allocator import VARIABLE
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.plugins import PluginRegistry, PluginSet, installed
from nessie_gc_core.services.preconditions import check_executors

ROWS = 2 * processes.MANY_ROWS
START_SECONDS = 60


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalEngine]:
    """One thread and one process, on any machine."""
    monkeypatch.setattr("nessie_gc_core.engines.local.engine.cores", lambda: 2)
    with LocalEngine(workers=2) as local:
        yield local


def run(engine: LocalEngine, function: Function, rows: int = ROWS) -> pa.Table:
    numbers = to_batches(((number,) for number in range(rows)), NUMBERS)
    return engine.dataset(numbers, NUMBERS).flat_map(function).summary()


def at_work(engine: LocalEngine) -> LocalEngine:
    """The engine when its worker process is there."""
    until = time.monotonic() + START_SECONDS
    while len(pids(run(engine, Function()))) < 2:
        assert time.monotonic() < until, "no worker process helped"
    return engine


def pids(table: pa.Table) -> set[int]:
    return set(table.column("process").to_pylist())


def numbers(table: pa.Table) -> list[int]:
    return sorted(table.column("number").to_pylist())


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_both_work_and_every_row_is_seen_once(engine: LocalEngine) -> None:
    found = run(at_work(engine), Function())
    assert numbers(found) == list(range(ROWS))
    assert len(pids(found)) == 2
    assert os.getpid() in pids(found)


def test_few_rows_start_no_process(engine: LocalEngine) -> None:
    found = run(engine, Function(), processes.MANY_ROWS - 1)
    assert numbers(found) == list(range(processes.MANY_ROWS - 1))
    assert pids(found) == {os.getpid()}
    assert not engine._processes._workers


def test_few_rows_use_a_process_that_is_there(engine: LocalEngine) -> None:
    assert len(pids(run(at_work(engine), Function(), 20))) == 2


def test_one_worker_is_this_process() -> None:
    with LocalEngine(workers=1) as alone:
        assert pids(run(alone, Function())) == {os.getpid()}


def test_as_many_processes_as_further_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nessie_gc_core.engines.local.engine.cores", lambda: 3)
    with LocalEngine(workers=8) as many:
        run(many, Function())
        assert len(many._processes._workers) == 2


def test_other_functions_stay(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work(engine)
    monkeypatch.setattr(Function, "elsewhere", False)
    assert pids(run(engine, Function())) == {os.getpid()}


def test_an_engine_can_be_told_to_stay(engine: LocalEngine) -> None:
    (other,) = pids(run(at_work(engine), Function())) - {os.getpid()}
    engine.stay_in_process()
    assert not alive(other)
    assert pids(run(engine, Function())) == {os.getpid()}


def test_work_is_counted_once(engine: LocalEngine) -> None:
    at_work(engine)
    before = METER.work()
    run(engine, Function())
    assert (METER.work() - before).files_expanded == ROWS


def test_they_take_arrows_memory_from_the_system(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    run(at_work(engine), elsewhere.TellsItsAllocator())
    said = {record.getMessage() for record in caplog.records if record.name == "nessie_gc_core.elsewhere"}
    assert {"allocator system"} == said


def test_logs_arrive(engine: LocalEngine, caplog: pytest.LogCaptureFixture) -> None:
    run(at_work(engine), elsewhere.Logs())
    (record, *_) = (record for record in caplog.records if record.name == "nessie_gc_core.elsewhere")
    assert record.getMessage() == "said by another process"
    assert record.process != os.getpid()


def test_errors_arrive(engine: LocalEngine) -> None:
    with pytest.raises(ValueError, match="nothing doing"):
        run(at_work(engine), elsewhere.Fails())
    assert numbers(run(engine, Function())) == list(range(ROWS))


def test_errors_that_cannot_travel_arrive_as_text(engine: LocalEngine) -> None:
    with pytest.raises(RuntimeError, match="OddError: nothing doing"):
        run(at_work(engine), elsewhere.FailsOddly())


def test_a_process_that_dies_ends_the_run(engine: LocalEngine) -> None:
    with pytest.raises(IncompleteError, match=r"a worker process ended with signal 9; run again, .*memory"):
        run(at_work(engine), elsewhere.Dies())
    assert numbers(run(engine, Function())) == list(range(ROWS))
    assert len(pids(run(at_work(engine), Function()))) == 2, "another process takes its place"


def test_a_source_that_breaks_off_ends_the_run_and_leaves_no_process_waiting(engine: LocalEngine) -> None:
    at_work(engine)

    def broken() -> Iterator[pa.RecordBatch]:
        yield from to_batches(((number,) for number in range(ROWS)), NUMBERS, batch_rows=10)
        raise OSError("the source broke off")

    for worker in engine._processes._workers:
        with pytest.raises(OSError, match="broke off"):
            worker.help(processes.Task(pickle.dumps(Function())), Shared(broken(), ROWS))
    assert numbers(run(engine, Function())) == list(range(ROWS))
    assert len(pids(run(at_work(engine), Function()))) == 2


def test_an_entry_of_the_module_path_that_is_no_text_is_no_trouble(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes.sys, "path", [*processes.sys.path, Path("/nowhere")])
    assert numbers(run(at_work(engine), Function())) == list(range(ROWS))


def test_a_module_in_the_current_folder_is_not_taken(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken from the current folder')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)  # which may name it
    monkeypatch.setattr(processes.sys, "path", [entry for entry in processes.sys.path if entry])
    assert len(pids(run(at_work(engine), Function()))) == 2


@pytest.mark.parametrize("function", [elsewhere.Stays, elsewhere.Unknown])
def test_what_cannot_travel_stays(engine: LocalEngine, function: type[Function]) -> None:
    found = run(at_work(engine), function())
    assert numbers(found) == list(range(ROWS))
    assert pids(found) == {os.getpid()}


def test_a_process_that_does_not_start_is_no_trouble(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(processes, "_PROGRAM", "import time; time.sleep(0.1); raise SystemExit(3)")
    assert numbers(run(engine, Function(), 8 * ROWS)) == list(range(8 * ROWS))
    assert "a worker process does not help, so this run uses fewer cores: it ended with exit code 3" in caplog.messages


def test_a_machine_without_room_for_processes_is_no_trouble(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(processes.sys, "executable", "/nowhere/python")
    assert pids(run(engine, Function())) == {os.getpid()}
    assert caplog.messages == [
        "no more worker processes can be started, so this run uses fewer cores: [Errno 2] No such file or directory: "
        "'/nowhere/python'"
    ]
    assert pids(run(engine, Function())) == {os.getpid()}


def test_a_process_that_is_never_ready_holds_nothing_up(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_PROGRAM", "import time; time.sleep(600)")
    monkeypatch.setattr(processes, "_END_SECONDS", 600.0)
    assert pids(run(engine, Function())) == {os.getpid()}
    engine.close()


def test_a_process_with_other_plugins_does_not_help(
    engine: LocalEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(processes, "_PROGRAM", processes._PROGRAM.replace("sys.argv[4:]", "[]"))
    until = time.monotonic() + START_SECONDS
    while not caplog.messages and time.monotonic() < until:
        assert pids(run(engine, Function())) == {os.getpid()}
    assert caplog.messages[0].endswith("it has other plugins than this process")


def test_s26_a_plugin_that_came_later_keeps_the_work_here(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    at_work(engine)
    monkeypatch.setattr(type(installed()), "bringing", lambda self, *contracts: PluginSet())
    assert pids(run(engine, Function())) == {os.getpid()}


def test_s26_a_choice_with_plugins_of_a_program_stays() -> None:
    plugins = PluginRegistry.discover()
    assert ListFiles(ConnectorChoice(), LocationRules()).elsewhere
    assert not ListFiles(ConnectorChoice(plugins=plugins), LocationRules()).elsewhere


def test_a_connector_with_its_state_here_keeps_the_work_here(engine: LocalEngine) -> None:
    at_work(engine)
    check_executors(engine, ContentToFiles)
    assert len(pids(run(engine, Function()))) == 2
    check_executors(engine, MemoryFileLister)
    assert pids(run(engine, Function())) == {os.getpid()}


def test_a_connector_with_its_state_elsewhere_is_refused() -> None:
    arrived = pickle.loads(pickle.dumps(ConnectorChoice()))
    with OpenConnectors(arrived) as connectors, pytest.raises(PluginError, match="'memory' works in one process only"):
        connectors.lister("memory://warehouse/db/t/")


def write(lake: MemoryLake) -> None:
    """Twenty tables, each with a file that nobody needs."""
    for number in range(20):
        location = f"memory://wh/db/t{number}"
        lake.commit("main", put(lake.table(f"db.t{number}", location=location).append("live.parquet").version))
        lake.put(f"{location}/data/dead.parquet")
    lake.advance(timedelta(days=3))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_collection_is_the_same_with_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setattr("nessie_gc_core.engines.local.engine.cores", lambda: 2)
    monkeypatch.setattr(processes, "MANY_ROWS", 1)
    with lake_at(START) as lake, LocalEngine(workers=workers) as local:
        write(lake)
        services = on_disk(lake, tmp_path / "lake", local)
        if workers > 1:
            at_work(local)
        before = METER.work()
        report = services.collect("1")
        assert (METER.work() - before).files_listed == 20 * 6
        assert report.outcomes[Outcome.DELETED].files == 20 * 2
    assert {path.name for path in tmp_path.rglob("*.parquet")} == {"live.parquet"}


def test_what_nobody_waits_for_ends(engine: LocalEngine) -> None:
    at_work(engine)
    ended = threading.Event()
    ENDED.set(ended)
    threading.Timer(0.5, ended.set).start()
    began = time.monotonic()
    try:
        with pytest.raises(CancelledError):
            run(engine, elsewhere.Sleeps())
    finally:
        ENDED.set(None)
    assert time.monotonic() - began < START_SECONDS


def test_closing_ends_the_processes(engine: LocalEngine) -> None:
    (other,) = pids(run(at_work(engine), Function())) - {os.getpid()}
    engine.close()
    assert not alive(other)
