"""A dry run of what was built, on a lake of one table: ``python dry_run_of_release.py FOLDER nessie-gc``."""

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
    return None


def _uri(folder: Path) -> str:
    return f"sqlite:///{folder}/catalog.db"


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), sys.argv[2:]))
