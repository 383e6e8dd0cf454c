"""Every scene as a whole: exactly what must go is gone, on both engines; the rules look closer."""

from __future__ import annotations

import pytest
from collected_scenes import Merged
from scenes import SCENES


@pytest.mark.parametrize("name", [write.__name__ for write in SCENES])
def test_exactly_what_must_go_is_gone(merged: Merged, name: str) -> None:
    result = merged.result(name)
    scene = result.scene
    assert scene.dead == result.gone
    assert {path for path in merged.before if path.startswith(scene.path(""))} - scene.dead == result.stored


def test_the_exit_code_says_that_something_is_unknown(merged: Merged) -> None:
    assert 1 == merged.report.exit_code
