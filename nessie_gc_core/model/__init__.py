"""The shared data classes: plain and frozen, without behaviour."""

from nessie_gc_core.model.compaction import (
    FileRewrite,
    PartitionSet,
    RewriteFailure,
    RewrittenFiles,
    SortField,
    Strategy,
)
from nessie_gc_core.model.credentials import CredentialPlace, CredentialUse, StorageCredential
from nessie_gc_core.model.files import (
    TRANSLATED,
    DeleteOutcome,
    DeleteStatus,
    FileKind,
    FileReference,
    ReachableFile,
    StoredNames,
)
from nessie_gc_core.model.limits import AgeLimit, AllowedLocations, DeletionCaps
from nessie_gc_core.model.live_sets import (
    DroppedSweep,
    FileDeletion,
    LeaseHolder,
    LiveSet,
    LiveSetStatus,
    ReachedPlace,
    ReferenceHead,
    RepositoryRecords,
    SeenContent,
    SweepStep,
    SweepStepState,
)
from nessie_gc_core.model.manifests import FileEntry, Manifest, ManifestContent, PartitionRange
from nessie_gc_core.model.object_tags import QUARANTINE_TAG, TaggedObject
from nessie_gc_core.model.policies import CutoffPolicy, Reach, ReferencePolicies
from nessie_gc_core.model.quarantine import FileMove, HeldFile, HeldState, MoveOutcome, MoveStatus, Quarantine
from nessie_gc_core.model.repository import (
    ICEBERG_SNAPSHOT,
    ICEBERG_TABLE,
    ICEBERG_VIEW,
    UNKNOWN_CONTENT,
    ContentVersion,
    LogEntry,
    Operation,
    OperationKind,
    Reference,
    ReferenceKind,
)
from nessie_gc_core.model.row_digests import RowsDigest
from nessie_gc_core.model.table_metadata import PartitionField, RefType, Removal, Snapshot, SnapshotRef, TableMetadata
from nessie_gc_core.model.tables import TableState
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.model.verdicts import DeleteMode, Outcome, Verdict
from nessie_gc_core.model.versions import FileVersion, KeyVersion, VersionOutcome, VersionStatus
from nessie_gc_core.model.work import Traffic, Work

__all__ = [
    "ICEBERG_SNAPSHOT",
    "ICEBERG_TABLE",
    "ICEBERG_VIEW",
    "QUARANTINE_TAG",
    "TRANSLATED",
    "UNKNOWN_CONTENT",
    "AgeLimit",
    "AllowedLocations",
    "ContentVersion",
    "CredentialPlace",
    "CredentialUse",
    "CutoffPolicy",
    "DeleteMode",
    "DeleteOutcome",
    "DeleteStatus",
    "DeletionCaps",
    "DroppedSweep",
    "FileDeletion",
    "FileEntry",
    "FileKind",
    "FileMove",
    "FileReference",
    "FileRewrite",
    "FileVersion",
    "HeldFile",
    "HeldState",
    "KeyVersion",
    "LeaseHolder",
    "LiveSet",
    "LiveSetStatus",
    "LogEntry",
    "Manifest",
    "ManifestContent",
    "MoveOutcome",
    "MoveStatus",
    "Operation",
    "OperationKind",
    "Outcome",
    "PartitionField",
    "PartitionRange",
    "PartitionSet",
    "Quarantine",
    "Reach",
    "ReachableFile",
    "ReachedPlace",
    "RefType",
    "Reference",
    "ReferenceHead",
    "ReferenceKind",
    "ReferencePolicies",
    "Removal",
    "RepositoryRecords",
    "RewriteFailure",
    "RewrittenFiles",
    "RowsDigest",
    "SeenContent",
    "Snapshot",
    "SnapshotRef",
    "SortField",
    "StorageCredential",
    "StoredNames",
    "Strategy",
    "SweepStep",
    "SweepStepState",
    "TableMetadata",
    "TableState",
    "TagRecord",
    "TaggedObject",
    "Traffic",
    "Verdict",
    "VersionOutcome",
    "VersionStatus",
    "Work",
]
