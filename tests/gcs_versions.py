"""The Google Cloud Storage that keeps versions of the files plugin's own tests."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).parents[1] / "plugins" / "nessie-gc-iceberg-files" / "tests"


def gcs_with_versions() -> ModuleType:
    """The module, which is on no path of these tests."""
    spec = importlib.util.spec_from_file_location("versioned_gcs", TESTS / "versioned_gcs.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
