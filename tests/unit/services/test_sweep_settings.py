from __future__ import annotations

from pathlib import Path

import pytest

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.services.parameters import SweepParameters


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (SweepParameters(fpp=0), "`fpp`"),
        (SweepParameters(fpp=1), "`fpp`"),
        (SweepParameters(outcomes_to="files.csv"), "`outcomes_to`"),
    ],
)
def test_settings_that_make_no_sense_are_named(wrong: SweepParameters, named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        wrong.check(ConnectorChoice())


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nowhere/x", "the folder '.*/nowhere' does not exist"),
        ("folder", "is a folder"),
        ("file/x", "the folder '.*/file' does not exist"),
    ],
)
def test_a_file_for_the_outcomes_that_cannot_be_made_is_refused(
    tmp_path: Path, suffix: str, place: str, said: str
) -> None:
    (tmp_path / f"folder{suffix}").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match=said):
        SweepParameters(outcomes_to=f"{tmp_path}/{place}{suffix}").check(ConnectorChoice())
    assert {f"folder{suffix}", "file"} == {path.name for path in tmp_path.iterdir()}


def test_the_defaults_make_sense() -> None:
    SweepParameters().check(ConnectorChoice())
