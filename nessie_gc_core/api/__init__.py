"""The public face: what a notebook, an Airflow task or a script needs.

Everything here is also in reach as ``from nessie_gc_core import Collector``.
"""

from nessie_gc_core.api.collector import Collector
from nessie_gc_core.api.plan import Plan
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.run import Run

__all__ = ["Collector", "GcReport", "Plan", "Run"]
