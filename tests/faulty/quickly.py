"""A pytest plugin: any failure will do, so that Hypothesis looks for no shorter one."""

from __future__ import annotations

from hypothesis import Phase, settings

_PHASES = (Phase.explicit, Phase.generate)
settings.register_profile("quickly", phases=_PHASES, report_multiple_bugs=False, derandomize=True)


def pytest_configure() -> None:
    """Loads it after the one of the tests."""
    settings.load_profile("quickly")
