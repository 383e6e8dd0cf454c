"""The properties of a session that Nessie GC starts."""

from __future__ import annotations

import pytest

from nessie_gc_core.engines.spark.jvm import FEW_CORES
from nessie_gc_core.engines.spark.session import JVM_OPTIONS, properties_of


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
