from __future__ import annotations

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.settings import SweepSettings


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (SweepSettings(false_positive_rate=0), "--fpp"),
        (SweepSettings(false_positive_rate=1), "--fpp"),
        (SweepSettings(expected_file_count=0), "--expected-file-count"),
        (SweepSettings(outcomes_to="files.csv"), "--outcomes-to"),
    ],
)
def test_settings_that_make_no_sense_are_named(wrong: SweepSettings, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        wrong.check()


def test_the_defaults_make_sense() -> None:
    SweepSettings().check()
