"""Tests of file deleters that hide files behind delete markers, show them again, and purge their versions."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from nessie_gc_core.connectors import FileDeleter, SupportsHiding
from nessie_gc_core.model.versions import FileVersion, KeyVersion, VersionOutcome, VersionStatus
from nessie_gc_core.testing.demands import demands, not_defined, shown, skip_without
from nessie_gc_core.testing.file_fixtures import FileStoreFixtures
from nessie_gc_core.testing.paths import PutFile

Stored = Callable[[str], Iterable[str]]
ReadFile = Callable[[str, str], bytes]
KeyVersions = Callable[[str, str], Sequence[KeyVersion]]
DeleteVersion = Callable[[str, str, str], None]
_Verb = Callable[[str, Sequence[FileVersion]], Iterable[VersionOutcome]]


class HidingTests(FileStoreFixtures):
    """Files that are hidden."""

    @pytest.fixture
    def stored_paths(self) -> Stored:
        raise not_defined("stored_paths")

    @pytest.fixture
    def read_file(self) -> ReadFile | None:
        return None

    @pytest.fixture
    def key_versions(self) -> KeyVersions | None:
        return None

    @pytest.fixture
    def delete_version(self) -> DeleteVersion | None:
        return None

    @pytest.fixture
    def versioned(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        stored_paths: Stored,
        key_versions: KeyVersions | None,
        delete_version: DeleteVersion | None,
    ) -> VersionedStore:
        hiding = _hiding(deleter, location)
        if key_versions is None or delete_version is None:
            raise not_defined("key_versions" if key_versions is None else "delete_version")
        return VersionedStore(hiding, location, put_file, stored_paths, key_versions, delete_version)

    @demands("S15, SupportsHiding: a hidden file is not listed, its version stays, and it comes back with its bytes.")
    def test_s15_a_file_is_hidden_and_comes_back(
        self, versioned: VersionedStore, location: str, read_file: ReadFile | None
    ) -> None:
        for path in ("data/a", "data/a2", "data/deep/b"):
            versioned.put(path, path.encode())
        asked = [versioned.current("data/a"), versioned.current("data/deep/b")]
        held = versioned.hide(*asked)
        assert {"data/a2"} == versioned.stored()
        assert [each.version for each in asked] == [held[each.path].version for each in asked]
        assert versioned.show(*held.values()) == {"data/a": VersionStatus.DONE, "data/deep/b": VersionStatus.DONE}
        assert {"data/a", "data/a2", "data/deep/b"} == versioned.stored()
        if read_file is None:
            raise not_defined("read_file")
        assert {path: path.encode() for path in held} == {path: read_file(location, path) for path in held}

    @demands("S15, SupportsHiding: a purge deletes the version and the marker by their ids, and nothing else.")
    def test_s15_a_hidden_file_is_purged(self, versioned: VersionedStore) -> None:
        for path in ("a", "a2"):
            versioned.put(path, path.encode())
        held = versioned.hide(versioned.current("a"))
        before = versioned.versions("a2")
        assert versioned.purge(*held.values()) == {"a": VersionStatus.DONE}
        assert ([], before) == (versioned.versions("a"), versioned.versions("a2"))

    @demands("S15, SupportsHiding: only what was listed is hidden. A file that was written again stays (FAILED).")
    def test_s15_a_file_that_was_written_again_is_not_hidden(self, versioned: VersionedStore) -> None:
        versioned.put("a", b"listed")
        listed = versioned.current("a")
        versioned.put("a", b"written again")
        before = versioned.versions("a")
        assert versioned.hidden(listed) == {"a": VersionStatus.FAILED}
        assert versioned.hidden(replace(versioned.current("a"), modified=None)) == {"a": VersionStatus.FAILED}
        assert before == versioned.versions("a")

    @demands("S15, SupportsHiding: what is hidden already, or not there, is MISSING; no other marker is made.")
    def test_s15_hiding_twice_makes_one_marker(self, versioned: VersionedStore) -> None:
        versioned.put("a", b"x")
        asked = versioned.current("a")
        held = versioned.hide(asked)["a"]
        before = versioned.versions("a")
        again = {
            each.path: each for each in versioned.ask(versioned.hiding.hide_files, asked, FileVersion(path="never"))
        }
        assert _statuses(again) == {"a": VersionStatus.MISSING, "never": VersionStatus.MISSING}
        assert (held.version, held.marker) == (again["a"].version, again["a"].marker)
        assert (before, []) == (versioned.versions("a"), versioned.versions("never"))

    @demands("S15, SupportsHiding: showing or purging twice does no harm: what is visible is DONE, then RELEASED.")
    def test_s15_a_visible_version_is_never_purged(self, versioned: VersionedStore) -> None:
        versioned.put("a", b"x")
        held = versioned.hide(versioned.current("a"))["a"]
        assert versioned.show(held) == {"a": VersionStatus.DONE}
        assert versioned.show(held) == {"a": VersionStatus.DONE}
        assert versioned.purge(held) == {"a": VersionStatus.RELEASED}
        assert versioned.purge(replace(held, marker="")) == {"a": VersionStatus.RELEASED}
        assert {"a"} == versioned.stored()

    @demands("S15, SupportsHiding: a newer file is never touched: EXISTS when its older version is to be shown.")
    def test_s15_a_newer_file_stays(self, versioned: VersionedStore) -> None:
        versioned.put("a", b"old")
        held = versioned.hide(versioned.current("a"))["a"]
        versioned.put("a", b"newer")
        newer = versioned.current("a").version
        before = versioned.versions("a")
        assert versioned.show(held) == {"a": VersionStatus.EXISTS}
        assert before == versioned.versions("a")
        assert versioned.purge(held) == {"a": VersionStatus.DONE}
        assert [newer] == [each.version for each in versioned.versions("a")]

    @demands("S15, SupportsHiding: only the marker of the quarantine is removed, never one that somebody else made.")
    def test_s15_the_marker_of_somebody_else_stays(self, versioned: VersionedStore) -> None:
        versioned.put("a", b"x")
        held = versioned.hide(versioned.current("a"))["a"]
        versioned.delete_version("a", held.marker)
        theirs = versioned.hide(versioned.current("a"))["a"]
        before = versioned.versions("a")
        assert versioned.show(held) == {"a": VersionStatus.FAILED}
        assert versioned.purge(held) == {"a": VersionStatus.RELEASED}
        assert before == versioned.versions("a")
        assert versioned.show(theirs) == {"a": VersionStatus.DONE}

    @demands("S15, SupportsHiding: a killed call is repeated: lost ids are found, and a marker that was left goes.")
    def test_s15_a_killed_call_is_repeated(self, versioned: VersionedStore) -> None:
        for path in ("a", "b", "c"):
            versioned.put(path, b"x")
        held = versioned.hide(*(versioned.current(path) for path in ("a", "b", "c")))
        without = {path: replace(each, version="", marker="") for path, each in held.items()}
        assert versioned.show(without["a"]) == {"a": VersionStatus.DONE}
        assert versioned.purge(without["b"]) == {"b": VersionStatus.DONE}
        versioned.delete_version("c", held["c"].version)
        left = versioned.versions("c")  # its marker, unless the store made that up
        assert versioned.purge(held["c"]) == {"c": VersionStatus.DONE if left else VersionStatus.MISSING}
        assert versioned.purge(held["c"]) == {"c": VersionStatus.MISSING}
        assert versioned.show(held["b"]) == {"b": VersionStatus.MISSING}
        assert ({"a"}, [], []) == (versioned.stored(), versioned.versions("b"), versioned.versions("c"))

    @demands("S15, SupportsHiding: a marker stays where an older version would become visible without it.")
    def test_s15_a_purge_makes_no_older_version_visible(self, versioned: VersionedStore) -> None:
        versioned.put("a", b"older")
        versioned.put("a", b"newer one")
        held = versioned.hide(versioned.current("a"))["a"]
        assert versioned.purge(held) == {"a": VersionStatus.DONE}
        assert set() == versioned.stored()
        assert held.version not in {each.version for each in versioned.versions("a")}

    @demands("S4: keys are raw, character by character, also when a file is hidden.")
    def test_s04_odd_keys_are_hidden_and_come_back(self, versioned: VersionedStore, odd_paths: Sequence[str]) -> None:
        for path in odd_paths:
            versioned.put(path, b"x")
        first, second = list(odd_paths[::2]), set(odd_paths[1::2])
        held = versioned.hide(*map(versioned.current, first))
        assert second == versioned.stored()
        assert dict.fromkeys(first, VersionStatus.DONE) == versioned.show(*held.values())
        assert set(odd_paths) == versioned.stored()

    @demands("SupportsHiding: no files, no outcomes; one call may get more files than batch_size.")
    def test_more_than_one_batch_is_hidden(self, versioned: VersionedStore, deleter: FileDeleter) -> None:
        assert versioned.hide() == {}
        paths = [f"data/{number:05}" for number in range(min(deleter.batch_size, 40) + 1)]
        for path in paths:
            versioned.put(path, b"")
        held = versioned.hide(*map(versioned.current, paths))
        assert set() == versioned.stored()
        assert dict.fromkeys(paths, VersionStatus.DONE) == versioned.purge(*held.values())
        assert [[]] * len(paths) == [versioned.versions(path) for path in paths]

    @demands("SupportsHiding: what refuses and what warns is one line each, or nothing.")
    def test_refusals_and_warnings_are_one_line(self, versioned: VersionedStore, location: str) -> None:
        said = [
            versioned.hiding.release_refusal(location),
            *versioned.hiding.hide_warnings([location], timedelta(days=30)),
        ]
        assert [each for each in said if each is not None and len(each.splitlines()) != 1] == []


class VersionedStore:
    """A location of a store that keeps versions: the deleter, and the back doors."""

    def __init__(
        self,
        hiding: SupportsHiding,
        location: str,
        put_file: PutFile,
        stored_paths: Stored,
        key_versions: KeyVersions,
        delete_version: DeleteVersion,
    ) -> None:
        self.hiding = hiding
        self._location = location
        self._put = put_file
        self._stored_paths = stored_paths
        self._key_versions = key_versions
        self._delete_version = delete_version

    def put(self, path: str, data: bytes) -> None:
        """Writes a file."""
        self._put(self._location, path, data)

    def stored(self) -> set[str]:
        """The files that are visible."""
        return set(self._stored_paths(self._location))

    def versions(self, path: str) -> list[KeyVersion]:
        """What is kept of a file."""
        return list(self._key_versions(self._location, path))

    def delete_version(self, path: str, version: str) -> None:
        """Deletes a version or a marker."""
        self._delete_version(self._location, path, version)

    def current(self, path: str) -> FileVersion:
        """A file as it would be listed now."""
        (now,) = [each for each in self.versions(path) if each.current]
        return FileVersion(path=path, size=now.size, modified=now.modified, version=now.version)

    def ask(self, verb: _Verb, *files: FileVersion) -> list[VersionOutcome]:
        """Asks the deleter, and asserts that each file has exactly one outcome."""
        said = list(verb(self._location, files))
        assert Counter(file.path for file in files) == Counter(each.path for each in said)
        return said

    def hidden(self, *files: FileVersion) -> dict[str, VersionStatus]:
        """What becomes of files that are to be hidden."""
        return _statuses({each.path: each for each in self.ask(self.hiding.hide_files, *files)})

    def hide(self, *files: FileVersion) -> dict[str, FileVersion]:
        """Hides files; each with its ids."""
        said = {each.path: each for each in self.ask(self.hiding.hide_files, *files)}
        assert dict.fromkeys(said, VersionStatus.DONE) == _statuses(said)
        return {
            file.path: replace(file, version=said[file.path].version, marker=said[file.path].marker) for file in files
        }

    def show(self, *files: FileVersion) -> dict[str, VersionStatus]:
        """Shows files."""
        return _statuses({each.path: each for each in self.ask(self.hiding.show_files, *files)})

    def purge(self, *files: FileVersion) -> dict[str, VersionStatus]:
        """Purges files."""
        return _statuses({each.path: each for each in self.ask(self.hiding.purge_versions, *files)})


def _statuses(said: Mapping[str, VersionOutcome]) -> dict[str, VersionStatus]:
    failed = [each for each in said.values() if each.status is VersionStatus.FAILED]
    assert [each for each in failed if len(each.reason.splitlines()) != 1] == [], "a reason of one line"
    return {path: each.status for path, each in said.items()}


def _hiding(deleter: FileDeleter, location: str) -> SupportsHiding:
    """The deleter as one that hides files."""
    if not isinstance(deleter, SupportsHiding):
        skip_without(deleter, SupportsHiding)
    hiding = cast("SupportsHiding", deleter)
    refusal = hiding.hide_refusal(location)
    if refusal is not None:
        assert len(refusal.splitlines()) == 1
        pytest.skip(f"{shown(deleter)}: {refusal}")
    return hiding
