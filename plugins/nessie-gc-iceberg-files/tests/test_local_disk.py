"""Listing and deleting on a local disk."""

from __future__ import annotations

import errno
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nessie_gc_iceberg_files import IcebergFileDeleter, IcebergFileLister

from nessie_gc_core.connectors import SupportsLeftAlone, SupportsSplitListing, SupportsStoreClock
from nessie_gc_core.errors import AccessDeniedError, ListingError
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.quarantine import FileMove, MoveStatus

NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]) | st.sampled_from("%#?:.+& \\*[]{}ü"),
    min_size=1,
    max_size=40,
).filter(lambda name: name not in (".", "..") and len(name.encode()) <= 200)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)


def paths(files):
    return sorted(file.path for file in files)


def references(location, *relative):
    return [FileReference(location=location, path=path) for path in relative]


def outcomes(found):
    return {outcome.path: str(outcome.status) for outcome in found}


@pytest.fixture
def location(tmp_path):
    base = tmp_path / "t"
    base.mkdir()
    return f"{base}/"


def put(location, relative, data=b"x"):
    path = Path(location) / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_files_come_with_size_and_utc_time(lister, location):
    os.utime(put(location, "data/a.parquet", b"abc"), (1_700_000_000, 1_700_000_000.5))
    expected = FileReference(
        location=location,
        path="data/a.parquet",
        size=3,
        modified=datetime.fromtimestamp(1_700_000_000.5, UTC),
    )
    assert [expected] == list(lister.list_files(location))


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "file://localhost{}"])
def test_a_location_may_be_written_in_several_ways(lister, deleter, location, form):
    put(location, "a")
    asked = form.format(location)
    files = list(lister.list_files(asked))
    assert [(asked, "a")] == [(file.location, file.path) for file in files]
    assert {"a": "DELETED"} == outcomes(deleter.delete_files(asked, files))
    assert [] == list(lister.list_files(asked))


def test_a_location_that_does_not_exist_is_empty(lister, tmp_path):
    assert [] == list(lister.list_files(f"{tmp_path}/none/"))


def test_empty_directories_are_not_listed(lister, location):
    (Path(location) / "empty/deeper").mkdir(parents=True)
    assert [] == list(lister.list_files(location))


@pytest.mark.parametrize("asked", ["/no/slash", "relative/", "/a/../b/", "file://host/x/"])
def test_a_location_that_is_none_is_refused(lister, asked):
    with pytest.raises(ListingError):
        list(lister.list_files(asked))


def test_s2_a_neighbour_with_a_longer_name_is_not_listed(lister, location, tmp_path):
    put(location, "a")
    put(f"{tmp_path}/t2/", "b")
    assert ["a"] == paths(lister.list_files(location))


def test_s5_a_linked_directory_is_not_entered(lister, location, tmp_path):
    put(f"{tmp_path}/other/", "live.parquet")
    put(location, "a")
    (Path(location) / "link").symlink_to(tmp_path / "other")
    assert ["a"] == paths(lister.list_files(location))
    assert ["a"] == paths(f for part in lister.split_listing(location, 8) for f in lister.list_part(location, part))


def test_a_location_that_is_a_link_is_refused(lister, location, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(location)
    with pytest.raises(ListingError, match="symbolic link"):
        list(lister.list_files(f"{link}/"))


def test_a_linked_file_is_a_file_and_only_its_link_is_deleted(lister, deleter, location, tmp_path):
    target = put(f"{tmp_path}/other/", "live.parquet")
    (Path(location) / "link").symlink_to(target)
    (Path(location) / "dangling").symlink_to(tmp_path / "nothing")
    files = list(lister.list_files(location))
    assert ["link"] == paths(files)
    assert {"link": "DELETED"} == outcomes(deleter.delete_files(location, files))
    assert target.exists()


def test_names_that_are_no_text_are_left_alone(lister, location):
    put(location, "a")
    Path(location, os.fsdecode(b"\xff")).touch()
    assert ["a"] == paths(lister.list_files(location))


@pytest.mark.skipif(os.geteuid() == 0, reason="needs a user who is not root: root may read every directory")
def test_a_directory_that_cannot_be_read_stops_the_listing(lister, location):
    put(location, "closed/a")
    closed = Path(location) / "closed"
    closed.chmod(0)
    try:
        with pytest.raises(AccessDeniedError):
            list(lister.list_files(location))
    finally:
        closed.chmod(0o700)


@settings(max_examples=60, deadline=None)
@given(wanted=st.lists(PATHS, min_size=1, max_size=12, unique=True), data=st.data())
def test_s4_raw_names_survive_listing_and_deleting(wanted, data):
    with tempfile.TemporaryDirectory() as folder, IcebergFileLister.from_options({}) as lister:
        location = f"{folder}/%41 t#?/"
        stored: set[str] = set()
        for path in wanted:
            if not any(o == path or o.startswith(path + "/") or path.startswith(o + "/") for o in stored):
                put(location, path)
                stored.add(path)
        files = list(lister.list_files(location))
        assert sorted(stored) == paths(files)
        gone = data.draw(st.lists(st.sampled_from(files), unique=True))
        with IcebergFileDeleter.from_options({}) as deleter:
            assert {file.path: "DELETED" for file in gone} == outcomes(deleter.delete_files(location, gone))
            assert {file.path: "ALREADY_GONE" for file in gone} == outcomes(deleter.delete_files(location, gone))
        assert sorted(stored - {file.path for file in gone}) == paths(lister.list_files(location))


@settings(max_examples=60, deadline=None)
@given(
    wanted=st.sets(
        st.lists(st.sampled_from(["a", "b", "c", "d.x"]), min_size=1, max_size=5).map("/".join), max_size=40
    ),
    parts=st.integers(min_value=1, max_value=12),
)
def test_parts_together_are_the_whole_location(wanted, parts):
    with tempfile.TemporaryDirectory() as folder, IcebergFileLister.from_options({}) as lister:
        location = f"{folder}/"
        stored = {f"{path}.file" for path in wanted}
        for path in stored:
            put(location, path)
        names = lister.split_listing(location, parts)
        assert len(names) <= parts
        assert sorted(stored) == paths(f for name in names for f in lister.list_part(location, name))


def test_a_level_with_very_many_names_is_not_cut_up(lister, location):
    for number in range(2100):
        put(location, f"p{number}/f")
    names = lister.split_listing(location, 4)
    assert 1 == len(names)
    assert 2100 == sum(1 for _ in lister.list_part(location, names[0]))


def test_the_clock_is_this_machines(lister, location):
    assert isinstance(lister, SupportsStoreClock)
    assert isinstance(lister, SupportsSplitListing)
    time = lister.store_time(location)
    assert timedelta(0) == time.utcoffset()
    assert abs(datetime.now(UTC) - time) < timedelta(seconds=5)


def test_every_file_has_an_outcome_and_one_failure_stops_no_other(deleter, location):
    put(location, "data/a")
    put(location, "data/b/inner")
    put(location, "file")
    found = outcomes(
        deleter.delete_files(
            location,
            references(location, "data/a", "data/b", "data/none", "no/such", "file/x", "", "data/", "nul\0", "x" * 300),
        )
    )
    expected = {
        "data/a": "DELETED",
        "data/b": "FAILED",
        "data/none": "ALREADY_GONE",
        "no/such": "ALREADY_GONE",
        "file/x": "FAILED",
        "": "FAILED",
        "data/": "FAILED",
        "nul\0": "FAILED",
        "x" * 300: "FAILED",
    }
    assert expected == found
    assert (Path(location) / "data/b/inner").exists()


def test_s22_directories_stay(deleter, location):
    put(location, "data/day=1/a")
    list(deleter.delete_files(location, references(location, "data/day=1/a")))
    (Path(location) / "empty").mkdir()
    assert {"empty": "FAILED"} == outcomes(deleter.delete_files(location, references(location, "empty")))
    assert (Path(location) / "data/day=1").is_dir()
    assert (Path(location) / "empty").is_dir()


@pytest.mark.parametrize("path", ["../other/live", "a/../../other/live", "/other/live", "a//b", "./a", "a/."])
def test_paths_that_are_not_plain_are_refused(deleter, location, tmp_path, path):
    live = put(f"{tmp_path}/other/", "live")
    put(location, "a/b")
    assert {path: "FAILED"} == outcomes(deleter.delete_files(location, references(location, path)))
    assert live.exists()
    assert (Path(location) / "a/b").exists()


def test_nothing_is_deleted_through_a_linked_directory(deleter, location, tmp_path):
    live = put(f"{tmp_path}/other/", "live")
    (Path(location) / "link").symlink_to(tmp_path / "other")
    outcome = next(iter(deleter.delete_files(location, references(location, "link/live"))))
    assert ("FAILED", "a parent directory is a symbolic link or not a directory") == (outcome.status, outcome.reason)
    assert live.exists()


def test_nothing_is_deleted_below_a_location_that_is_a_link(deleter, location, tmp_path):
    live = put(location, "live")
    (tmp_path / "link").symlink_to(location)
    asked = f"{tmp_path}/link/"
    assert {"live": "FAILED"} == outcomes(deleter.delete_files(asked, references(asked, "live")))
    assert live.exists()


def test_files_of_another_location_are_refused(deleter, location):
    kept = put(location, "a")
    assert {"a": "FAILED"} == outcomes(deleter.delete_files(location, references("/elsewhere/", "a")))
    assert kept.exists()


def test_names_that_are_left_alone_are_counted_once(lister: IcebergFileLister, location, tmp_path):
    folder = Path(location)
    folder.joinpath("sub").mkdir()
    folder.joinpath("sub", "link").symlink_to(tmp_path, target_is_directory=True)
    os.mkfifo(folder / "pipe")
    Path(os.fsdecode(os.fsencode(location) + b"sub/\xff.parquet")).touch()
    folder.joinpath("a.parquet").touch()
    assert isinstance(lister, SupportsLeftAlone)
    lister.take_left_alone()  # of the tests before this one, which share the store
    for part in lister.split_listing(location, 4):
        list(lister.list_part(location, part))
    assert 3 == lister.take_left_alone()
    list(lister.list_files(location))
    assert [3, 0] == [lister.take_left_alone() for _ in range(2)]


# ---- moves ----------------------------------------------------------------------------------------------
def move(base, path, new_path):
    moves = [FileMove(path=path, to_path=new_path)]
    with IcebergFileDeleter.from_options({}) as deleter:
        (outcome,) = deleter.move_files(f"file://{base}/t/", f"file://{base}/held/", moves)
    return outcome.status


def test_s24_a_quarantine_behind_a_link_is_refused(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "t")
    with IcebergFileDeleter.from_options({}) as deleter:
        refusal = deleter.move_refusal(f"file://{tmp_path}/t/", f"file://{tmp_path}/link/held/")
        assert refusal is not None
        assert f"is reached through a link: use its target {tmp_path}/t/held/" in refusal
        assert deleter.move_refusal(f"file://{tmp_path}/t/", f"file://{tmp_path}/held/") is None


def test_a_quarantine_on_another_file_system_is_refused(tmp_path):
    with IcebergFileDeleter.from_options({}) as deleter:
        refusal = deleter.move_refusal(f"file://{tmp_path}/t/", "file:///proc/held/")
        assert refusal is not None
        assert "is on another file system; name a quarantine on the same" in refusal


def test_s15_a_file_that_gets_no_second_name_is_moved_in_one_step_and_overwrites_nothing(tmp_path, monkeypatch):
    def refuse(*arguments, **named):
        raise PermissionError(errno.EPERM, "the file belongs to somebody else")

    monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "t").mkdir()
    for name in ("a", "b"):
        (tmp_path / "t" / name).write_text(name)
    assert move(tmp_path, "a", "run/a") is MoveStatus.MOVED
    assert move(tmp_path, "b", "run/a") is MoveStatus.EXISTS
    assert ((tmp_path / "held/run/a").read_text(), (tmp_path / "t/b").read_text()) == ("a", "b")
    assert not (tmp_path / "t/a").exists()


def test_s15_a_file_with_both_names_loses_the_old_one(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "held").mkdir()
    (tmp_path / "t/a").write_text("a")
    os.link(tmp_path / "t/a", tmp_path / "held/a")  # as a killed call leaves it
    assert move(tmp_path, "a", "a") is MoveStatus.MOVED
    assert not (tmp_path / "t/a").exists()
    assert (tmp_path / "held/a").read_text() == "a"
