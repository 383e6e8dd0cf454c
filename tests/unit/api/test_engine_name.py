"""Which engine works if nobody asked for one: Spark, or this process where PySpark is not installed."""

from __future__ import annotations

import logging
from importlib.machinery import ModuleSpec

import pytest

from nessie_gc_core.api import opening
from nessie_gc_core.api.opening import engine_name, open_engine
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.given import Given
from nessie_gc_core.config.settings import SETTINGS, EngineName
from nessie_gc_core.model.options import OptionValue


def given(**keywords: OptionValue) -> Given:
    return Given.read(SETTINGS, keywords, file=ConfigFile(), environment={})


@pytest.fixture
def installed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engines' libraries, of which only these can be found."""

    def find_spec(name: str) -> ModuleSpec | None:
        return ModuleSpec(name, None) if name in request.param else None

    monkeypatch.setattr(opening, "find_spec", find_spec)


@pytest.mark.parametrize("installed", [{"pyspark", "duckdb"}, {"pyspark"}], indirect=True)
def test_spark_works_where_it_is_installed(installed: None) -> None:
    assert engine_name(given()) is EngineName.SPARK


@pytest.mark.parametrize("installed", [{"duckdb"}], indirect=True)
def test_without_pyspark_this_process_works_and_one_line_says_so(
    installed: None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        engine = open_engine(given())
    assert engine.name == "local"
    assert caplog.messages == ["PySpark is not installed, so this process does the work (`engine` local)"]


@pytest.mark.parametrize("installed", [set()], indirect=True)
def test_without_both_libraries_the_error_is_that_of_spark(installed: None) -> None:
    assert engine_name(given()) is EngineName.SPARK


@pytest.mark.parametrize("installed", [{"duckdb"}], indirect=True)
@pytest.mark.parametrize(
    "asked", [{"engine": "spark"}, {"spark_master": "local[1]"}, {"spark_conf": {"spark.app.name": "gc"}}]
)
def test_who_asks_for_spark_gets_no_other_engine(installed: None, asked: dict[str, OptionValue]) -> None:
    assert engine_name(given(**asked)) is EngineName.SPARK


@pytest.mark.parametrize("installed", [{"duckdb"}], indirect=True)
def test_who_asks_for_this_process_is_told_nothing(installed: None, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        open_engine(given(engine="local"))
    assert caplog.messages == []
