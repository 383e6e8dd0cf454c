"""Dry runs of what was built, on a lake of one table: ``python dry_run_of_release.py FOLDER nessie-gc``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog


def make_lake(folder: Path) -> Path:
    """Writes a table, and beside its files one that nothing needs; gives the path of that one."""
    catalog = SqlCatalog("prod", uri=_uri(folder), warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("db")
    rows = pa.table({"id": [1, 2, 3]})
    table = catalog.create_table("db.t", schema=rows.schema)
    table.append(rows)
    catalog.close()
    garbage = folder / "warehouse/db/t/data/nobody-names-me.parquet"
    garbage.write_bytes(b"?")
    return garbage


def dry_run(command: Sequence[str], folder: Path) -> dict[str, object]:
    """Runs the program without a word about the engine; gives its report."""
    lake = ["--repository", "iceberg-catalog", "-u", _uri(folder), "-r", "catalog_name=prod", "--inmemory"]
    arguments = ["gc", *lake, "--min-age", "PT0S", "--no-age-floor", "--dry-run", "--json"]
    done = subprocess.run([*command, *arguments], cwd=folder, stdout=subprocess.PIPE, check=True)
    report: dict[str, object] = json.loads(done.stdout)
    return report


def scheduled(command: Sequence[str], folder: Path) -> object:
    """Runs the program as a scheduler, once, whose run is a dry run; gives how that ended."""
    schedule = folder / "nessie-gc.toml"
    schedule.write_text(
        f'engine = "local"\njdbc-url = "sqlite:///{folder}/live-sets.db"\nmin-age = "PT0S"\nno-age-floor = true\n'
        f'[repository]\nname = "iceberg-catalog"\nuri = "{_uri(folder)}"\ncatalog_name = "prod"\n'
        '[schedule.jobs.look]\nservice = "gc"\nevery = "P1D"\noptions = { dry-run = true }\n'
    )
    arguments = ["schedule", "run", "--once", "--config", str(schedule), "--json"]
    done = subprocess.run([*command, *arguments], cwd=folder.parent, stdout=subprocess.PIPE, check=True)
    (run,) = json.loads(done.stdout)["runs"]
    return run["status"]


def main(folder: Path, command: Sequence[str]) -> str | None:
    """Makes the lake and runs the program; gives what is wrong."""
    folder.mkdir(parents=True)
    garbage = make_lake(folder)
    before = {path for path in folder.rglob("*.*") if path.is_file()}
    report = dry_run(command, folder)
    found = {"engine": report["engine"], "would_delete": report["would_delete"], "unknown": report["unknown"]}
    expected = {"engine": "local", "would_delete": {"files": 1, "bytes": garbage.stat().st_size}, "unknown": []}
    if found != expected:
        return f"the report has {found}, not {expected}"
    if {path for path in folder.rglob("*.*") if path.is_file()} != before:
        return "the dry run changed the lake"
    if (status := scheduled(command, folder)) != "SUCCEEDED":
        return f"the scheduled run has {status}"
    return None


def _uri(folder: Path) -> str:
    return f"sqlite:///{folder}/catalog.db"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
