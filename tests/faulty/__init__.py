"""Connectors that differ from a good one in one thing, each with the test of the kit that has to fail on it.

The modules are run by ``tests/unit/testing/test_faulty_plugins.py`` in a pytest of their own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODULES = (
    "listers",
    "deleters",
    "moves",
    "versions",
    "tags",
    "repositories",
    "readers",
    "manifests",
    "stores",
    "quarantines",
    "deduplicators",
    "tables",
    "schedules",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A faulty connector, or faulty fixtures."""

    suite: str
    """Name of the class of tests that is made for it."""
    test: str
    """The test of the kit that fails on it."""
    says: str
    """How the failure begins."""


def fault(tests: type, test: str, says: str) -> Callable[[type], type]:
    """Makes a suite for a connector that differs from the good one in one thing."""

    def decorate(connector: type) -> type:
        module: Any = sys.modules[connector.__module__]
        suite = f"Test{connector.__name__}"
        assert callable(getattr(tests, test)), test
        setattr(module, suite, type(suite, (tests,), {"connector": connector, "__module__": module.__name__}))
        module.FAULTS = (*getattr(module, "FAULTS", ()), Fault(suite=suite, test=test, says=says))
        return connector

    return decorate
