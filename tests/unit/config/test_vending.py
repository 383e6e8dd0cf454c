"""Credentials of repositories: asked for where they are needed, renewed in time, and never sent along."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from nessie_gc_core import hookimpl
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.config.kept_connectors import KEPT
from nessie_gc_core.config.vending import Vending, Vendor
from nessie_gc_core.connectors import CredentialSource, FileDeleter, FileLister, RepositoryConnector
from nessie_gc_core.errors import RepositoryError, ServiceUnavailableError
from nessie_gc_core.model import CredentialPlace, CredentialUse, StorageCredential
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.plugins import PluginRegistry

START = datetime(2026, 1, 1, tzinfo=UTC)
READ, COLLECT = CredentialUse.READ, CredentialUse.COLLECT


class Catalog(RepositoryConnector):
    """Gives numbered credentials."""

    name = "vending-catalog"
    shareable = True
    places: Sequence[tuple[str, str]]
    lifetime: timedelta | None
    fails: bool
    asked: list[str]

    @classmethod
    def begin(cls) -> None:
        cls.places, cls.lifetime, cls.fails, cls.asked = [("s3://lake/db/t", "db.t")], None, False, []

    def identity(self):
        return "vending"

    def references(self):
        return iter(())

    def commit_log(self, reference):
        return iter(())

    def contents(self, reference):
        return iter(())

    def credential_uses(self):
        return frozenset(CredentialUse)

    def credential_places(self) -> Iterator[CredentialPlace]:
        self._ask("places")
        return (CredentialPlace(location=location, owner=owner) for location, owner in self.places)

    def storage_credentials(self, owner: str) -> Sequence[StorageCredential]:
        self._ask(owner)
        keys = {"s3.access-key-id": f"{owner}{len(self.asked)}", "s3.secret-access-key": "top-secret"}
        expires = None if self.lifetime is None else clock.now + self.lifetime
        config = {**keys, "s3.endpoint": "http://evil.example"}
        return [StorageCredential(prefix="s3", properties=config, expires=expires)]

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if self.fails:
            raise ServiceUnavailableError("the catalog does not answer")


class Clock:
    now = START

    def __call__(self) -> datetime:
        return self.now


clock = Clock()


class Taking:
    source: CredentialSource | None = None

    def use_credentials(self, source: CredentialSource) -> None:
        self.source = source


class TakingLister(Taking, FileLister):
    name = "taking"
    schemes = frozenset({"s3"})

    def list_files(self, location):
        return iter(())


class TakingDeleter(Taking, FileDeleter):
    name = "taking"
    schemes = frozenset({"s3"})

    def delete_files(self, location, files):
        return iter(())


@pytest.fixture
def registry() -> Iterator[PluginRegistry]:
    registry = PluginRegistry()
    plugin = SimpleNamespace(
        nessie_gc_register_repository_connector=hookimpl(lambda: Catalog),
        nessie_gc_register_file_lister=hookimpl(lambda: TakingLister),
        nessie_gc_register_file_deleter=hookimpl(lambda: TakingDeleter),
    )
    registry.register(plugin, name="vending")
    Catalog.begin()
    clock.now = START
    yield registry
    KEPT.close_idle()


def vending(registry: PluginRegistry, *uses: CredentialUse) -> Vending:
    spec = ConnectorSpec(kind="repository", name="vending-catalog")
    made = Vending([Vendor(spec=spec, uses=frozenset(uses or CredentialUse))], clock=clock)
    made.registry = registry
    return made


def source(vending: Vending) -> CredentialSource:
    found = vending.source(READ)
    assert found is not None
    return found


def key(source: CredentialSource, location: str = "s3://lake/db/t/a") -> str | None:
    found = source.credential(location)
    return None if found is None else found.properties["s3.access-key-id"]


def test_the_longest_location_above_a_file_says_whose_credentials_reach_it(registry: PluginRegistry) -> None:
    Catalog.places = [("s3://lake/db", "all"), ("s3a://lake/db/t/", "t"), ("s3://lake/db/t/sub", "sub")]
    asked = source(vending(registry))
    assert "t2" == key(asked, "s3://lake/db/t/a")
    assert "sub3" == key(asked, "s3://lake/db/t/sub/a")
    assert "all4" == key(asked, "s3://lake/db/t2/a")
    assert "t2" == key(asked, "s3://lake/db/t/")


@pytest.mark.parametrize("location", ["s3://lake/", "s3://lake/db/t2/a", "s3://other/db/t/a", "gs://lake/db/t/a"])
def test_a_file_outside_all_places_has_no_credentials(registry: PluginRegistry, location: str) -> None:
    assert None is source(vending(registry)).credential(location)
    assert ["places"] == Catalog.asked


def test_credentials_are_asked_for_once_for_all_files_of_a_content(registry: PluginRegistry) -> None:
    asked = source(vending(registry))
    assert ["db.t2", "db.t2"] == [key(asked, f"s3://lake/db/t/{number}") for number in range(2)]
    assert ["places", "db.t"] == Catalog.asked


def test_s28_of_what_a_connector_gives_only_credentials_count(registry: PluginRegistry) -> None:
    found = source(vending(registry)).credential("s3://lake/db/t/a")
    assert found is not None
    assert {"s3.access-key-id", "s3.secret-access-key"} == set(found.properties)


def test_credentials_are_renewed_five_minutes_before_they_expire(registry: PluginRegistry) -> None:
    Catalog.lifetime = timedelta(hours=1)
    asked = source(vending(registry))
    first = asked.credential("s3://lake/db/t/a")
    clock.now += timedelta(minutes=54)
    assert "db.t2" == key(asked)
    clock.now += timedelta(minutes=1)
    second = asked.credential("s3://lake/db/t/a")
    assert first is not None
    assert second is not None
    assert "db.t3" == second.properties["s3.access-key-id"]
    assert first.scope == second.scope


def test_short_lived_credentials_are_not_asked_for_with_every_file(registry: PluginRegistry) -> None:
    Catalog.lifetime = timedelta(seconds=-10)
    asked = source(vending(registry))
    assert {"db.t2"} == {key(asked) for _ in range(3)}


def test_credentials_that_are_still_valid_stay_while_the_catalog_does_not_answer(registry: PluginRegistry) -> None:
    Catalog.lifetime = timedelta(hours=1)
    asked = source(vending(registry))
    key(asked)
    Catalog.fails = True
    clock.now += timedelta(minutes=56)
    assert "db.t2" == key(asked)
    clock.now += timedelta(minutes=5)
    with pytest.raises(ServiceUnavailableError):
        asked.credential("s3://lake/db/t/a")


def test_a_catalog_that_does_not_answer_is_not_asked_for_every_file(registry: PluginRegistry) -> None:
    found = source(vending(registry))
    assert found.credential("s3://elsewhere/a") is None  # now it is known where contents are
    Catalog.fails = True
    for number in range(3):
        with pytest.raises(ServiceUnavailableError):
            key(found, f"s3://lake/db/t/{number}")
    assert 2 == len(Catalog.asked), "for the places, and once for the credentials"
    Catalog.fails = False
    clock.now += timedelta(minutes=2)
    assert key(found) is not None


def test_credentials_that_a_store_rejects_are_asked_for_again_but_not_all_the_time(registry: PluginRegistry) -> None:
    asked = source(vending(registry))
    first = asked.credential("s3://lake/db/t/a")
    assert first is not None
    assert None is asked.renewed("s3://lake/db/t/a", first)
    clock.now += timedelta(minutes=2)
    second = asked.renewed("s3://lake/db/t/a", first)
    assert second is not None
    assert "db.t3" == second.properties["s3.access-key-id"]
    assert second == asked.renewed("s3://lake/db/t/b", first)
    assert None is asked.renewed("s3://lake/db/t/a", second)


def test_s28_no_credentials_travel_and_places_are_asked_for_once(registry: PluginRegistry) -> None:
    there = vending(registry)
    key(source(there))
    sent = pickle.dumps(ConnectorChoice(plugins=registry, vending=there))
    assert b"top-secret" not in sent
    here = pickle.loads(sent).vending
    here.registry = registry
    assert "db.t3" == key(source(here))
    assert ["places", "db.t", "db.t"] == Catalog.asked
    assert here is pickle.loads(sent).vending


def test_s06_without_the_places_nothing_is_reached_with_configured_credentials(
    registry: PluginRegistry,
) -> None:
    Catalog.fails = True
    here = pickle.loads(pickle.dumps(vending(registry)))
    for each in (here, vending(registry)):
        with pytest.raises(RepositoryError, match="does not answer"):
            source(each).credential("s3://elsewhere/a")


def test_who_collects_takes_them_only_where_the_repository_says_so(registry: PluginRegistry) -> None:
    found = []
    for uses in ((READ,), (READ, COLLECT)):
        choice = ConnectorChoice(plugins=registry, vending=vending(registry, *uses))
        with OpenConnectors(choice) as connectors:
            for each in (connectors.lister("s3://lake/"), connectors.deleter("s3://lake/")):
                assert isinstance(each, Taking)
                found.append(each.source is not None)
    assert [False, False, True, True] == found


def test_connectors_of_one_run_are_not_those_of_another(registry: PluginRegistry) -> None:
    runs = [ConnectorChoice(plugins=registry, vending=vending(registry)) for _ in range(2)]
    made = []
    for choice in (*runs, ConnectorChoice(plugins=registry)):
        with OpenConnectors(choice) as connectors:
            made.append(connectors.lister("s3://lake/"))
    assert 3 == len({id(each) for each in made})


def test_worker_processes_have_no_repositories_to_ask(registry: PluginRegistry) -> None:
    assert ConnectorChoice().is_of_installed
    assert not ConnectorChoice(vending=vending(registry)).is_of_installed
