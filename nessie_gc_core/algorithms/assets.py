"""Assets: files that nothing needs, as the table of a catalog holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.algorithms.history import Holder
from nessie_gc_core.algorithms.kinds import KindsOfNames
from nessie_gc_core.algorithms.planned import PLANNED_FILES, Planned
from nessie_gc_core.algorithms.spellings import Spellings
from nessie_gc_core.algorithms.unit_index import NO_NAMES, REMEMBERED_FOLDERS, UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.assets import ASSETS, AssetReason, AssetType, TypeFrom, asset_id, snapshot_text
from nessie_gc_core.model.batches import Row, Value, from_micros, to_batches, to_micros, to_rows, to_tuples
from nessie_gc_core.model.files import FileKind
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import FILE_KEYS, OUTCOMES
from nessie_gc_core.model.verdicts import Outcome

ASSET_FILES = pa.schema(
    [
        pa.field("asset", pa.binary(), nullable=False),
        pa.field("unit", pa.string(), nullable=False),
        pa.field("key", pa.string()),
        pa.field("location", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified", pa.int64(), nullable=False),
    ]
)
"""Files that nothing needs, each with its identity; ``path`` is the raw path below ``location``, as in outcomes."""

FIRST_SEEN = pa.schema([ASSETS.field("asset"), ASSETS.field("firstSeen")])
"""When an asset was first seen to be unreferenced."""

TYPES: Mapping[str, AssetType] = {
    FileKind.METADATA: AssetType.ICEBERG_METADATA,
    FileKind.MANIFEST_LIST: AssetType.ICEBERG_MANIFEST_LIST,
    FileKind.MANIFEST: AssetType.ICEBERG_MANIFEST,
    FileKind.DATA: AssetType.DATA_FILE,
    FileKind.POSITION_DELETES: AssetType.DELETE_FILE,
    FileKind.EQUALITY_DELETES: AssetType.DELETE_FILE,
    FileKind.DELETION_VECTOR: AssetType.DELETION_VECTOR,
    FileKind.STATISTICS: AssetType.STATISTICS,
    FileKind.PARTITION_STATISTICS: AssetType.STATISTICS,
}
"""The name of each kind of file among assets; other kinds are unknown."""


def asset_files(outcomes: Dataset, index: UnitIndex, rules: LocationRules, *, left_out: Iterable[str] = ()) -> Dataset:
    """The files of some outcomes (:data:`OUTCOMES`) that would be deleted (:data:`ASSET_FILES`).

    Checksum sidecars are left out: each is deleted with its file.

    Args:
        outcomes: those of a dry run.
        index: the sweep units.
        rules: how locations compare.
        left_out: raw locations whose files are not assets.
    """
    dead = outcomes.where("outcome", [Outcome.WOULD_DELETE.value]).where("sidecar", [False])
    return dead.flat_map(_AssetFiles(index, rules, [rules.place_prefix(location) for location in left_out]))


class _AssetFiles:
    """Outcomes to files with their identity."""

    schema = ASSET_FILES

    def __init__(self, index: UnitIndex, rules: LocationRules, left_out: Sequence[str]) -> None:
        self._index = index
        self._rules = rules
        self._left_out = tuple(left_out)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, *OUTCOMES.names[:5]))
        named = ((f"{row[1]!s}{row[2]!s}", row) for row in rows)
        mine = ((path, row) for path, row in named if not self._rules.place(path).startswith(self._left_out))
        yield from to_batches((self._row(path, row) for path, row in mine), self.schema)

    def _row(self, path: str, row: Row) -> Row:
        found = self._index.find(path)
        key = found[1] if found is not None and found[0] == row[0] else None
        return (asset_id(path, self._rules), row[0], key, *row[1:])


class ApprovedAssets(Planned):
    """Assets on which enough runs agreed (:data:`ASSETS`): only files that have not changed since may be deleted."""

    why_not: ClassVar[str] = (
        "too few runs have seen it, the predicate leaves it out, or it has changed since the latest run"
    )
    left_out: ClassVar[str] = "seen by enough runs skipped: by now needed, changed or gone"

    def __init__(self, assets: Dataset, rules: LocationRules) -> None:
        """Takes one row for each asset."""
        self._assets = assets
        self._rules = rules

    def count(self) -> int:
        """How many."""
        return self._assets.count()

    def others(self, dead: Dataset) -> Dataset:
        """Those of another path, size or time; checksum sidecars are deleted with their files, never alone."""
        files = dead.where("sidecar", [False])
        seen = self._assets.flat_map(_SeenFiles())
        others = files.flat_map(_Identified(self._rules)).anti_join(seen, ["asset", "size", "modified"])
        alone = dead.where("sidecar", [True]).anti_join(files, list(FILE_KEYS.names))
        return others.select(PLANNED_FILES).union(alone)


class _Identified:
    """Files (:data:`PLANNED_FILES`) with their identity."""

    schema = pa.schema([*PLANNED_FILES, ASSETS.field("asset")])

    def __init__(self, rules: LocationRules) -> None:
        self._rules = rules

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_rows(batch, *PLANNED_FILES.names))
        identified = ((*row, asset_id(f"{row[2]!s}{row[3]!s}", self._rules)) for row in rows)
        yield from to_batches(identified, self.schema)


class _Seen(NamedTuple):
    """What is read of an asset (:data:`ASSETS`)."""

    asset: bytes
    sizeBytes: int | None  # noqa: N815 - named like the column
    modified: datetime | None


class _SeenFiles:
    """Rows of the table to what tells a file from one that was written to its path later."""

    schema = pa.schema([ASSETS.field("asset"), *(PLANNED_FILES.field(name) for name in ("size", "modified"))])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in to_tuples(batch, _Seen))
        yield from to_batches(((row.asset, row.sizeBytes, to_micros(row.modified)) for row in rows), self.schema)


class TableIndex:
    """Finds the table whose location holds a file: of several, the deepest one. Travels to executors.

    Files of one folder are looked up once.
    """

    def __init__(self, tables: Iterable[tuple[str, str]], rules: LocationRules) -> None:
        """Takes raw locations with the names of their tables."""
        self._rules = rules
        self._names: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        spellings = Spellings(rules)
        for location, name in tables:
            place = spellings.prefix_or_none(location)
            if place is not None:  # else nothing is listed there either
                self._names[place] = min(name, self._names.get(place, name))

    def name(self, raw: str) -> str:
        """The name of the table; empty where no location holds the file."""
        folder, slash, name = raw.rpartition("/")
        if name in NO_NAMES or "\\" in name or not ("://" in folder or folder.startswith("/")):
            return self._name(raw)
        known = self._folders.get(folder)
        if known is None:
            if len(self._folders) >= REMEMBERED_FOLDERS:
                self._folders.clear()
            known = self._folders[folder] = self._name(folder + slash)
        return known

    def _name(self, raw: str) -> str:
        place = self._rules.place(raw)
        end = place.rfind("/") + 1
        while end > 0:
            found = self._names.get(place[:end])
            if found is not None:
                return found
            end = place.rfind("/", 0, end - 1) + 1
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What all rows of one run have in common."""

    run: str
    runid: int
    at: datetime
    """When the references were listed."""


class NameAssets:
    """Files that nothing needs to rows of the table (:data:`ASSETS`).

    Takes :data:`ASSET_FILES`, and beside its columns ``kind`` and ``held_by`` where the history was walked.
    """

    schema = ASSETS

    def __init__(
        self,
        sighting: Sighting,
        tables: TableIndex,
        readers: Sequence[type[ContentToFiles]],
        choice: ConnectorChoice,
        *,
        history: bool = False,
        dropped: Iterable[str] = (),
    ) -> None:
        """Takes what all rows have in common, and what names and explains each.

        Args:
            sighting: the run.
            tables: where which table is.
            readers: of the contents that occur, which know what files are called.
            choice: the connectors' options.
            history: whether the history was walked.
            dropped: canonical locations of dropped contents.
        """
        self._history = history
        self._dropped = tuple(dropped)
        self._sighting = sighting
        self._tables = tables
        self._readers = tuple(reader.name for reader in readers)
        self._choice = choice
        self._rules = choice.rules()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Says of each what it is called, where it belongs, and what it was."""
        with OpenConnectors(self._choice) as connectors:
            kinds = KindsOfNames(self._readers, connectors)
            found = (row for batch in batches for row in batch.to_pylist())
            yield from to_batches((self._row(row, kinds) for row in found), self.schema)

    def _row(self, file: Mapping[str, Value], kinds: KindsOfNames) -> Row:
        sighting, location = self._sighting, str(file["location"])
        path = location + str(file["path"])
        held = file.get("held_by")
        holder = None if held is None else Holder.of(str(held))
        kind = kinds.of(path) if holder is None else str(file["kind"])
        values: dict[str, Value] = {
            "tableName": self._tables.name(path) or (holder.content_key if holder is not None else ""),
            "timestamp": sighting.at,
            "asset": file["asset"],
            "snapshotId": "",
            "assetType": TYPES.get(kind or "", AssetType.UNKNOWN).value,
            "path": path,
            "name": path.rpartition("/")[2],
            "runid": sighting.runid,
            "run": sighting.run,
            "location": location,
            "sizeBytes": file["size"],
            "modified": from_micros(int(str(file["modified"]))),
            "typeFrom": (TypeFrom.NAME if holder is None else TypeFrom.WALK).value,
            **self._last_held(path, holder),
            "firstSeen": sighting.at,
            "lastSeen": sighting.at,
        }
        return tuple(values.get(name) for name in self.schema.names)

    def _last_held(self, path: str, holder: Holder | None) -> dict[str, Value]:
        """Why nothing needs a file, and which state held it last; nothing where nobody looked."""
        in_dropped = bool(self._dropped) and self._rules.place(path).startswith(self._dropped)
        if holder is None:
            unheld = AssetReason.NEVER_COMMITTED if self._history else None
            reason = AssetReason.DROPPED_TABLE if in_dropped else unheld
            return {"reason": None if reason is None else reason.value}
        reason = AssetReason.EXPIRED_COMMIT if holder.reference else AssetReason.NO_REFERENCE
        reason = AssetReason.DROPPED_TABLE if in_dropped else reason
        return {
            "reason": reason.value,
            "snapshotId": snapshot_text(holder.snapshot_id),
            "lastReference": holder.reference or None,
            "lastCommit": holder.commit_id,
            "lastCommitTime": from_micros(holder.micros or None),
            "policy": holder.policy or None,
        }


class NumberAssets:
    """Rows of the table (:data:`ASSETS`) to the same rows with the number of their run."""

    schema = ASSETS

    def __init__(self, runid: int) -> None:
        self._runid = runid

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Column by column."""
        for batch in batches:
            yield _with_column(batch, "runid", pa.array([self._runid] * batch.num_rows, pa.int64()))


class FillFirstSeen:
    """Rows of the table (:data:`ASSETS`): an asset that no run saw before was first seen now."""

    schema = ASSETS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Column by column."""
        for batch in batches:
            yield _with_column(batch, "firstSeen", pc.coalesce(batch.column("firstSeen"), batch.column("timestamp")))


def _with_column(batch: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    columns = [column if field.name == name else batch.column(field.name).cast(field.type) for field in ASSETS]
    return pa.RecordBatch.from_arrays(columns, schema=ASSETS)
