"""What Airflow shows of this distribution: ``airflow providers list``."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

DISTRIBUTION = "nessie-gc-airflow"


def get_provider_info() -> dict[str, Any]:
    """The metadata of the provider: the entry point ``apache_airflow_provider``."""
    name = "Nessie GC"
    return {
        "package-name": DISTRIBUTION,
        "name": name,
        "description": "Finds and removes the files of an Iceberg lake that no live branch, tag or snapshot needs.",
        "versions": [version(DISTRIBUTION)],
        "integrations": [{"integration-name": name, "external-doc-url": "", "tags": ["software"]}],
        "sensors": [{"integration-name": name, "python-modules": ["nessie_gc_airflow.sensors"]}],
        "operators": [{"integration-name": name, "python-modules": ["nessie_gc_airflow.operators"]}],
    }
