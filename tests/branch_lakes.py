"""Lakes whose branches get metadata with fewer snapshots, and in whose commits a test can meddle."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import fastavro
from collecting import LakeServices
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository, put, put_namespace
from nessie_gc_nessie import NessieConnector

from nessie_gc_core.dataset import Engine
from nessie_gc_core.demo.references import References
from nessie_gc_core.errors import CommitConflictError
from nessie_gc_core.model import ICEBERG_TABLE, ContentVersion, Reference
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.report import ExpiryReport
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

AT_ONCE = SweepParameters.from_mapping({"min_age": "PT0S", "no_age_floor": True})
"""A sweep of files that were written just now."""


class Committer(NessieConnector):
    """The connector, in whose commits a test can meddle."""

    before_commit: Callable[[], object] = staticmethod(lambda: None)
    after_commit: Callable[[], object] = staticmethod(lambda: None)

    def commit_metadata(
        self, branch: Reference, changes: Sequence[tuple[ContentVersion, str]], *, message: str
    ) -> None:
        self.before_commit()
        super().commit_metadata(branch, changes, message=message)
        self.after_commit()


class BranchLake:
    """A Nessie server, a live-set store, and an engine."""

    def __init__(self, uri: str, engine: Engine) -> None:
        self.references = References(uri)
        self.repository = Committer.from_options({"uri": uri})
        store = MemoryLiveSetStore.from_options({})
        self.services = LakeServices(repository=self.repository, store=store, engine=engine, clock=utc_now)

    def close(self) -> None:
        self.repository.close()
        self.services.store.close()

    def expire(self, *tables: str, **parameters: Any) -> ExpiryReport:
        """Commits to ``main`` metadata without whatever no live commit has."""
        defaults = {"commit_to": ["main"], "older_than": "PT0S", "default_cutoff": "1", "include": list(tables)}
        given = ExpireSnapshotsParameters(**{**defaults, **parameters})
        return ExpireSnapshotsService(given).run(self.services.run())

    def collect(self, policy: str = "1") -> GcReport:
        """Deletes what no live commit needs, however young."""
        return self.services.collect(policy, sweep=AT_ONCE)

    def head(self, reference: str = "main") -> str:
        """The newest commit of a reference."""
        return self.references.commits(reference, limit=1)[0]

    def content(self, key: str, reference: str = "main") -> dict[str, Any]:
        """What Nessie has of a table."""
        return self.references.contents(reference, self.head(reference))[key]

    def metadata(self, key: str, reference: str = "main") -> dict[str, Any]:
        """The metadata of a table."""
        found: dict[str, Any] = json.loads(self.metadata_file(key, reference).read_bytes())
        return found

    def metadata_file(self, key: str, reference: str = "main") -> Path:
        """The metadata file of a table."""
        return Path(self.content(key, reference)["metadataLocation"].removeprefix("file:"))

    def listed(self, key: str, reference: str = "main") -> list[int]:
        """The snapshots that the metadata of a table lists, in the order in which they were made."""
        snapshots = sorted(self.metadata(key, reference)["snapshots"], key=lambda each: each["sequence-number"])
        return [each["snapshot-id"] for each in snapshots]


# ---- in memory ----------------------------------------------------------------------------------------
class CommittingMemory(MemoryRepository):
    """A repository in memory that takes commits, in which a test can meddle."""

    before_commit: Callable[[], object] = staticmethod(lambda: None)
    after_commit: Callable[[], object] = staticmethod(lambda: None)
    messages: Sequence[str] = ()

    def commit_metadata(
        self, branch: Reference, changes: Sequence[tuple[ContentVersion, str]], *, message: str
    ) -> None:
        self.before_commit()
        lake = self._lake
        now = lake.history.state_at(lake.history.reference(branch.name).commit_id)
        visible = {version.content_id: version for version in now.values()}
        if any(visible.get(version.content_id, version).identity != version.identity for version, _ in changes):
            raise CommitConflictError("a table has changed")
        lake.commit(branch.name, *(put(replace(version, metadata_location=path)) for version, path in changes))
        self.messages = (*self.messages, message)
        self.after_commit()


def empty_manifest_list() -> bytes:
    """A manifest list without manifests."""
    fields = [{"name": "manifest_path", "type": "string"}, {"name": "manifest_length", "type": "long"}]
    out = io.BytesIO()
    fastavro.writer(out, {"type": "record", "name": "manifest_file", "fields": fields}, [])
    return out.getvalue()


NO_MANIFESTS = empty_manifest_list()


class MemoryBranchLake:
    """Tables of a history in memory, whose metadata and manifest lists are files on a disk."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder = folder
        self.lake = MemoryLake.named(f"branches-{uuid4()}")
        self.lake.now = datetime.now(UTC)
        self.repository = CommittingMemory.from_options({"lake": self.lake.name})
        store = MemoryLiveSetStore.from_options({})
        self.services = LakeServices(
            repository=self.repository, store=store, engine=engine, clock=lambda: self.lake.time
        )
        self.lake.commit("main", put_namespace("db"))

    def close(self) -> None:
        MemoryLake.forget(self.lake.name)

    def write(self, key: str = "db.t", branch: str = "main", **changes: Any) -> int:
        """Gives a table a new snapshot, and commits it; gives its id."""
        self.lake.advance(timedelta(seconds=1))
        before = self.lake.history.state_at(self.lake.history.reference(branch).commit_id).get(key)
        base = self.folder / key
        fields = new_fields(base) if before is None else self.fields_of(before)
        id_ = self.lake.next_number()
        path = base / "metadata" / f"snap-{id_}.avro"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(NO_MANIFESTS)
        time = int(self.lake.time.timestamp() * 1000)
        snapshot = {"snapshot-id": id_, "timestamp-ms": time, "manifest-list": f"file://{path}", "summary": {}}
        if fields["current-snapshot-id"] != -1:
            snapshot["parent-snapshot-id"] = fields["current-snapshot-id"]
        fields["snapshots"] = [*fields["snapshots"], snapshot]
        fields["snapshot-log"] = [*fields["snapshot-log"], {"snapshot-id": id_, "timestamp-ms": time}]
        fields |= {"current-snapshot-id": id_, "last-updated-ms": time, **changes}
        self.put(key, fields, branch, content_id=key if before is None else before.content_id)
        return id_

    def put(self, key: str, fields: Mapping[str, Any], branch: str = "main", *, content_id: str | None = None) -> None:
        """Writes metadata of a table, and commits it."""
        path = self.folder / key / "metadata" / f"{self.lake.next_number():05d}-{uuid4()}.metadata.json"
        path.write_text(json.dumps(fields))
        version = ContentVersion(
            content_id=content_id or key,
            content_type=ICEBERG_TABLE,
            metadata_location=f"file://{path}",
            snapshot_id=fields["current-snapshot-id"],
            content_key=key,
            commit_id="",
        )
        self.lake.commit(branch, put(version))

    def version(self, key: str = "db.t", reference: str = "main") -> ContentVersion:
        """The table as a reference has it."""
        return self.lake.history.state_at(self.lake.history.reference(reference).commit_id)[key]

    def fields_of(self, version: ContentVersion) -> dict[str, Any]:
        """The metadata of a version."""
        found: dict[str, Any] = json.loads(file_of(version).read_bytes())
        return found

    def fields(self, key: str = "db.t", reference: str = "main") -> dict[str, Any]:
        """The metadata of a table."""
        return self.fields_of(self.version(key, reference))

    def listed(self, key: str = "db.t", reference: str = "main") -> list[int]:
        """The snapshots that the metadata of a table lists."""
        return [each["snapshot-id"] for each in self.fields(key, reference)["snapshots"]]

    def files(self) -> set[Path]:
        """What is stored."""
        return {path for path in self.folder.rglob("*") if path.is_file()}

    def expire(self, **parameters: Any) -> ExpiryReport:
        """Commits to ``main`` metadata without whatever no live commit has, however young."""
        self.lake.advance(timedelta(seconds=1))
        defaults = {"commit_to": ["main"], "older_than": "PT0S", "default_cutoff": "1"}
        given = ExpireSnapshotsParameters(**{**defaults, **parameters})
        return ExpireSnapshotsService(given).run(self.services.run())


def file_of(version: ContentVersion) -> Path:
    """The metadata file of a version."""
    return Path((version.metadata_location or "").removeprefix("file://"))


def new_fields(base: Path) -> dict[str, Any]:
    """The metadata of a table without snapshots; Nessie has ``gc.enabled`` turned off in it."""
    return {
        "format-version": 2,
        "location": f"file://{base}",
        "properties": {"gc.enabled": "false"},
        "current-snapshot-id": -1,
        "snapshots": [],
        "snapshot-log": [],
        "schemas": [{"schema-id": number, "fields": []} for number in range(3)],
        "current-schema-id": 2,
        "partition-specs": [{"spec-id": number, "fields": []} for number in range(2)],
        "default-spec-id": 1,
        "sort-orders": [{"order-id": number, "fields": []} for number in range(2)],
        "default-sort-order-id": 1,
    }
