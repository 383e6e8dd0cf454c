"""S15: the outcome file names every file that is gone, however the run ended that deleted it."""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from collecting import on_disk
from nessie_gc_memory import MemoryLake, put
from pyarrow import parquet
from scenes import START

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.parameters import SweepParameters


class Killed(BaseException):
    """The process ends here."""


def write(lake: MemoryLake) -> None:
    lake.now = START
    for name, dead in (("a", 1), ("b", 6)):
        table = lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("live.parquet")
        lake.commit("main", put(table.version))
        for number in range(dead):
            lake.put(f"memory://wh/db/{name}/data/dead-{number}.parquet", 100 + number)
    lake.advance(timedelta(days=3))


def stored(folder: Path) -> set[str]:
    return {str(path.resolve()) for path in (folder / "wh").rglob("*") if path.is_file()}


def named(file: Path) -> list[tuple[str, str]]:
    """Path and outcome of every line, or of every row in every part."""
    if file.suffix == ".jsonl":
        rows = [json.loads(line) for line in file.read_text().splitlines()]
    else:
        rows = [row for part in file.parent.glob("*.parquet") for row in parquet.read_table(part).to_pylist()]
    return [(row["location"].removeprefix("file://") + row["path"], row["outcome"]) for row in rows]


@pytest.mark.thorough(engine="spark", suffix=".jsonl", files_per_step=100)
@pytest.mark.thorough(engine="spark", suffix=".parquet", files_per_step=3)
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("files_per_step", [3, 100])
def test_s15_what_an_attempt_deleted_and_did_not_write_is_named_by_the_next(
    lake: MemoryLake, engine: Engine, tmp_path: Path, suffix: str, files_per_step: int
) -> None:
    write(lake)
    folder, file = tmp_path / "a" / "lake", tmp_path / f"outcomes{suffix}"
    services = on_disk(lake, folder, engine)
    live_set, before = services.mark("1"), stored(folder)
    settings = SweepParameters(files_per_step=files_per_step, outcomes_to=str(file))

    def die_once_something_is_gone() -> datetime:
        if before - stored(folder):
            raise Killed
        return lake.time

    with pytest.raises(Killed):
        replace(services, clock=die_once_something_is_gone).sweep(live_set, settings)
    assert before - stored(folder)
    report = services.sweep(live_set, replace(settings, resume=True))

    gone = before - stored(folder)
    assert Counter((path, "deleted") for path in gone) == Counter(named(file))
    assert len(gone) == report.outcomes[Outcome.DELETED].files


@pytest.mark.thorough(engine="spark", suffix=".jsonl")
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_s15_a_second_run_of_deferred_deletions_erases_no_line(
    lake: MemoryLake, engine: Engine, tmp_path: Path, suffix: str
) -> None:
    write(lake)
    folder, file = tmp_path / "a" / "lake", tmp_path / f"outcomes{suffix}"
    services = on_disk(lake, folder, engine)
    live_set, before = services.mark("1"), stored(folder)
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    for _ in range(2):
        services.delete_deferred(live_set, SweepParameters(outcomes_to=str(file)))
    assert Counter((path, "deleted") for path in before - stored(folder)) == Counter(named(file))


def test_s15_deferred_deletions_that_were_killed_before_they_told_are_named_by_the_next_run(
    lake: MemoryLake, engine: Engine, tmp_path: Path
) -> None:
    write(lake)
    folder, file = tmp_path / "a" / "lake", tmp_path / "outcomes.jsonl"
    services = on_disk(lake, folder, engine)
    live_set, before = services.mark("1"), stored(folder)
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    settings = SweepParameters(outcomes_to=str(file), files_per_step=3)

    def die_once_something_is_gone() -> datetime:
        if before - stored(folder):
            raise Killed
        return lake.time

    with pytest.raises(Killed):
        replace(services, clock=die_once_something_is_gone).delete_deferred(live_set, settings)
    services.delete_deferred(live_set, settings)
    assert before - stored(folder) == {path for path, _ in named(file)}
    assert [] == list(services.store.file_deletions(live_set))


KILLED_PROCESS = """
import os, signal, sys
from datetime import datetime, UTC
from uuid import UUID
from nessie_gc_core.algorithms import delete
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import installed
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.services.resources import Resources
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.sweep import SweepService
from nessie_gc_memory import MemoryRepository

history, url, live_set, file, left = sys.argv[1:]
outcome_of, told = delete._outcome, []

def die(given):
    told.append(given)
    if len(told) > int(left):
        os.kill(os.getpid(), signal.SIGKILL)
    return outcome_of(given)

delete._outcome = die
resources = Resources.borrowed(
    repository=MemoryRepository.from_options({"history_file": history}),
    store=installed().open(LiveSetStore, ConnectorSpec(kind="live-set-store", name="jdbc", options={"url": url})),
    engine=LocalEngine(workers=1),
)
run = Run(resources=resources, choice=ConnectorChoice(), clock=lambda: datetime.now(UTC), elapsed=lambda: 0)
SweepService(SweepParameters(files_per_step=3, outcomes_to=file, live_set_id=live_set)).run(run)
"""


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("left", [1, 5])
def test_s15_a_process_that_is_killed_in_the_middle_of_a_step_leaves_no_nameless_file(
    lake: MemoryLake, tmp_path: Path, suffix: str, left: int
) -> None:
    write(lake)
    folder, file = tmp_path / "a" / "lake", tmp_path / f"outcomes{suffix}"
    url = f"sqlite:///{tmp_path}/live-sets.db"
    spec = ConnectorSpec(kind="live-set-store", name="jdbc", options={"url": url})
    with LocalEngine(workers=1) as engine, installed().open(LiveSetStore, spec) as store:
        services = replace(on_disk(lake, folder, engine), store=store, clock=lambda: datetime.now(UTC))
        live_set, before = services.mark("1"), stored(folder)
        history = str((folder / "history.json").resolve())
        arguments = [history, url, str(live_set), str(file), str(left)]
        process = subprocess.run([sys.executable, "-c", KILLED_PROCESS, *arguments], check=False, timeout=60)
        assert -signal.SIGKILL == process.returncode
        gone = before - stored(folder)
        assert gone - {path for path, _ in named(file)}, "some are gone and have no name"
        _end_lease(url)
        services.sweep(live_set, SweepParameters(files_per_step=3, outcomes_to=str(file), resume=True))
    assert Counter((path, "deleted") for path in before - stored(folder)) == Counter(named(file))
    assert not list(tmp_path.glob("*.plan*"))


def _end_lease(url: str) -> None:

    with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE nessie_gc_leases SET ends = 0")
    connection.close()
