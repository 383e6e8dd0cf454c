"""What every file deleter must do (:class:`nessie_gc_core.connectors.FileDeleter`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar

import pytest

from nessie_gc_core.connectors import FileDeleter, SupportsEmptyDirectories
from nessie_gc_core.model.files import DeleteStatus, FileReference
from nessie_gc_core.model.locations import scheme_of
from nessie_gc_core.testing.demands import demands, not_defined, possible, shown, skip_unless_shareable, skip_without
from nessie_gc_core.testing.file_deleter_moves import MoveTests
from nessie_gc_core.testing.file_deleter_tags import TaggingTests
from nessie_gc_core.testing.file_deleter_with_versions import VersionDeletionTests
from nessie_gc_core.testing.not_possible import NotPossible
from nessie_gc_core.testing.paths import HasDirectory, PutDirectory, PutFile, PutLink
from nessie_gc_core.testing.traffic import COUNTED_ONCE, check_traffic

_GONE = frozenset({DeleteStatus.DELETED, DeleteStatus.ALREADY_GONE})


class FileDeleterContract(MoveTests, VersionDeletionTests, TaggingTests):
    """Inherit it and give it these fixtures.

    Required:
        ``open_deleter``: a function that makes a deleter of the store; it may be called several times.
        ``location``: a raw location in the store that ends in a slash, below which nothing is stored.
        ``put_file``: ``put_file(location, path, data)`` stores a file without the connector.
        ``stored_paths``: ``stored_paths(location)`` returns the raw paths of all files there, without the connector.

    Situations, also required; return ``NotPossible("why")`` if the situation cannot exist:
        ``undeletable``: ``undeletable(location)`` stores a file that cannot be deleted and returns its path: a
        locked one, one in a folder without permissions, a key that no request can carry.
        ``put_directory``: ``put_directory(location, path)`` makes an empty directory, or the marker with which
        tools of the store represent one.
        ``has_directory``: ``has_directory(location, path)`` says whether that directory or marker is still there.
        ``name_of_directory``: ``name_of_directory(path)`` is the path under which the store itself holds that
        directory or marker: ``path`` on a disk, often ``path + "/"`` in an object store.
        ``put_link``: ``put_link(location, path, target)`` makes a link to the folder ``target``, which is
        a location too. Object stores have no links.

    Required of deleters that move files (``SupportsMoves``):
        ``read_file``: ``read_file(location, path)`` returns the bytes of a file, without the connector.

    Required of deleters that hide files (``SupportsHiding``) or delete versions, together with ``read_file``:
        ``key_versions``: ``key_versions(location, path)`` returns all versions and delete markers of a path as
        ``KeyVersion``, the versions newest first, without the connector. Of a store without delete markers, a path at
        which nothing is visible has one that is made up.
        ``delete_version``: ``delete_version(location, path, version)`` deletes one of them; for a marker that is made
        up, it makes the newest version visible in whatever way the store has.

    Required of deleters that tag files (``SupportsObjectTags``):
        ``show_object``: ``show_object(location, path)`` returns a file with its tags as ``TaggedObject``, without the
        connector.
        ``put_tags``: ``put_tags(location, path, tags)`` replaces all tags of a file.

    Optional:
        ``odd_paths``: keys that the store can hold; ``ODD_PATHS`` of ``testing.paths`` unless overridden. Leave out
        those that your store cannot hold, and add ``OBJECT_STORE_PATHS`` if it can hold them.
    """

    opener: ClassVar[str] = "open_deleter"

    @pytest.fixture
    def open_deleter(self) -> Callable[[], FileDeleter]:
        raise not_defined("open_deleter")

    @pytest.fixture
    def stored_paths(self) -> Callable[[str], Iterable[str]]:
        raise not_defined("stored_paths")

    @pytest.fixture
    def undeletable(self) -> Callable[[str], str] | NotPossible:
        raise not_defined("undeletable", situation=True)

    @pytest.fixture
    def has_directory(self) -> HasDirectory | NotPossible:
        raise not_defined("has_directory", situation=True)

    @pytest.fixture
    def name_of_directory(self) -> Callable[[str], str] | NotPossible:
        raise not_defined("name_of_directory", situation=True)

    @pytest.fixture
    def deleter(self, open_deleter: Callable[[], FileDeleter]) -> Iterator[FileDeleter]:
        with open_deleter() as deleter:
            yield deleter

    @demands(
        "S22: an empty directory is removed with the empty directories in it, and only by calls that remove nothing "
        "else. Use one that fails if a directory is not empty."
    )
    def test_s22_a_directory_is_removed_where_nothing_but_directories_is_in_it(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        put_directory: PutDirectory | NotPossible,
        has_directory: HasDirectory | NotPossible,
        stored_paths: Callable[[str], Iterable[str]],
    ) -> None:
        if not isinstance(deleter, SupportsEmptyDirectories):
            skip_without(deleter, SupportsEmptyDirectories)
        put, is_there = (
            possible(put_directory, "put_directory", deleter),
            possible(has_directory, "has_directory", deleter),
        )
        put(location, "t/data/part=1")
        put(location, "t/metadata")
        if not deleter.is_empty_directory(f"{location}t/"):
            pytest.skip(f"{shown(deleter)}: this store has no directories")
        put(location, "full/metadata")
        put_file(location, "full/data/f", b"x")
        assert not deleter.is_empty_directory(f"{location}full/")
        assert not deleter.remove_empty_directory(f"{location}full/")
        assert list(stored_paths(location)) == ["full/data/f"]
        assert not deleter.is_empty_directory(f"{location}nothing/")
        assert not deleter.remove_empty_directory(f"{location}nothing/")
        assert deleter.remove_empty_directory(f"{location}t/")
        assert not is_there(location, "t")
        assert list(stored_paths(location)) == ["full/data/f"]

    @demands("A shareable deleter is used from several threads at once. Keep no state that changes an answer.")
    def test_threads_delete_what_each_was_given(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        skip_unless_shareable(deleter)
        places = [f"{location}t{number}/" for number in range(8)]
        for place in places:
            for path in ("data/dead", "data/live"):
                put_file(place, path, b"x")

        def delete(place: str) -> list[str]:
            dead = FileReference(location=place, path="data/dead", size=1)
            return [outcome.path for outcome in deleter.delete_files(place, [dead]) if outcome.status in _GONE]

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(delete, places)) == [["data/dead"]] * 8
        assert [list(stored_paths(place)) for place in places] == [["data/live"]] * 8

    @demands(COUNTED_ONCE)
    def test_traffic_is_told_once(self, deleter: FileDeleter, location: str, put_file: PutFile) -> None:
        put_file(location, "dead", b"x")
        check_traffic(deleter, lambda: _delete(deleter, location, ["dead"]))

    @demands(
        "The deleter claims the scheme of its locations in schemes or fallback_schemes, and takes at least one file "
        "per call (batch_size)."
    )
    def test_it_claims_the_scheme_of_its_locations(self, deleter: FileDeleter, location: str) -> None:
        assert scheme_of(location) in deleter.schemes | deleter.fallback_schemes
        assert deleter.batch_size > 0

    @demands("S15: every file has exactly one outcome, and a file that is DELETED is gone.")
    def test_each_file_has_one_outcome_and_is_gone(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        paths = ["top", "data/a", "data/b", "data/deep/er/c"]
        for path in paths:
            put_file(location, path, b"x")
        assert dict.fromkeys(paths, DeleteStatus.DELETED) == _delete(deleter, location, paths)
        assert set() == set(stored_paths(location))

    @demands("S2 and S22: only the named files are deleted. Delete by whole keys, never by a prefix.")
    def test_nothing_else_is_touched(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        kept = {"a", "b/a", "b/cc", "b/c2", "b/c/d", "B/c/x", "b.c"}
        for path in {*kept, "b/c/x"}:
            put_file(location, path, b"x")
        _delete(deleter, location, ["b/c/x"])
        assert kept == set(stored_paths(location))

    @demands(
        "S15: a file that does not exist is ALREADY_GONE, or DELETED if the store cannot tell, and never an error."
    )
    def test_a_file_that_is_not_there_is_gone_or_deleted(self, deleter: FileDeleter, location: str) -> None:
        outcomes = _delete(deleter, location, ["never", "made/either"])
        assert {"never", "made/either"} == set(outcomes)
        assert set(outcomes.values()) <= _GONE

    @demands("S15: a file that does not exist does not stop the others.")
    def test_a_missing_file_does_not_stop_the_others(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        put_file(location, "a", b"x")
        put_file(location, "z", b"x")
        outcomes = _delete(deleter, location, ["a", "missing", "z"])
        assert (outcomes["a"], outcomes["z"]) == (DeleteStatus.DELETED, DeleteStatus.DELETED)
        assert set() == set(stored_paths(location))

    @demands("S15: deleting is idempotent. A second deletion gives ALREADY_GONE, or DELETED if the store cannot tell.")
    def test_deleting_twice_does_no_harm(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        put_file(location, "kept", b"x")
        put_file(location, "gone", b"x")
        _delete(deleter, location, ["gone"])
        assert set(_delete(deleter, location, ["gone"]).values()) <= _GONE
        assert {"kept"} == set(stored_paths(location))

    @demands("S4: keys are raw, character by character. Do not decode, encode, strip or normalise them.")
    def test_odd_keys_are_deleted_and_their_neighbours_stay(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        stored_paths: Callable[[str], Iterable[str]],
        odd_paths: Sequence[str],
    ) -> None:
        for path in odd_paths:
            put_file(location, path, b"x")
        first, second = list(odd_paths[::2]), list(odd_paths[1::2])
        assert dict.fromkeys(first, DeleteStatus.DELETED) == _delete(deleter, location, first)
        assert set(second) == set(stored_paths(location))
        assert dict.fromkeys(second, DeleteStatus.DELETED) == _delete(deleter, location, second)
        assert set() == set(stored_paths(location))

    @demands("S15: no files, no outcomes, and no request.")
    def test_nothing_to_delete_has_no_outcome(self, deleter: FileDeleter, location: str) -> None:
        assert _delete(deleter, location, []) == {}

    @demands(
        "S15: one call may get more files than batch_size, and each has an outcome. Split them into several requests."
    )
    def test_more_than_one_batch_is_deleted(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        paths = [f"data/{number:05}" for number in range(deleter.batch_size + 1)]
        for path in paths:
            put_file(location, path, b"")
        assert dict.fromkeys(paths, DeleteStatus.DELETED) == _delete(deleter, location, paths)
        assert set() == set(stored_paths(location))

    @demands(
        "S15: whatever its path, each file has an outcome: FAILED or ALREADY_GONE here. Catch the error of each file "
        "and yield an outcome; never let an OSError through."
    )
    def test_a_path_below_a_file_has_an_outcome_too(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        put_file(location, "file", b"x")
        put_file(location, "z", b"x")
        outcomes = _delete(deleter, location, ["file/below", "z"])
        assert outcomes["z"] is DeleteStatus.DELETED
        assert {"file"} == set(stored_paths(location))

    @demands(
        "S15: a file that cannot be deleted is FAILED with a reason of one line, and does not stop the others. Catch "
        "the error of each file and yield an outcome; never let it through, never report success."
    )
    def test_a_file_that_cannot_be_deleted_fails_with_a_reason_and_stops_no_other(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        undeletable: Callable[[str], str] | NotPossible,
    ) -> None:
        stuck = possible(undeletable, "undeletable", deleter)(location)
        put_file(location, "a", b"x")
        put_file(location, "zz", b"x")
        files = [FileReference(location=location, path=path) for path in ("a", stuck, "zz")]
        outcomes = {outcome.path: outcome for outcome in deleter.delete_files(location, files)}
        assert {"a": DeleteStatus.DELETED, stuck: DeleteStatus.FAILED, "zz": DeleteStatus.DELETED} == {
            path: outcome.status for path, outcome in outcomes.items()
        }
        assert len(outcomes[stuck].reason.splitlines()) == 1

    # ---- directories and links ------------------------------------------------------------------------
    @demands("S22: only files are deleted. Leave directories and their markers in place, even if they are empty.")
    def test_s22_a_directory_stays_when_its_last_file_goes(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        put_directory: PutDirectory | NotPossible,
        has_directory: HasDirectory | NotPossible,
    ) -> None:
        put = possible(put_directory, "put_directory", deleter)
        stays = possible(has_directory, "has_directory", deleter)
        put(location, "outer")
        put(location, "outer/inner")
        put_file(location, "outer/inner/last", b"x")
        outcomes = _delete(deleter, location, ["outer/inner/last"])
        assert outcomes == {"outer/inner/last": DeleteStatus.DELETED}
        assert [path for path in ("outer", "outer/inner") if not stays(location, path)] == []

    @demands(
        "S22: only files are deleted. A path that is a directory, or the marker of one, is FAILED with its reason, "
        "and stays."
    )
    def test_s22_a_directory_that_is_named_is_not_deleted(
        self,
        deleter: FileDeleter,
        location: str,
        put_directory: PutDirectory | NotPossible,
        has_directory: HasDirectory | NotPossible,
        name_of_directory: Callable[[str], str] | NotPossible,
    ) -> None:
        named = possible(name_of_directory, "name_of_directory", deleter)("empty")
        stays = possible(has_directory, "has_directory", deleter)
        possible(put_directory, "put_directory", deleter)(location, "empty")
        outcomes = _delete(deleter, location, [named])
        assert stays(location, "empty")
        assert outcomes == {named: DeleteStatus.FAILED}

    @demands(
        "S24: nothing is deleted through a link to a folder, because its contents belong to another location. Open "
        "the folders on the way without following links, and report FAILED."
    )
    def test_s24_nothing_is_deleted_through_a_link(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        put_link: PutLink | NotPossible,
        stored_paths: Callable[[str], Iterable[str]],
    ) -> None:
        link = possible(put_link, "put_link", deleter)
        put_file(f"{location}other/", "live", b"x")
        put_file(f"{location}t/", "here", b"x")
        link(f"{location}t/", "link", f"{location}other/")
        outcomes = _delete(deleter, f"{location}t/", ["link/live"])
        assert outcomes == {"link/live": DeleteStatus.FAILED}
        assert {"live"} == set(stored_paths(f"{location}other/"))


def _delete(deleter: FileDeleter, location: str, paths: Sequence[str]) -> dict[str, DeleteStatus]:
    """Deletes, asserts that each file has exactly one outcome, and returns the outcomes."""
    files = [FileReference(location=location, path=path) for path in paths]
    outcomes = list(deleter.delete_files(location, files))
    assert Counter(dict.fromkeys(paths, 1)) == Counter(outcome.path for outcome in outcomes)
    return {outcome.path: outcome.status for outcome in outcomes}
