"""How outcomes are written: as JSON lines, or in Parquet files; what was written before is never touched."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import pyarrow as pa
from pyarrow import parquet

from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.batches import Row, from_micros, to_batches
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.relations import OUTCOMES
from nessie_gc_core.model.report_format import FILE_KEY, FORMAT
from nessie_gc_core.model.text import json_time, one_line

RECORDED = pa.schema(
    [*OUTCOMES, pa.field("live_set_id", pa.string(), nullable=False), pa.field("recorded", pa.int64(), nullable=False)]
)
"""A row of :data:`OUTCOMES`, the live set that it belongs to, and when it was written."""
_IN_PARQUET = RECORDED.with_metadata({FILE_KEY: str(FORMAT).encode()})
NAMES = pa.schema([pa.field(name, pa.string(), nullable=False) for name in ("location", "path")])
_BEGINNING = b'{"unit": "'
"""How each of our lines begins."""
_CHUNK = 65536
_TIMES = ("modified", "recorded")


class OutcomeFormat(ABC):
    """Where rows of :data:`RECORDED` go."""

    @abstractmethod
    def position(self) -> int:
        """The position of the next row: a number that only grows."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows."""

    @abstractmethod
    def sync(self) -> None:
        """Makes sure that nothing takes away any more what was written."""

    @abstractmethod
    def names_since(self, position: int, schema: pa.Schema = NAMES) -> Iterator[pa.RecordBatch]:
        """Some text columns (:data:`NAMES`) of what was written from a position on, streamed."""

    @abstractmethod
    def close(self) -> None:
        """Syncs, and closes what is open."""


def open_format(path: Path, *, alone: bool = True) -> OutcomeFormat:
    """What writes to a file, by its name; what is in it stays, whoever wrote it.

    Args:
        path: the file.
        alone: whether nobody else can be writing to it, so that what is not finished is left by a killed run.

    Raises:
        ConfigurationError: it cannot be written.
    """
    try:
        return (ParquetParts if path.suffix == ".parquet" else JsonLines)(path, alone=alone)
    except OSError as error:
        raise ConfigurationError(f"cannot write `outcomes_to` {path}: {error.strerror or error}") from error


@contextmanager
def telling_errors(path: Path | None) -> Iterator[None]:
    """Says of which outcome file an error is."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        said = getattr(error, "strerror", None) or one_line(error)
        raise NessieGcError(f"cannot write `outcomes_to` {path}: {said}") from error


class JsonLines(OutcomeFormat):
    """One file with a line for each row; a second run adds to it."""

    def __init__(self, path: Path, *, alone: bool = True) -> None:
        self._path = path
        self._file: BinaryIO = path.open("ab")
        _mend(path, self._file, alone=alone)
        sync_folder(path)

    def position(self) -> int:
        """The size of the file."""
        self._file.flush()
        return self._path.stat().st_size

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds lines; their times are ISO 8601."""
        for row in batch.to_pylist():
            times = {name: from_micros(row[name]) for name in _TIMES}
            line = {**row, **{name: json_time(time) for name, time in times.items()}}
            self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")

    def sync(self) -> None:
        """Flushes and syncs the file."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def names_since(self, position: int, schema: pa.Schema = NAMES) -> Iterator[pa.RecordBatch]:
        """Reads lines; one that broke off names nothing."""
        yield from to_batches(self._texts(position, schema.names), schema)

    def _texts(self, position: int, names: Sequence[str]) -> Iterator[Row]:
        with self._path.open("rb") as lines:
            lines.seek(position)
            for line in lines:
                try:
                    row: Any = parsed_json(line)
                    yield tuple(str(row[name]) for name in names)
                except (ValueError, KeyError, TypeError):
                    continue

    def close(self) -> None:
        """Syncs and closes the file."""
        try:
            self.sync()
        finally:
            self._file.close()


class ParquetParts(OutcomeFormat):
    """``NAME.parquet``, ``NAME.1.parquet`` and so on: a file for every sync, whole or not there at all."""

    def __init__(self, path: Path, *, alone: bool = True) -> None:
        self._path = path
        self._unfinished = path.with_name(f"{path.name}.unfinished" if alone else f"{path.name}.{uuid4()}.unfinished")
        self._unfinished.unlink(missing_ok=True)  # it may be a finished part as well
        self._unfinished.open("wb").close()
        self._unfinished.unlink()
        self._writer: parquet.ParquetWriter | None = None
        self._failed = False

    def position(self) -> int:
        """The number of the next file."""
        number = 0
        while self._part(number).exists():
            number += 1
        return number

    def write(self, batch: pa.RecordBatch) -> None:
        """Adds rows to the file that is not finished."""
        with self._removed_on_failure():
            if self._writer is None:
                self._writer = parquet.ParquetWriter(self._unfinished, _IN_PARQUET)
            self._writer.write_batch(batch)

    def sync(self) -> None:
        """Finishes the file and gives it its name."""
        if self._writer is None:
            return
        with self._removed_on_failure():
            self._writer.close()
            self._writer = None
            with self._unfinished.open("rb+") as written:
                os.fsync(written.fileno())
            self._name()
        sync_folder(self._path)

    @contextmanager
    def _removed_on_failure(self) -> Iterator[None]:
        """Leaves no file behind that cannot be finished, such as on a full disk."""
        try:
            yield
        except Exception:
            self._failed, self._writer = True, None
            self._unfinished.unlink(missing_ok=True)
            raise

    def _name(self) -> None:
        """Takes the next name; what somebody else has finished meanwhile is never replaced."""
        while True:
            part = self._part(self.position())
            try:
                os.link(self._unfinished, part)
            except FileExistsError:
                continue
            except OSError:  # not every file system has links
                self._unfinished.rename(part)
            else:
                self._unfinished.unlink()
            return

    def names_since(self, position: int, schema: pa.Schema = NAMES) -> Iterator[pa.RecordBatch]:
        """Reads the files from a number on."""
        for number in range(position, self.position()):
            with parquet.ParquetFile(self._part(number)) as file:
                yield from (batch.cast(schema) for batch in file.iter_batches(columns=schema.names))

    def close(self) -> None:
        """Finishes the file; the first is there even where it has no row, unless one could not be written."""
        if self._failed:
            return
        if self.position() == 0:
            self.write(pa.RecordBatch.from_pylist([], schema=RECORDED))
        self.sync()

    def _part(self, number: int) -> Path:
        return self._path if number == 0 else self._path.with_suffix(f".{number}{self._path.suffix}")


def sync_folder(path: Path) -> None:
    """Makes sure that the name of a file stays; not every system can, and none needs it while it runs."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _mend(path: Path, file: BinaryIO, *, alone: bool) -> None:
    """Ends the last line; if a killed run left one of our lines incomplete, its plan names the file again."""
    with path.open("rb") as written:
        end = written.seek(0, os.SEEK_END)
        start = end
        tail = b""
        while start > 0 and b"\n" not in tail:
            start = max(start - _CHUNK, 0)
            written.seek(start)
            tail = written.read(end - start)
    fragment = tail.rpartition(b"\n")[2]
    if not fragment:
        return
    try:
        parsed_json(fragment)
    except ValueError:
        if alone and (fragment.startswith(_BEGINNING) or _BEGINNING.startswith(fragment)):
            file.truncate(end - len(fragment))
            return
    file.write(b"\n")
