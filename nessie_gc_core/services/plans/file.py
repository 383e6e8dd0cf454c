"""A plan as a file: JSON lines or Parquet, written whole or not at all, with a digest that shows later changes.

The digest is the SHA-256 of the plan as JSON lines, without the last one, whatever the format of the file. It shows
that a file was changed or damaged; it is not a signature.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, Protocol, Self, cast
from uuid import uuid4

import pyarrow as pa
from pyarrow import parquet

from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.batches import BATCH_ROWS, from_micros, in_schema, to_batches, to_micros
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.outcome_formats import sync_folder
from nessie_gc_core.services.output_files import check_output
from nessie_gc_core.services.plans.rows import PLAN_ROWS

FORMAT = 1
"""The version of the format; a file of a later one is refused."""
_MAGIC = "nessie_gc_plan"
_END = "nessie_gc_plan_end"
_TIME = pa.timestamp("us", tz="UTC")
_IN_PARQUET = PLAN_ROWS.set(PLAN_ROWS.get_field_index("modified"), PLAN_ROWS.field("modified").with_type(_TIME))
_ERRORS = (OSError, pa.ArrowException, ValueError, KeyError, TypeError, OverflowError)
_MAKE_ANEW = "make a new plan"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanHeader:
    """What a plan was made from."""

    live_set_id: str
    """The live set whose sweep it is."""
    repositories: tuple[str, ...]
    """The identities of the repositories that were read."""
    created: str
    """When it was made: ISO 8601, UTC."""
    engine: str
    """The engine that made it."""
    version: str
    """The version of Nessie GC that made it."""
    quarantine: tuple[str, ...] = ()
    """Where the files are to be moved; empty: they are to be deleted."""
    options: Mapping[str, Any] | None = None
    """What decided which files are in it, as JSON has it, without defaults; ``None``: an earlier version wrote it."""
    format: int = FORMAT
    """The version of the format."""

    @property
    def time(self) -> datetime:
        """When it was made."""
        return datetime.fromisoformat(self.created)

    def to_dict(self) -> dict[str, Any]:
        """As it is written in the file."""
        said = asdict(self)
        if self.options is None:
            del said["options"]
        return said


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanEnd:
    """What the end of a plan says, which shows that it is whole."""

    files: int
    """How many files, without checksum sidecars."""
    bytes: int
    """Their bytes."""
    sha256: str
    """The digest of all before it, in hexadecimal digits."""


class _Digest:
    """Counts and digests the rows of a plan, in their order."""

    def __init__(self, header: PlanHeader) -> None:
        self._sha256 = hashlib.sha256(header_line(header))
        self._files = self._bytes = 0

    def lines(self, rows: pa.RecordBatch) -> bytes:
        """The rows as JSON lines, which count from now on."""
        found = rows.to_pylist()
        sizes = [row["size"] for row in found if not row["sidecar"]]
        self._files += len(sizes)
        self._bytes += sum(sizes)
        text = b"".join(map(_line, found))
        self._sha256.update(text)
        return text

    def end(self) -> PlanEnd:
        """What stands at the end of the plan."""
        return PlanEnd(files=self._files, bytes=self._bytes, sha256=self._sha256.hexdigest())


def header_line(header: PlanHeader) -> bytes:
    """The header as the first line."""
    return json.dumps({_MAGIC: header.to_dict()}, ensure_ascii=False).encode() + b"\n"


def _line(row: dict[str, Any]) -> bytes:
    modified = from_micros(row["modified"])
    said = {**row, "modified": None if modified is None else modified.isoformat(timespec="microseconds")}
    return json.dumps(said, ensure_ascii=False).encode() + b"\n"


# ---- writing ------------------------------------------------------------------------------------------
class _Writer(Protocol):
    def write(self, rows: pa.RecordBatch, lines: bytes) -> object: ...

    def finish(self, end: PlanEnd) -> object: ...


class _JsonLines:
    def __init__(self, file: BinaryIO, header: PlanHeader) -> None:
        self._file = file
        file.write(header_line(header))

    def write(self, rows: pa.RecordBatch, lines: bytes) -> None:
        self._file.write(lines)

    def finish(self, end: PlanEnd) -> None:
        self._file.write(json.dumps({_END: asdict(end)}).encode() + b"\n")


class _Parquet:
    def __init__(self, file: BinaryIO, header: PlanHeader) -> None:
        schema = _IN_PARQUET.with_metadata({_MAGIC: json.dumps(header.to_dict(), ensure_ascii=False)})
        self._writer = parquet.ParquetWriter(file, schema)

    def write(self, rows: pa.RecordBatch, lines: bytes) -> None:
        times = rows.column("modified").cast(_TIME)
        self._writer.write_batch(in_schema(rows, _IN_PARQUET, {"modified": times}))

    def finish(self, end: PlanEnd) -> None:
        self._writer.add_key_value_metadata({_END: json.dumps(asdict(end))})
        self._writer.close()


def write_plan(path: str, header: PlanHeader, rows: Iterable[pa.RecordBatch]) -> PlanEnd:
    """Writes a plan; under its name it is whole.

    Args:
        path: a new file that ends in ``.jsonl`` or ``.parquet``.
        header: what it was made from.
        rows: what would be deleted (:data:`PLAN_ROWS`), streamed.

    Raises:
        ConfigurationError: the file cannot be a plan, or exists.
        NessieGcError: it cannot be written.
    """
    check_output("plan", path, new=True)
    file = Path(path)
    unfinished = file.with_name(f"{file.name}.{uuid4().hex[:8]}.unfinished")
    digest = _Digest(header)
    with _removed_on_failure(unfinished), _telling(path), unfinished.open("wb") as out:
        writer: _Writer = _Parquet(out, header) if file.suffix == ".parquet" else _JsonLines(out, header)
        for batch in rows:
            writer.write(batch, digest.lines(batch))
        end = digest.end()
        writer.finish(end)
        out.flush()
        os.fsync(out.fileno())
    with _telling(path):
        check_output("plan", path, new=True)  # somebody else may have made it meanwhile
        unfinished.rename(file)
        sync_folder(file)
    return end


@contextmanager
def _removed_on_failure(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def _telling(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NessieGcError(f"cannot write `plan` {path}: {error.strerror or error}") from error


# ---- reading ------------------------------------------------------------------------------------------
class PlanFile:
    """A plan that was written before; whoever reads all its rows knows that they are those that were written."""

    def __init__(self, path: Path, header: PlanHeader, end: PlanEnd) -> None:
        self.path = path
        self.header = header
        """What it was made from."""
        self.end = end
        """How much it has, and its digest."""

    @classmethod
    def open(cls, path: str) -> Self:
        """Reads the header and the end.

        Raises:
            ConfigurationError: it is missing or incomplete, is not a plan, or is of a later version.
        """
        file = Path(path)
        try:
            header, end = _parquet_ends(file) if file.suffix == ".parquet" else _line_ends(file)
        except FileNotFoundError as error:
            raise ConfigurationError(f"the plan {path} does not exist") from error
        except _ERRORS as error:
            raise ConfigurationError(
                f"{path} is not a plan, or it is incomplete ({one_line(error)}); copy it again, or {_MAKE_ANEW}"
            ) from error
        if not isinstance(header, dict) or not isinstance(end, dict):
            raise ConfigurationError(f"{path} is not a plan; {_MAKE_ANEW}")
        if header.get("format") != FORMAT:
            raise ConfigurationError(
                f"the plan {path} has format {header.get('format')}, this version reads {FORMAT}; use the version that "
                f"made it, or {_MAKE_ANEW}"
            )
        try:
            return cls(file, _header_of(header), PlanEnd(**end))
        except _ERRORS as error:
            raise ConfigurationError(f"{path} is not a plan ({one_line(error)}); {_MAKE_ANEW}") from error

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows (:data:`PLAN_ROWS`), streamed.

        Raises:
            ConfigurationError: not before the last row: they are not those that were written.
        """
        digest = _Digest(self.header)
        try:
            for batch in _parquet_rows(self.path) if self.path.suffix == ".parquet" else _line_rows(self.path):
                digest.lines(batch)
                yield batch
        except _ERRORS as error:
            self._refuse(one_line(error), error)
        if digest.end() != self.end:
            self._refuse("its digest is another one")

    def _refuse(self, why: str, error: Exception | None = None) -> NoReturn:
        raise ConfigurationError(
            f"the plan {self.path} was changed or damaged after it was written ({why}); {_MAKE_ANEW}"
        ) from error


def _header_of(said: dict[str, Any]) -> PlanHeader:
    """The header as it is written in a file.

    Raises:
        ValueError, TypeError, KeyError: it is not one.
    """
    texts = [said["live_set_id"], said["created"], said["engine"], said["version"]]
    if not all(isinstance(text, str) for text in [*texts, *said["repositories"], *said["quarantine"]]):
        raise TypeError("its header has another form")
    lists = {name: tuple(said[name]) for name in ("repositories", "quarantine")}
    header = PlanHeader(**{**said, **lists})
    if header.options is not None and not isinstance(header.options, dict):
        raise TypeError("its options have another form")
    if header.time.tzinfo is None:
        raise ValueError("its time has no time zone")
    return header


def _line_ends(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with path.open("rb") as file:
        said: Any = parsed_json(file.readline())
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - 4096, 0))
        last = file.read().rstrip(b"\n").rpartition(b"\n")[2]
    end: Any = parsed_json(last)
    return said[_MAGIC], end[_END]


def _line_rows(path: Path) -> Iterator[pa.RecordBatch]:
    def rows() -> Iterator[tuple[Any, ...]]:
        with path.open("rb") as file:
            file.readline()
            for line in file:
                row: Any = parsed_json(line)
                if _END in row:
                    return
                row["modified"] = to_micros(datetime.fromisoformat(row["modified"]))
                if list(row) != PLAN_ROWS.names:
                    raise ValueError("a line is not as it was written")
                yield tuple(row.values())

    return to_batches(rows(), PLAN_ROWS)


def _parquet_ends(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    metadata = parquet.read_metadata(path).metadata or {}
    header, end = (parsed_json(metadata[key.encode()]) for key in (_MAGIC, _END))
    return cast("dict[str, Any]", header), cast("dict[str, Any]", end)


def _parquet_rows(path: Path) -> Iterator[pa.RecordBatch]:
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=PLAN_ROWS.names):
            yield in_schema(batch, PLAN_ROWS, {"modified": batch.column("modified").cast(pa.int64())})
