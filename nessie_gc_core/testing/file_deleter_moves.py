"""Tests of file deleters that can move files: to a quarantine and back."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import cast

import pytest

from nessie_gc_core.connectors import FileDeleter, SupportsMoves
from nessie_gc_core.model.quarantine import FileMove, MoveStatus
from nessie_gc_core.testing.demands import demands, not_defined, possible, shown, skip_without
from nessie_gc_core.testing.file_fixtures import FileStoreFixtures
from nessie_gc_core.testing.not_possible import NotPossible
from nessie_gc_core.testing.paths import PutFile, PutLink

Stored = Callable[[str], Iterable[str]]
ReadFile = Callable[[str, str], bytes]


class MoveTests(FileStoreFixtures):
    """Files that are moved."""

    @pytest.fixture
    def stored_paths(self) -> Stored:
        raise not_defined("stored_paths")

    @pytest.fixture
    def read_file(self) -> ReadFile | None:
        return None

    @pytest.fixture
    def here(self, location: str) -> str:
        return f"{location}t/"

    @pytest.fixture
    def held(self, location: str) -> str:
        return f"{location}held/"

    @demands(
        "S15, SupportsMoves: a moved file is at its new path only, with the same bytes, and comes back in the same way."
    )
    def test_s15_a_file_is_moved_and_comes_back(
        self,
        deleter: FileDeleter,
        here: str,
        held: str,
        put_file: PutFile,
        stored_paths: Stored,
        read_file: ReadFile | None,
    ) -> None:
        moving = _moving(deleter, here, held)
        for path in ("data/a", "data/deep/b", "data/a2"):
            put_file(here, path, path.encode())
        moves = {"data/a": "run/1/data/a", "data/deep/b": "run/2/b"}
        assert dict.fromkeys(moves, MoveStatus.MOVED) == _move(moving, here, held, moves)
        assert (set(stored_paths(here)), set(stored_paths(held))) == ({"data/a2"}, set(moves.values()))
        if read_file is None:
            raise not_defined("read_file")
        assert {b"data/a", b"data/deep/b"} == {read_file(held, path) for path in moves.values()}
        back = {new: old for old, new in moves.items()}
        assert dict.fromkeys(back, MoveStatus.MOVED) == _move(moving, held, here, back)
        assert (set(stored_paths(here)), set(stored_paths(held))) == ({*moves, "data/a2"}, set())
        assert {path: path.encode() for path in moves} == {path: read_file(here, path) for path in moves}

    @demands(
        "S15, SupportsMoves: a killed call is repeated: what was moved before is MOVED, what is nowhere is MISSING."
    )
    def test_s15_moving_twice_does_no_harm(
        self, deleter: FileDeleter, here: str, held: str, put_file: PutFile, stored_paths: Stored
    ) -> None:
        moving = _moving(deleter, here, held)
        put_file(here, "a", b"x")
        _move(moving, here, held, {"a": "a"})
        again = _move(moving, here, held, {"a": "a", "never": "never"})
        assert again == {"a": MoveStatus.MOVED, "never": MoveStatus.MISSING}
        assert {"a"} == set(stored_paths(held))

    @demands("S15, SupportsMoves: nothing is ever overwritten: if another file is at the new path, both stay (EXISTS).")
    def test_s15_nothing_is_overwritten(
        self,
        deleter: FileDeleter,
        here: str,
        held: str,
        put_file: PutFile,
        stored_paths: Stored,
        read_file: ReadFile | None,
    ) -> None:
        moving = _moving(deleter, here, held)
        put_file(here, "a", b"mine")
        put_file(held, "a", b"theirs")
        put_file(here, "b", b"b")
        assert _move(moving, here, held, {"a": "a", "b": "b"}) == {"a": MoveStatus.EXISTS, "b": MoveStatus.MOVED}
        assert ({"a"}, {"a", "b"}) == (set(stored_paths(here)), set(stored_paths(held)))
        if read_file is None:
            raise not_defined("read_file")
        assert (read_file(here, "a"), read_file(held, "a")) == (b"mine", b"theirs")

    @demands("S4: keys are raw, character by character, also when a file is moved.")
    def test_s04_odd_keys_are_moved_and_come_back(
        self,
        deleter: FileDeleter,
        here: str,
        held: str,
        put_file: PutFile,
        stored_paths: Stored,
        odd_paths: Sequence[str],
    ) -> None:
        moving = _moving(deleter, here, held)
        for path in odd_paths:
            put_file(here, path, b"x")
        first, second = list(odd_paths[::2]), set(odd_paths[1::2])
        moves = {path: f"run/{path}" for path in first}
        assert dict.fromkeys(first, MoveStatus.MOVED) == _move(moving, here, held, moves)
        assert (second, set(moves.values())) == (set(stored_paths(here)), set(stored_paths(held)))
        _move(moving, held, here, {new: old for old, new in moves.items()})
        assert (set(odd_paths), set()) == (set(stored_paths(here)), set(stored_paths(held)))

    @demands("S15, SupportsMoves: a file that cannot be moved is FAILED with a reason of one line, and stops no other.")
    def test_s15_a_file_that_cannot_be_moved_stays(
        self,
        deleter: FileDeleter,
        here: str,
        held: str,
        put_file: PutFile,
        undeletable: Callable[[str], str] | NotPossible,
        stored_paths: Stored,
    ) -> None:
        moving = _moving(deleter, here, held)
        stuck = possible(undeletable, "undeletable", deleter)(here)
        put_file(here, "a", b"x")
        moves = [FileMove(path=path, to_path=f"run/{path}") for path in ("a", stuck)]
        outcomes = {each.path: each for each in moving.move_files(here, held, moves)}
        assert {"a": MoveStatus.MOVED, stuck: MoveStatus.FAILED} == {path: o.status for path, o in outcomes.items()}
        assert len(outcomes[stuck].reason.splitlines()) == 1

    @demands("S24: nothing is moved out of a folder that is a link, or into one.")
    def test_s24_nothing_is_moved_through_a_link(
        self,
        deleter: FileDeleter,
        location: str,
        put_file: PutFile,
        put_link: PutLink | NotPossible,
        stored_paths: Stored,
    ) -> None:
        here, held = f"{location}t/", f"{location}held/"
        moving = _moving(deleter, here, held)
        link = possible(put_link, "put_link", deleter)
        put_file(f"{location}other/", "live", b"x")
        put_file(here, "dead", b"x")
        put_file(held, "there", b"x")
        link(here, "link", f"{location}other/")
        link(held, "link", f"{location}other/")
        assert _move(moving, here, held, {"link/live": "live"}) == {"link/live": MoveStatus.FAILED}
        assert _move(moving, here, held, {"dead": "link/dead"}) == {"dead": MoveStatus.FAILED}
        assert {"live"} == set(stored_paths(f"{location}other/"))

    @demands("SupportsMoves: no files, no outcomes; one call may get more files than batch_size.")
    def test_more_than_one_batch_is_moved(
        self, deleter: FileDeleter, here: str, held: str, put_file: PutFile, stored_paths: Stored
    ) -> None:
        moving = _moving(deleter, here, held)
        assert _move(moving, here, held, {}) == {}
        paths = [f"data/{number:05}" for number in range(min(deleter.batch_size, 200) + 1)]
        for path in paths:
            put_file(here, path, b"")
        assert dict.fromkeys(paths, MoveStatus.MOVED) == _move(moving, here, held, {path: path for path in paths})
        assert (set(), set(paths)) == (set(stored_paths(here)), set(stored_paths(held)))

    @demands("SupportsMoves: move_refusal says in one line why files cannot be moved to another store.")
    def test_moving_to_another_store_is_refused(self, deleter: FileDeleter, here: str, held: str) -> None:
        moving = _moving(deleter, here, held)
        refusal = moving.move_refusal(here, "elsewhere://bucket/held/")
        assert refusal is not None
        assert len(refusal.splitlines()) == 1
        outcomes = list(moving.move_files(here, "elsewhere://bucket/held/", [FileMove(path="a", to_path="a")]))
        assert [(each.path, each.status) for each in outcomes] == [("a", MoveStatus.FAILED)]


def _moving(deleter: FileDeleter, location: str, to: str) -> SupportsMoves:
    """The deleter as one that moves files."""
    if not isinstance(deleter, SupportsMoves):
        skip_without(deleter, SupportsMoves)
    moving = cast("SupportsMoves", deleter)
    refusal = moving.move_refusal(location, to)
    if refusal is not None:
        pytest.skip(f"{shown(deleter)}: {refusal}")
    return moving


def _move(moving: SupportsMoves, location: str, to: str, moves: Mapping[str, str]) -> dict[str, MoveStatus]:
    """Moves, asserts that each file has exactly one outcome, and returns the outcomes."""
    asked = [FileMove(path=path, to_path=new) for path, new in moves.items()]
    outcomes = list(moving.move_files(location, to, asked))
    assert Counter(dict.fromkeys(moves, 1)) == Counter(outcome.path for outcome in outcomes)
    return {outcome.path: outcome.status for outcome in outcomes}
