"""Plain catalogs whose tables lie in a real object store, and how they are collected."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from nessie_gc_core.testing.servers.s3 import S3Server


def rows(*numbers: int) -> pa.Table:
    return pa.table({"n": pa.array(numbers, pa.int64())})


def collect(s3: S3Server, folder: Path, engine: str, *options: str, settings: str = "") -> dict[str, Any]:
    """One ``gc`` of the SQL catalog in a folder; ``settings`` are more lines of ``[repository]``."""
    access = [part for key, value in s3.properties.items() for part in ("-I", f"{key}={value}")]
    config = folder / "nessie-gc.toml"
    properties = "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in s3.properties.items())
    config.write_text(
        f'[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\nuri = "sqlite:///{folder}/catalog.db"\n'
        f"{settings}\n[repository.properties]\n{properties}"
    )
    ages = ["--min-age", "PT0S", "--no-age-floor"]
    time.sleep(2.1)  # the server's clock and its files' times are whole seconds: what was written is to be older
    command = [sys.executable, "-m", "nessie_gc_core", "gc", "--config", str(config), "--inmemory", "--json", *ages]
    run = subprocess.run([*command, "--engine", engine, *access, *options], capture_output=True, text=True, check=False)
    assert run.stdout, run.stderr
    return dict(json.loads(run.stdout))
