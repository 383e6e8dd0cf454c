"""Two things at the same time on one engine, and what becomes of one where the other fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.dataset import BatchFunction, Dataset, Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.batches import to_batches

NUMBERS = pa.schema([pa.field("number", pa.int64(), nullable=False)])
MANY = 2_000


def numbers(engine: Engine, count: int) -> Dataset:
    return engine.dataset(to_batches(((number,) for number in range(count)), NUMBERS, batch_rows=100), NUMBERS)


def slowly(seconds: float, folder: Path) -> BatchFunction:
    """Leaves a file for each batch; made here, so that it is sent by value: workers have no tests."""

    class Slowly:
        schema = NUMBERS

        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import time
            import uuid

            for batch in batches:
                (folder / str(uuid.uuid4())).touch()
                time.sleep(seconds)
                yield batch

    return Slowly()


def settled(folder: Path) -> int:
    """How many files there are when no more come: Spark 3.5 looks every two seconds for killed tasks, and waits two."""
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline:
        before = sum(1 for _ in folder.iterdir())
        time.sleep(2.5)
        if before == sum(1 for _ in folder.iterdir()):
            return before
    raise AssertionError(f"files still come: {before}")


def total(dataset: Dataset) -> int:
    measures = {"number": ("sum", "number")}
    return int(dataset.aggregate([], measures, NUMBERS).summary().to_pylist()[0]["number"])


def test_both_are_right(engine: Engine, tmp_path: Path) -> None:
    with engine.beside(lambda: total(numbers(engine, MANY).flat_map(slowly(0.01, tmp_path)).checkpoint())) as beside:
        here = [total(numbers(engine, count).flat_map(slowly(0, tmp_path)).checkpoint()) for count in (10, 20, 30)]
        there = beside.result()
    assert ([sum(range(count)) for count in (10, 20, 30)], sum(range(MANY))) == (here, there)


def test_an_error_beside_is_raised_where_the_result_is_asked_for(engine: Engine) -> None:
    def fail() -> None:
        raise ValueError("it failed beside")

    with engine.beside(fail) as beside, pytest.raises(ValueError, match="it failed beside"):
        beside.result()


def test_an_error_beside_can_be_seen_before_the_block_ends() -> None:
    failed = threading.Event()

    def fail() -> None:
        time.sleep(0.1)
        failed.set()
        raise ValueError("it failed beside")

    with (
        LocalEngine(workers=1) as engine,
        pytest.raises(ValueError, match="it failed beside"),
        engine.beside(fail) as beside,
    ):
        beside.check()
        assert failed.wait(60)
        while True:
            beside.check()
            time.sleep(0.01)


def test_an_error_of_the_block_ends_what_runs_beside_it(engine: Engine, tmp_path: Path) -> None:
    threads = threading.active_count()
    started = time.monotonic()
    with (
        pytest.raises(KeyboardInterrupt),
        engine.beside(lambda: numbers(engine, MANY * 50).flat_map(slowly(1, tmp_path)).checkpoint()),
    ):
        while not any(tmp_path.iterdir()) and threading.active_count() > threads:
            assert time.monotonic() - started < 60
            time.sleep(0.05)
        raise KeyboardInterrupt
    assert settled(tmp_path) < 100


def test_what_ran_beside_may_use_the_engine_again(engine: Engine) -> None:
    with pytest.raises(ValueError, match="here"), engine.beside(lambda: numbers(engine, 10).count()):
        raise ValueError("here")
    assert 10 == numbers(engine, 10).count()


def test_a_function_in_the_middle_of_its_rows_ends_early() -> None:
    """In one process, where a location that is listed may have millions of them."""
    begun, closed = threading.Event(), threading.Event()

    class Endless:
        schema = NUMBERS

        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            batch = next(batches)
            try:
                while True:
                    begun.set()
                    yield batch
            finally:
                closed.set()

    with LocalEngine(workers=1) as engine:
        with pytest.raises(KeyboardInterrupt), engine.beside(lambda: numbers(engine, 1).flat_map(Endless())):
            assert begun.wait(60)
            raise KeyboardInterrupt
        assert closed.is_set()


def test_what_waits_for_a_slow_store_ends_early() -> None:
    """Threads that read ahead have nothing yet: nobody waits for them but those that are in the middle of a request."""
    begun = threading.Event()

    class Slow:
        schema = NUMBERS

        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            jobs = (number for batch in batches for number in range(batch.num_rows))
            for found in read_ahead(jobs, self.read, at_once=lambda job: 4):
                yield from to_batches(iter([(found,)]), NUMBERS)

        def read(self, job: int) -> Iterator[int]:
            begun.set()
            for number in range(100):
                time.sleep(0.1)
                yield number

    with LocalEngine(workers=1) as engine:
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt), engine.beside(lambda: numbers(engine, 50).flat_map(Slow())):
            assert begun.wait(60)
            raise KeyboardInterrupt
        assert time.monotonic() - started < 5
