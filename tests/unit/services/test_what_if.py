"""What a policy that is not in force would free, and what would end."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from collecting import in_memory
from nessie_gc_memory import MemoryLake, delete, put

from nessie_gc_core import Collector
from nessie_gc_core.api import WhatIfReport
from nessie_gc_core.cli.main import cli
from nessie_gc_core.engines.local.frame import LocalFrame
from nessie_gc_core.services.assets.parameters import FindParameters
from nessie_gc_core.services.what_if import WhatIfService

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """A table with four states on main, one a day, of which dev begins at the second; and a file of nobody."""
    lake = MemoryLake.named(str(uuid.uuid4()))
    lake.now = LONG_AGO
    state = lake.table("db.t", location="memory://warehouse/db/t")
    for number in range(4):
        state = state.overwrite(f"{number}.parquet", size=10 ** (number + 1))
        commit = lake.commit("main", put(state.version))
        if number == 1:
            lake.branch("dev", at=commit)
            lake.tag("release", at=commit)
        lake.advance(timedelta(days=1))
    lake.put("memory://warehouse/db/t/data/orphan.parquet", 7)
    lake.now = None  # what its clock shows from here on is the time
    yield lake
    MemoryLake.forget(lake.name)


def connectors(lake: MemoryLake) -> list[str]:
    """What tells all connectors in which lake they work."""
    return [f"{kind}:memory:lake={lake.name}" for kind in ("content-to-files", "file-lister", "file-deleter")]


@pytest.fixture
def gc(lake: MemoryLake) -> Iterator[Collector]:
    with Collector(
        repository="memory",
        repository_option={"lake": lake.name},
        connector_option=connectors(lake),
        inmemory=True,
        engine="local",
    ) as gc:
        yield gc


def names(report: WhatIfReport) -> dict[str, int]:
    return {each.name: each.states for each in report.ended_by_reference}


def test_a_policy_that_keeps_everything_frees_nothing_and_ends_nothing(gc: Collector) -> None:
    report = gc.what_if()
    assert (report.freed.files, report.ended_by_reference, report.ended) == (0, [], [])
    files = gc.plan().files
    assert isinstance(files, LocalFrame)
    garbage = {path.rpartition("/")[2] for path in files.to_arrow().column("path").to_pylist()}
    assert garbage == {"orphan.parquet", "00001.metadata.json"}  # and the table as it was before its first commit
    assert report.garbage.files == 2
    assert report.policies == {"NONE": 3}


def test_what_only_older_commits_need_is_freed(gc: Collector) -> None:
    report = gc.what_if(default_cutoff="1")
    assert names(report) == {"main": 2}  # the first state and the third: the second is the head of dev and of the tag
    data = 10 + 1000
    assert report.freed.bytes >= data
    assert [("db.t", report.freed)] == [(name, tally) for name, tally in report.freed_by_table]
    assert [("main", report.freed)] == list(report.freed_by_reference)
    assert sorted(state.commit_time for state in report.ended) == [LONG_AGO, LONG_AGO + timedelta(days=2)]
    (main,) = report.ended_by_reference
    assert (main.oldest, main.newest) == (LONG_AGO, LONG_AGO + timedelta(days=2))


def test_policies_by_pattern_say_how_many_references_they_apply_to(gc: Collector) -> None:
    report = gc.what_if(cutoffs={"main": "2"})
    assert report.policies == {"2": 1, "NONE": 2}
    assert report.ended_by_reference == []  # dev and the tag keep what main gives up
    assert names(gc.what_if(cutoffs={"main": "1"})) == {"main": 1}


def test_it_frees_what_a_collection_with_these_policies_frees(gc: Collector) -> None:
    found = gc.what_if(default_cutoff="1")
    plan = gc.plan(default_cutoff="1")
    assert plan.report.unreferenced.files == found.freed.files + found.garbage.files
    assert plan.report.unreferenced.bytes == found.freed.bytes + found.garbage.bytes


def test_it_changes_nothing_and_leaves_no_live_set_that_could_be_swept(gc: Collector, lake: MemoryLake) -> None:
    before = lake.paths()
    gc.what_if(default_cutoff="1")
    assert before == lake.paths()
    assert [] == gc.live_sets.all()


def test_nothing_is_remembered_of_a_policy_that_is_not_in_force(lake: MemoryLake) -> None:
    with in_memory(lake) as services:
        report = WhatIfService(FindParameters(default_cutoff="1")).run(services.run())
        assert report.freed.files > 0
        assert not services.store.count_records(services.repository.identity()).any


def test_the_command_says_it_to_people_and_to_programs(lake: MemoryLake) -> None:
    command = ["what-if", "--repository", "memory", "-r", f"lake={lake.name}", "--inmemory", "--engine", "local"]
    command += [text for option in connectors(lake) for text in ("--connector-option", option)]
    result = CliRunner().invoke(cli, [*command, "--cutoff", ".*=1", "--time-zone", "UTC"], catch_exceptions=False)
    assert result.exit_code == 0
    assert "policies: 1 for 3 references; every head stays readable" in result.stdout
    assert "states that would end: 2\n  by reference\n    main: 2, from 2026-01-01 00:00:00+00:00" in result.stdout
    found = json.loads(CliRunner().invoke(cli, [*command, "-c", "1", "--json"], catch_exceptions=False).stdout)
    assert [{"name": "db.t", **found["freed"]}] == found["freed_by_table"]
    assert {"main"} == {state["reference"] for state in found["ended"]}


def test_many_rows_of_a_grouping_are_cut_off_and_counted(gc: Collector, lake: MemoryLake) -> None:
    lake.now = LONG_AGO
    for number in range(12):
        state = lake.table(f"db.t{number:02}", location=f"memory://warehouse/db/t{number}").append("a.parquet")
        lake.commit("main", put(state.version))
        lake.commit("main", put(state.overwrite("b.parquet").version))
    lake.now = None
    text = str(gc.what_if(default_cutoff="1"))
    assert text.count("    and 3 more") == 2


def test_it_works_beside_another_run_and_says_so(lake: MemoryLake) -> None:
    services = in_memory(lake)
    identity = services.repository.identity()
    services.store.acquire_lease(identity, "other", host="elsewhere", process=7, duration=timedelta(minutes=2))
    run = services.run()
    with services:
        WhatIfService(FindParameters(default_cutoff="1", min_age=timedelta(hours=1))).run(run)
    assert any("this answer may already be out of date" in warning for warning in run.report.warnings)
    assert [] == list(services.store.live_sets())
    holder = services.store.lease(identity)
    assert holder is not None
    assert "other" == holder.owner


def test_tables_that_are_left_out_are_in_no_figure(lake: MemoryLake, gc: Collector) -> None:
    everything = gc.what_if(default_cutoff="1")
    assert ({"db.t"}, True) == ({name for name, _ in everything.freed_by_table}, bool(everything.ended))
    nothing = gc.what_if(default_cutoff="1", exclude=["db[.]t"])
    assert ([], [], 0, 0) == (nothing.ended, nothing.ended_by_table, nothing.freed.files, nothing.garbage.files)
    assert ["memory://warehouse/db/t/"] == list(nothing.collection.left_out)


@pytest.mark.parametrize(
    ("given", "ended", "freed"),
    [
        ({"include": ["db[.]new"]}, ["db.old"], ["db.new"]),
        ({"exclude": ["db[.]new"]}, ["db.t"], ["db.t"]),
        ({"exclude": ["db[.]t"]}, ["db.old"], ["db.new"]),
    ],
)
def test_a_renamed_table_is_chosen_by_its_live_name_in_every_figure(
    given: dict[str, Any], ended: list[str], freed: list[str], lake: MemoryLake, gc: Collector
) -> None:
    lake.now = LONG_AGO + timedelta(days=9)
    state = lake.table("db.old", location="memory://warehouse/db/old").append("a.parquet")
    for each in (state, state.overwrite("b.parquet")):
        lake.commit("main", put(each.version))
        lake.advance(timedelta(days=1))
    lake.commit("main", delete("db.old"), put(replace(each.version, content_key="db.new")))
    lake.now = None
    found = gc.what_if(default_cutoff="1", **given)
    assert ended == [each.name for each in found.ended_by_table]
    assert freed == [name for name, _ in found.freed_by_table]
