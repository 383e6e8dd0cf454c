from __future__ import annotations

import json
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from pyarrow import parquet

from nessie_gc_core.algorithms.planned import PLANNED_FILES
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.relations import OUTCOMES, UNKNOWN_TIME
from nessie_gc_core.services.outcome_file import OutcomeFile
from nessie_gc_core.services.outcome_formats import RECORDED

ROW = ("s3://b/t/", "s3a://b/t/", "data/ü\n.parquet", 7, 1_000_001, False, "failed", "denied")
OTHER = ("s3://b/t/", "s3a://b/t/", "x", 0, UNKNOWN_TIME, False, "too_young", None)
LIVE_SET = UUID(int=7)


def open_file(path: Path | None, *, live_set: UUID = LIVE_SET, deletes: bool = True) -> OutcomeFile:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    return OutcomeFile(None if path is None else str(path), live_set_id=live_set, clock=lambda: noon, deletes=deletes)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


@pytest.fixture
def open_and_kill() -> Iterator[Callable[[Path], OutcomeFile]]:
    """Opens files that are not closed before the test is over, as in a process that is killed."""
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(open_file(path))


@pytest.fixture
def engine() -> Iterator[Engine]:
    with LocalEngine(workers=1) as engine:
        yield engine


@pytest.fixture
def outcomes(engine: Engine) -> Dataset:
    return engine.dataset(to_batches([ROW, OTHER], OUTCOMES), OUTCOMES)


def planned(engine: Engine, *names: str, unit: str = "s3://b/t/") -> Dataset:
    rows = [(unit, name, "s3a://b/t/", name, 5, 9, False) for name in names]
    return engine.dataset(to_batches(rows, PLANNED_FILES), PLANNED_FILES)


def deleted(engine: Engine, *names: str) -> Dataset:
    rows = [("s3://b/t/", "s3a://b/t/", name, 5, 9, False, "deleted", None) for name in names]
    return engine.dataset(to_batches(rows, OUTCOMES), OUTCOMES)


def test_every_outcome_is_a_line(outcomes: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    with open_file(path) as file:
        file.write(outcomes)
    assert {"data/ü\n.parquet": "1970-01-01T00:00:01.000001Z", "x": None} == {
        line["path"]: line["modified"] for line in lines_of(path)
    }
    assert {(str(LIVE_SET), "2026-01-01T12:00:00Z")} == {
        (line["live_set_id"], line["recorded"]) for line in lines_of(path)
    }


def test_every_outcome_is_a_row(outcomes: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.parquet"
    with open_file(path, deletes=False) as file:
        file.write(outcomes)
        file.write(outcomes)
    table = parquet.read_table(path)
    assert RECORDED.names == table.schema.names
    rows = [tuple(row.values()) for row in table.to_pylist() if row["outcome"] == "failed"]
    assert [(*ROW, str(LIVE_SET), 1_767_268_800_000_000)] * 2 == rows
    assert [path] == list(tmp_path.iterdir())


def test_s15_lines_of_earlier_runs_stay(outcomes: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "outcomes.jsonl"
    for live_set in (UUID(int=1), UUID(int=1), UUID(int=2)):
        with open_file(path, live_set=live_set) as file:
            file.write(outcomes)
    assert [str(UUID(int=n)) for n in (1, 1, 1, 1, 2, 2)] == [line["live_set_id"] for line in lines_of(path)]


def test_s15_every_step_of_a_run_that_deletes_is_a_whole_parquet_file_and_none_is_overwritten(
    outcomes: Dataset, open_and_kill: Callable[[Path], OutcomeFile], tmp_path: Path
) -> None:
    path = tmp_path / "out.comes.parquet"
    first = open_and_kill(path)
    first.write(outcomes)
    first.write(outcomes)
    assert ["out.comes.1.parquet", "out.comes.parquet"] == sorted(each.name for each in tmp_path.iterdir())
    before = path.read_bytes()
    with open_file(path) as second:
        second.write(outcomes)
    assert 2 == parquet.read_table(tmp_path / "out.comes.2.parquet").num_rows
    assert before == path.read_bytes()


def test_a_run_without_rows_leaves_an_empty_file_where_there_is_none(tmp_path: Path) -> None:
    for _ in range(2):
        with open_file(tmp_path / "o.parquet"):
            pass
    assert 0 == parquet.read_table(tmp_path / "o.parquet").num_rows
    assert 1 == len(list(tmp_path.iterdir()))


@pytest.mark.parametrize("line", [0, 1])
@pytest.mark.parametrize("text", ["{", "[" * 100_000, "7", '{"since": "x"}'], ids=len)
def test_a_plan_that_is_left_and_cannot_be_read_is_named(
    engine: Engine, open_and_kill: Callable[[Path], OutcomeFile], tmp_path: Path, line: int, text: str
) -> None:
    path = tmp_path / "outcomes.jsonl"
    open_and_kill(path).plan(planned(engine, "a"))
    (plan,) = tmp_path.glob("*.plan")
    lines = plan.read_text().splitlines()
    lines[line] = text if line == 0 or text != '{"since": "x"}' else "null"
    plan.write_text("\n".join(lines) + "\n")
    with open_file(path) as resumed, pytest.raises(NessieGcError, match="remove it to go on") as caught:
        resumed.name_earlier(planned(engine), ["s3a://b/t/"], engine)
    assert (True, 1) == (str(plan) in str(caught.value), len(str(caught.value).splitlines()))
    assert plan.exists()


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
@pytest.mark.parametrize("written", [(), ("a",), ("a", "b")])
def test_s15_a_plan_that_is_left_names_what_is_gone_and_has_no_line(
    engine: Engine,
    open_and_kill: Callable[[Path], OutcomeFile],
    tmp_path: Path,
    suffix: str,
    written: tuple[str, ...],
) -> None:
    path = tmp_path / f"outcomes{suffix}"
    killed = open_and_kill(path)
    killed.write(deleted(engine, "before"))
    killed.plan(planned(engine, "a", "b", "left"))
    (plan,) = tmp_path.glob("*.plan")
    kept = plan.read_bytes()
    if written:
        killed.write(deleted(engine, *written))
        plan.write_bytes(kept)  # killed before it took the plan away
    with open_file(path) as resumed:
        resumed.name_earlier(planned(engine, "left", "another"), ["s3a://b/t/"], engine)
        resumed.write(deleted(engine, "left"))
    rows = _rows(tmp_path, path)
    assert ["a", "b", "before", "left"] == sorted(name for name, _, _ in rows)
    by_earlier = {name for name, _, reason in rows if reason == "deleted by an earlier attempt"}
    assert {"a", "b"} - set(written) == by_earlier
    assert not list(tmp_path.glob("*.plan*"))


def test_s15_what_was_planned_in_a_location_that_is_not_swept_any_more_is_named_as_planned(
    engine: Engine, open_and_kill: Callable[[Path], OutcomeFile], tmp_path: Path
) -> None:
    path = tmp_path / "outcomes.jsonl"
    open_and_kill(path).plan(planned(engine, "a"))
    with open_file(path) as resumed:
        resumed.name_earlier(planned(engine), ["s3a://b/another/"], engine)
    ((name, outcome, reason),) = _rows(tmp_path, path)
    assert ("a", "planned") == (name, outcome)
    assert "this run does not sweep its location" in str(reason)


def test_s15_the_plan_of_another_live_set_stays_for_its_own_resume(
    engine: Engine, open_and_kill: Callable[[Path], OutcomeFile], tmp_path: Path
) -> None:
    path = tmp_path / "outcomes.jsonl"
    open_and_kill(path).plan(planned(engine, "a"))
    with open_file(path, live_set=UUID(int=8)) as other:
        other.name_earlier(planned(engine), ["s3a://b/t/"], engine)
        other.plan(planned(engine, "b"))
        other.write(deleted(engine, "b"))
    with open_file(path) as resumed:
        resumed.name_earlier(planned(engine), ["s3a://b/t/"], engine)
    assert ["b", "a"] == [name for name, _, _ in _rows(tmp_path, path)]


@pytest.mark.parametrize(
    ("torn", "kept"),
    [
        (b'{"unit": "s3://b/t/", "loc', b""),
        (b'{"un', b""),
        (
            b'{"unit": "s3://b/t/", "path": "x", "location": "y"}',
            b'{"unit": "s3://b/t/", "path": "x", "location": "y"}',
        ),
        (b"notes of mine", b"notes of mine"),
    ],
)
def test_s15_a_line_that_broke_off_spoils_no_other_line(
    outcomes: Dataset, tmp_path: Path, torn: bytes, kept: bytes
) -> None:
    path = tmp_path / "outcomes.jsonl"
    path.write_bytes(b'{"path": "first"}\n' + torn)
    with open_file(path) as file:
        file.write(outcomes)
    lines = path.read_bytes().splitlines()
    assert [b'{"path": "first"}', *([kept] if kept else [])] == lines[:-2]
    assert 2 == sum(b'"too_young"' in line or b'"failed"' in line for line in lines)


def test_a_file_that_cannot_be_written_is_refused_before_anything_happens(tmp_path: Path) -> None:
    for name in ("x.jsonl", "x.parquet"):
        with pytest.raises(ConfigurationError, match="cannot write `outcomes_to`"):
            open_file(tmp_path / "nowhere" / name)


def test_without_a_file_nothing_is_written(outcomes: Dataset, engine: Engine) -> None:
    with open_file(None) as file:
        file.name_earlier(planned(engine), [], engine)
        file.plan(planned(engine, "a"))
        file.write(outcomes)


def _rows(folder: Path, path: Path) -> list[tuple[str, str, str | None]]:
    if path.suffix == ".jsonl":
        return [(line["path"], line["outcome"], line["reason"]) for line in lines_of(path)]
    return [
        (row["path"], row["outcome"], row["reason"])
        for part in sorted(folder.glob("*.parquet"))
        for row in parquet.read_table(part).to_pylist()
    ]


@contextmanager
def full_disk() -> Iterator[None]:
    """No file can become longer than a few bytes; nor can pytest's own output, so it ends within the test."""
    before, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("name", ["outcomes.parquet", "outcomes.jsonl"])
@pytest.mark.parametrize("deletes", [False, True])
def test_a_full_disk_is_named_and_leaves_nothing_unfinished(
    tmp_path: Path, engine: Engine, outcomes: Dataset, name: str, *, deletes: bool
) -> None:
    path, files = tmp_path / name, planned(engine, *map(str, range(100)))
    rows = outcomes.checkpoint()
    said = f"cannot write `outcomes_to` {path}: .*File too large"
    with pytest.raises(NessieGcError, match=said), full_disk(), open_file(path, deletes=deletes) as file:
        if deletes:
            file.plan(files)
        file.write(rows)
    assert not list(tmp_path.glob("*.unfinished"))
