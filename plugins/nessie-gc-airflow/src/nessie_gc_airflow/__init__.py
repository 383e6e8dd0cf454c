"""Runs Nessie GC from Apache Airflow.

:class:`NessieGcOperator` runs a service, in the worker's own process or by the command line of another environment.
:class:`NessieGcSensor` waits until maintenance is due, or until a repository was swept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nessie_gc_airflow.operators import NessieGcOperator
    from nessie_gc_airflow.sensors import NessieGcSensor

__all__ = ["NessieGcOperator", "NessieGcSensor"]


def __getattr__(name: str) -> object:
    """They are loaded when they are asked for: Airflow imports this package to list its providers."""
    if name == "NessieGcOperator":
        from nessie_gc_airflow.operators import NessieGcOperator

        return NessieGcOperator
    if name == "NessieGcSensor":
        from nessie_gc_airflow.sensors import NessieGcSensor

        return NessieGcSensor
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
