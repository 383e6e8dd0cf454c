"""Tests of file deleters that tag files which stay where they are, take the tags off, and purge what has them."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest

from nessie_gc_core.connectors import FileDeleter, SupportsObjectTags
from nessie_gc_core.model.object_tags import MOST_TAGS, QUARANTINE_TAG, TaggedObject
from nessie_gc_core.model.versions import FileVersion, VersionOutcome, VersionStatus
from nessie_gc_core.testing.demands import demands, not_defined, shown, skip_without
from nessie_gc_core.testing.file_fixtures import FileStoreFixtures
from nessie_gc_core.testing.paths import PutFile

Stored = Callable[[str], Iterable[str]]
ShowObject = Callable[[str, str], TaggedObject]
PutTags = Callable[[str, str, Mapping[str, str]], object]
_Verb = Callable[[str, Sequence[FileVersion]], Iterable[VersionOutcome]]
_OURS = "2c4a3c6e-0000-4000-8000-000000000001"
_DONE, _FAILED, _MISSING, _RELEASED = (
    VersionStatus.DONE,
    VersionStatus.FAILED,
    VersionStatus.MISSING,
    VersionStatus.RELEASED,
)


class TaggingTests(FileStoreFixtures):
    """Files that are tagged."""

    @pytest.fixture
    def stored_paths(self) -> Stored:
        raise not_defined("stored_paths")

    @pytest.fixture
    def show_object(self) -> ShowObject | None:
        return None

    @pytest.fixture
    def put_tags(self) -> PutTags | None:
        return None

    @pytest.fixture
    def tagging(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        stored_paths: Stored,
        show_object: ShowObject | None,
        put_tags: PutTags | None,
    ) -> TaggingStore:
        ability = _tagging(deleter, location)
        if show_object is None or put_tags is None:
            raise not_defined("show_object" if show_object is None else "put_tags")
        return TaggingStore(ability, location, put_file, stored_paths, show_object, put_tags)

    @demands("S15, SupportsObjectTags: a tagged file stays and stays what it is; restored, it has its other tags.")
    def test_s15_a_file_is_tagged_and_untagged(self, tagging: TaggingStore) -> None:
        for path in ("data/a", "data/a2", "data/deep/b"):
            tagging.put(path, path.encode())
        tagging.put_tags("data/a", {"team": "one + two/a=b"})
        before = {path: tagging.show(path) for path in ("data/a", "data/a2", "data/deep/b")}
        held = tagging.tag(tagging.listed("data/a"), tagging.listed("data/deep/b"))
        marks = {path: tagging.show(path).mark for path in before}
        assert marks == {"data/a": _OURS, "data/a2": None, "data/deep/b": _OURS}
        assert {path: _untagged(each) for path, each in before.items()} == {
            path: _untagged(tagging.show(path)) for path in before
        }
        assert [before[path].etag for path in held] == [each.version for each in held.values()]
        assert dict.fromkeys(held, _DONE) == tagging.untag(*held.values())
        assert before == {path: tagging.show(path) for path in before}

    @demands("S15, SupportsObjectTags: a purge deletes what has the tag of the quarantine, and nothing else.")
    def test_s15_a_tagged_file_is_purged(self, tagging: TaggingStore) -> None:
        for path in ("a", "a2"):
            tagging.put(path, path.encode())
        held = tagging.tag(tagging.listed("a"))
        assert tagging.purge(*held.values()) == {"a": _DONE}
        assert {"a2"} == tagging.stored()
        assert tagging.purge(*held.values()) == {"a": _MISSING}
        assert tagging.untag(*held.values()) == {"a": _MISSING}

    @demands("S15, SupportsObjectTags: only what was listed is tagged. A file that was written again is FAILED.")
    def test_s15_a_file_that_was_written_again_is_not_tagged(self, tagging: TaggingStore) -> None:
        tagging.put("a", b"listed")
        listed = tagging.listed("a")
        tagging.put("a", b"written again")
        assert tagging.tagged(listed) == {"a": _FAILED}
        assert tagging.tagged(replace(tagging.listed("a"), modified=None)) == {"a": _FAILED}
        assert tagging.tagged(replace(listed, path="never")) == {"never": _MISSING}
        assert tagging.show("a").tags == {}

    @demands("S15, SupportsObjectTags: a killed call is repeated: tagging twice is DONE, untagging twice RELEASED.")
    def test_s15_tagging_and_untagging_twice_does_no_harm(self, tagging: TaggingStore) -> None:
        tagging.put("a", b"x")
        held = tagging.tag(tagging.listed("a"))
        assert held == tagging.tag(tagging.listed("a"))
        assert tagging.untag(*held.values()) == {"a": _DONE}
        assert tagging.untag(*held.values()) == {"a": _RELEASED}
        assert tagging.show("a").tags == {}

    @demands("S15, SupportsObjectTags: a file without this tag, or with that of another sweep, is never purged.")
    def test_s15_a_file_without_the_tag_is_not_purged(self, tagging: TaggingStore) -> None:
        for path in ("a", "b"):
            tagging.put(path, b"x")
        held = tagging.tag(tagging.listed("a"), tagging.listed("b"))
        tagging.put_tags("a", {"team": "a"})
        tagging.put_tags("b", {QUARANTINE_TAG: "another"})
        assert tagging.purge(*held.values()) == {"a": _RELEASED, "b": _RELEASED}
        assert tagging.untag(held["b"]) == {"b": VersionStatus.EXISTS}
        assert ({"a", "b"}, "another") == (tagging.stored(), tagging.show("b").mark)

    @demands("S15, SupportsObjectTags: a file that is not what was recorded is never purged, whatever its tags.")
    def test_s15_another_file_with_the_tag_is_not_purged(self, tagging: TaggingStore) -> None:
        for path in ("a", "b", "c"):
            tagging.put(path, b"first")
        held = tagging.tag(*map(tagging.listed, ("a", "b", "c")))
        for path, data in (("a", b"longer than first"), ("b", b"other")):
            tagging.put(path, data)
            tagging.put_tags(path, {QUARANTINE_TAG: _OURS})
        later = replace(tagging.listed("b"), version=held["b"].version, marker=_OURS)
        earlier = replace(held["c"], modified=None)
        assert tagging.purge(held["a"], later, earlier) == {"a": _RELEASED, "b": _RELEASED, "c": _RELEASED}
        assert {"a", "b", "c"} == tagging.stored()

    @demands("S15, SupportsObjectTags: all other tags stay; a file with as many as there can be is FAILED.")
    def test_s15_a_file_with_all_its_tags_fails(self, tagging: TaggingStore) -> None:
        full = {f"key-{number}": "v" for number in range(MOST_TAGS)}
        for path in ("a", "b"):
            tagging.put(path, b"x")
        tagging.put_tags("a", full)
        tagging.put_tags("b", {QUARANTINE_TAG: "of an earlier sweep", **dict(list(full.items())[1:])})
        assert tagging.tagged(tagging.listed("a"), tagging.listed("b")) == {"a": _FAILED, "b": _DONE}
        assert (full, _OURS) == (tagging.show("a").tags, tagging.show("b").mark)

    @demands("S4: keys are raw, character by character, also when a file is tagged.")
    def test_s04_odd_keys_are_tagged_and_purged(self, tagging: TaggingStore, odd_paths: Sequence[str]) -> None:
        for path in odd_paths:
            tagging.put(path, b"x")
        first, second = list(odd_paths[::2]), list(odd_paths[1::2])
        held = tagging.tag(*map(tagging.listed, first))
        assert dict.fromkeys(first, _OURS) == {path: tagging.show(path).mark for path in first}
        assert dict.fromkeys(second) == {path: tagging.show(path).mark for path in second}
        assert dict.fromkeys(first, _DONE) == tagging.purge(*held.values())
        assert set(second) == tagging.stored()

    @demands("SupportsObjectTags: no files, no outcomes; one call may get more files than batch_size.")
    def test_more_than_one_batch_is_tagged(self, tagging: TaggingStore, deleter: FileDeleter) -> None:
        assert tagging.tag() == {}
        paths = [f"data/{number:05}" for number in range(min(deleter.batch_size, 40) + 1)]
        for path in paths:
            tagging.put(path, b"")
        held = tagging.tag(*map(tagging.listed, paths))
        assert dict.fromkeys(paths, _DONE) == tagging.purge(*held.values())
        assert set() == tagging.stored()


class TaggingStore:
    """A location of a store that keeps tags: the deleter, and the back doors."""

    def __init__(
        self,
        ability: SupportsObjectTags,
        location: str,
        put_file: PutFile,
        stored_paths: Stored,
        show_object: ShowObject,
        put_tags: PutTags,
    ) -> None:
        self._ability = ability
        self._location = location
        self._put = put_file
        self._stored_paths = stored_paths
        self._show = show_object
        self._put_tags = put_tags

    def put(self, path: str, data: bytes) -> None:
        """Writes a file."""
        self._put(self._location, path, data)

    def put_tags(self, path: str, tags: Mapping[str, str]) -> None:
        """Replaces the tags of a file."""
        self._put_tags(self._location, path, tags)

    def stored(self) -> set[str]:
        """The files that are there."""
        return set(self._stored_paths(self._location))

    def show(self, path: str) -> TaggedObject:
        """A file and its tags."""
        return self._show(self._location, path)

    def listed(self, path: str) -> FileVersion:
        """A file as it is listed now, with the tag that it shall get."""
        now = self.show(path)
        return FileVersion(path=path, size=now.size, modified=now.modified, marker=_OURS)

    def tagged(self, *files: FileVersion) -> dict[str, VersionStatus]:
        """What becomes of files that are to be tagged."""
        return _statuses(self._ask(self._ability.tag_files, files))

    def tag(self, *files: FileVersion) -> dict[str, FileVersion]:
        """Tags files; each with its entity tag."""
        said = {each.path: each for each in self._ask(self._ability.tag_files, files)}
        assert dict.fromkeys(said, (_DONE, _OURS)) == {path: (each.status, each.marker) for path, each in said.items()}
        return {file.path: replace(file, version=said[file.path].version) for file in files}

    def untag(self, *files: FileVersion) -> dict[str, VersionStatus]:
        """Takes tags off."""
        return _statuses(self._ask(self._ability.untag_files, files))

    def purge(self, *files: FileVersion) -> dict[str, VersionStatus]:
        """Purges files."""
        return _statuses(self._ask(self._ability.purge_tagged, files))

    def _ask(self, verb: _Verb, files: Sequence[FileVersion]) -> list[VersionOutcome]:
        """Asks the deleter, and asserts that each file has exactly one outcome."""
        said = list(verb(self._location, files))
        assert Counter(file.path for file in files) == Counter(each.path for each in said)
        return said


def _untagged(found: TaggedObject) -> TaggedObject:
    return replace(found, tags=found.unmarked())


def _statuses(said: Iterable[VersionOutcome]) -> dict[str, VersionStatus]:
    by_path = {each.path: each for each in said}
    failed = [each for each in by_path.values() if each.status is _FAILED]
    assert [each for each in failed if len(each.reason.splitlines()) != 1] == [], "a reason of one line"
    return {path: each.status for path, each in by_path.items()}


def _tagging(deleter: FileDeleter, location: str) -> SupportsObjectTags:
    """The deleter as one that tags files."""
    if not isinstance(deleter, SupportsObjectTags):
        skip_without(deleter, SupportsObjectTags)
    ability = cast("SupportsObjectTags", deleter)
    refusal = ability.tag_refusal(location)
    if refusal is not None:
        assert len(refusal.splitlines()) == 1
        pytest.skip(f"{shown(deleter)}: {refusal}")
    return ability
