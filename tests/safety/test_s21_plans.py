"""S21: a plan in a file is applied as it was reviewed: exactly that and less, everything checked again, never more."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from collecting import LakeServices, on_disk
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, TableState, put
from pyarrow import parquet

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError, LiveSetStateError, NessieGcError, SafetyError
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import NoncurrentVersions, SweepParameters
from nessie_gc_core.services.plans.file import PlanFile, PlanHeader, write_plan
from nessie_gc_core.services.plans.rows import PLAN_ROWS
from nessie_gc_core.services.plans.summary import summed_up
from nessie_gc_core.services.sweep import SweepService
from nessie_gc_core.services.tally import Tally

DEAD = {f"memory://wh/db/t/data/dead-{number}.parquet" for number in range(3)}
FORMATS = ("plan.jsonl", "plan.parquet")
NOW = "2026-03-01T00:00:00+00:00"


def fill(lake: MemoryLake) -> TableState:
    """One table with a live file, and three that nobody needs; all are old."""
    empty = lake.table("db.t", location="memory://wh/db/t", content_id="t")
    live = empty.append("live.parquet")
    lake.commit("main", put(empty.version))
    lake.commit("main", put(live.version))
    for number, path in enumerate(sorted(DEAD)):
        lake.put(path, 10 + number)
    lake.advance(timedelta(days=40))
    return live


@pytest.fixture
def live(lake: MemoryLake) -> TableState:
    """The table of a lake with garbage."""
    return fill(lake)


@pytest.fixture
def garbage(lake: MemoryLake, live: TableState) -> MemoryLake:
    """The lake."""
    return lake


def plan_of(services: LakeServices, path: Path) -> str:
    live_set = services.mark()
    report = services.sweep(live_set, SweepParameters(plan=str(path)))
    assert report.dry_run
    assert report.plan is not None
    assert report.plan.files == report.outcomes[Outcome.WOULD_DELETE].files
    return str(live_set)


def apply(services: LakeServices, path: Path, **more: Any) -> Any:
    return SweepService(SweepParameters(apply=str(path), **more)).run(services.run())


@pytest.mark.parametrize("name", FORMATS)
def test_s21_a_plan_is_applied_by_another_run(
    garbage: MemoryLake, live: TableState, services: LakeServices, tmp_path: Path, name: str
) -> None:
    before = garbage.paths()
    plan_of(services, tmp_path / name)
    assert before == garbage.paths(), "to plan deletes nothing"
    late = garbage.put("memory://wh/db/t/data/late.parquet", modified=garbage.time - timedelta(days=30))
    report = apply(services, tmp_path / name)
    assert DEAD == before - garbage.paths()
    assert late in garbage.paths(), "what is not in the plan stays"
    assert (3, 1) == (report.outcomes[Outcome.DELETED].files, report.outcomes[Outcome.SPARED].files)
    assert live.needed <= garbage.paths()


@pytest.mark.parametrize("name", FORMATS)
def test_s21_what_changed_since_the_plan_stays(
    garbage: MemoryLake, live: TableState, services: LakeServices, tmp_path: Path, name: str
) -> None:
    plan_of(services, tmp_path / name)
    written, revived, gone = sorted(DEAD)
    garbage.put(written, 99, modified=garbage.time - timedelta(days=30))
    garbage.commit("dev", put(live.append("dead-1.parquet").version))
    garbage.objects.delete(gone)
    report = apply(services, tmp_path / name)
    assert {written, revived} == DEAD & garbage.paths()
    assert 0 == report.outcomes[Outcome.DELETED].files
    assert any(text.startswith("3 files of the plan skipped") for text in report.warnings)


def test_s21_both_engines_write_and_apply_the_same_plan(engine: Engine, tmp_path: Path) -> None:
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC)) as lake:
        fill(lake)
        services = on_disk(lake, tmp_path / "lake", engine)
        name = tmp_path / "plan.parquet"
        live_set = services.mark()
        services.sweep(live_set, SweepParameters(plan=str(name), min_age=timedelta(0), no_age_floor=True))
        planned = {row["path"] for row in parquet.read_table(name).to_pylist()}
        assert {path.rpartition("/")[2] for path in DEAD} == {path.rpartition("/")[2] for path in planned}
        report = apply(services, name, min_age=timedelta(0), no_age_floor=True)
        assert 3 == report.outcomes[Outcome.DELETED].files


def test_s21_a_plan_says_of_which_table_and_kind_files_are_and_why(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    plan_of(services, tmp_path / "plan.jsonl")
    summary = summed_up(PlanFile.open(str(tmp_path / "plan.jsonl")))
    said = {name: {key: (tally.files, tally.bytes) for key, tally in by.items()} for name, by in summary.groups.items()}
    assert {
        "table": {"db.t": (3, 33)},
        "kind": {"UNKNOWN": (3, 33)},
        "age": {"30 to 90 days": (3, 33)},
        "reason": {"nothing live needs it": (3, 33)},
    } == said


def test_s21_a_plan_for_a_quarantine_never_deletes_for_good(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    path, place = tmp_path / "plan.jsonl", "memory://wh/.held/"
    services.sweep(services.mark(), SweepParameters(plan=str(path), quarantine=[place]))
    report = apply(services, path)
    assert (3, 0) == (report.outcomes[Outcome.QUARANTINED].files, report.outcomes[Outcome.DELETED].files)
    assert 3 == sum(name.startswith(place) for name in garbage.paths())


@pytest.mark.parametrize("name", FORMATS)
def test_s21_sidecars_of_a_plan_count_apart_wherever_they_are_in_it(tmp_path: Path, name: str) -> None:
    header = PlanHeader(live_set_id="0000", repositories=(), created=NOW, engine="local", version="1")
    rows = [("", "file:///t/", f"{n}.parquet", 10, 0, False, None, "why") for n in range(3)]
    sidecars = [("", "file:///t/", f".{n}.parquet.crc", 2, 0, True, "CHECKSUM_SIDECAR", "why") for n in range(3)]
    batches = [batch for some in (rows, sidecars) for batch in to_batches(some, PLAN_ROWS, batch_rows=3)]
    write_plan(str(tmp_path / name), header, batches)
    assert [3, 3] == [batch.num_rows for batch in batches]
    plan = PlanFile.open(str(tmp_path / name))
    plan.batches = lambda: iter(batches)  # type: ignore[method-assign]  # as an engine gives them
    summary = summed_up(plan)
    assert (Tally(3, 30), Tally(3, 6)) == (summary.total, summary.sidecars)
    assert {"over 365 days": Tally(3, 30)} == summary.groups["age"]


# ---- what is refused ----------------------------------------------------------------------------------
def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-30])


def _other_size(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"size": 10', b'"size": 11'))


def _one_more(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines[:-1], lines[1].replace("dead-", "live-"), lines[-1]]))


def _one_less(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[2:]]))


def _other_lake(path: Path) -> None:
    path.write_text(path.read_text().replace('"repositories": ["', '"repositories": ["another '))


def _later_format(path: Path) -> None:
    path.write_text(path.read_text().replace('"format": 1', '"format": 2'))


def _header_is_text(path: Path) -> None:
    path.write_text("".join(['{"nessie_gc_plan": "x"}\n', *path.read_text().splitlines(keepends=True)[1:]]))


def _number_as_id(path: Path) -> None:
    path.write_text(re.sub(r'"live_set_id": "[^"]*"', '"live_set_id": 7', path.read_text(), count=1))


def _no_time_zone(path: Path) -> None:
    path.write_text(path.read_text().replace('Z", "engine"', '", "engine"'))


def _too_deep(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], "[" * 100_000 + "\n", *lines[2:]]))


def _too_deep_header(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(['{"nessie_gc_plan":' + "[" * 100_000 + "\n", *lines[1:]]))


def _no_plan(path: Path) -> None:
    path.write_text('{"a": 1}\n')


BROKEN: dict[str, tuple[Callable[[Path], None], str]] = {
    "half-written": (_cut, "is not a plan, or it is incomplete"),
    "edited": (_other_size, "was changed or damaged after it was written"),
    "a line more": (_one_more, "was changed or damaged after it was written"),
    "a line less": (_one_less, "was changed or damaged after it was written"),
    "of a later version": (_later_format, "has format 2, this version reads 1"),
    "something else": (_no_plan, "is not a plan"),
    "with another header": (_header_is_text, "is not a plan"),
    "with a line that is nested too deeply": (_too_deep, "was changed or damaged after it was written|not a plan"),
    "with a header that is nested too deeply": (_too_deep_header, "is not a plan"),
    "with a number as id": (_number_as_id, "is not a plan"),
    "without a time zone": (_no_time_zone, "is not a plan"),
    "not there": (Path.unlink, "does not exist"),
    "of another lake": (_other_lake, "was made from another "),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_s21_a_plan_that_is_not_as_it_was_written_deletes_nothing(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path, broken: str
) -> None:
    path = tmp_path / "plan.jsonl"
    live_set = plan_of(services, path)
    before = garbage.paths()
    change, said = BROKEN[broken]
    change(path)
    with pytest.raises(NessieGcError, match=said) as raised:
        apply(services, path)
    assert "\n" not in str(raised.value)
    assert before == garbage.paths()
    (found,) = services.store.live_sets()
    assert (live_set, LiveSetStatus.IDENTIFY_SUCCESS) == (str(found.id), found.status), "it can still be swept"


def test_s21_a_changed_parquet_plan_is_refused(garbage: MemoryLake, services: LakeServices, tmp_path: Path) -> None:
    path = tmp_path / "plan.parquet"
    plan_of(services, path)
    with parquet.ParquetFile(path) as file:
        rows, metadata = file.read(), file.metadata.metadata
    kept = rows.slice(1).replace_schema_metadata({**rows.schema.metadata, **metadata})
    parquet.write_table(kept, path)
    with pytest.raises(ConfigurationError, match="its digest is another one"):
        apply(services, path)
    assert garbage.paths() >= DEAD


def test_s21_a_plan_older_than_the_limit_of_its_live_set_is_refused(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    path = tmp_path / "plan.jsonl"
    plan_of(services, path)
    garbage.advance(timedelta(days=8))
    with pytest.raises(SafetyError, match="`max_live_set_age` is 7 d"):
        apply(services, path)
    assert garbage.paths() >= DEAD


def test_s21_a_plan_whose_live_set_is_gone_is_refused(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    path = tmp_path / "plan.jsonl"
    plan_of(services, path)
    (live_set,) = services.store.live_sets()
    services.store.delete(live_set.id)
    with pytest.raises(SafetyError, match="which this live-set store does not have"):
        apply(services, path)


def test_s21_a_plan_names_its_live_set(garbage: MemoryLake, services: LakeServices, tmp_path: Path) -> None:
    path = tmp_path / "plan.jsonl"
    live_set = plan_of(services, path)
    other = services.mark()
    with pytest.raises(ConfigurationError, match="name no other one beside `apply`"):
        apply(services, path, live_set_id=str(other))
    assert 0 == apply(services, path, live_set_id=live_set, dry_run=True).exit_code
    assert garbage.paths() >= DEAD, "a dry run of a plan deletes nothing"


def test_s21_a_killed_application_is_resumed_with_the_same_plan(
    garbage: MemoryLake, live: TableState, services: LakeServices, tmp_path: Path
) -> None:
    path = tmp_path / "plan.jsonl"
    plan_of(services, path)

    def stop(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and done == 1:
            raise KeyboardInterrupt

    parameters = SweepParameters(apply=str(path), files_per_step=1)
    with pytest.raises(KeyboardInterrupt):
        SweepService(parameters).run(services.run(progress=stop))
    SweepService(replace(parameters, resume=True)).run(services.run())
    assert DEAD.isdisjoint(garbage.paths())
    assert live.needed <= garbage.paths()


# ---- the options of a plan -----------------------------------------------------------------------------
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "other",
    [
        {"max_deletes": 1},
        {"max_delete_percent": 1.0},
        {"allow": ["memory://elsewhere/"]},
        {"exclude": ["db[.]t"]},
        {"min_age": timedelta(days=90)},
        {"noncurrent_versions": NoncurrentVersions.DELETE},
        {"dropped_after": timedelta(days=30)},
    ],
)
def test_s21_a_plan_is_not_spent_by_other_options_than_its_own(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path, name: str, other: dict[str, Any]
) -> None:
    path, before = tmp_path / name, garbage.paths()
    live_set = plan_of(services, path)
    (option,) = other
    with pytest.raises(
        ConfigurationError, match=f"`{option}` is .*, but the plan .* was made without it: leave it out"
    ):
        apply(services, path, **other)
    assert (before, LiveSetStatus.IDENTIFY_SUCCESS) == (garbage.paths(), services.store.get(UUID(live_set)).status)
    assert 3 == apply(services, path).outcomes[Outcome.DELETED].files


def test_s21_a_plan_is_applied_with_the_options_it_was_made_with(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    path = tmp_path / "plan.jsonl"
    young = garbage.put("memory://wh/db/t/data/young.parquet")
    garbage.advance(timedelta(minutes=10))
    given: dict[str, Any] = {"min_age": timedelta(minutes=5), "no_age_floor": True, "allow": ["memory://wh/"]}
    services.sweep(services.mark(), SweepParameters(plan=str(path), **given))
    with pytest.raises(ConfigurationError, match=r"`allow` is .*'memory://wh/db/'.* was made with .*'memory://wh/'"):
        apply(services, path, allow=["memory://wh/db/"])
    report = apply(services, path, allow=["memory://wh/"])
    assert 4 == report.outcomes[Outcome.DELETED].files
    assert young not in garbage.paths()


def test_s21_a_plan_of_an_earlier_version_has_no_options(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    path, old = tmp_path / "plan.jsonl", tmp_path / "old.jsonl"
    plan_of(services, path)
    plan = PlanFile.open(str(path))
    write_plan(str(old), replace(plan.header, options=None), plan.batches())
    assert '"options"' not in old.read_text(encoding="utf-8")
    assert 3 == apply(services, old, max_deletes=5).outcomes[Outcome.DELETED].files


def test_s21_what_of_a_plan_was_not_done_is_applied_again(
    garbage: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    path, failing = tmp_path / "plan.jsonl", min(DEAD)
    live_set = UUID(plan_of(services, path))
    garbage.faults.deleting[failing] = "access denied"
    report = apply(services, path)
    assert (2, 1) == (report.outcomes[Outcome.DELETED].files, report.outcomes[Outcome.FAILED].files)
    found = services.store.get(live_set)
    assert (LiveSetStatus.EXPIRY_FAILED, "1 file of the plan stayed: apply it again") == (
        found.status,
        found.error_message,
    )
    apply(services, path)
    assert LiveSetStatus.EXPIRY_FAILED is services.store.get(live_set).status
    garbage.faults.deleting.clear()
    apply(services, path)
    assert DEAD.isdisjoint(garbage.paths())
    assert LiveSetStatus.EXPIRY_SUCCESS is services.store.get(live_set).status
    with pytest.raises(LiveSetStateError):
        apply(services, path)
