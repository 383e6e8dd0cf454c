from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.listing import ListFiles, _Task, listing_tasks, sidecar_owner
from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.errors import ListingError, NessieGcError, SafetyError
from nessie_gc_core.model.batches import listed_files, to_batches, to_rows, to_texts
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import LISTING_TASKS
from nessie_gc_core.plugins import PluginRegistry

RULES = LocationRules()


def key(location: str, path: str, unit: str, prefix: str = "") -> str:
    assert RULES.canonical_prefix(location).startswith(unit)
    (files,) = listed_files([FileReference(location=location, path=path)])
    stored = ListFiles(ConnectorChoice(), RULES)._stored(files, _Task(unit, location, prefix, None))
    ((found,),) = (keys for batch in stored for keys in to_texts(batch, "key"))
    return found


@pytest.mark.parametrize("path", ["a", "a/b", "a/../b", "..", "%41", "a b#?", ".x.crc", "...", "a/..b"])
def test_the_key_of_an_object_is_raw(path: str) -> None:
    here = "s3://b/db/t/"
    assert path == key(here, path, here)


@pytest.mark.parametrize(
    "path", ["a", "a/b", "a//b", "./a", "/a", "a/./b", "a/../b", "..", "%41", "a b#?", ".x.crc", "...", "a/..b"]
)
def test_the_key_of_an_object_is_the_one_that_metadata_finds(path: str) -> None:
    here = "s3://b/db/t/"
    assert RULES.canonical("s3a://b/db/t/" + path) == here + key(here, path, here)


@pytest.mark.parametrize("path", ["a", "a/b", "a//b", "./a", "/a", "a/./b", ".hidden/..b", "...", ".x.crc", "//a"])
def test_the_key_of_a_file_is_the_one_that_metadata_finds(path: str) -> None:
    here = "file:///wh/db/t/"
    assert RULES.canonical("file:/wh/db/t/" + path) == here + key(here, path, here)


@pytest.mark.parametrize("path", ["../a", "a/../../b", "..", "a/.."])
def test_a_file_that_climbs_out_stops_the_listing(path: str) -> None:
    with pytest.raises(NessieGcError):
        key("file:///wh/db/t/", path, "file:///wh/db/t/")


@pytest.mark.parametrize("path", [".", "./.", "//."])
def test_an_object_whose_key_means_the_location_itself_stops_the_listing(path: str) -> None:
    with pytest.raises(NessieGcError, match="which is outside it"):
        key("s3://b/db/t/", path, "s3://b/db/t/")


def test_a_backslash_in_the_name_of_a_blob_is_a_slash() -> None:
    here = "abfss://c@a.dfs.core.windows.net/t/"
    assert RULES.canonical(here + "a\\b/c") == "abfs://c/t/" + key(here, "a\\b/c", "abfs://c/t/")
    assert "a/b/c" == key(here, "a\\b/c", "abfs://c/t/")


def test_a_location_outside_its_unit_is_not_listed_under_wrong_keys() -> None:
    unit = SweepUnit(root="s3://b/db/t/", locations=("s3://b/db/u/",))
    with pytest.raises(SafetyError, match="not below s3://b/db/t/"):
        list(listing_tasks([unit], ConnectorChoice(), RULES, 1))


def test_a_nested_location_has_keys_below_the_root_of_its_unit() -> None:
    assert "inner/a/b" == key("s3a://b/db/t/inner/", "a//b", "s3://b/db/t/", "inner/")


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("data/.a.parquet.crc", "data/a.parquet"),
        (".a.crc", "a"),
        ("a.crc", None),
        (".crc", None),
        ("..crc", None),
        ("data/.a.parquet", None),
        (".a.crc/b", None),
    ],
)
def test_the_owner_of_a_checksum_sidecar(path: str, owner: str | None) -> None:
    assert owner == sidecar_owner(path)


class LeavesAlone(FileLister):
    """Leaves a name alone in every location, and breaks off in one of them."""

    name = "leaves-alone"
    schemes = frozenset({"odd"})

    def __init__(self, options) -> None:
        super().__init__(options)
        self._count = 0

    def list_files(self, location: str) -> Iterator[FileReference]:
        self._count += 1
        if location.endswith("broken/"):
            raise ListingError("it breaks off")
        return iter(())

    def take_left_alone(self) -> int:
        taken, self._count = self._count, 0
        return taken


def test_what_a_broken_listing_left_alone_is_counted_with_no_other() -> None:
    registry = PluginRegistry()
    registry.register(SimpleNamespace(nessie_gc_register_file_lister=hookimpl(lambda: LeavesAlone)), name="odd")
    tasks = [("odd://b/", f"odd://b/{name}/", f"{name}/", None) for name in ("broken", "whole")]
    choice = ConnectorChoice(plugins=registry, read_ahead=1)
    batches = ListFiles(choice, RULES)(to_batches(iter(tasks), LISTING_TASKS))
    found = [each for batch in batches for each in to_rows(batch, "location", "problem", "left_alone")]
    assert [("odd://b/broken/", "it breaks off", 0), ("odd://b/whole/", None, 1)] == found
