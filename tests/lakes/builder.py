"""Builds a lake: real Iceberg v2 metadata, empty data files, a Nessie commit for each append or for several."""

from __future__ import annotations

import json
import os
import random
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lakes import avro
from lakes.facts import CommittedState, LakeFacts, TableState, table_directory
from lakes.nessie import NessieCommits
from lakes.spec import LakeSpec

_SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": False, "type": "int"},
        {"id": 2, "name": "p", "required": False, "type": "int"},
    ],
}
_PARTITION_FIELDS = [{"name": "p", "transform": "identity", "source-id": 2, "field-id": 1000}]
_METADATA_LOG_ENTRIES = 100


class Commits(Protocol):
    """What takes the commits of a lake."""

    def has(self, branch: str, key: list[str]) -> bool:
        """Whether a branch has a content of this name."""

    def put(
        self, branch: str, contents: Mapping[tuple[str, ...], dict[str, Any]], *, message: str
    ) -> tuple[str, dict[tuple[str, ...], str]]:
        """Commits contents by their keys; the commit's id, and the ids of the contents that are new."""

    def create_branch(self, name: str, *, source: str) -> None:
        """Creates a branch at the head of another."""


def build_lake(spec: LakeSpec, directory: Path, nessie_uri: str) -> LakeFacts:
    """Builds the lake below a directory and commits it to a server; neither may hold it already."""
    with NessieCommits(nessie_uri) as nessie:
        return write_lake(spec, directory, nessie, nessie_uri)


def write_lake(spec: LakeSpec, directory: Path, commits: Commits, uri: str = "") -> LakeFacts:
    """Builds the lake below a directory, and commits it to whatever takes commits."""
    return _Builder(spec, directory.absolute(), commits, uri).build()


@dataclass(slots=True)
class _TableOnBranch:
    """Where a table stands on a branch."""

    state: int | None = None
    snapshots: list[str] = field(default_factory=list)
    snapshot_log: list[str] = field(default_factory=list)
    metadata_log: list[str] = field(default_factory=list)
    manifests: list[dict[str, Any]] = field(default_factory=list)

    def fork(self) -> _TableOnBranch:
        return _TableOnBranch(
            self.state,
            list(self.snapshots),
            list(self.snapshot_log),
            list(self.metadata_log),
            list(self.manifests),
        )


class _Builder:
    def __init__(self, spec: LakeSpec, directory: Path, nessie: Commits, nessie_uri: str) -> None:
        self._spec = spec
        self._directory = directory
        self._nessie = nessie
        self._nessie_uri = nessie_uri
        self._random = random.Random(spec.seed)
        self._modified = time.time() - spec.age_days * 86400
        self._states: list[TableState] = []
        self._uuids = [self._uuid() for _ in range(spec.tables)]
        self._content_ids: dict[str, str] = {}
        self._branches: dict[str, list[CommittedState]] = {spec.main: []}
        self._tables = {spec.main: [_TableOnBranch() for _ in range(spec.tables)]}

    def build(self) -> LakeFacts:
        spec = self._spec
        self._make_directories()
        self._make_namespace()
        for step, branch in spec.steps():
            if step == "fork":
                self._fork(branch)
            else:
                for first in range(0, spec.tables, spec.tables_per_commit):
                    self._append(branch, range(first, min(first + spec.tables_per_commit, spec.tables)))
        return LakeFacts(
            spec=spec,
            directory=str(self._directory),
            nessie_uri=self._nessie_uri,
            commits=len({each.commit_id for history in self._branches.values() for each in history if each.states}),
            states=tuple(self._states),
            branches={name: tuple(history) for name, history in self._branches.items()},
            content_ids=self._content_ids,
            garbage=tuple(self._write_garbage()),
        )

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _location(self, table: int) -> str:
        return table_directory(self._spec, self._directory, table)

    def _make_directories(self) -> None:
        for table in range(self._spec.tables):
            location = Path(self._location(table))
            (location / "metadata").mkdir(parents=True)
            for partition in range(self._spec.partitions):
                (location / "data" / f"p={partition}").mkdir(parents=True)

    def _make_namespace(self) -> None:
        spec = self._spec
        if not self._nessie.has(spec.main, [spec.namespace]):
            namespace = {"type": "NAMESPACE", "elements": [spec.namespace], "properties": {}}
            commit, _ = self._nessie.put(spec.main, {(spec.namespace,): namespace}, message="namespace")
            self._branches[spec.main].append(CommittedState(commit_id=commit, states=()))

    def _fork(self, name: str) -> None:
        self._nessie.create_branch(name, source=self._spec.main)
        self._branches[name] = list(self._branches[self._spec.main])
        self._tables[name] = [table.fork() for table in self._tables[self._spec.main]]

    def _append(self, branch: str, tables: Sequence[int]) -> None:
        """Appends to each of the tables, in one commit."""
        contents: dict[tuple[str, ...], dict[str, Any]] = {}
        first = len(self._states)
        for table in tables:
            state = self._write_append(self._tables[branch][table], table)
            contents[self._spec.namespace, f"t{table}"] = self._content(table, state)
            self._tables[branch][table].state = len(self._states)
            self._states.append(state)
        named = ".".join(next(iter(contents))) if len(contents) == 1 else f"{len(contents)} tables"
        commit, added = self._nessie.put(branch, contents, message=f"append to {named}")
        self._content_ids.update((".".join(key), content_id) for key, content_id in added.items())
        self._branches[branch].append(CommittedState(commit_id=commit, states=tuple(range(first, len(self._states)))))

    def _content(self, table: int, state: TableState) -> dict[str, Any]:
        content: dict[str, Any] = {
            "type": "ICEBERG_TABLE",
            "metadataLocation": self._spec.scheme + state.metadata,
            "snapshotId": state.snapshot_id,
            "schemaId": 0,
            "specId": 0,
            "sortOrderId": 0,
        }
        if (content_id := self._content_ids.get(f"{self._spec.namespace}.t{table}")) is not None:
            content["id"] = content_id
        return content

    def _write_append(self, at: _TableOnBranch, table: int) -> TableState:
        location = self._location(table)
        number = len(at.snapshots)
        append = self._uuid()
        snapshot_id = self._random.getrandbits(62)
        every = self._spec.overwrite_every
        state = TableState(
            table=table,
            snapshot_id=snapshot_id,
            parent=at.state,
            replaces=at.state is None or (every > 0 and number % every == 0),
            metadata=f"{location}/metadata/{number:05d}-{self._uuid()}.metadata.json",
            manifest_list=f"{location}/metadata/snap-{snapshot_id}-1-{append}.avro",
            manifest=f"{location}/metadata/{append}-m0.avro",
            data_prefix=f"{location}/data/p={{partition}}/00000-{number}-{append}-0-{{number:05d}}.parquet",
        )
        self._write_manifests(at, state, sequence_number=number + 1)
        self._write(state.metadata, self._metadata(at, state, sequence_number=number + 1))
        return state

    def _write_manifests(self, at: _TableOnBranch, state: TableState, *, sequence_number: int) -> None:
        spec = self._spec
        entries = []
        for number in range(spec.files_per_append):
            partition = number % spec.partitions
            path = state.data_prefix.format(partition=partition, number=number)
            self._create(path, spec.data_file_bytes)
            entry = avro.data_file_entry(
                spec.scheme + path, size=spec.data_file_bytes, partition=partition, snapshot_id=state.snapshot_id
            )
            entries.append(entry)
        manifest = avro.manifest(entries, schema=json.dumps(_SCHEMA), partition_spec=json.dumps(_PARTITION_FIELDS))
        self._write(state.manifest, manifest)
        if state.replaces:
            at.manifests.clear()
        listed = avro.manifest_list_entry(
            spec.scheme + state.manifest,
            length=len(manifest),
            sequence_number=sequence_number,
            snapshot_id=state.snapshot_id,
            files=spec.files_per_append,
            partitions=spec.partitions,
        )
        at.manifests.append(listed)
        parent = None if state.parent is None else self._states[state.parent].snapshot_id
        manifest_list = avro.manifest_list(
            at.manifests, snapshot_id=state.snapshot_id, parent_id=parent, sequence_number=sequence_number
        )
        self._write(state.manifest_list, manifest_list)

    def _metadata(self, at: _TableOnBranch, state: TableState, *, sequence_number: int) -> bytes:
        timestamp = int(self._modified * 1000) + len(self._states)
        snapshot: dict[str, Any] = {
            "snapshot-id": state.snapshot_id,
            "sequence-number": sequence_number,
            "timestamp-ms": timestamp,
            "manifest-list": self._spec.scheme + state.manifest_list,
            "summary": {
                "operation": "overwrite" if state.replaces and state.parent is not None else "append",
                "added-data-files": str(self._spec.files_per_append),
            },
            "schema-id": 0,
        }
        if state.parent is not None:
            snapshot["parent-snapshot-id"] = self._states[state.parent].snapshot_id
        at.snapshots.append(json.dumps(snapshot))
        at.snapshot_log.append(json.dumps({"timestamp-ms": timestamp, "snapshot-id": state.snapshot_id}))
        metadata = _metadata_head(self._spec, self._location(state.table), self._uuids[state.table])
        metadata |= {
            "last-sequence-number": sequence_number,
            "last-updated-ms": timestamp,
            "current-snapshot-id": state.snapshot_id,
            "refs": {"main": {"snapshot-id": state.snapshot_id, "type": "branch"}},
        }
        lists = {
            "snapshots": at.snapshots,
            "snapshot-log": at.snapshot_log,
            "metadata-log": at.metadata_log[-_METADATA_LOG_ENTRIES:],
        }
        long = ", ".join(f'"{name}": [{", ".join(parts)}]' for name, parts in lists.items())
        text = f"{json.dumps(metadata)[:-1]}, {long}}}"
        at.metadata_log.append(
            json.dumps({"timestamp-ms": timestamp, "metadata-file": self._spec.scheme + state.metadata})
        )
        return text.encode()

    def _write_garbage(self) -> list[str]:
        """Leftovers of writers that never committed; mostly data files, every twentieth a manifest."""
        spec = self._spec
        garbage = []
        for number in range(round(spec.data_files * spec.garbage_ratio)):
            location = self._location(number % spec.tables)
            if number % 20 == 19:
                path = f"{location}/metadata/{self._uuid()}-m0.avro"
            else:
                partition = number // spec.tables % spec.partitions
                path = f"{location}/data/p={partition}/00000-{number}-{self._uuid()}-0-00000.parquet"
            self._create(path, spec.data_file_bytes)
            garbage.append(path)
        return garbage

    def _create(self, path: str, size: int) -> None:
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
        try:
            os.truncate(file, size)
            os.utime(file, (self._modified, self._modified))
        finally:
            os.close(file)

    def _write(self, path: str, content: bytes) -> None:
        file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
        try:
            os.write(file, content)
            os.utime(file, (self._modified, self._modified))
        finally:
            os.close(file)


def _metadata_head(spec: LakeSpec, location: str, table_uuid: str) -> dict[str, Any]:
    return {
        "format-version": 2,
        "table-uuid": table_uuid,
        "location": spec.scheme + location,
        "last-column-id": 2,
        "current-schema-id": 0,
        "schemas": [_SCHEMA],
        "default-spec-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": _PARTITION_FIELDS}],
        "last-partition-id": 1000,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"write.format.default": "parquet"},
        "statistics": [],
        "partition-statistics": [],
    }
