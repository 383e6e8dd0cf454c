"""What only ``nox -s thorough`` runs: more random examples, and combinations whose parts are run one by one anyway."""

from __future__ import annotations

import os

import pytest

THOROUGH = os.environ.get("THOROUGH_TESTS", "") not in ("", "0")
MARKER = "thorough: this combination of parameters, such as engine='spark', is run by `nox -s thorough` only"


def examples(usual: int) -> int:
    """How many random examples a property gets; ``usual`` in CI."""
    return 50 * usual if THOROUGH else usual


def leave_out_combinations(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselects what is marked ``thorough``; pytest says how many tests that are."""
    if not THOROUGH:
        out = [item for item in items if any(_applies(mark, item) for mark in item.iter_markers("thorough"))]
        items[:] = [item for item in items if item not in out]
        config.hook.pytest_deselected(items=out)


def _applies(mark: pytest.Mark, item: pytest.Item) -> bool:
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return all(params[name] == value for name, value in mark.kwargs.items())
