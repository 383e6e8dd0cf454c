"""The plugin that the core itself is: its services and its deduplicators, registered like anybody's."""

from __future__ import annotations

from collections.abc import Sequence

from nessie_gc_core.algorithms.visited import ExactVisited, NoneVisited
from nessie_gc_core.connectors import AnyService, VisitedDeduplicator
from nessie_gc_core.hookspecs import hookimpl
from nessie_gc_core.services.assets.delete import DeleteUnreferencedService
from nessie_gc_core.services.assets.identify import IdentifyService
from nessie_gc_core.services.assets.page.service import AssetPageService
from nessie_gc_core.services.autotag.service import AutotagService
from nessie_gc_core.services.compaction.service import CompactService
from nessie_gc_core.services.deferred import DeferredDeletionService
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.explain.service import ExplainService
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.health.service import HealthService
from nessie_gc_core.services.java_import.service import ImportJavaService
from nessie_gc_core.services.manifests.service import RewriteManifestsService
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.orphans.service import RemoveOrphanFilesService
from nessie_gc_core.services.quarantine.purge import PurgeService
from nessie_gc_core.services.quarantine.restore import RestoreService
from nessie_gc_core.services.sweep import SweepService
from nessie_gc_core.services.what_if import WhatIfService


@hookimpl
def nessie_gc_register_visited_deduplicator() -> Sequence[type[VisitedDeduplicator]]:
    """Registers both."""
    return (ExactVisited, NoneVisited)


@hookimpl
def nessie_gc_register_service() -> Sequence[AnyService]:
    """Registers the collecting services."""
    return (
        GcService,
        MarkService,
        SweepService,
        DeferredDeletionService,
        RestoreService,
        PurgeService,
        IdentifyService,
        DeleteUnreferencedService,
        AssetPageService,
        WhatIfService,
        ExplainService,
        ExpireSnapshotsService,
        RemoveOrphanFilesService,
        HealthService,
        AutotagService,
        RewriteManifestsService,
        CompactService,
        ImportJavaService,
    )
