"""The outcome file: one line or row for every file, with what became of it."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import pyarrow as pa
from pyarrow import parquet

from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import from_micros
from nessie_gc_core.model.relations import OUTCOMES


class OutcomeFile:
    """Writes outcomes as they come: JSON lines or Parquet, by the file's name; nothing where there is no file."""

    def __init__(self, path: str | None, *, resumed: bool = False) -> None:
        """Opens the file, before anything is deleted; a resumed sweep adds to what its first attempt wrote.

        Raises:
            ConfigurationError: it cannot be written, or cannot be added to.
        """
        self._stack = ExitStack()
        self._lines: IO[str] | None = None
        self._rows: parquet.ParquetWriter | None = None
        if path is None:
            return
        if resumed and path.endswith(".parquet") and Path(path).exists():
            raise ConfigurationError(f"--outcomes-to {path} has an earlier attempt's outcomes; give another file")
        try:
            if path.endswith(".parquet"):
                self._rows = self._stack.enter_context(parquet.ParquetWriter(path, OUTCOMES))
            else:
                lines = Path(path).open("a" if resumed else "w", encoding="utf-8")  # noqa: SIM115 - closed by the stack
                self._lines = self._stack.enter_context(lines)
        except OSError as error:
            raise ConfigurationError(f"cannot write --outcomes-to {path}: {error.strerror or error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def write(self, outcomes: Dataset) -> None:
        """Adds all rows of a dataset of :data:`OUTCOMES`, streamed."""
        if self._lines is None and self._rows is None:
            return
        for batch in outcomes.batches():
            self._write(batch)

    def _write(self, batch: pa.RecordBatch) -> None:
        if self._rows is not None:
            self._rows.write_batch(batch)
        if self._lines is not None:
            for row in batch.to_pylist():
                modified = from_micros(row["modified"])
                line = {**row, "modified": modified.isoformat() if modified else None}
                self._lines.write(json.dumps(line, ensure_ascii=False) + "\n")
