from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import unquote

import pytest

from faulty import fault
from faulty.disk import DiskTests, on_disk
from nessie_gc_core.connectors import FileDeleter
from nessie_gc_core.model import DeleteOutcome, DeleteStatus, FileReference
from nessie_gc_core.testing.file_deleter import FileDeleterContract


class GoodDeleter(FileDeleter):
    """Deletes from a disk; each step is a method in which a faulty one can differ."""

    name = "good"
    schemes = frozenset({"file"})
    batch_size = 20

    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        for file in files:
            yield self.delete_one(location.removeprefix("file://"), file.path)

    def delete_one(self, base: str, path: str) -> DeleteOutcome:
        try:
            self.check(base, path)
            self.remove(base + path)
        except (FileNotFoundError, NotADirectoryError):
            return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
        except (OSError, ValueError) as error:
            return DeleteOutcome(path=path, status=DeleteStatus.FAILED, reason=str(error))
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)

    def check(self, base: str, path: str) -> None:
        folder = Path(base + path).parent
        if folder.resolve() != folder:
            raise ValueError("a link is on the way")

    def remove(self, path: str) -> None:
        os.unlink(path)  # noqa: PTH108 - pathlib would tidy the path


class DeleterTests(DiskTests, FileDeleterContract):
    connector: type[FileDeleter]

    @pytest.fixture
    def open_deleter(self):
        return lambda: self.connector.from_options({})

    @pytest.fixture
    def stored_paths(self):
        def paths(location):
            base = Path(location.removeprefix("file://"))
            return [str(path.relative_to(base)) for path in base.rglob("*") if path.is_file()]

        return paths

    @pytest.fixture
    def undeletable(self):
        """A name that no disk can hold."""
        return lambda location: "m" * 300

    @pytest.fixture
    def has_directory(self):
        return lambda location, path: on_disk(location + path).is_dir()

    @pytest.fixture
    def name_of_directory(self):
        return str


class TestGood(DeleterTests):
    connector = GoodDeleter


STUCK = "test_a_file_that_cannot_be_deleted_fails_with_a_reason_and_stops_no_other"
EACH = "test_each_file_has_one_outcome_and_is_gone"


@fault(DeleterTests, "test_s22_a_directory_stays_when_its_last_file_goes", "S22: only files are deleted")
class RemovesEmptyDirectories(GoodDeleter):
    def remove(self, path):
        super().remove(path)
        with suppress(OSError):
            os.removedirs(os.path.dirname(path))  # noqa: PTH120


@fault(DeleterTests, "test_s22_a_directory_that_is_named_is_not_deleted", "S22: only files are deleted")
class RemovesNamedDirectories(GoodDeleter):
    def remove(self, path):
        os.rmdir(path) if os.path.isdir(path) else super().remove(path)  # noqa: PTH106, PTH112


@fault(DeleterTests, STUCK, "S15: a file that cannot be deleted is FAILED")
class LetsErrorsThrough(GoodDeleter):
    def delete_one(self, base, path):
        with suppress(FileNotFoundError):
            self.check(base, path)
            self.remove(base + path)
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)


@fault(DeleterTests, "test_a_path_below_a_file_has_an_outcome_too", "S15: whatever its path, each file has an outcome")
class LetsOnlyOddErrorsThrough(GoodDeleter):
    def delete_one(self, base, path):
        try:
            self.remove(base + path)
        except FileNotFoundError:
            return DeleteOutcome(path=path, status=DeleteStatus.ALREADY_GONE)
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)


@fault(DeleterTests, STUCK, "S15: a file that cannot be deleted is FAILED")
class ReportsSuccess(GoodDeleter):
    def delete_one(self, base, path):
        super().delete_one(base, path)
        return DeleteOutcome(path=path, status=DeleteStatus.DELETED)


@fault(DeleterTests, STUCK, "S15: a file that cannot be deleted is FAILED")
class FailsWithoutReason(GoodDeleter):
    def delete_one(self, base, path):
        found = super().delete_one(base, path)
        return DeleteOutcome(path=path, status=found.status)


@fault(DeleterTests, STUCK, "S15: a file that cannot be deleted is FAILED")
class StopsAtAFailure(GoodDeleter):
    def delete_files(self, location, files):
        for outcome in super().delete_files(location, files):
            yield outcome
            if outcome.status is DeleteStatus.FAILED:
                return


@fault(DeleterTests, "test_s24_nothing_is_deleted_through_a_link", "S24: nothing is deleted through a link")
class FollowsLinks(GoodDeleter):
    def check(self, base, path):
        pass


@fault(DeleterTests, EACH, "S15: every file has exactly one outcome")
class DeletesNothing(GoodDeleter):
    def remove(self, path):
        pass


@fault(DeleterTests, EACH, "S15: every file has exactly one outcome")
class OneOutcomeForAll(GoodDeleter):
    def delete_files(self, location, files):
        yield from list(super().delete_files(location, files))[:1]


@fault(DeleterTests, EACH, "S15: every file has exactly one outcome")
class FullPathsInOutcomes(GoodDeleter):
    def delete_one(self, base, path):
        return DeleteOutcome(path=base + path, status=super().delete_one(base, path).status)


@fault(DeleterTests, "test_nothing_else_is_touched", "S2 and S22: only the named files are deleted")
class DeletesByPrefix(GoodDeleter):
    def remove(self, path):
        for found in Path(path).parent.parent.glob(f"{Path(path).parent.name}*/x"):
            super().remove(str(found))
        for found in Path(path).parent.glob("d"):
            super().remove(str(found))


@fault(DeleterTests, "test_odd_keys_are_deleted_and_their_neighbours_stay", "S4: keys are raw")
class Decodes(GoodDeleter):
    def delete_one(self, base, path):
        return DeleteOutcome(path=path, status=super().delete_one(base, unquote(path)).status)


@fault(DeleterTests, "test_a_missing_file_does_not_stop_the_others", "S15: a file that does not exist does not stop")
class StopsAtAMissingFile(GoodDeleter):
    def delete_files(self, location, files):
        stopped = False
        for file in files:
            path = location.removeprefix("file://") + file.path
            stopped = stopped or not os.path.exists(path)  # noqa: PTH110
            status = DeleteStatus.ALREADY_GONE if stopped else super().delete_one(path, "").status
            yield DeleteOutcome(path=file.path, status=status)


@fault(DeleterTests, "test_deleting_twice_does_no_harm", "S15: deleting is idempotent")
class FailsOnWhatIsGone(GoodDeleter):
    def delete_one(self, base, path):
        found = super().delete_one(base, path)
        if found.status is DeleteStatus.ALREADY_GONE:
            return DeleteOutcome(path=path, status=DeleteStatus.FAILED, reason="it is gone")
        return found


@fault(DeleterTests, "test_more_than_one_batch_is_deleted", "S15: one call may get more files than batch_size, and")
class OnlyOneBatch(GoodDeleter):
    def delete_files(self, location, files):
        yield from super().delete_files(location, files[: self.batch_size])


@fault(DeleterTests, "test_it_claims_the_scheme_of_its_locations", "The deleter claims the scheme")
class NoBatch(GoodDeleter):
    batch_size = 0
