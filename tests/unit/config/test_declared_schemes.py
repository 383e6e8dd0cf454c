"""A scheme that only the configuration knows (S3)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from nessie_gc_memory import MemoryLake

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.units import plan_units
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.plugins import PluginRegistry


@pytest.fixture
def choice() -> ConnectorChoice:
    return ConnectorChoice(scheme_aliases={"COSN": "s3a"})


def with_fallback() -> PluginRegistry:
    class AnyLister(FileLister):
        name = "any"
        schemes = frozenset({"any"})
        fallback_schemes = frozenset({"reel"})

        def list_files(self, location: str) -> Iterator[FileReference]:
            return iter(())

    class Any:
        @hookimpl
        def nessie_gc_register_file_lister(self) -> type[FileLister]:
            return AnyLister

    made = PluginRegistry()
    made.register(Any(), name="any")
    return made


def test_a_declared_scheme_compares_as_what_it_is_the_same_as(choice: ConnectorChoice) -> None:
    assert "s3://b/t/x" == choice.rules().canonical("cosn://b/t/x")


def test_a_declared_scheme_is_opened_as_what_connectors_know(choice: ConnectorChoice) -> None:
    rules = choice.rules()
    assert ("s3://b/t/x", "s3n://b/t/x", "/t/x") == tuple(map(rules.to_open, ("cosn://b/t/x", "s3n://b/t/x", "/t/x")))


def test_locations_in_a_declared_scheme_are_listed_once_with_those_in_the_other(choice: ConnectorChoice) -> None:
    plan = plan_units(["cosn://b/wh/t", "s3://b/wh/t/", "s3n://b/wh/t/inner"], choice.rules(), AllowedLocations())
    assert [("s3://b/wh/t/", 1)] == [(unit.root, len(unit.locations)) for unit in plan.units]
    assert plan.units[0].locations[0].startswith("s3")


def test_s03_a_server_is_one_place_by_whatever_name_and_scheme() -> None:
    names = ["sftp://files/wh/t", "ssh://gc@FILES:22/wh//t/", "sftp:///wh/t/inner"]
    plan = plan_units(names, ConnectorChoice().rules(), AllowedLocations())
    assert ["sftp:///wh/t/"] == list(plan.roots)
    names = ["hdfs://nn:8020/wh/t", "webhdfs://nn:9870/wh/t", "arrow_hdfs://other/wh/t"]
    plan = plan_units(names, ConnectorChoice().rules(), AllowedLocations())
    assert (["hdfs:///wh/t/"], names[2:]) == (list(plan.roots), list(plan.unknown))  # no URI begins with a_b://


def test_s03_a_scheme_that_nobody_knows_stops_its_location_only() -> None:
    rules = ConnectorChoice().rules()
    plan = plan_units(["cosn://b/wh/t", "s3://b/wh/u"], rules, AllowedLocations())
    assert (["s3://b/wh/u/"], ["cosn://b/wh/t"]) == (list(plan.roots), list(plan.unknown))
    with pytest.raises(UnknownLocationError, match="`scheme_alias` cosn="):
        rules.canonical("cosn://b/wh/t")


def test_what_is_declared_comes_before_a_fallback() -> None:
    rules = ConnectorChoice(scheme_aliases={"reel": "s3a"}, plugins=with_fallback()).rules()
    assert ("s3://b/x", "s3://b/x") == (rules.canonical("reel://b/x"), rules.to_open("reel://b/x"))


def test_a_fallback_scheme_is_known() -> None:
    rules = ConnectorChoice(plugins=with_fallback()).rules()
    assert ("reel://b/x", "reel://b/x") == (rules.canonical("reel://b/x"), rules.to_open("reel://b/x"))


def test_an_alias_of_an_installed_scheme_keeps_its_name() -> None:
    MemoryLake.named("any")
    rules = ConnectorChoice(scheme_aliases={"s3a": "s3"}).rules()
    assert "s3a://b/x" == rules.to_open("s3a://b/x")
