"""The index gives what canonical paths give, whatever folders it remembers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.algorithms import unit_index
from nessie_gc_core.algorithms.disk import decoded
from nessie_gc_core.algorithms.unit_index import ASKED_ALONE, Places, UnitIndex
from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules

ROOTS = ("s3://b/wh/t/", "s3://b/", "file:///wh/db/t/", "abfs://c/wh/", "hdfs:///wh/")
STARTS = ("s3://b", "s3a://b/wh", "s3://other", "file:///wh", "file:/wh/db", "/wh/db", "abfss://c@a/wh", "hdfs://nn/wh")
_elements = st.sampled_from(["t", "t2", "", ".", "..", "a b", "%2F", "x:y", "db", "#?", "ü"])
_paths = st.builds(lambda start, rest: "/".join([start, *rest]), st.sampled_from(STARTS), st.lists(_elements))


def _slowly(rules: LocationRules, raw: str) -> tuple[str, str] | None:
    canonical = rules.canonical(raw)
    for form in (canonical, rules.climbed(raw), *(decoded(canonical) if canonical.startswith("file:") else ())):
        inside = [root for root in sorted(ROOTS, key=len) if form is not None and form.startswith(root)]
        if form is not None and inside:
            return inside[0], form[len(inside[0]) :]
    return None


@given(st.lists(_paths, min_size=1, max_size=6))
def test_an_index_finds_what_the_canonical_path_says(raw_paths: list[str]) -> None:
    rules = LocationRules()
    index = UnitIndex(ROOTS, rules)
    for raw in raw_paths:
        try:
            expected = _slowly(rules, raw)
        except UnknownLocationError:
            with pytest.raises(UnknownLocationError):
                index.find(raw)
        else:
            assert expected == index.find(raw)


@pytest.mark.parametrize(
    ("raw", "written", "others"),
    [
        ("s3://b/db/t/a//b", ("s3://b/db/t/", "a/b"), ()),
        ("s3://b//db/t/a", None, (("s3://b/db/t/", "a"),)),
        ("s3://b/x/../db/t/a", None, (("s3://b/db/t/", "a"),)),
        ("s3://b/db/t/../u/a", ("s3://b/db/t/", "../u/a"), (("s3://b/db/u/", "a"),)),
        ("s3://b/db/t/a/../b", ("s3://b/db/t/", "a/../b"), (("s3://b/db/t/", "b"),)),
        ("s3://b/other/a", None, ()),
    ],
)
def test_a_path_lies_where_it_is_written_and_maybe_elsewhere(
    raw: str, written: tuple[str, str] | None, others: tuple[tuple[str, str], ...]
) -> None:
    found = UnitIndex(["s3://b/db/t/", "s3://b/db/u/"], LocationRules()).places(raw)
    assert (written, others) == (found.written, found.others)


def _one_by_one(index: UnitIndex, raw: str) -> Places | None:
    try:
        return index.places(raw)
    except UnknownLocationError:
        return None


@given(st.lists(_paths, min_size=1, max_size=6))
def test_what_a_folder_tells_is_what_a_path_tells_by_itself(raw_paths: list[str]) -> None:
    rules = LocationRules(path_aliases={"s3://b/wh/t/": "s3://other/t/"})
    found = UnitIndex(ROOTS, rules).by_folder(raw_paths)
    for at, (raw, unit, key) in enumerate(zip(raw_paths, found.units, found.keys, strict=True)):
        if at not in found.single:
            written = None if unit is None or key is None else (unit, key)
            assert Places(written) == _one_by_one(UnitIndex(ROOTS, rules), raw)


@pytest.mark.parametrize("files", [1, ASKED_ALONE - 1, ASKED_ALONE, 3 * ASKED_ALONE])
def test_links_of_a_folder_are_looked_up_by_themselves_however_many_files_it_has(tmp_path: Path, files: int) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    paths = [*(f"{tmp_path}/{number}" for number in range(files)), f"{tmp_path}/link"]
    assert [files] == UnitIndex([f"file://{tmp_path}/"], LocationRules()).by_folder(paths).single


def test_the_links_of_a_folder_that_may_not_be_listed_are_asked_for_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    monkeypatch.setattr(unit_index, "link_names", lambda folder: None)
    paths = [*(f"{tmp_path}/{number}" for number in range(2 * ASKED_ALONE)), f"{tmp_path}/link"]
    assert [2 * ASKED_ALONE] == UnitIndex([f"file://{tmp_path}/"], LocationRules()).by_folder(paths).single


def test_links_that_were_made_meanwhile_are_seen_when_it_looks_again(tmp_path: Path) -> None:
    paths = [f"{tmp_path}/{number}" for number in range(2 * ASKED_ALONE)]
    index = UnitIndex([f"file://{tmp_path}/"], LocationRules())
    assert [] == index.by_folder(paths).single
    (tmp_path / "1").symlink_to("elsewhere")
    index.look_again()
    assert [1] == index.by_folder(paths).single
