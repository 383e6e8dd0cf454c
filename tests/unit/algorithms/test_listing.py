from __future__ import annotations

import pytest

from nessie_gc_core.algorithms.listing import ListFiles, listing_tasks, sidecar_owner
from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import NessieGcError, SafetyError
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.locations import LocationRules

RULES = LocationRules()


def key(location: str, path: str, unit: str, prefix: str = "") -> str:
    assert RULES.canonical_prefix(location).startswith(unit)
    return ListFiles(ConnectorChoice(), RULES)._key(FileReference(location=location, path=path), location, prefix)


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
    with pytest.raises(NessieGcError, match="not below it"):
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
