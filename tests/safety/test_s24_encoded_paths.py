"""S24: a local path in metadata may be a URI, whose characters iceberg-go encodes and then stores decoded."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from urllib.parse import quote

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, TableState, put
from scenes import START

from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.dataset import Engine
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.services.parameters import SweepParameters

NAMES = ("p=12:30/x.parquet", "a b/100%.parquet", "ü/q?.parquet")
_TABLE = "file:///wh/t/"


class EncodedLake:
    """A table on a disk whose manifest names its files encoded; a dead file is beside each of them."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.lake, self.folder = MemoryLake(f"s24-{folder}"), folder.resolve() / "lake"
        self.lake.now = START
        self.table = self.lake.table("db.t", location="memory://wh/db/t").append(*NAMES)
        self.lake.commit("main", put(self.table.version))
        self.dead = {self.lake.put(f"memory://wh/db/t/data/{name}.old") for name in NAMES}
        self.lake.advance(timedelta(days=3))
        self.services: LakeServices = on_disk(self.lake, self.folder, engine)
        self.encode(self.table)

    def encode(self, table: TableState) -> None:
        for manifest in table.manifests[1]:
            file = self.folder / manifest.removeprefix("memory://")
            text = file.read_text(encoding="utf-8")
            for name in NAMES:
                text = text.replace(name, quote(name, safe="/=")).replace(name.replace("ü", "\\u00fc"), quote(name))
            file.write_text(text, encoding="utf-8")

    def paths(self) -> set[str]:
        return {f"memory://{path.relative_to(self.folder)}" for path in self.folder.rglob("wh/**/*") if path.is_file()}


@pytest.fixture
def encoded(tmp_path: Path, engine: Engine) -> EncodedLake:
    return EncodedLake(tmp_path, engine)


def test_s24_a_live_file_stays_that_metadata_names_encoded(encoded: EncodedLake) -> None:
    report = encoded.services.collect()
    assert encoded.table.needed <= encoded.paths()
    assert not encoded.dead & encoded.paths()
    assert ({}, 0, 0) == (report.unknown, report.lost.files, report.exit_code)


def test_s24_deferred_deletion_knows_encoded_paths(encoded: EncodedLake) -> None:
    """Only a reference that comes after the mark shows the table."""
    encoded.lake.assign("main", None)
    encoded.lake.commit("main", put(encoded.lake.table("db.u", location="memory://wh/db/t").version))
    services = on_disk(encoded.lake, encoded.folder, encoded.services.engine)
    encoded.encode(encoded.table)
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    encoded.lake.commit("main", put(encoded.table.version))
    on_disk(encoded.lake, encoded.folder, encoded.services.engine)
    encoded.encode(encoded.table)
    services.delete_deferred(live_set)
    assert encoded.table.needed <= encoded.paths()
    assert not encoded.dead & encoded.paths()


@pytest.mark.parametrize(
    ("raw", "keys"),
    [
        ("file:///wh/t/p=12%3A30/x", ["p=12%3A30/x", "p=12:30/x"]),
        ("/wh/t/x%20y", ["x%20y", "x y"]),
        ("file:/wh/t/100%25%2Fx", ["100%25%2Fx", "100%/x"]),
        ("file:///wh/%74/x", ["x"]),
        ("file:///wh/t/%253A", ["%253A", "%3A", ":"]),
        ("file:///wh/t/u/%2E%2E/x", ["u/%2E%2E/x", "x"]),
        ("file:///wh/t/%FF", ["%FF"]),
        ("file:///wh/t/%00", ["%00"]),
        ("file:///wh/t/100%", ["100%"]),
    ],
)
def test_s24_an_encoded_path_is_both_what_it_says_and_what_it_decodes_to(raw: str, keys: list[str]) -> None:
    index = UnitIndex([_TABLE], LocationRules())
    assert keys == [key for _, key in index.places(raw).all]


def test_s24_nothing_is_decoded_but_local_paths() -> None:
    index = UnitIndex(["s3://b/t/", _TABLE], LocationRules())
    assert [("s3://b/t/", "p=12%3A30/x")] == list(index.places("s3://b/t/p=12%3A30/x").all)


def test_s24_what_a_link_with_an_encoded_name_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "p=12:30").mkdir()
    (tmp_path / "target").touch()
    (tmp_path / "p=12:30" / "middle").symlink_to(tmp_path / "target")
    (tmp_path / "p=12:30" / "a:b").symlink_to("middle")
    index = UnitIndex([f"file://{tmp_path}/"], LocationRules())
    found = {key for _, key in index.places(f"file://{tmp_path}/p=12%3A30/a%3Ab").all}
    assert {"p=12%3A30/a%3Ab", "p=12:30/a:b", "p=12:30/middle", "target"} == found
