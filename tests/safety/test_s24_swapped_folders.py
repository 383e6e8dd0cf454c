"""S24: between listing and deletion a folder above a table becomes a link to another table's: nothing there goes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices, on_disk
from in_quarantine import restore
from nessie_gc_memory import MemoryLake, put
from scenes import START

from nessie_gc_core.dataset import Engine
from nessie_gc_core.model import Outcome
from nessie_gc_core.services.parameters import SweepParameters

NAME = "data/same.parquet"


def two_tables(tmp_path: Path, engine: Engine) -> tuple[LakeServices, Path]:
    """A victim with a live file, and another table with garbage of the same name."""
    lake = MemoryLake("s24-swapped")
    lake.now = START
    victim = lake.table("db.victim", location="memory://wh/victim/t").append("same.parquet")
    other = lake.table("db.other", location="memory://wh/other/t").append("live.parquet")
    lake.commit("main", put(victim.version), put(other.version))
    lake.put(f"memory://wh/other/t/{NAME}")
    lake.advance(timedelta(days=3))
    folder = tmp_path / "lake"
    return on_disk(lake, folder, engine), folder / "wh"


def swap(folder: Path) -> None:
    (folder / "other").rename(folder / "real")
    (folder / "other").symlink_to(folder / "victim", target_is_directory=True)


def swapping_at(phase: str, folder: Path) -> Callable[[str, int, int | None], None]:
    def progress(now: str, done: int, total: int | None) -> None:
        if now == phase and not (folder / "real").exists():
            swap(folder)

    return progress


@pytest.mark.parametrize("quarantine", [False, True], ids=["deleted", "moved"])
def test_s24_a_folder_that_becomes_a_link_after_the_listing_is_not_entered(
    tmp_path: Path, engine: Engine, *, quarantine: bool
) -> None:
    services, folder = two_tables(tmp_path, engine)
    settings = SweepParameters(quarantine=[f"file://{tmp_path.resolve()}/held/"] if quarantine else ())
    report = services.sweep(services.mark("1"), settings, progress=swapping_at("delete", folder))
    assert (folder / "victim/t" / NAME).exists()
    assert (folder / "real/t" / NAME).exists()
    assert (2, 1) == (report.outcomes[Outcome.FAILED].files, report.exit_code), "the file, and an old metadata file"
    assert {"a parent directory is a symbolic link or not a directory"} == {each.reason for each in report.failed_files}


def test_s24_nothing_is_restored_to_a_table_whose_folder_became_a_link(tmp_path: Path, engine: Engine) -> None:
    services, folder = two_tables(tmp_path, engine)
    services.sweep(services.mark("1"), SweepParameters(quarantine=[f"file://{tmp_path.resolve()}/held/"]))
    (folder / "victim/t" / NAME).unlink()
    swap(folder)
    report = restore(services)
    assert (2, 1) == (report.failed.files, report.exit_code)
    assert not (folder / "victim/t" / NAME).exists()
