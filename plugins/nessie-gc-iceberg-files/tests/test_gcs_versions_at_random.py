"""S15 on GCS: whatever order writers, sweeps, restores, purges and kills come in, nothing that is held is lost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nessie_gc_iceberg_files.gcs_store import GcsStore
from nessie_gc_iceberg_files.gcs_versions import GcsVersions
from versioned_gcs import BUCKET, Generation, VersionedGcs, versioned_gcs

from nessie_gc_core.model import FileVersion, VersionOutcome, VersionStatus

pytestmark = [pytest.mark.server, pytest.mark.thorough]
DONE, MISSING, RELEASED = VersionStatus.DONE, VersionStatus.MISSING, VersionStatus.RELEASED


@dataclass
class Record:
    """A file in quarantine, as the core records it."""

    file: FileVersion
    data: bytes
    state: str = "moving"
    was_restored: bool = False
    """Whether it was, though its caller was killed before it knew: then the file may have been swept again."""


class Lake:
    """One key, and the records of its versions: what the core does around a deleter, and what must hold."""

    def __init__(self, gcs: VersionedGcs, versions: GcsVersions) -> None:
        self.gcs, self.versions, self.records = gcs, versions, list[Record]()
        self.written: Generation | None = None
        gcs.kept.clear()
        gcs.before.clear()
        gcs.answers = None
        gcs.time = datetime(2026, 1, 1, tzinfo=UTC)  # and each write has its own

    def write(self, data: bytes) -> None:
        """A writer; of the contents some have the same size, and all may come twice."""
        self.gcs.put("a", data)

    def meanwhile(self, method: str, data: bytes) -> None:
        """The same, just before the next request with a method."""
        self.gcs.before[:] = [(method, lambda: setattr(self, "written", self.gcs.put("a", data)))]

    def delete(self) -> None:
        """Somebody deletes what is live."""
        if self.gcs.live("a") is not None:
            self.gcs.delete("a")

    def copy_back(self) -> None:
        """Somebody makes the newest version visible by hand."""
        if self.gcs.live("a") is None and self.gcs.kept.get("a"):
            self.gcs.put("a", self.gcs.kept["a"][-1].data)

    def sweep(self, answers: int | None) -> None:
        """Hides what is live, and records that before and after."""
        live = self.gcs.live("a")
        if live is None:
            return
        record = Record(FileVersion(path="a", size=len(live.data), modified=live.created), live.data)
        self.records.append(record)
        said = self._ask(self.versions.hide("", [record.file]), answers)
        if said.status is DONE and answers is None:
            assert (str(live.number), self.written) == (said.version, self.gcs.live("a"))
            record.file = replace(record.file, version=said.version, marker=said.marker)
            record.state = "held"

    def restore(self, answers: int | None, number: int) -> None:
        """Restores a record that is not being purged."""
        record = self._chosen(number, "purging")
        if record is None:
            return
        before, was = self.gcs.live("a"), record.state
        record.state = "restoring"
        said = self._ask(self.versions.show("", [record.file]), answers)
        record.was_restored |= said.status is DONE
        live = self.gcs.live("a")
        assert live is self._visible(before) or self._visible(before) is None, "what is visible stays"
        if said.status is DONE and answers is None:
            assert live is not None
            assert record.data == live.data or live is self.written
            self.records.remove(record)
        elif answers is None:
            record.state = "held" if was == "restoring" else was

    def purge(self, answers: int | None, number: int) -> None:
        """Purges a record that is not being restored."""
        record = self._chosen(number, "restoring")
        if record is None:
            return
        before = self.gcs.live("a")
        record.state = "purging"
        said = self._ask(self.versions.purge("", [record.file]), answers)
        assert self.gcs.live("a") is self._visible(before), "what is visible stays"
        if said.status is DONE:
            assert record.file.version not in [str(each.number) for each in self.gcs.kept["a"]]
        if answers is None and said.status in (DONE, MISSING, RELEASED):
            self.records.remove(record)

    def check(self) -> None:
        """All that is held, and whose purge has not begun, is there with its bytes."""
        there = [each.data for each in self.gcs.kept.get("a", ())]
        held = [each for each in self.records if each.state != "purging" and not each.was_restored]
        assert [] == [each for each in held if each.data not in there]

    def _visible(self, before: Generation | None) -> Generation | None:
        """What was visible, or what somebody has written in the meantime."""
        return before if self.written is None else self.written

    def _chosen(self, number: int, blocked: str) -> Record | None:
        """A record that may be released: what a killed sweep never hid is not.

        Of several records of one version the one with ids counts, or the last one.
        """
        counts = {each.file.modified: each for each in sorted(self.records, key=lambda each: each.file.version != "")}
        self.records = [each for each in self.records if counts[each.file.modified] is each]
        meant = [
            each
            for each in self.records
            if each.state != blocked and not (each.state == "moving" and self.gcs.live("a") is not None)
        ]
        return meant[number % len(meant)] if meant else None

    def _ask(self, outcomes: Iterator[VersionOutcome], answers: int | None) -> VersionOutcome:
        """The outcome, where the store answers only so many requests; a killed caller never gets to know it."""
        self.gcs.answers, self.written = answers, None
        (said,) = outcomes
        self.gcs.before.clear()
        self.gcs.answers = None
        return said


@pytest.fixture(scope="module")
def store():
    with versioned_gcs() as gcs:
        opened = GcsStore(BUCKET, gcs.properties)
        yield gcs, opened.versions()
        opened.close()


ANSWERS = st.sampled_from([None, None, None, None, 0, 1, 2, 3, 4])
NUMBERS = st.integers(0, 3)
STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from([b"aa", b"bb", b"longer"])),
    st.sampled_from([("delete",), ("copy_back",)]),
    st.tuples(st.just("meanwhile"), st.sampled_from(["GET", "POST", "DELETE"]), st.sampled_from([b"aa", b"bb"])),
    st.tuples(st.just("sweep"), ANSWERS),
    st.tuples(st.just("sweep"), ANSWERS),
    st.tuples(st.just("restore"), ANSWERS, NUMBERS),
    st.tuples(st.just("purge"), ANSWERS, NUMBERS),
)


@settings(max_examples=300)
@given(steps=st.lists(STEPS, min_size=8, max_size=20))
def test_s15_nothing_that_is_held_is_lost_in_any_order(store, steps):
    lake = Lake(*store)
    lake.write(b"aa")
    for verb, *arguments in steps:
        getattr(lake, verb)(*arguments)
        lake.check()
