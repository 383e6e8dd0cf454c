"""The public API, for notebooks, Airflow tasks and scripts.

Everything here can also be imported from ``nessie_gc_core``: ``from nessie_gc_core import Collector``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nessie_gc_core.api.assets import UnreferencedAssets
from nessie_gc_core.api.collector import Collector
from nessie_gc_core.api.iceberg import expire_snapshots, remove_orphan_files
from nessie_gc_core.api.plan import Plan, SavedPlan
from nessie_gc_core.api.procedures import delete_unreferenced_assets, identify_unreferenced_assets
from nessie_gc_core.api.upkeep import ServicePlan
from nessie_gc_core.services.assets.report import AssetsReport, PurgeReport
from nessie_gc_core.services.autotag.report import AutotagReport
from nessie_gc_core.services.compaction.report import CompactionReport
from nessie_gc_core.services.expiry.report import ExpiryReport
from nessie_gc_core.services.explain.report import ExplainReport
from nessie_gc_core.services.health.report import HealthReport
from nessie_gc_core.services.java_import.report import ImportJavaReport
from nessie_gc_core.services.manifests.report import ManifestsReport
from nessie_gc_core.services.plans.summary import PlanSummary
from nessie_gc_core.services.quarantine.report import ReleaseReport
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.what_if import WhatIfReport

if TYPE_CHECKING:
    from nessie_gc_core.api.schedule import Schedule

__all__ = [
    "AssetsReport",
    "AutotagReport",
    "Collector",
    "CompactionReport",
    "ExpiryReport",
    "ExplainReport",
    "GcReport",
    "HealthReport",
    "ImportJavaReport",
    "ManifestsReport",
    "Plan",
    "PlanSummary",
    "PurgeReport",
    "ReleaseReport",
    "Run",
    "SavedPlan",
    "Schedule",
    "ServicePlan",
    "UnreferencedAssets",
    "WhatIfReport",
    "delete_unreferenced_assets",
    "expire_snapshots",
    "identify_unreferenced_assets",
    "remove_orphan_files",
]


def __getattr__(name: str) -> object:
    """Schedules are loaded when they are asked for: no command but those of schedules needs them."""
    if name == "Schedule":
        from nessie_gc_core.api.schedule import Schedule

        return Schedule
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """With what is not loaded yet, for completion and for documentation."""
    return sorted({*globals(), *__all__})
