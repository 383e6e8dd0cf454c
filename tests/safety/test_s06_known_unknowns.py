"""S6, S18: a daily run tells what was unknown yesterday from what is new, where that is asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import LakeServices
from lakes_together import garbage, table
from nessie_gc_memory import MemoryLake, TableState, put

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.known_unknowns import UNKNOWN, UNREADABLE, thing_of
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

BROKEN = "not JSON: Expecting value at character 17"


class Daily:
    """A job that runs each day on a lake, one of whose tables is broken."""

    def __init__(self, lake: MemoryLake, services: LakeServices, folder: Path) -> None:
        self.lake, self.services = lake, services
        self.file = folder / "known.json"
        table(lake, "whole")
        self.broken = self.break_after_a_run("broken")

    def break_after_a_run(self, name: str) -> TableState:
        """A table of which an older state can be read."""
        state = table(self.lake, name)
        self.services.collect()
        newer = state.append("n.parquet")
        self.lake.commit("main", put(newer.version))
        return self.break_table(newer)

    def break_table(self, state: TableState, why: str = BROKEN) -> TableState:
        self.lake.faults.reading[state.metadata_location] = ValueError(why)
        return state

    def run(self, **more: Any) -> GcReport:
        self.lake.advance(timedelta(days=1))
        sweep = replace(SweepParameters(known_unknowns=str(self.file)), **more)
        return self.services.collect(sweep=sweep)


@pytest.fixture
def daily(lake: MemoryLake, services: LakeServices, tmp_path: Path) -> Daily:
    return Daily(lake, services, tmp_path)


def test_s06_the_first_run_fails_and_the_next_one_warns(daily: Daily) -> None:
    first, second = daily.run(), daily.run()
    assert [1, 0] == [first.exit_code, second.exit_code]
    assert first.unknown == second.unknown != {}
    assert any("not in" in text and "memory://wh/db/broken/" in text for text in first.warnings)
    assert any("no new one" in text and str(daily.file) in text for text in second.warnings)


def test_s06_the_report_tells_known_and_new_ones_apart(daily: Daily) -> None:
    daily.run()
    daily.break_after_a_run("another")
    report = daily.run().to_dict()
    known = {each["location"]: each["known"] for each in report["unknown"]}
    assert {"memory://wh/db/another/": False, "memory://wh/db/broken/": True} == known
    assert {"file": str(daily.file), "known": 2, "new": 2} == report["known_unknowns"]
    assert 1 == report["exit_code"]
    assert 0 == daily.run().exit_code


def test_s06_a_table_that_is_still_broken_in_its_next_state_is_no_news(daily: Daily) -> None:
    daily.run()
    newer = daily.broken.append("b.parquet")
    daily.lake.commit("main", put(newer.version))
    daily.break_table(newer, "not JSON: Expecting value at character 4321")
    assert 0 == daily.run().exit_code


def test_s06_another_kind_of_reason_at_the_same_place_is_news(daily: Daily) -> None:
    daily.run()
    daily.break_table(daily.broken, "access denied")
    assert 1 == daily.run().exit_code


def test_s06_what_was_repaired_in_between_is_news_again(daily: Daily) -> None:
    daily.run()
    daily.lake.faults.reading.clear()
    assert 0 == daily.run().exit_code
    daily.break_table(daily.broken)
    assert 1 == daily.run().exit_code


def test_s06_a_deletion_that_failed_is_never_known(daily: Daily) -> None:
    daily.run()
    dead = garbage(daily.lake, "whole")
    daily.lake.advance(timedelta(days=3))
    daily.lake.faults.deleting[dead] = "access denied"
    for _ in range(2):
        report = daily.run()
        assert (1, 1) == (report.outcomes[Outcome.FAILED].files, report.exit_code)


@pytest.mark.parametrize("more", [{"dry_run": True}, {"plan": "plan.jsonl"}], ids=["dry run", "plan"])
def test_s06_a_run_that_only_looks_compares_and_writes_nothing(
    daily: Daily, more: dict[str, object], tmp_path: Path
) -> None:
    more = {name: str(tmp_path / value) if isinstance(value, str) else value for name, value in more.items()}
    assert 1 == daily.run(**more).exit_code
    assert not daily.file.exists()


def test_s06_without_the_option_every_run_fails(daily: Daily) -> None:
    daily.run()
    report = daily.run(known_unknowns=None)
    assert (1, None) == (report.exit_code, report.to_dict()["known_unknowns"])


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": "else", "known": []}', '{"known": 1}', "[" * 100_000],
    ids=["empty", "cut off", "list", "null", "another format", "no format", "deep"],
)
def test_s06_a_broken_file_is_an_error_before_anything_is_read(daily: Daily, text: str) -> None:
    daily.file.write_text(text)
    daily.lake.faults.references = AssertionError("the repository was asked")
    with pytest.raises(ConfigurationError, match=r"`known_unknowns` .* remove it, and the next run writes a new one"):
        daily.run()
    assert text == daily.file.read_text()


def test_s06_things_that_are_no_texts_are_a_broken_file(daily: Daily) -> None:
    daily.run()
    found = json.loads(daily.file.read_text())
    found["known"][0]["place"] = 7
    daily.file.write_text(json.dumps(found))
    with pytest.raises(ConfigurationError, match="something else than texts"):
        daily.run()


def test_s06_a_file_that_cannot_be_written_stays_as_it_was(daily: Daily) -> None:
    daily.run()
    before = daily.file.read_text()
    (daily.file.parent / "known.json.unfinished").mkdir()
    daily.break_after_a_run("another")
    report = daily.run()
    assert before == daily.file.read_text()
    assert any("could not be written" in text for text in report.warnings)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("s3://b/t/metadata/7.json: timed out after 30.1 s", "s3://b/t/metadata/8.json: timed out after 2 s", True),
        ("'main' at c0ffee1: access denied", "'dev' at c0ffee2: access denied", True),
        ("s3://b/t/metadata/7.json: timed out", "s3://b/t/metadata/7.json: access denied", False),
        ("db.t cannot be read", "db.u cannot be read", False),
    ],
)
def test_s06_the_kind_of_a_reason_is_what_does_not_change_from_day_to_day(one: str, other: str, same: bool) -> None:
    assert same is (thing_of(UNKNOWN, "s3://b/t/", one) == thing_of(UNKNOWN, "s3://b/t/", other))


def test_s06_a_location_is_itself_and_a_file_stands_for_its_folder() -> None:
    assert thing_of(UNKNOWN, "s3://b/t", "x") != thing_of(UNKNOWN, "s3://b/u", "x")
    assert thing_of(UNREADABLE, "s3://b/t/7.json", "x") == thing_of(UNREADABLE, "s3://b/t/8.json", "x")
    assert thing_of(UNREADABLE, "s3://b/t/7.json", "x") != thing_of(UNREADABLE, "s3://b/u/7.json", "x")
