"""S34: a manifest or a manifest list with less in it than is announced is unreadable; no live file goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import LakeServices, on_disk
from damaged_tables import WrittenTable, announcing_fewer, cut_between_blocks, with_records, written_table
from nessie_gc_memory import MemoryLake, content, put
from scenes import START

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.dataset import Engine
from nessie_gc_core.services.report import GcReport

DELETED = 2
Change = Callable[[bytes], bytes]


@pytest.fixture
def tables(lake: MemoryLake, tmp_path: Path) -> tuple[WrittenTable, WrittenTable]:
    """One that will be damaged, and one that will not."""
    broken, fine = (written_table(tmp_path / "wh" / "db" / name, START) for name in ("broken", "fine"))
    for name, table in (("db.broken", broken), ("db.fine", fine)):
        version = content(name, metadata_location=table.metadata_location, snapshot_id=table.snapshot_id)
        lake.commit("main", put(version))
    lake.advance(timedelta(days=3))
    return broken, fine


@pytest.fixture
def on_a_disk(lake: MemoryLake, tmp_path: Path, engine: Engine) -> LakeServices:
    """The services of a lake whose tables are real ones."""
    return replace(on_disk(lake, tmp_path / "lake", engine), choice=ConnectorChoice())


def changed(change: Callable[[list[Any]], list[Any]]) -> Change:
    return lambda data: with_records(data, change)


def one_is_deleted(entries: list[Any]) -> list[Any]:
    return [*entries[:-1], {**entries[-1], "status": DELETED}]


def counting_more(manifests: list[Any]) -> list[Any]:
    return [{**each, "added_files_count": each["added_files_count"] + 1} for each in manifests]


def of_length(length: int) -> Change:
    return changed(lambda manifests: [{**each, "manifest_length": length} for each in manifests])


def check_frozen(report: GcReport, broken: WrittenTable, fine: WrittenTable, path: Path) -> None:
    assert 1 == report.exit_code
    assert (True, False) == (broken.garbage.exists(), fine.garbage.exists())
    assert [] == [each for each in broken.live | fine.live if not each.exists()]
    assert f"file://{path}" in report.unreadable


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(announcing_fewer, id="its block announces one entry less"),
        pytest.param(changed(one_is_deleted), id="an entry is deleted instead of existing"),
        pytest.param(changed(lambda entries: entries[:-1]), id="an entry is missing"),
        pytest.param(changed(lambda _: []), id="all are missing"),
    ],
)
def test_s34_a_manifest_with_less_than_its_list_says_freezes_its_table_alone(
    tables: tuple[WrittenTable, WrittenTable], on_a_disk: LakeServices, damage: Change
) -> None:
    broken, fine = tables
    (manifest,) = broken.manifests
    broken.rewrite(manifest, damage)
    broken.rewrite(broken.manifest_list, of_length(manifest.stat().st_size))  # so that only the entries tell
    check_frozen(on_a_disk.read_before().collect("NONE"), broken, fine, manifest)


def test_s34_a_manifest_that_ends_between_two_blocks_freezes_its_table_alone(
    tables: tuple[WrittenTable, WrittenTable], on_a_disk: LakeServices
) -> None:
    broken, fine = tables
    (manifest,) = broken.manifests
    broken.rewrite(manifest, cut_between_blocks)
    check_frozen(on_a_disk.read_before().collect("NONE"), broken, fine, manifest)


def test_s34_a_manifest_list_that_announces_fewer_records_freezes_its_table_alone(
    tables: tuple[WrittenTable, WrittenTable], on_a_disk: LakeServices
) -> None:
    broken, fine = tables
    broken.rewrite(broken.manifest_list, announcing_fewer)
    check_frozen(on_a_disk.read_before().collect("NONE"), broken, fine, broken.manifest_list)


def test_s34_lists_that_count_differently_are_each_compared(
    lake: MemoryLake, tables: tuple[WrittenTable, WrittenTable], on_a_disk: LakeServices, tmp_path: Path
) -> None:
    """The same manifest is in a list that counts what it has, and in one that counts one more."""
    broken, fine = tables
    other = broken.manifest_list.with_name("snap-other.avro")
    other.write_bytes(with_records(broken.manifest_list.read_bytes(), counting_more))
    metadata = Path(broken.metadata_location.removeprefix("file://"))
    copy = metadata.with_name("00099-copy.metadata.json")
    copy.write_text(metadata.read_text().replace(broken.manifest_list.name, other.name))
    version = content("db.copy", metadata_location=f"file://{copy}", snapshot_id=broken.snapshot_id)
    lake.commit("main", put(version))
    services = replace(on_disk(lake, tmp_path / "again", on_a_disk.engine), choice=ConnectorChoice())
    check_frozen(services.read_before().collect("NONE"), broken, fine, broken.manifests[0])


def test_s34_a_manifest_that_is_shorter_than_its_list_says_and_whole_freezes_nothing(
    tables: tuple[WrittenTable, WrittenTable], on_a_disk: LakeServices
) -> None:
    """Iceberg's ``rewrite_table_path`` keeps the old length."""
    rewritten, fine = tables
    longer = changed(lambda found: [{**each, "manifest_length": each["manifest_length"] + 99} for each in found])
    rewritten.rewrite(rewritten.manifest_list, longer)
    report = on_a_disk.collect("NONE")
    assert (0, {}) == (report.exit_code, report.unknown)
    assert (False, False) == (rewritten.garbage.exists(), fine.garbage.exists())
    assert [] == [each for each in rewritten.live | fine.live if not each.exists()]
