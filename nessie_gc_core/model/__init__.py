"""The data that all parts speak of; everything here is plain, frozen and without behaviour of its own."""

from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus, FileKind, FileReference, ReachableFile
from nessie_gc_core.model.live_sets import (
    FileDeletion,
    LiveSet,
    LiveSetStatus,
    ReferenceHead,
    SeenContent,
    SweepStep,
    SweepStepState,
)
from nessie_gc_core.model.policies import CutoffPolicy, Reach, ReferencePolicies
from nessie_gc_core.model.repository import (
    ICEBERG_TABLE,
    ICEBERG_VIEW,
    ContentVersion,
    LogEntry,
    Operation,
    OperationKind,
    Reference,
    ReferenceKind,
)

__all__ = [
    "ICEBERG_TABLE",
    "ICEBERG_VIEW",
    "ContentVersion",
    "CutoffPolicy",
    "DeleteOutcome",
    "DeleteStatus",
    "FileDeletion",
    "FileKind",
    "FileReference",
    "LiveSet",
    "LiveSetStatus",
    "LogEntry",
    "Operation",
    "OperationKind",
    "Reach",
    "ReachableFile",
    "Reference",
    "ReferenceHead",
    "ReferenceKind",
    "ReferencePolicies",
    "SeenContent",
    "SweepStep",
    "SweepStepState",
]
