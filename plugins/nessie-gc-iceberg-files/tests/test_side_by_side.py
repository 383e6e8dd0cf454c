"""Several bulk requests of one call at a time."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest
from nessie_gc_iceberg_files.side_by_side import THREADS, side_by_side
from nessie_gc_iceberg_files.traffic import asking, taken


def test_all_results_come_whatever_their_order():
    tasks = [partial(lambda number, _: number, number) for number in range(40)]
    assert {*range(40)} == {*side_by_side(tasks)}
    assert [] == [*side_by_side([])]


def test_tasks_run_at_the_same_time_and_no_more_than_the_process_may_have():
    running, most, lock = [0], [0], threading.Lock()

    def task(_):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1

    threads = [threading.Thread(target=lambda: list(side_by_side([task] * 12))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert THREADS == most[0]


def test_what_tasks_ask_is_counted_where_their_results_are_used():
    taken()

    def task(_):
        with asking():
            time.sleep(0.01)

    list(side_by_side([task] * 5))
    found = taken()
    assert 5 == found.requests
    assert 0 < found.waited_seconds


@pytest.mark.parametrize("tasks", [1, 5])
def test_an_error_of_a_task_is_raised(tasks):
    def task(_):
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        list(side_by_side([task] * tasks))


def test_s15_nothing_runs_any_more_when_the_results_are_not_wanted():
    running, begun, done = threading.Semaphore(0), [], []

    def task(stopped):
        begun.append(1)
        if len(begun) == 1:
            return
        running.release()
        stopped.wait(30)
        done.append(1)

    results = side_by_side([task] * 40)
    next(results)
    running.acquire()
    results.close()
    assert len(begun) - 1 == len(done)
    count = len(begun)
    time.sleep(0.05)
    assert count == len(begun) < 40
