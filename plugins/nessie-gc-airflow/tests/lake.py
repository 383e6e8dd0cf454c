"""A lake on disk: a catalog in SQLite, one table, a file that nothing needs, and the settings to collect it."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog


class Lake:
    """The lake; its configuration file is complete."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._catalog = SqlCatalog("prod", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
        self._catalog.create_namespace("db")
        rows = pa.table({"id": [1, 2, 3]})
        table = self._catalog.create_table("db.t", schema=rows.schema)
        table.append(rows)
        self.garbage = folder / "warehouse/db/t/data/nobody-names-me.parquet"
        self.garbage.write_bytes(b"?")
        self.config = folder / "nessie-gc.toml"
        self.config.write_text(self._settings())

    def _settings(self) -> str:
        return f"""
uri = "sqlite:///{self.folder}/catalog.db"
engine = "local"
jdbc-url = "sqlite:///{self.folder}/live-sets.db"
min-age = "PT0S"
no-age-floor = true

[repository]
name = "iceberg-catalog"
catalog_name = "prod"
"""

    @property
    def files(self) -> set[Path]:
        """All files of the table."""
        return {path for path in (self.folder / "warehouse").rglob("*.*") if path.is_file()}

    def break_the_table(self) -> None:
        """Makes its manifests unreadable, so that nobody knows what it needs."""
        for manifest in (self.folder / "warehouse").rglob("*.avro"):
            manifest.write_bytes(b"?")

    def block_the_table(self) -> Path:
        """Makes one of its manifests a pipe, which whoever reads it waits for; gives its path."""
        manifest = next((self.folder / "warehouse").rglob("*.avro"))
        manifest.unlink()
        os.mkfifo(manifest)
        return manifest

    def close(self) -> None:
        """Closes the catalog."""
        self._catalog.close()
