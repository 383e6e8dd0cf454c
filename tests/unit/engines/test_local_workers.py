"""How many workers of the local engine run a function: as many as there is waiting for, one where there is none."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

from nessie_gc_core.engines.local import workers
from nessie_gc_core.engines.local.workers import map_in_threads
from nessie_gc_core.model.batches import to_batches

NUMBERS = pa.schema([pa.field("number", pa.int64(), nullable=False)])
BATCHES = 200
SECONDS = 60


def batches(count: int = BATCHES) -> Iterator[pa.RecordBatch]:
    return to_batches(((number,) for number in range(count)), NUMBERS, batch_rows=1)


class Meeting:
    """Waits at its first batch until so many workers run."""

    schema = NUMBERS

    def __init__(self, parties: int) -> None:
        self._barrier = threading.Barrier(parties)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self._barrier.wait(SECONDS)
        yield from batches


class Counted:
    """Counts the workers that began, and gives the engine the time to begin more."""

    schema = NUMBERS

    def __init__(self) -> None:
        self.calls: list[int] = []

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        self.calls.append(threading.get_ident())
        for batch in batches:
            time.sleep(5 * workers._WINDOW / BATCHES)
            yield batch


def numbers(found: Iterator[pa.RecordBatch]) -> list[int]:
    return sorted(number for batch in found for number in batch.column("number").to_pylist())


@pytest.mark.parametrize("count", [1, 2, 5, 16])
def test_what_waits_gets_all_workers(count: int) -> None:
    assert numbers(map_in_threads(Meeting(count), batches(), count)) == list(range(BATCHES))


def test_what_keeps_a_core_busy_gets_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "process_time", time.monotonic)  # a process that never waits
    counted = Counted()
    assert numbers(map_in_threads(counted, batches(), 8)) == list(range(BATCHES))
    assert len(counted.calls) == 1


def test_no_worker_is_too_much_for_few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "process_time", lambda: 0.0)  # a process that always waits
    assert numbers(map_in_threads(Counted(), batches(1), 8)) == [0]
    assert numbers(map_in_threads(Counted(), batches(0), 8)) == []


def test_nobody_begins_when_one_has_come_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[pa.RecordBatch] = []
    monkeypatch.setattr(workers._Idleness, "seen", lambda self: bool(given))
    counted = Counted()
    for batch in map_in_threads(counted, batches(1), 8):
        given.append(batch)
        time.sleep(0.5)  # the first worker ends meanwhile
    assert numbers(iter(given)) == [0]
    assert len(counted.calls) <= 2  # one may have begun before that end was seen
