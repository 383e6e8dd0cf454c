from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from nessie_gc_core.algorithms import read_ahead as module
from nessie_gc_core.algorithms.read_ahead import More, read_ahead

WAIT = 10


def all_of(job: int) -> list[int]:
    return [job * 10 + piece for piece in range(3)]


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_every_piece_of_every_job_comes_once(threads: int) -> None:
    found = list(read_ahead(range(1, 100), all_of, at_once=lambda job: threads))
    assert sorted(piece for job in range(1, 100) for piece in all_of(job)) == sorted(found)


@pytest.mark.parametrize("threads", [1, 4])
def test_jobs_that_come_up_are_done_as_well(threads: int) -> None:
    def work(job: int) -> Iterator[int | More[int]]:
        yield job
        if job < 1000:
            yield More(job * 2)
            yield More(job * 2 + 1)

    found = list(read_ahead([1], work, at_once=lambda job: threads))
    assert [*range(1, 2000)] == sorted(found)


def test_a_job_that_takes_long_holds_up_no_other() -> None:
    others_are_done = threading.Event()

    def work(job: int) -> list[int]:
        assert job or others_are_done.wait(WAIT)
        return [job]

    found = []
    for piece in read_ahead(range(20), work, at_once=lambda job: 4):
        found.append(piece)
        if len(found) == 19:
            others_are_done.set()
    assert (20, 0) == (len(found), found[-1])


def test_as_many_are_done_at_once_as_was_said_over_all_tasks_of_the_process() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def work(job: int) -> list[int]:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
        return [job]

    tasks = [threading.Thread(target=lambda: list(read_ahead(range(20), work, at_once=lambda job: 3))) for _ in "abc"]
    for task in tasks:
        task.start()
    for task in tasks:
        task.join()
    assert 3 == most


def test_no_more_bytes_are_under_way_than_fit_but_one_file_always_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BYTES", 100)
    lock, now, most = threading.Lock(), 0, 0

    def work(size: int) -> list[int]:
        nonlocal now, most
        with lock:
            now += size
            most = max(most, now)
        time.sleep(0.005)
        with lock:
            now -= size
        return [size]

    assert [40] * 9 == list(read_ahead([40] * 9, work, at_once=lambda job: 8, size=lambda job: job))
    assert most in (40, 80)
    assert [500] * 3 == list(read_ahead([500] * 3, work, at_once=lambda job: 8, size=lambda job: job))
    assert 500 == most
    assert 0 == module._POOLS.under_way


@pytest.mark.parametrize("threads", [1, 4])
def test_an_error_ends_everything(threads: int) -> None:
    def work(job: int) -> list[int]:
        if job == 7:
            raise OSError("seven")
        return [job]

    with pytest.raises(OSError, match="seven"):
        list(read_ahead(range(1000), work, at_once=lambda job: threads, size=lambda job: 1))
    assert 0 == module._POOLS.under_way


def test_whoever_leaves_early_stops_what_is_under_way() -> None:
    begun: list[int] = []

    def work(job: int) -> Iterator[int]:
        begun.append(job)
        yield from range(10_000)

    with closing(read_ahead(range(1000), work, at_once=lambda job: 4, size=lambda job: 1)) as pieces:
        next(pieces)
    assert len(begun) <= 8
    assert 0 == module._POOLS.under_way


def test_results_wait_to_be_taken_and_do_not_pile_up() -> None:
    made = 0

    def work(job: int) -> Iterator[int]:
        nonlocal made
        for piece in range(1000):
            made += 1
            yield piece

    with closing(read_ahead([1], work, at_once=lambda job: 4)) as pieces:
        next(pieces)
        time.sleep(0.3)
        assert made < 100


def test_threads_that_are_done_at_any_moment_never_wait_for_each_other() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        found = list(read_ahead(range(3000), all_of, at_once=lambda job: 32))
    finally:
        sys.setswitchinterval(before)
    assert 9000 == len(found)
