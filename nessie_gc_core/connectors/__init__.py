"""The abstract contracts that plugins implement; everything a connector author imports."""

from nessie_gc_core.connectors.base import Connector, SupportsSharedClock, SupportsTraffic, prefers
from nessie_gc_core.connectors.content_to_files import (
    ContentToFiles,
    SupportsExpandBatches,
    SupportsKindOfName,
    SupportsManifests,
    SupportsSnapshotRemoval,
    SupportsTableMetadata,
    SupportsVersionHints,
)
from nessie_gc_core.connectors.file_deleter import (
    FileDeleter,
    SupportsEmptyDirectories,
    SupportsHiding,
    SupportsMoves,
    SupportsObjectTags,
    SupportsVersionDeletion,
)
from nessie_gc_core.connectors.file_lister import (
    FileLister,
    ListingPart,
    SupportsCutListing,
    SupportsLeftAlone,
    SupportsListBatches,
    SupportsLookUp,
    SupportsSplitListing,
    SupportsStoreClock,
    SupportsVersioning,
)
from nessie_gc_core.connectors.live_set_store import (
    LiveSetStore,
    SupportsJavaTables,
    SupportsQuarantine,
    SupportsSqlSchema,
    SupportsTagRecords,
    SupportsVersionParts,
    lease_held,
)
from nessie_gc_core.connectors.repository import (
    RepositoryConnector,
    SupportsBranches,
    SupportsDefaultReference,
    SupportsFormerIdentities,
    SupportsTags,
    SupportsWorkBranches,
)
from nessie_gc_core.connectors.schedule_store import ScheduleStore
from nessie_gc_core.connectors.service import AnyService, Report, Service
from nessie_gc_core.connectors.snapshot_expiry import SupportsMetadataCommits, SupportsSnapshotExpiry
from nessie_gc_core.connectors.storage_credentials import (
    CredentialSource,
    SupportsCredentialSource,
    SupportsStorageCredentials,
)
from nessie_gc_core.connectors.table_catalog import OpenCatalog, TableCatalog
from nessie_gc_core.connectors.table_tags import SupportsTableTags
from nessie_gc_core.connectors.visited_deduplicator import SupportsCapacity, VisitedDeduplicator

__all__ = [
    "AnyService",
    "Connector",
    "ContentToFiles",
    "CredentialSource",
    "FileDeleter",
    "FileLister",
    "ListingPart",
    "LiveSetStore",
    "OpenCatalog",
    "Report",
    "RepositoryConnector",
    "ScheduleStore",
    "Service",
    "SupportsBranches",
    "SupportsCapacity",
    "SupportsCredentialSource",
    "SupportsCutListing",
    "SupportsDefaultReference",
    "SupportsEmptyDirectories",
    "SupportsExpandBatches",
    "SupportsFormerIdentities",
    "SupportsHiding",
    "SupportsJavaTables",
    "SupportsKindOfName",
    "SupportsLeftAlone",
    "SupportsListBatches",
    "SupportsLookUp",
    "SupportsManifests",
    "SupportsMetadataCommits",
    "SupportsMoves",
    "SupportsObjectTags",
    "SupportsQuarantine",
    "SupportsSharedClock",
    "SupportsSnapshotExpiry",
    "SupportsSnapshotRemoval",
    "SupportsSplitListing",
    "SupportsSqlSchema",
    "SupportsStorageCredentials",
    "SupportsStoreClock",
    "SupportsTableMetadata",
    "SupportsTableTags",
    "SupportsTagRecords",
    "SupportsTags",
    "SupportsTraffic",
    "SupportsVersionDeletion",
    "SupportsVersionHints",
    "SupportsVersionParts",
    "SupportsVersioning",
    "SupportsWorkBranches",
    "TableCatalog",
    "VisitedDeduplicator",
    "lease_held",
    "prefers",
]
