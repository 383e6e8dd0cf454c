"""How much memory the local engine needs, and what it says where its limit is too low."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from nessie_gc_core.algorithms import subtract
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.engines.local.database import Database
from nessie_gc_core.errors import InsufficientMemoryError
from nessie_gc_core.model.relations import REACHABLE_FILES, STORED_FILES

FILES = 100_000
TIMES = 12
"""How often each of them is named."""
UNIT = "file:///lake/warehouse/namespace/table/"


def files(schema: pa.Schema, numbers: range) -> pa.RecordBatch:
    """Files with these numbers; what else there is to know of them is empty."""
    keys = [f"data/part-{number:080}.parquet" for number in numbers]
    given = {"unit": [UNIT] * len(keys), "key": keys, "path": [UNIT + key for key in keys]}
    empty = {pa.string(): "", pa.bool_(): False}
    columns = [
        pa.array(given.get(field.name, [None if field.nullable else empty.get(field.type, 0)] * len(keys)), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def named_often(engine: LocalEngine) -> Dataset:
    """Reachable files, each named many times."""

    def batches() -> Iterator[pa.RecordBatch]:
        for _ in range(TIMES):
            yield files(REACHABLE_FILES, range(FILES))

    return engine.dataset(batches(), REACHABLE_FILES)


def test_missing_files_are_found_in_a_small_part_of_the_memory_of_all_that_is_named() -> None:
    with LocalEngine(workers=1, memory_limit="24MB") as engine:
        stored = engine.dataset([files(STORED_FILES, range(FILES - 3))], STORED_FILES)
        lost = subtract.lost(stored, named_often(engine), engine.empty(REACHABLE_FILES)).checkpoint()
        assert {FILES - 3, FILES - 2, FILES - 1} == {
            int(key.removeprefix("data/part-").removesuffix(".parquet"))
            for key in lost.summary().column("key").to_pylist()
        }


def test_a_limit_that_is_too_low_is_named_with_what_to_set() -> None:
    with LocalEngine(workers=1, memory_limit="2MB") as engine:
        numbers = pa.schema([pa.field("number", pa.int64())])
        relation = engine.dataset([pa.record_batch([pa.array(range(300_000))], schema=numbers)], numbers)
        with pytest.raises(InsufficientMemoryError, match="`memory_limit` 2MB: set a higher one"):
            relation.distinct(["number"]).checkpoint()


def test_a_full_disk_is_named_with_what_to_set(tmp_path: Path) -> None:
    with Database(threads=1, memory_limit="16MB", directory=str(tmp_path)) as database:
        database.execute("SET max_temp_directory_size = '1MB'")
        with pytest.raises(InsufficientMemoryError, match=f"no room to spill relations in {tmp_path}/.*: free some"):
            database.store("SELECT DISTINCT 'a long text' || (i * 7)::VARCHAR AS text FROM range(3000000) r(i)")


def test_too_little_memory_is_no_fault_of_the_configuration_that_stops_a_run_before_it_deletes() -> None:
    assert 1 == InsufficientMemoryError.exit_code


def test_a_signal_that_arrives_while_duckdb_computes_is_an_interrupt() -> None:
    """DuckDB asks for signals while it computes, and raises an error of its own instead of what a handler raises."""
    asked = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    with Database(threads=1, memory_limit="16MB", directory=None) as database, pytest.raises(KeyboardInterrupt):
        asked.start()
        database.execute("SELECT sum(i) FROM range(1000000000000) r(i)")
