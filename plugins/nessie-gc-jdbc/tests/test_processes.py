"""Several processes on one database, and processes that are killed."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_jdbc.database import BULK_ROWS

from nessie_gc_core.errors import LeaseHeldError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.testing.live_set_lifecycle import bring_to
from nessie_gc_core.testing.live_set_samples import NOON, start, version

WORKER = Path(__file__).with_name("store_worker.py")


def run(url, *arguments, output=subprocess.PIPE):
    return subprocess.Popen([sys.executable, str(WORKER), url, *map(str, arguments)], stdout=output, text=True)


def answers(processes):
    found = [process.communicate(timeout=120)[0].strip() for process in processes]
    assert [0] * len(processes) == [process.returncode for process in processes]
    return found


def test_processes_that_add_the_same_versions_count_each_once(store, url):
    found = start(store, "r")
    processes = [run(url, "add", found, offset, 2500) for offset in (0, 1000, 2000)]
    assert 4500 == sum(map(int, answers(processes)))
    assert (4500, 4500) == store.count_content_versions(found)


def test_only_one_of_several_processes_starts_a_sweep(store, url):
    found = bring_to(store, LiveSetStatus.IDENTIFY_SUCCESS, "r")
    assert ["refused", "refused", "started"] == sorted(answers([run(url, "expire", found) for _ in range(3)]))


def test_only_one_of_several_processes_gets_a_lease(store, url):
    assert ["got", "held", "held"] == sorted(answers([run(url, "lease", f"owner-{n}") for n in range(3)]))
    with pytest.raises(LeaseHeldError, match="owner-"):
        store.acquire_lease("r", "me", host="h", process=1, duration=timedelta(hours=1))


def test_processes_may_open_a_new_store_at_the_same_time(sqlite_url):
    assert ["got", "held", "held"] == sorted(answers([run(sqlite_url, "lease", f"owner-{n}") for n in range(3)]))


def test_a_process_that_is_killed_while_it_writes_leaves_whole_batches_and_no_lock(store, url):
    found = start(store, "r")
    process = run(url, "add", found, 0, 10_000_000, output=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while store.count_content_versions(found)[0] < 2 * BULK_ROWS:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    versions, contents = store.count_content_versions(found)
    assert 0 == versions % BULK_ROWS
    assert versions == contents == len(list(store.content_versions(found)))
    assert 1 == store.add_content_versions(found, [version(-1)])
    store.finish_identify(found, at=NOON)
    assert LiveSetStatus.IDENTIFY_SUCCESS is store.get(found).status


def test_a_copy_of_an_sqlite_file_has_what_a_run_wrote_that_has_ended(sqlite_url, tmp_path):
    live_set, copy = uuid4(), tmp_path / "copy.db"
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        store.acquire_lease("r", "me", host="h", process=1, duration=timedelta(minutes=1))
        store.start_identify(live_set, repository="r", created=datetime(2026, 1, 1, tzinfo=UTC))
        store.release_lease("r", "me")
        shutil.copy(sqlite_url.removeprefix("sqlite:///"), copy)  # while the store is open, as that of a scheduler
        with JdbcLiveSetStore.from_options({"url": f"sqlite:///{copy}"}) as copied:
            assert [live_set] == [each.id for each in copied.live_sets()]
