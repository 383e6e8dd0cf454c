"""The properties of a session that Nessie GC starts."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nessie_gc_core.engines.spark.jvm import FEW_CORES
from nessie_gc_core.engines.spark.session import JVM_OPTIONS, open_session, properties_of
from nessie_gc_core.errors import ConfigurationError


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]"])
def test_a_local_session_on_few_cores_compiles_simply(master: str) -> None:
    options = properties_of(master, {}, available=FEW_CORES)[JVM_OPTIONS]
    assert "-XX:TieredStopAtLevel=1" in options.split()


def test_a_local_session_on_many_cores_compiles_as_usual() -> None:
    assert JVM_OPTIONS not in properties_of("local[*]", {}, available=FEW_CORES + 1)


def test_a_session_on_a_cluster_compiles_as_usual() -> None:
    assert JVM_OPTIONS not in properties_of("spark://host:7077", {}, available=1)


def test_further_options_of_the_user_come_after_ours() -> None:
    further = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4"}
    properties = properties_of("local[*]", further, available=1)
    assert further["spark.driver.extraJavaOptions"] == properties["spark.driver.extraJavaOptions"]
    assert JVM_OPTIONS in properties


def test_the_users_own_value_takes_the_place_of_ours() -> None:
    mine = {JVM_OPTIONS: "-Xss8m", "spark.driver.memory": "8g"}
    properties = properties_of("local[*]", mine, available=1)
    assert mine == {name: properties[name] for name in mine}


@pytest.mark.parametrize("line", ["{} -Dsite=1", "{}=-Dsite=1", "  {}\t-Dsite=1"])
def test_options_that_an_administrator_set_are_not_replaced(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark-defaults.conf").write_text(f"# site\n{line.format(JVM_OPTIONS)}\n", encoding="utf-8")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert JVM_OPTIONS not in properties_of("local[2]", {}, available=1)


def test_other_properties_of_a_site_make_no_difference(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"spark.driver.extraJavaOptions -Xss8m\n# {JVM_OPTIONS} -Dnot=1\n"
    (tmp_path / "spark-defaults.conf").write_text(text, encoding="utf-8")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert JVM_OPTIONS in properties_of("local[2]", {}, available=1)


def test_spark_without_pandas_is_refused_before_a_jvm_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(
        ConfigurationError, match=r"^`engine` spark needs pandas: pip install 'nessie-gc-core\[spark\]'"
    ):
        open_session("local[1]", {})
