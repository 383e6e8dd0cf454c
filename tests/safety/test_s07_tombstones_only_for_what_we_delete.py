"""S7: a tombstone stands for a file that we deleted, and for no other."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from collecting import on_disk
from lakes_by_hand import commit_and_let_age
from nessie_gc_memory import MemoryLake

from nessie_gc_core.dataset import Engine
from nessie_gc_core.services.parameters import SweepParameters


def test_s07_a_sidecar_whose_metadata_file_somebody_else_deleted_is_no_proof_that_we_did(
    lake: MemoryLake, engine: Engine, tmp_path: Path
) -> None:
    first = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    second = first.overwrite("b.parquet")
    commit_and_let_age(lake, first, second)
    services = on_disk(lake, tmp_path / "lake", engine)
    name = first.metadata_location.rpartition("/")[2]
    (metadata,) = (tmp_path / "lake").rglob(name)
    sidecar = metadata.with_name(f".{name}.crc")
    sidecar.write_bytes(b"crc")
    long_ago = metadata.stat().st_mtime
    os.utime(sidecar, (long_ago, long_ago))
    metadata.unlink()

    services.collect("1", sweep=SweepParameters(files_per_step=2))
    assert not sidecar.exists()
    lake.advance(timedelta(days=3))
    report = services.collect("NONE")

    assert (0, 1) == (report.tolerated_missing, report.exit_code)
    assert report.unknown
