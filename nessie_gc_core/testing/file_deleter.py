"""What every file deleter has to do (:class:`nessie_gc_core.connectors.FileDeleter`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import pytest

from nessie_gc_core.connectors import Connector, FileDeleter
from nessie_gc_core.model.files import DeleteStatus, FileReference
from nessie_gc_core.model.locations import scheme_of
from nessie_gc_core.testing.options import OptionsTests
from nessie_gc_core.testing.paths import ODD_PATHS, PutFile

_GONE = frozenset({DeleteStatus.DELETED, DeleteStatus.ALREADY_GONE})


class FileDeleterContract(OptionsTests):
    """Inherit it and give it these fixtures.

    Required:
        ``open_deleter``: a function that makes a deleter of the store; it may be called several times.
        ``location``: a raw location in the store that ends in a slash, below which nothing is stored.
        ``put_file``: the back door, ``put_file(location, path, data)``.
        ``stored_paths``: the other back door, ``stored_paths(location)`` gives the raw paths of all files there.

    Optional:
        ``odd_paths``: keys that the store can hold; ``ODD_PATHS`` unless overridden.
        ``undeletable``: ``undeletable(location)`` puts a file that cannot be deleted and gives its path; ``None``
        (the default) where the tests cannot make one.
    """

    @pytest.fixture
    def open_deleter(self) -> Callable[[], FileDeleter]:
        raise NotImplementedError("the subclass has to define the fixture open_deleter")

    @pytest.fixture
    def connector_class(self, open_deleter: Callable[[], FileDeleter]) -> type[Connector]:
        with open_deleter() as opened:
            return type(opened)

    @pytest.fixture
    def location(self) -> str:
        raise NotImplementedError("the subclass has to define the fixture location")

    @pytest.fixture
    def put_file(self) -> PutFile:
        raise NotImplementedError("the subclass has to define the fixture put_file")

    @pytest.fixture
    def stored_paths(self) -> Callable[[str], Iterable[str]]:
        raise NotImplementedError("the subclass has to define the fixture stored_paths")

    @pytest.fixture
    def odd_paths(self) -> Sequence[str]:
        return ODD_PATHS

    @pytest.fixture
    def undeletable(self) -> Callable[[str], str] | None:
        return None

    @pytest.fixture
    def deleter(self, open_deleter: Callable[[], FileDeleter]) -> Iterator[FileDeleter]:
        with open_deleter() as deleter:
            yield deleter

    def test_it_claims_the_scheme_of_its_locations(self, deleter: FileDeleter, location: str) -> None:
        assert scheme_of(location) in deleter.schemes
        assert deleter.batch_size > 0

    def test_each_file_has_one_outcome_and_is_gone(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        paths = ["top", "data/a", "data/b", "data/deep/er/c"]
        for path in paths:
            put_file(location, path, b"x")
        assert dict.fromkeys(paths, DeleteStatus.DELETED) == _delete(deleter, location, paths)
        assert set() == set(stored_paths(location))

    def test_nothing_else_is_touched(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        kept = {"a", "b/a", "b/cc", "b/c2", "b/c/d", "B/c/x", "b.c"}
        for path in {*kept, "b/c/x"}:
            put_file(location, path, b"x")
        _delete(deleter, location, ["b/c/x"])
        assert kept == set(stored_paths(location))

    def test_a_file_that_is_not_there_is_gone_or_deleted(self, deleter: FileDeleter, location: str) -> None:
        outcomes = _delete(deleter, location, ["never", "made/either"])
        assert {"never", "made/either"} == set(outcomes)
        assert set(outcomes.values()) <= _GONE

    def test_a_missing_file_does_not_stop_the_others(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        put_file(location, "a", b"x")
        put_file(location, "z", b"x")
        outcomes = _delete(deleter, location, ["a", "missing", "z"])
        assert (outcomes["a"], outcomes["z"]) == (DeleteStatus.DELETED, DeleteStatus.DELETED)
        assert set() == set(stored_paths(location))

    def test_deleting_twice_does_no_harm(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        put_file(location, "kept", b"x")
        put_file(location, "gone", b"x")
        _delete(deleter, location, ["gone"])
        assert set(_delete(deleter, location, ["gone"]).values()) <= _GONE
        assert {"kept"} == set(stored_paths(location))

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

    def test_nothing_to_delete_has_no_outcome(self, deleter: FileDeleter, location: str) -> None:
        assert _delete(deleter, location, []) == {}

    def test_more_than_one_batch_is_deleted(
        self, deleter: FileDeleter, location: str, put_file: PutFile, stored_paths: Callable[[str], Iterable[str]]
    ) -> None:
        paths = [f"data/{number:05}" for number in range(deleter.batch_size + 1)]
        for path in paths:
            put_file(location, path, b"")
        assert dict.fromkeys(paths, DeleteStatus.DELETED) == _delete(deleter, location, paths)
        assert set() == set(stored_paths(location))

    def test_a_file_that_cannot_be_deleted_fails_with_a_reason_and_stops_no_other(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        undeletable: Callable[[str], str] | None,
    ) -> None:
        if undeletable is None:
            pytest.skip("the fixture undeletable: these tests cannot make a file that cannot be deleted")
        stuck = undeletable(location)
        put_file(location, "a", b"x")
        put_file(location, "zz", b"x")
        files = [FileReference(location=location, path=path) for path in ("a", stuck, "zz")]
        outcomes = {outcome.path: outcome for outcome in deleter.delete_files(location, files)}
        assert {"a": DeleteStatus.DELETED, stuck: DeleteStatus.FAILED, "zz": DeleteStatus.DELETED} == {
            path: outcome.status for path, outcome in outcomes.items()
        }
        assert len(outcomes[stuck].reason.splitlines()) == 1


def _delete(deleter: FileDeleter, location: str, paths: Sequence[str]) -> dict[str, DeleteStatus]:
    """Deletes, holds that each file has exactly one outcome, and gives the outcomes."""
    files = [FileReference(location=location, path=path) for path in paths]
    outcomes = list(deleter.delete_files(location, files))
    assert Counter(dict.fromkeys(paths, 1)) == Counter(outcome.path for outcome in outcomes)
    return {outcome.path: outcome.status for outcome in outcomes}
