"""S15: restore and purge name every file once, moved or hidden, however often they are killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from collecting import LakeServices
from in_quarantine import held, look, named, purge, restore, rows
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, put

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.hold import HELD_FILES
from nessie_gc_core.errors import ConfigurationError, LeaseHeldError
from nessie_gc_core.model.quarantine import HeldState
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.lease import hold_lease
from nessie_gc_core.services.outcome_formats import RECORDED, open_format
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.quarantine.outcomes import ReleasedFiles
from nessie_gc_core.services.quarantine.places import held_in
from nessie_gc_core.services.quarantine.report import ReleaseReport

PLACES = {"moved": "memory://wh/.quarantine/", "hidden": "versions:memory://wh/"}
NAMES = [f"data/dead-{number}.parquet" for number in range(3)]
VERBS: Mapping[str, Callable[..., ReleaseReport]] = {"restored": restore, "purged": purge}
Options = Mapping[str, Any]
EVERYTHING: Mapping[str, Options] = {"restored": {"everything": True}, "purged": {}}


RECORDED_ROW = {
    **dict.fromkeys(("unit", "location", "path", "live_set_id"), "mine"),
    **dict.fromkeys(("size", "modified", "recorded"), 0),
    "sidecar": False,
    "outcome": "purged",
}


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(params=PLACES)
def live_set(request: pytest.FixtureRequest, lake: MemoryLake, services: LakeServices) -> str:
    """A live set whose sweep has put three files in quarantine; their time is over."""
    lake.objects.keeps_versions = request.param == "hidden"
    empty = lake.table("db.t", location="memory://wh/db/t")
    for table in (empty, empty.append("live.parquet")):
        lake.commit("main", put(table.version))
    for name in NAMES:
        lake.put(f"memory://wh/db/t/{name}", b"dead")
    lake.advance(timedelta(days=40))
    id_ = services.mark()
    services.sweep(id_, SweepParameters(quarantine=[PLACES[request.param]]))
    lake.advance(timedelta(days=40))
    look(services)
    return str(id_)


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """JSON lines, unless a test asks for another format."""
    return tmp_path / f"outcomes.{getattr(request, 'param', 'jsonl')}"


EVERY_FORMAT = pytest.mark.parametrize("file", ["jsonl", "parquet"], indirect=True)


@EVERY_FORMAT
@pytest.mark.parametrize("verb", VERBS)
def test_s15_every_file_is_named_with_what_became_of_it(
    services: LakeServices, live_set: str, file: Path, verb: str
) -> None:
    VERBS[verb](services, outcomes_to=str(file), **EVERYTHING[verb])
    assert [(name, verb) for name in NAMES] == named(file)
    [row, *_] = rows(file)
    assert ("memory://wh/db/t/", 4, False, live_set) == tuple(
        row[name] for name in ("location", "size", "sidecar", "live_set_id")
    )


@pytest.mark.parametrize(("verb", "outcome"), [("restored", "would_restore"), ("purged", "would_purge")])
def test_s15_a_dry_run_names_what_would_become_of_it(
    services: LakeServices, live_set: str, file: Path, verb: str, outcome: str
) -> None:
    VERBS[verb](services, outcomes_to=str(file), dry_run=True, **EVERYTHING[verb])
    assert [(name, outcome) for name in NAMES] == named(file)


def test_s15_files_that_wait_or_stay_are_named_with_the_reason(
    lake: MemoryLake, services: LakeServices, plugins: PluginRegistry, live_set: str, file: Path
) -> None:
    class LegalHold:
        @hookimpl
        def nessie_gc_veto_deletion(self, location: str, files: Any) -> Mapping[str, str]:
            return {each.path: "legal hold" for each in files if each.path.endswith("dead-1.parquet")}

    plugins.register(LegalHold(), name="legal-hold")
    purge(services.choosing(plugins=plugins), outcomes_to=str(file), matching=".*dead-[01].*")
    assert [(NAMES[0], "purged"), (NAMES[1], "kept")] == named(file)
    assert "legal hold" in next(row["reason"] for row in rows(file) if row["outcome"] == "kept")


def test_s15_a_file_whose_path_is_taken_is_named_as_failed(
    lake: MemoryLake, services: LakeServices, live_set: str, file: Path
) -> None:
    lake.put(f"memory://wh/db/t/{NAMES[0]}", b"another")
    restore(services, everything=True, outcomes_to=str(file))
    assert [(NAMES[0], "failed"), (NAMES[1], "restored"), (NAMES[2], "restored")] == named(file)


@EVERY_FORMAT
@pytest.mark.parametrize("verb", VERBS)
def test_s15_a_run_that_is_killed_while_it_works_names_every_file_once_in_the_end(
    lake: MemoryLake, services: LakeServices, live_set: str, file: Path, verb: str
) -> None:
    victim = held(services)[1]
    moved = victim.place.startswith("memory:")
    dies = victim.place + victim.held_path if moved else victim.location + victim.path
    lake.faults.deleting_dies[dies] = Killed()
    with pytest.raises(Killed):
        VERBS[verb](services, outcomes_to=str(file), **EVERYTHING[verb])
    lake.faults.deleting_dies.clear()
    VERBS[verb](services, outcomes_to=str(file), **EVERYTHING[verb])
    assert [(name, verb) for name in NAMES] == named(file)


@EVERY_FORMAT
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("steps", [1, 25_000])
def test_s15_a_run_that_is_killed_before_it_changes_the_records_names_no_file_twice(
    services: LakeServices, live_set: str, file: Path, verb: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(self: MemoryLiveSetStore, files: Any) -> None:
        raise Killed

    given = {"outcomes_to": str(file), "files_per_step": steps, **EVERYTHING[verb]}
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(MemoryLiveSetStore, "forget_held_files", die)
        VERBS[verb](services, **given)
    assert 3 == len(held(services))
    VERBS[verb](services, **given)
    assert [(name, verb) for name in NAMES] == named(file)
    assert [] == held(services)


@EVERY_FORMAT
@pytest.mark.parametrize("dry_run", [False, True])
def test_s15_another_run_does_not_disturb_the_file_of_one_that_is_at_work(
    services: LakeServices, live_set: str, file: Path, dry_run: bool
) -> None:
    [first, *_] = held(services)
    mine = open_format(file)
    mine.write(pa.RecordBatch.from_pylist([RECORDED_ROW], schema=RECORDED))
    with (
        hold_lease(services.store, [first.repository], timedelta(minutes=1), elapsed=services.elapsed),
        nullcontext() if dry_run else pytest.raises(LeaseHeldError),
    ):
        purge(services, outcomes_to=str(file), dry_run=dry_run)
    mine.close()
    assert ("mine", "purged") in named(file)
    assert (4 if dry_run else 1) == len(rows(file))


@pytest.mark.parametrize("dry_run", [False, True])
def test_s15_a_line_that_another_run_is_writing_is_not_taken_away(
    services: LakeServices, live_set: str, file: Path, dry_run: bool
) -> None:
    [first, *_] = held(services)
    file.write_text('{"unit": "mem', encoding="utf-8")
    with (
        hold_lease(services.store, [first.repository], timedelta(minutes=1), elapsed=services.elapsed),
        nullcontext() if dry_run else pytest.raises(LeaseHeldError),
    ):
        purge(services, outcomes_to=str(file), dry_run=dry_run)
    assert '{"unit": "mem' == file.read_text(encoding="utf-8").splitlines()[0]


@EVERY_FORMAT
def test_s15_what_fails_again_after_a_killed_run_is_said_again(
    lake: MemoryLake, services: LakeServices, live_set: str, file: Path
) -> None:
    lake.put(f"memory://wh/db/t/{NAMES[0]}", b"another")
    restore(services, everything=True, outcomes_to=str(file))
    held_in(services.store).put_held_files([replace(each, state=HeldState.RESTORING) for each in held(services)])
    restore(services, everything=True, outcomes_to=str(file))
    assert 2 * [(NAMES[0], "failed")] == [each for each in named(file) if each[0] == NAMES[0]]


@EVERY_FORMAT
def test_s15_two_states_of_one_path_are_two_files(
    services: LakeServices, live_set: str, file: Path, tmp_path: Path
) -> None:
    [first, *_] = held(services)
    assert first.modified is not None
    begun = [replace(first, state=HeldState.PURGING, modified=first.modified + timedelta(n)) for n in (0, 1)]
    given: Any = {"rules": services.choice.rules(), "clock": services.run().clock, "alone": True}
    for files in (begun[:1], begun):
        with ReleasedFiles(str(file), **given) as outcomes:
            outcomes.begin(files, HeldState.PURGING)
            for each in files:
                outcomes.add(each, "purged", None)
    assert 2 == len({row["modified"] for row in rows(file)}) == len(rows(file))


def test_s15_a_step_is_one_part_however_many_batches_it_has(
    services: LakeServices, live_set: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = type(services.engine.dataset(iter(()), HELD_FILES))
    whole = kind.batches

    def in_single_rows(self: Any) -> Iterator[pa.RecordBatch]:
        for batch in whole(self):
            yield from (batch.slice(number, 1) for number in range(batch.num_rows))

    monkeypatch.setattr(kind, "batches", in_single_rows)
    purge(services, outcomes_to=str(tmp_path / "outcomes.parquet"))
    assert 3 == len(rows(tmp_path / "outcomes.parquet"))
    assert ["outcomes.parquet"] == [each.name for each in tmp_path.iterdir()]


def test_s15_lines_of_earlier_runs_stay(services: LakeServices, live_set: str, tmp_path: Path) -> None:
    file = tmp_path / "outcomes.jsonl"
    file.write_text('{"path": "mine"}\n', encoding="utf-8")
    restore(services, everything=True, outcomes_to=str(file))
    assert (4, {"path": "mine"}) == (len(rows(file)), rows(file)[0])


@pytest.mark.parametrize("name", ["outcomes.csv", "nowhere/outcomes.jsonl"])
def test_s15_a_file_that_cannot_be_written_is_refused_before_anything_happens(
    services: LakeServices, live_set: str, tmp_path: Path, name: str
) -> None:
    with pytest.raises(ConfigurationError, match="outcomes_to"):
        restore(services, everything=True, outcomes_to=str(tmp_path / name))
    assert 3 == len(held(services))
