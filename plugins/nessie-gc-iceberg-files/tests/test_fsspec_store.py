"""What is not believed of a file system, and what is never asked of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from fsspec.implementations.arrow import ArrowFSWrapper
from nessie_gc_iceberg_files.fsspec_entries import modified_of
from nessie_gc_iceberg_files.fsspec_store import FsspecStore
from pyarrow.fs import LocalFileSystem
from scripted_file_system import ScriptedFileSystem, file, folder

from nessie_gc_core.errors import AccessDeniedError, ListingError, ServiceUnavailableError
from nessie_gc_core.model.files import DeleteStatus
from nessie_gc_core.testing.paths import ODD_PATHS

NAMES_THAT_DO_NOT_ARRIVE = ["a//b", "a/../b", "./b", "a\nb", "a\x7f", "x?versionId=1", "half \ud800"]


class Versions(ScriptedFileSystem):
    """Takes versions out of paths, as file systems of object stores do."""

    def split_path(self, path):
        bucket, _, key = path.partition("/")
        return bucket, key.partition("?versionId=")[0], None


def bucket(folders, files=None, made=ScriptedFileSystem):
    system = made(folders, files)
    return system, FsspecStore(system, "lake/", where="tos://lake/", is_bucket=True)


def server(folders, files=None):
    system = ScriptedFileSystem(folders, files)
    return system, FsspecStore(system, "/", where="webhdfs://nn/", is_bucket=False)


@pytest.fixture
def of_pyarrow(tmp_path):
    """The file system that fsspec has for HDFS, over a local disk."""
    store = FsspecStore(ArrowFSWrapper(LocalFileSystem()), "/", where="hdfs://nn/", is_bucket=False)
    return tmp_path, f"{str(tmp_path)[1:]}/", store


def keys(store, prefix="t/"):
    return [found.key for found in store.files(prefix)]


def one_outcome(store, path):
    (outcome,) = store.delete("t/", [path])
    return outcome


def test_files_of_all_directories_are_listed_with_raw_keys():
    _, store = bucket(
        {"lake/t": [folder("lake/t/d%20#?"), file("lake/t/a")], "lake/t/d%20#?": [file("lake/t/d%20#?/b")]}
    )
    assert ["t/a", "t/d%20#?/b"] == keys(store)
    assert (["t/a"], ["t/d%20#?/"]) == (
        [found.key for found in store.level("t/", None).files],
        store.level("t/", None).prefixes,
    )
    assert store.level("t/", 1) is None


def test_a_server_has_its_root_as_a_directory():
    _, store = server({"/": [folder("/t")], "/t": [file("/t/a")]})
    assert ["t/a"] == keys(store, "")


def test_s04_nothing_is_cached():
    system, store = bucket({"lake/t": [file("lake/t/a")]})
    assert ["t/a"] == keys(store)
    system.folders["lake/t"].append(file("lake/t/b"))
    assert ["t/a", "t/b"] == keys(store)


@pytest.mark.parametrize("name", NAMES_THAT_DO_NOT_ARRIVE)
def test_s04_a_key_that_would_not_arrive_is_neither_read_nor_deleted(name):
    system, store = bucket({"lake": []}, {f"lake/t/{name}": b"x"}, Versions)
    with pytest.raises(OSError, match=r"fsspec|no request") as caught:
        store.read(f"t/{name}")
    assert not isinstance(caught.value, FileNotFoundError)
    assert DeleteStatus.FAILED is one_outcome(store, name).status
    assert system.removed == []


@pytest.mark.parametrize("name", ["a\nb", ".", "..", "x?versionId=1", "half \ud800"])
def test_s04_a_directory_with_a_name_that_would_not_arrive_is_not_listed_at_all(name):
    _, store = bucket({"lake/t": [file("lake/t/fine"), file(f"lake/t/{name}")]}, made=Versions)
    listing = store.files("t/")
    with pytest.raises(ListingError):
        next(listing)


@pytest.mark.parametrize("name", ["a*b", "a?b", "a[b]"])
def test_s04_what_may_be_a_pattern_to_a_bucket_is_not_deleted(name):
    system, store = bucket({"lake/t": [file(f"lake/t/{name}")]})
    assert [f"t/{name}"] == keys(store)
    assert DeleteStatus.FAILED is one_outcome(store, name).status
    assert system.removed == []


@pytest.mark.parametrize(
    "entry",
    [
        file("lake/t2/a"),
        file("other/t/a"),
        file("a"),
        file("lake/t/d/a"),
        folder("lake/t"),
        folder("lake/t//"),
        file("lake/t"),
        file("/lake/t/a"),
    ],
)
def test_s05_a_name_that_lies_elsewhere_stops_the_listing(entry):
    _, store = bucket({"lake/t": [entry]})
    with pytest.raises(ListingError):
        keys(store)


def test_s05_a_name_that_comes_twice_stops_the_listing():
    _, store = bucket({"lake/t": [file("lake/t/a"), file("lake/t/a")]})
    with pytest.raises(ListingError, match="twice"):
        keys(store)


def test_a_file_and_a_directory_of_one_name_are_both_listed_in_a_bucket():
    _, store = bucket({"lake/t": [file("lake/t/a"), folder("lake/t/a/")], "lake/t/a": [file("lake/t/a/b")]})
    assert ["t/a", "t/a/b"] == keys(store)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (PermissionError("no"), AccessDeniedError),
        (ConnectionResetError("gone"), ServiceUnavailableError),
        (TimeoutError(), ServiceUnavailableError),
        (ValueError("two\nlines"), ListingError),
        (RuntimeError(""), ListingError),
    ],
)
def test_s06_a_directory_that_cannot_be_listed_ends_the_listing_with_an_error(error, expected):
    _, store = bucket({"lake/t": [folder("lake/t/d")], "lake/t/d": error})
    with pytest.raises(expected) as caught:
        keys(store)
    assert 1 == len(str(caught.value).splitlines())


def test_s06_a_directory_that_is_listed_and_not_found_is_an_error():
    _, store = bucket({"lake": [], "lake/t": [folder("lake/t/d")]})
    with pytest.raises(ListingError, match="it is listed, but not found"):
        keys(store)


def test_a_directory_that_goes_while_the_listing_runs_is_empty():
    system, store = bucket({"lake": [], "lake/t": [file("lake/t/a"), folder("lake/t/d")]})
    listing = store.files("t/")
    assert "t/a" == next(listing).key
    system.folders["lake/t"].pop()
    assert [] == list(listing)


def test_s06_a_missing_bucket_is_no_empty_location_and_no_missing_file():
    _, store = bucket({})
    with pytest.raises(ListingError):
        keys(store)
    with pytest.raises(OSError, match="cannot list") as caught:
        store.read("t/a")
    assert not isinstance(caught.value, FileNotFoundError)
    assert caught.value.__cause__ is None


def test_a_missing_location_is_empty_and_a_missing_file_is_missing():
    for _, store in (bucket({"lake": []}), server({"/": []})):
        assert [] == keys(store)
        with pytest.raises(FileNotFoundError):
            store.read("t/a")


def test_s06_a_server_that_folds_case_is_not_listed():
    system, store = server({"/t": [file("/t/_1"), file("/t/Data")]})
    assert ["t/_1", "t/Data"] == keys(store)
    system.folds_case = True
    with pytest.raises(ListingError, match="is the same name"):
        keys(store)


def test_s04_a_file_is_not_deleted_by_another_name():
    system, store = server({"/t": [file("/t/data")]})
    system.folds_case = True
    outcome = one_outcome(store, "DATA")
    assert (DeleteStatus.FAILED, "fsspec answered for another name, '/t/data'") == (
        outcome.status,
        outcome.reason,
    )
    assert system.removed == []


def test_names_that_differ_in_case_only_are_two_files():
    system, store = server({"/t": [file("/t/data"), file("/t/DATA")]})
    assert ["t/data", "t/DATA"] == keys(store)
    assert DeleteStatus.DELETED is one_outcome(store, "DATA").status
    assert ["/t/DATA"] == system.removed


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"mtime": datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2)))}, datetime(2026, 1, 2, 1, tzinfo=UTC)),
        ({"LastModified": datetime(2026, 1, 2, 3, tzinfo=UTC)}, datetime(2026, 1, 2, 3, tzinfo=UTC)),
        ({"updated": "2026-01-02T03:04:05.678Z"}, datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)),
        ({"mtime": 1767322800.5}, datetime(2026, 1, 2, 3, 0, 0, 500000, tzinfo=UTC)),
        ({"modificationTime": 1767322800123}, datetime(2026, 1, 2, 3, 0, 0, 123000, tzinfo=UTC)),
        ({"mtime": datetime(2026, 1, 2, 3)}, None),
        ({"mtime": "2026-01-02T03:04:05"}, None),
        ({"mtime": "Jan 2 03:04"}, None),
        ({"mtime": float("nan")}, None),
        ({"mtime": True}, None),
        ({"mtime": 10**20}, None),
        ({"modificationTime": 0}, None),
        ({"created": datetime(2026, 1, 2, 3, tzinfo=UTC)}, None),
        ({}, None),
    ],
)
def test_s08_a_time_is_known_only_where_it_has_one_meaning(said, expected):
    assert expected == modified_of(said)


def test_s08_fsspec_has_no_clock_and_none_is_made_up():
    with pytest.raises(ServiceUnavailableError, match="does not report the time"):
        bucket({})[1].now("t/")


def test_s15_a_deletion_that_does_nothing_is_a_failure():
    class Silent(ScriptedFileSystem):
        def _rm(self, path):
            pass

    _, store = bucket({"lake/t": [file("lake/t/a")]}, made=Silent)
    outcome = one_outcome(store, "a")
    assert (DeleteStatus.FAILED, "it is still there after its deletion") == (outcome.status, outcome.reason)


def test_s15_a_file_system_that_cannot_delete_says_so_of_each_file():
    class ReadOnly(ScriptedFileSystem):
        def _rm(self, path):
            raise NotImplementedError

    _, store = bucket({"lake/t": [file("lake/t/a"), file("lake/t/b")]}, made=ReadOnly)
    outcomes = list(store.delete("t/", ["a", "b", "gone"]))
    assert [DeleteStatus.FAILED, DeleteStatus.FAILED, DeleteStatus.ALREADY_GONE] == [o.status for o in outcomes]
    assert "NotImplementedError" == outcomes[0].reason


def test_s22_a_directory_and_its_mark_are_no_files():
    mark = file("lake/t/d/", size=0)
    system, store = bucket({"lake/t": [folder("lake/t/d")], "lake/t/d": [mark, file("lake/t/d/a")]})
    assert ["t/d/a"] == keys(store)
    outcome = one_outcome(store, "d")
    assert (DeleteStatus.FAILED, "it is not a file but a directory") == (outcome.status, outcome.reason)
    assert system.removed == []


@pytest.mark.parametrize(
    "entry", [file("/t/link", islink=True), {"name": "/t/link", "type": "link"}, {"name": "/t/pipe"}]
)
def test_s24_links_and_what_is_no_file_are_left_alone_and_counted(entry):
    system, store = server({"/t": [file("/t/a"), entry]})
    assert ["t/a"] == keys(store)
    assert [1, 0] == [store.take_left_alone(), store.take_left_alone()]
    assert DeleteStatus.FAILED is one_outcome(store, entry["name"].removeprefix("/t/")).status
    assert system.removed == []


@pytest.mark.parametrize("location", ["link/", "link/below/"])
def test_s24_a_location_that_is_reached_through_a_link_is_refused(location):
    _, store = server({"/": [{"name": "/link", "type": "link"}], "/elsewhere": [file("/link/below/a")]})
    with pytest.raises(ListingError, match="reached through the link '/link'"):
        keys(store, location)


def test_s06_a_location_that_is_a_file_is_not_empty():
    _, store = server({"/": [file("/t")]})
    with pytest.raises(ListingError, match="is not a directory"):
        keys(store)


def test_s24_nothing_is_deleted_below_a_link():
    system, store = server({"/t": [{"name": "/t/link", "type": "link"}], "/elsewhere": [file("/t/link/a")]})
    assert "a parent directory is a link or not a directory" == one_outcome(store, "link/a").reason
    assert system.removed == []


def test_s28_no_error_shows_what_a_library_quotes():
    class Chatty(ScriptedFileSystem):
        def _rm(self, path):
            raise ValueError("403 for our-secret")

        def cat_file(self, path, **more):
            raise RuntimeError("GET https://store/?sig=our-secret")

    system = Chatty({"lake/t": [file("lake/t/a")], "lake/d": PermissionError("token our-secret is too old")})
    store = FsspecStore(system, "lake/", where="tos://lake/", is_bucket=True, secrets=["our-secret"])
    assert "403 for ***" == one_outcome(store, "a").reason
    with pytest.raises(OSError, match=r"GET https://store/\?sig=\*\*\*") as read:
        store.read("t/a")
    with pytest.raises(AccessDeniedError, match=r"token \*\*\* is too old") as listed:
        keys(store, "d/")
    assert [None, None] == [read.value.__cause__, listed.value.__cause__]


# ---- the file system of HDFS ------------------------------------------------------------------------------
def test_s04_odd_names_come_through_the_file_system_of_hdfs(of_pyarrow):
    folder, prefix, store = of_pyarrow
    for path in ODD_PATHS:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(path.encode())
    found = {file.key.removeprefix(prefix): file for file in store.files(prefix)}
    assert set(ODD_PATHS) == set(found)
    for path, listed in found.items():
        assert path.encode() == store.read(prefix + path)
        assert (folder / path).stat().st_mtime == pytest.approx(listed.modified / 1_000_000, abs=1e-5)
    assert {DeleteStatus.DELETED} == {outcome.status for outcome in store.delete(prefix, ODD_PATHS)}
    assert [] == list(store.files(prefix))


def test_s22_the_file_system_of_hdfs_deletes_no_directory(of_pyarrow):
    folder, prefix, store = of_pyarrow
    (folder / "empty").mkdir()
    outcomes = list(store.delete(prefix, ["empty", "none", "none/below"]))
    assert [DeleteStatus.FAILED, DeleteStatus.ALREADY_GONE, DeleteStatus.ALREADY_GONE] == [o.status for o in outcomes]
    assert (folder / "empty").is_dir()
    with pytest.raises(FileNotFoundError):
        store.read(f"{prefix}none")
    assert [] == list(store.files(f"{prefix}none/"))
