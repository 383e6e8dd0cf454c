"""Purges records of Nessie's own database that nothing reaches: the service ``internal-gc``."""

from __future__ import annotations

from nessie_gc_core import hookimpl
from nessie_gc_internal.api import InternalGc, InternalGcPlan
from nessie_gc_internal.parameters import InternalGcParameters
from nessie_gc_internal.report import InternalGcReport, KindTally, RecordTally, UnseenContent
from nessie_gc_internal.service import InternalGcService

__all__ = [
    "InternalGc",
    "InternalGcParameters",
    "InternalGcPlan",
    "InternalGcReport",
    "InternalGcService",
    "KindTally",
    "RecordTally",
    "UnseenContent",
]


@hookimpl
def nessie_gc_register_service() -> type[InternalGcService]:
    """Registers the service."""
    return InternalGcService
