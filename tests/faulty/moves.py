from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import pytest

from faulty import fault
from faulty.deleters import DeleterTests, GoodDeleter
from faulty.disk import on_disk
from nessie_gc_core.model import FileMove, MoveOutcome, MoveStatus


class Moves(GoodDeleter):
    """Moves files on a disk; each step is a method in which a faulty one can differ."""

    name = "moves"

    def move_refusal(self, location: str, to: str) -> str | None:
        return None if to.startswith("file://") else "it is no folder of this machine"

    def move_files(self, location: str, to: str, moves: Sequence[FileMove]) -> Iterator[MoveOutcome]:
        refusal = self.move_refusal(location, to)
        for move in moves:
            if refusal is not None:
                yield MoveOutcome(path=move.path, status=MoveStatus.FAILED, reason=refusal)
                continue
            try:
                status = self.move(on_disk(location + move.path), on_disk(to + move.to_path))
                yield MoveOutcome(path=move.path, status=status)
            except (OSError, ValueError) as error:
                yield MoveOutcome(path=move.path, status=MoveStatus.FAILED, reason=str(error))

    def move(self, old: Path, new: Path) -> MoveStatus:
        if not old.exists():
            return MoveStatus.MOVED if new.exists() else MoveStatus.MISSING
        if old.is_dir():
            raise ValueError("it is a directory")
        if new.exists():
            return MoveStatus.EXISTS
        if old.parent.resolve() != old.parent or new.parent.resolve() != new.parent:
            raise ValueError("a link is on the way")
        new.parent.mkdir(parents=True, exist_ok=True)
        self.rename(old, new)
        return MoveStatus.MOVED

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)


class MovesTests(DeleterTests):
    @pytest.fixture
    def read_file(self):
        return lambda location, path: on_disk(location + path).read_bytes()


class TestGood(MovesTests):
    connector = Moves


@fault(
    MovesTests, "test_s15_a_file_is_moved_and_comes_back", "S15, SupportsMoves: a moved file is at its new path only"
)
class OnlyCopies(Moves):
    def rename(self, old, new):
        shutil.copy(old, new)


@fault(MovesTests, "test_s15_moving_twice_does_no_harm", "S15, SupportsMoves: a killed call is repeated")
class FailsOnWhatWasMoved(Moves):
    def move(self, old, new):
        if not old.exists():
            raise ValueError("it is gone")
        return super().move(old, new)


@fault(MovesTests, "test_s15_nothing_is_overwritten", "S15, SupportsMoves: nothing is ever overwritten")
class Overwrites(Moves):
    def move(self, old, new):
        new.unlink(missing_ok=True)
        return super().move(old, new)


@fault(MovesTests, "test_s04_odd_keys_are_moved_and_come_back", "S4: keys are raw")
class Decodes(Moves):
    def move(self, old, new):
        return super().move(old, Path(unquote(str(new))))


@fault(
    MovesTests,
    "test_s15_a_file_that_cannot_be_moved_stays",
    "S15, SupportsMoves: a file that cannot be moved is FAILED with a reason",
)
class StopsAtTheFirst(Moves):
    def move_files(self, location, to, moves):
        for outcome in super().move_files(location, to, moves):
            if outcome.status is MoveStatus.FAILED:
                raise OSError(outcome.reason)
            yield outcome


@fault(MovesTests, "test_s24_nothing_is_moved_through_a_link", "S24: nothing is moved out of a folder that is a link")
class FollowsLinks(Moves):
    def move(self, old, new):
        return super().move(old.parent.resolve() / old.name, new.parent.resolve() / new.name)


@fault(MovesTests, "test_more_than_one_batch_is_moved", "SupportsMoves: no files, no outcomes; one call may get more")
class OnlyOneBatch(Moves):
    def move_files(self, location, to, moves):
        yield from super().move_files(location, to, moves[: self.batch_size])


@fault(MovesTests, "test_moving_to_another_store_is_refused", "SupportsMoves: move_refusal says in one line")
class MovesAnywhere(Moves):
    def move_refusal(self, location, to):
        return None
