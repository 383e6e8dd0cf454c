from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lakes_by_hand import lake_at

from nessie_gc_core.algorithms.delete import DeleteFiles, delete_batch
from nessie_gc_core.algorithms.hold import Hold
from nessie_gc_core.algorithms.still_held import NEEDED_BY_NOBODY
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import FileDeleter
from nessie_gc_core.dataset import task_attempt
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus, FileReference
from nessie_gc_core.model.locations import store_of
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.relations import VERDICTS
from nessie_gc_core.model.verdicts import DeleteMode, Outcome

HERE = "s3://b/db/t/"
NOW = datetime(2026, 3, 1, tzinfo=UTC)


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
    assert [("a", "deleted", ""), ("b", "failed", "the deleter returned no outcome for it")] == outcomes(
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


# ---- whole batches ------------------------------------------------------------------------------------------
PLACES = ("memory://b/t/", "memory://b/u/")
REMOVED = {DeleteMode.DELETE: "deleted", DeleteMode.QUARANTINE: "quarantined"}
files = st.tuples(
    st.sampled_from(PLACES),
    st.sampled_from(["UNREFERENCED", "UNREFERENCED", "TOO_YOUNG", "SPARED"]),
    st.sampled_from(["there", "gone", "denied"]),
    st.sampled_from(["no sidecar", "sidecar", "sidecar only"]),
)


def expected_of(file: tuple[str, ...], mode: DeleteMode, spared: Mapping[str, str]) -> tuple[str, str | None]:
    """What has to become of a file, by the letter; its sidecar is always there and can always be deleted."""
    place, verdict, state, sidecar = file
    if verdict != "UNREFERENCED":
        return verdict.lower(), "why"
    if place in spared:
        return "spared", spared[place]
    if mode in (DeleteMode.DRY_RUN, DeleteMode.DEFER):
        return {DeleteMode.DRY_RUN: "would_delete", DeleteMode.DEFER: "deferred"}[mode], None
    if sidecar == "sidecar only" or state == "there":
        return REMOVED[mode], None
    return ("already_gone", None) if state == "gone" else ("failed", "denied")


@given(st.lists(files, max_size=20), st.sampled_from(DeleteMode), st.booleans())
@settings(deadline=None)
def test_every_file_of_a_batch_has_the_outcome_that_its_row_says(
    found: list[tuple[str, ...]], mode: DeleteMode, spares: bool
) -> None:
    with lake_at(NOW) as lake:
        spared = {PLACES[0]: "over the cap"} if spares else {}
        rows, expected = [], {}
        for number, (place, verdict, state, sidecar) in enumerate(found):
            path, beside = f"{number}.parquet", None if sidecar == "no sidecar" else f".{number}.parquet.crc"
            outcome = expected_of((place, verdict, state, sidecar), mode, spared)
            if state != "gone":
                lake.put(place + path)
            if state == "denied":
                lake.faults.deleting[place + path] = "denied"
            if beside is not None:
                lake.put(place + beside)
                of_file = outcome[0] in ("already_gone", "failed") and sidecar == "sidecar"
                gone_too = (
                    ("failed", "its file could not be deleted") if outcome[0] == "failed" else (REMOVED.get(mode), None)
                )
                expected[place + beside, True] = gone_too if of_file else outcome
            if sidecar != "sidecar only":
                expected[place + path, False] = outcome
            named = None if sidecar == "sidecar only" else path
            candidate = (place, path, place, named, 1, 5, beside, 2 if beside else 0)
            rows.append((*candidate, verdict, None if verdict == "UNREFERENCED" else "why", 0, named is None))
        choice = ConnectorChoice(options={("file-deleter", "memory"): {"lake": lake.name}})
        hold = Hold(live_set_id=uuid4(), places={store_of(PLACES[0]): "memory://b/held/"})
        remove = hold.move if mode is DeleteMode.QUARANTINE else None
        batches = DeleteFiles(choice, mode, spared, NEEDED_BY_NOBODY, remove)(to_batches(rows, VERDICTS))
        seen = [row for batch in batches for row in batch.to_pylist()]
    assert len(expected) == len(seen)
    assert expected == {(r["location"] + r["path"], r["sidecar"]): (r["outcome"], r["reason"]) for r in seen}
    assert all(row["size"] == (2 if row["sidecar"] else 1) for row in seen)
