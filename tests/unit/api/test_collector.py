from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cli_runs import go_home
from lakes_by_hand import lake_at
from nessie_gc_memory import MemoryLake, TableState, put

from nessie_gc_core import Collector
from nessie_gc_core.engines.local.frame import LocalFrame
from nessie_gc_core.errors import ConfigurationError, IncompleteError, LiveSetStateError, SafetyError
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.report import GcReport

DEAD = {f"memory://wh/db/t/data/dead-{number}.parquet" for number in range(3)}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, a data folder of its own, and none of the user's settings."""
    return go_home(tmp_path, monkeypatch)


@pytest.fixture
def lake() -> Iterator[MemoryLake]:
    """One table with a live file, and three files that nobody needs; all are old, and its clock is the real one."""
    with lake_at(datetime(2026, 1, 1, tzinfo=UTC)) as lake:
        lake.commit("main", put(table(lake).version))
        for path in DEAD:
            lake.put(path)
        lake.now = None
        yield lake


def table(lake: MemoryLake) -> TableState:
    return lake.table("db.t", location="memory://wh/db/t", content_id="t").append("live.parquet")


@pytest.fixture
def gc(lake: MemoryLake) -> Iterator[Collector]:
    with Collector(**settings(lake)) as collector:
        yield collector


def settings(lake: MemoryLake) -> dict[str, Any]:
    kinds = ("content-to-files", "file-lister", "file-deleter")
    return {
        "repository": "memory",
        "repository_option": {"lake": lake.name},
        "connector_option": [f"{kind}:memory:lake={lake.name}" for kind in kinds],
        "engine": "local",
        "inmemory": True,
    }


def outcomes(report: GcReport) -> dict[str, int]:
    return {outcome.value: tally.files for outcome, tally in report.outcomes.items() if tally.files}


def id_of(report: GcReport) -> str:
    """The live set of a report that has one."""
    assert report.live_set_id is not None
    return report.live_set_id


# ---- plan and apply -----------------------------------------------------------------------------------
def test_a_plan_deletes_nothing_and_shows_every_file(gc: Collector, lake: MemoryLake) -> None:
    before = lake.paths()
    plan = gc.plan(default_cutoff="1", allow=["memory://wh/"], min_age="P2D")
    assert before == lake.paths()
    files = plan.files
    assert isinstance(files, LocalFrame)
    rows = files.to_arrow().to_pylist()
    gone = {row["location"] + row["path"] for row in rows if row["outcome"] == "would_delete"}
    assert DEAD < gone
    assert table(lake).needed.isdisjoint(gone)
    assert len(rows) == plan.report.outcomes[Outcome.WOULD_DELETE].files == files.count()
    assert [len(rows)] == files.sql("SELECT count(*) AS files FROM files").to_pandas()["files"].tolist()


def test_apply_deletes_what_the_plan_showed(gc: Collector, lake: MemoryLake, home: Path) -> None:
    plan = gc.plan(default_cutoff="1")
    before = lake.paths()
    result = plan.apply(outcomes_to="audit.jsonl")
    result.raise_for_status()
    files = plan.files
    assert isinstance(files, LocalFrame)
    planned = {row["location"] + row["path"] for row in files.to_arrow().to_pylist()}
    assert planned == before - lake.paths()
    lines = [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]
    assert {(path, "deleted") for path in planned} == {(row["location"] + row["path"], row["outcome"]) for row in lines}


def test_apply_never_deletes_what_the_plan_did_not_show(gc: Collector, lake: MemoryLake) -> None:
    plan = gc.plan(default_cutoff="1")
    late = lake.put("memory://wh/db/t/data/dead-late.parquet", modified=datetime(2026, 1, 1, tzinfo=UTC))
    plan.apply()
    assert late in lake.paths()
    assert DEAD.isdisjoint(lake.paths())


def test_apply_leaves_a_file_that_was_written_again(gc: Collector, lake: MemoryLake) -> None:
    plan = gc.plan(default_cutoff="1")
    again = min(DEAD)
    lake.put(again, 7, modified=datetime(2026, 1, 2, tzinfo=UTC))
    report = plan.apply()
    assert {again} == DEAD & lake.paths()
    assert any(
        warning.startswith("1 file of the plan skipped: by now needed, changed or gone") for warning in report.warnings
    )


def test_apply_spares_what_became_live(gc: Collector, lake: MemoryLake) -> None:
    plan = gc.plan(default_cutoff="1")
    lake.commit("dev", put(table(lake).append("dead-0.parquet").version))
    report = plan.apply()
    assert {"memory://wh/db/t/data/dead-0.parquet"} == DEAD & lake.paths()
    assert 1 == report.references_moved


def test_a_plan_is_applied_once(gc: Collector) -> None:
    plan = gc.plan(default_cutoff="1")
    plan.apply()
    with pytest.raises(LiveSetStateError, match="EXPIRY_SUCCESS"):
        plan.apply()


def test_a_plan_that_is_too_old_is_refused(gc: Collector, lake: MemoryLake) -> None:
    plan = gc.plan(default_cutoff="1")
    plan = replace(plan, parameters=replace(plan.parameters, max_live_set_age=timedelta(0)))
    with pytest.raises(SafetyError, match="`max_live_set_age`"):
        plan.apply()
    assert lake.paths() >= DEAD


def test_a_plan_of_a_live_set_that_was_marked_before(gc: Collector, lake: MemoryLake) -> None:
    marked = gc.mark(default_cutoff="1")
    plan = gc.plan(live_set=str(marked.live_set_id))
    assert marked.live_set_id == plan.report.live_set_id
    plan.apply()
    assert DEAD.isdisjoint(lake.paths())


def test_an_empty_plan_has_no_rows(gc: Collector) -> None:
    gc.collect(delete=True, default_cutoff="1")
    plan = gc.plan(default_cutoff="1")
    assert 0 == plan.files.count()
    assert {} == outcomes(plan.apply())


def test_a_plan_ends_with_its_collector(lake: MemoryLake) -> None:
    gc = Collector(**settings(lake))
    plan = gc.plan(default_cutoff="1")
    gc.close()
    for use in (plan.apply, lambda: plan.files):
        with pytest.raises(ConfigurationError, match="the collector was closed"):
            use()
    assert lake.paths() >= DEAD


def test_a_plan_is_saved_and_applied_by_another_collector(lake: MemoryLake, home: Path) -> None:
    stored = {**settings(lake), "inmemory": False, "jdbc_url": "sqlite:///live-sets.db"}
    with Collector(**stored) as gc:
        plan = gc.plan(default_cutoff="1")
        digest = plan.save("plan.parquet")
        with pytest.raises(ConfigurationError, match="already exists"):
            plan.save(home / "plan.parquet")
    before = lake.paths()
    with Collector(**stored) as gc:
        saved = gc.read_plan(home / "plan.parquet")
        assert (digest, plan.would_delete) == (saved.summary.sha256, saved.summary.total)
        report = saved.apply(outcomes_to="audit.jsonl")
    assert plan.would_delete == report.outcomes[Outcome.DELETED]
    assert DEAD < before - lake.paths()
    assert plan.would_delete.files == len((home / "audit.jsonl").read_text().splitlines())


def test_a_dry_run_in_the_settings_is_never_overruled(lake: MemoryLake) -> None:
    with Collector(**settings(lake), dry_run=True) as gc:
        plan = gc.plan(default_cutoff="1")
        live_set = id_of(plan.report)
        for delete in (
            plan.apply,
            lambda: gc.collect(delete=True, default_cutoff="1"),
            lambda: gc.sweep(live_set, delete=True),
            lambda: gc.run("gc", default_cutoff="1", dry_run=False),
        ):
            with pytest.raises(ConfigurationError, match="the settings contain `dry_run`"):
                delete()
        assert 0 == gc.collect(delete=False).exit_code
    assert lake.paths() >= DEAD


def test_what_is_said_twice_is_refused(gc: Collector) -> None:
    with pytest.raises(ConfigurationError, match="leave out `dry_run`"):
        gc.plan(dry_run=False)
    with pytest.raises(ConfigurationError, match="`cutoff` and `cutoffs` are mutually exclusive"):
        gc.plan(cutoff=["main=1"], cutoffs={"main": "2"})


def test_a_service_that_is_run_by_name_deletes_only_when_that_is_said(gc: Collector, lake: MemoryLake) -> None:
    assert 0 == gc.run("gc", default_cutoff="1").exit_code
    assert lake.paths() >= DEAD
    gc.run("gc", default_cutoff="1", dry_run=False)
    assert DEAD.isdisjoint(lake.paths())


def test_nothing_in_place_of_a_word_is_no_word_for_deletion(gc: Collector, lake: MemoryLake) -> None:
    report = gc.run("gc", default_cutoff="1", dry_run=None).to_dict()
    assert report["dry_run"] is True
    assert lake.paths() >= DEAD


def test_plans_reports_and_checks_print_as_lines(gc: Collector) -> None:
    plan = gc.plan(default_cutoff="1")
    said = f"{plan.would_delete.files} files, {plan.would_delete.bytes} B"
    assert f"Plan(live set {plan.report.live_set_id}, would delete: {said})" == repr(plan)
    assert str(plan.report).endswith(f": would delete: {said}")
    assert "ok      repository: " in "\n".join(map(str, gc.check()))


def test_cutoffs_are_given_by_pattern(gc: Collector, lake: MemoryLake) -> None:
    lake.commit("main", put(table(lake).overwrite("new.parquet").version))
    everything = gc.plan(default_cutoff="1", cutoffs={"mai.*": "NONE"})
    heads = gc.plan(default_cutoff="1", cutoffs={"mai": "NONE"})
    assert everything.files.count() < heads.files.count()
    with pytest.raises(ConfigurationError, match=r"'a\{1,2\}' in `cutoffs` contains a comma"):
        gc.plan(cutoffs={"a{1,2}": "1"})


# ---- the other verbs ----------------------------------------------------------------------------------
def test_mark_and_sweep_apart(gc: Collector, lake: MemoryLake) -> None:
    live_set = id_of(gc.mark(default_cutoff="1"))
    assert {"would_delete"} == set(outcomes(gc.sweep(live_set, delete=False)))
    assert lake.paths() >= DEAD
    assert {"deleted"} == set(outcomes(gc.sweep(live_set, delete=True)))
    assert DEAD.isdisjoint(lake.paths())


def test_deferred_deletions(gc: Collector, lake: MemoryLake) -> None:
    report = gc.collect(delete=True, default_cutoff="1", defer_deletes=True)
    assert {"deferred"} == set(outcomes(report))
    live_set = id_of(report)
    recorded = list(gc.live_sets.deferred(uuid.UUID(live_set)))
    assert DEAD <= {deletion.location + deletion.path for deletion in recorded}
    assert {"would_delete"} == set(outcomes(gc.delete_deferred(live_set, delete=False)))
    assert lake.paths() >= DEAD
    gc.delete_deferred(live_set, delete=True)
    assert DEAD.isdisjoint(lake.paths())


def test_collecting_asks_for_a_word_about_deleting(gc: Collector) -> None:
    with pytest.raises(TypeError, match="delete"):
        gc.collect()  # type: ignore[call-arg]  # that is the mistake


def test_live_sets_are_listed_and_deleted(gc: Collector) -> None:
    report = gc.mark()
    assert [report.live_set_id] == [str(live_set.id) for live_set in gc.live_sets.all()]
    gc.live_sets.delete(uuid.UUID(report.live_set_id))
    assert [] == gc.live_sets.all()


def test_every_service_runs_by_the_name_of_its_command(gc: Collector, lake: MemoryLake) -> None:
    assert {"gc", "mark", "sweep", "deferred-deletes"} <= set(gc.services)
    report = gc.run("gc", default_cutoff="1", dry_run=True)
    assert lake.paths() >= DEAD
    assert 0 == report.exit_code
    with pytest.raises(ConfigurationError, match=r"unknown service 'gcc'; installed are: .*'?gc"):
        gc.run("gcc")


def test_records_are_brought_under_another_identity(gc: Collector, lake: MemoryLake) -> None:
    gc.mark()
    identity = f"memory:{lake.name}"
    counted = gc.move_records(identity, "lake-1", dry_run=True)
    assert (1, counted) == (counted.live_sets, gc.move_records(identity, "lake-1", dry_run=False))
    assert ["lake-1"] == [live_set.repository for live_set in gc.live_sets.all()]


def test_plugins_are_named_with_what_they_bring(gc: Collector) -> None:
    brought = {connector for plugin in gc.plugins for connector in plugin.connectors}
    assert "repository memory" in brought


def test_progress_is_told(lake: MemoryLake) -> None:
    told: list[str] = []
    with Collector(**settings(lake), progress=lambda phase, done, total: told.append(phase)) as gc:
        gc.plan(default_cutoff="1")
    assert ["mark", "expand", "list", "subtract", "delete"] == list(dict.fromkeys(told))


def test_progress_says_how_many_files_are_expanded_of_those_that_were_found(lake: MemoryLake) -> None:
    told: list[tuple[str, int, int | None]] = []
    with Collector(**settings(lake), progress=lambda *what: told.append(what)) as gc:
        report = gc.plan(default_cutoff="1").report
    done = [done for phase, done, _ in told if phase == "expand"]
    assert (sorted(done), report.files_expanded) == (done, done[-1])
    assert all(total is None or total >= done for _, done, total in told)
    assert ("list", report.files_listed.files, report.files_listed.files) in told


@pytest.mark.parametrize("delete", ["False", 0, None, "yes"])
def test_whether_files_are_deleted_is_a_word_and_no_text(gc: Collector, lake: MemoryLake, delete: object) -> None:
    with pytest.raises(ConfigurationError, match="`delete` must be True or False"):
        gc.collect(delete=delete, default_cutoff="1")  # type: ignore[arg-type]  # that is the mistake
    assert lake.paths() >= DEAD


def test_text_that_says_no_is_no_dry_run_either(lake: MemoryLake) -> None:
    with (
        Collector(**settings(lake), dry_run=True) as gc,
        pytest.raises(ConfigurationError, match="the settings contain `dry_run`"),
    ):
        gc.run("gc", default_cutoff="1", dry_run="false")
    assert lake.paths() >= DEAD


@pytest.mark.parametrize("blank", ["", " ", ","])
def test_an_allow_list_without_a_location_allows_nothing(
    lake: MemoryLake, home: Path, blank: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigurationError, match="the keyword `allow` is empty"):
        Collector(**settings(lake), allow=blank)
    with Collector(**settings(lake)) as gc, pytest.raises(ConfigurationError, match="the parameter `allow` is empty"):
        gc.plan(allow=blank)
    (home / "nessie-gc.toml").write_text(f'allow = "{blank}"\n')
    with pytest.raises(ConfigurationError, match="`allow` is empty"):
        Collector.from_toml(**settings(lake))


def test_nothing_given_in_a_call_lifts_no_limit_of_the_settings(lake: MemoryLake) -> None:
    with Collector(**settings(lake), max_deletes=0) as gc:
        report = gc.collect(delete=True, default_cutoff="1", max_deletes=None)
    assert {"spared"} == set(outcomes(report))
    assert lake.paths() >= DEAD


def test_the_id_of_a_call_overrules_a_file_of_the_settings(lake: MemoryLake) -> None:
    with Collector(**settings(lake)) as gc:
        live_set = gc.mark(default_cutoff="1").live_set_id
        assert gc.live_sets.details(str(live_set)).contents > 0
        with pytest.raises(ConfigurationError, match="a live set already has its cut-off policies"):
            gc.plan(live_set=live_set, default_cutoff="1")
    with Collector(**settings(lake), read_live_set_id_from="nowhere") as gc:
        marked = gc.mark(default_cutoff="1")
        assert marked.live_set_id == gc.plan(live_set=marked.live_set_id).report.live_set_id


def test_a_password_in_a_database_url_is_not_shown(lake: MemoryLake) -> None:
    url = "postgresql://u:hunter2@h/d"
    from nessie_gc_core.config.settings import StoreSettings

    assert "hunter2" not in repr(StoreSettings(jdbc_url=url))
    with pytest.raises(ConfigurationError) as raised:
        Collector(**{**settings(lake), "jdbc_url": [url]})
    assert "hunter2" not in str(raised.value)


def test_a_plan_that_is_taken_up_reports_only_what_is_gone(lake: MemoryLake, home: Path) -> None:
    """A file that was written again since the plan is spared, and not taken for one that an earlier attempt deleted."""
    killed: list[str] = []

    def kill(phase: str, done: int, total: int | None) -> None:
        if phase == "delete" and killed == ["armed"]:
            raise KeyboardInterrupt

    with Collector(**settings(lake), progress=kill) as gc:
        plan = gc.plan(default_cutoff="1")
        killed.append("armed")
        with pytest.raises(KeyboardInterrupt):
            plan.apply(outcomes_to="audit.jsonl")
        killed.clear()
        again = min(DEAD)
        lake.put(again, 7, modified=datetime(2026, 1, 2, tzinfo=UTC))
        before = lake.paths()
        report = plan.apply(outcomes_to="audit.jsonl", resume=True)
    gone = before - lake.paths()
    assert again in lake.paths()
    assert len(gone) == report.outcomes[Outcome.DELETED].files
    lines = [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]
    assert gone == {row["location"] + row["path"] for row in lines if row["outcome"] == "deleted"}
    assert [again] == [file.path for file in report.spared_files]


# ---- settings -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("keyword", "variable", "file"), [("1", "2", "3"), (None, "1", "NONE"), (None, None, "1")])
def test_a_keyword_wins_over_the_environment_and_that_over_the_file(
    lake: MemoryLake,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
    keyword: str | None,
    variable: str | None,
    file: str,
) -> None:
    (home / "nessie-gc.toml").write_text(f'default-cutoff = "{file}"\n')
    if variable is not None:
        monkeypatch.setenv("NESSIE_GC_DEFAULT_CUTOFF", variable)
    given = settings(lake)
    if keyword is not None:
        given["default_cutoff"] = keyword
    with Collector.from_toml(**given) as gc:
        marked = gc.mark()
        (live_set,) = [each for each in gc.live_sets.all() if str(each.id) == marked.live_set_id]
    assert ("1",) == live_set.policies


def test_the_file_gives_what_the_command_line_would_take(lake: MemoryLake, home: Path) -> None:
    (home / "other.toml").write_text(
        f'engine = "local"\ninmemory = true\nallow = ["memory://wh/"]\njson = true\n'
        f'[repository]\nname = "memory"\nlake = "{lake.name}"\n'
        + "".join(
            f'[connectors.{kind}.memory]\nlake = "{lake.name}"\n'
            for kind in ("content-to-files", "file-lister", "file-deleter")
        )
    )
    with Collector.from_toml("other.toml") as gc:
        plan = gc.plan(default_cutoff="1")
    assert not any("allow" in warning for warning in plan.report.warnings)
    assert plan.report.outcomes[Outcome.WOULD_DELETE].files > 0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"urii": "x"}, "unknown setting 'urii'; did you mean 'uri'"),
        ({"engine": "sparc"}, "'engine' cannot be 'sparc': expected one of spark, local"),
        ({"min_age": "yesterday"}, "'min_age' cannot be 'yesterday'"),
        ({"spark_master": "local[1]", "engine": "local"}, None),
        ({"lister": "memry"}, "unknown file-lister 'memry'"),
        ({"repository_option": {"lak": "x"}}, None),
    ],
)
def test_a_wrong_setting_is_refused_before_anything_is_opened(
    lake: MemoryLake, wrong: dict[str, Any], said: str | None
) -> None:
    try:
        gc = Collector(**{**settings(lake), **wrong})
    except ConfigurationError as error:
        assert said is not None
        assert said in str(error)
        return
    assert said is None
    with gc, pytest.raises(ConfigurationError):
        gc.plan()
    assert [] == [path for path in DEAD if path not in lake.paths()]


def test_a_variable_that_nobody_reads_is_refused(lake: MemoryLake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESSIE_GC_MIN_AGGE", "P2D")
    with pytest.raises(ConfigurationError, match="NESSIE_GC_MIN_AGGE; did you mean NESSIE_GC_MIN_AGE"):
        Collector(**settings(lake))


def test_a_parameter_that_is_misspelt_is_refused(gc: Collector) -> None:
    with pytest.raises(ConfigurationError, match=r"unknown option 'min_agee'.*did you mean 'min_age'"):
        gc.plan(min_agee="P2D")


def test_no_message_speaks_of_flags(lake: MemoryLake) -> None:
    with Collector(**settings(lake)) as gc:
        with pytest.raises(ConfigurationError) as raised:
            gc.plan(min_age="PT1M")
        assert "`min_age`" in str(raised.value)
        assert "--" not in str(raised.value)
        assert not any("--" in warning for warning in gc.plan().report.warnings)


# ---- check --------------------------------------------------------------------------------------------
def test_check_names_everything_that_it_reached(lake: MemoryLake) -> None:
    with Collector(**settings(lake), allow=["memory://wh/db/"]) as gc:
        names = [result.name for result in gc.check()]
    reached = ["repository", "reading", "live-set store", "memory://wh/db/", "engine local"]
    assert ["plugins", "configuration", *reached] == names


def test_check_raises_what_is_not_right(lake: MemoryLake) -> None:
    with (
        Collector(**settings(lake), allow=["warp://wh/"], min_age="PT1M") as gc,
        pytest.raises(ConfigurationError, match=r"configuration: `allow`: .*; warp://wh/: "),
    ):
        gc.check()


# ---- the report ---------------------------------------------------------------------------------------
def test_a_report_shows_itself_in_a_notebook_and_escapes_what_comes_from_data(gc: Collector) -> None:
    report = gc.plan(default_cutoff="1").report
    report.unknown["memory://wh/<script>"] = "a & b"
    html = report._repr_html_()
    assert "<td>would delete</td>" in html
    assert "memory://wh/&lt;script&gt;" in html
    assert "a &amp; b" in html
    assert "<script>" not in html
    frame = report.to_pandas().set_index("outcome")
    assert report.outcomes[Outcome.WOULD_DELETE].bytes == frame.loc["would_delete", "bytes"]


def test_a_report_that_is_not_complete_raises(gc: Collector) -> None:
    report = gc.plan(default_cutoff="1").report
    report.raise_for_status()
    report.unknown["memory://wh/x"] = "it cannot be read"
    with pytest.raises(IncompleteError, match="1 unknown location"):
        report.raise_for_status()


def test_a_collector_can_be_used_again_after_it_was_closed(lake: MemoryLake) -> None:
    gc = Collector(**settings(lake))
    gc.plan(default_cutoff="1")
    gc.close()
    assert gc.plan(default_cutoff="1").files.count() > 0
    gc.close()


def test_plugins_can_be_handed_in(lake: MemoryLake, monkeypatch: pytest.MonkeyPatch) -> None:
    from nessie_gc_core.plugins import PluginRegistry

    empty = PluginRegistry()
    with pytest.raises(ConfigurationError, match="memory"):
        Collector(**settings(lake), plugins=empty)
