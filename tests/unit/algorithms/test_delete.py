from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nessie_gc_core.algorithms.delete import delete_batch
from nessie_gc_core.connectors import FileDeleter
from nessie_gc_core.dataset import task_attempt
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus, FileReference
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.verdicts import Outcome

HERE = "s3://b/db/t/"


class Scripted(FileDeleter):
    """Answers what it is told to, and may break off."""

    name = "scripted"
    schemes = frozenset({"s3"})
    batch_size = 3

    def __init__(self, answers: Sequence[DeleteOutcome], error: Exception | None = None) -> None:
        super().__init__(ConnectorOptions())
        self.answers, self.error = answers, error
        self.asked: list[list[str]] = []

    def delete_files(self, location: str, files: Sequence[FileReference]) -> Iterator[DeleteOutcome]:
        self.asked.append([file.path for file in files])
        yield from self.answers
        if self.error is not None:
            raise self.error


def doomed(*paths: str) -> list[FileReference]:
    return [FileReference(location=HERE, path=path, size=1) for path in paths]


def outcomes(deleter: FileDeleter, *paths: str) -> list[tuple[str, str, str]]:
    return [(path, outcome.value, why) for path, outcome, why in delete_batch(deleter, HERE, doomed(*paths))]


def said(path: str, status: DeleteStatus = DeleteStatus.DELETED, reason: str = "") -> DeleteOutcome:
    return DeleteOutcome(path=path, status=status, reason=reason)


def test_a_file_that_the_deleter_does_not_mention_has_failed() -> None:
    assert [("a", "deleted", ""), ("b", "failed", "the deleter gave no outcome for it")] == outcomes(
        Scripted([said("a")]), "a", "b"
    )


def test_a_deleter_that_breaks_off_fails_what_it_did_not_mention() -> None:
    broken = Scripted([said("a")], ConnectionError("reset\nby peer"))
    assert [("a", "deleted", ""), ("b", "failed", "reset")] == outcomes(broken, "a", "b")


def test_files_that_nobody_asked_about_and_repetitions_are_no_outcomes() -> None:
    talkative = Scripted([said("z"), said("a"), said("a", DeleteStatus.FAILED, "twice")])
    assert [("a", "deleted", "")] == outcomes(talkative, "a")


def test_a_failure_keeps_its_reason() -> None:
    assert [("a", "failed", "denied")] == outcomes(Scripted([said("a", DeleteStatus.FAILED, "denied")]), "a")


def test_no_batch_is_larger_than_the_deleter_likes() -> None:
    deleter = Scripted([])
    outcomes(deleter, *"abcdefg")
    assert [["a", "b", "c"], ["d", "e", "f"], ["g"]] == deleter.asked


@pytest.mark.parametrize(("attempt", "outcome"), [(0, "already_gone"), (1, "deleted")])
def test_already_gone_counts_as_deleted_where_an_earlier_attempt_of_the_task_may_have_done_it(
    attempt: int, outcome: str
) -> None:
    token = task_attempt.set(attempt)
    try:
        assert [("a", outcome, "")] == outcomes(Scripted([said("a", DeleteStatus.ALREADY_GONE)]), "a")
    finally:
        task_attempt.reset(token)


answers = st.lists(st.builds(said, st.sampled_from("abcdez"), st.sampled_from(DeleteStatus), st.just("x")), max_size=9)


@given(answers, st.booleans(), st.sets(st.sampled_from("abcde")))
def test_every_file_has_one_outcome_whatever_the_deleter_does(
    said: list[DeleteOutcome],
    breaks: bool,
    paths: set[str],
) -> None:
    found = outcomes(Scripted(said, OSError("gone") if breaks else None), *sorted(paths))
    assert Counter(paths) == Counter(path for path, _, _ in found)
    truly = {each.path for each in said if each.status is not DeleteStatus.FAILED}
    assert all(path in truly for path, outcome, _ in found if outcome != Outcome.FAILED)
