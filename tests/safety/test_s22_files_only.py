"""S22: files only; directories and what links lead to are left alone."""

from __future__ import annotations

from collected_scenes import Merged


def test_s22_directories_stay_even_where_they_are_empty(merged: Merged) -> None:
    table = merged.folder / "wh/folders_and_links/db/t"
    assert merged.result("folders_and_links").scene.path("db/t/deep/er/nobody.parquet") not in (
        merged.result("folders_and_links").stored
    )
    assert [True, True] == [(table / name).is_dir() for name in ("deep/er", "empty/folder")]


def test_s22_a_link_to_a_directory_stays_and_so_does_what_it_leads_to(merged: Merged) -> None:
    home = merged.folder / "wh/folders_and_links"
    assert (home / "db/t/link-to-folder").is_symlink()
    assert (home / "elsewhere/precious.parquet").is_file()
    assert not any("precious" in path for path in merged.result("folders_and_links").outcomes)


def test_s22_names_that_are_left_alone_are_counted(merged: Merged) -> None:
    assert 1 == merged.report.left_alone
    assert 1 == merged.report.to_dict()["left_alone"]
