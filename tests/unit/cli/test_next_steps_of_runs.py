"""What runs propose when they end, early or not, is run as it is printed."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_runs import COLLECT, Run
from nessie_gc_memory import MemoryLake, MemoryRepository
from next_steps import NextSteps, proposes, steps_over

from nessie_gc_core.services import deletion, sweep
from nessie_gc_core.services.quarantine import outcomes

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
PLACE = "memory://warehouse/.held/"
GC = ("gc", *COLLECT, "-c", "1")


@pytest.fixture
def steps(run: Run, lake: MemoryLake) -> NextSteps:
    return steps_over(lake, run)


@pytest.fixture
def dies(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Ends the next process at the start of something that it does for the so-manieth time; later ones live."""

    def at(owner: object, name: str, time: int = 1) -> None:
        real, calls = getattr(owner, name), itertools.count(1)

        def function(*arguments: Any, **more: Any) -> Any:
            if next(calls) == time:
                raise KeyboardInterrupt
            return real(*arguments, **more)

        monkeypatch.setattr(owner, name, function)

    return at


# ---- after a mark, and after a plan -------------------------------------------------------------------
@proposes("cli/screen.py: sweep(dry_run, live_set_id)", "cli/screen.py: sweep(live_set_id)")
def test_a_mark_proposes_a_look_that_deletes_nothing_and_a_sweep_that_says_it_deletes(
    steps: NextSteps, run: Run, lake: MemoryLake
) -> None:
    marked = run("mark", "--repository", "memory", "-c", "1")
    before = lake.paths()
    looked = steps.follow(marked, "sweep --dry-run")
    assert "would delete" in looked.stdout
    assert before == lake.paths()
    steps.follow(marked, "sweep ID")
    assert ORPHAN not in lake.paths()


@proposes(
    "cli/screen.py: show-plan *",
    "cli/screen.py: sweep(apply)",
    "cli/plan_commands.py: sweep(apply)",
)
@pytest.mark.parametrize("show_it", [False, True])
def test_a_plan_is_shown_and_applied_whatever_its_file_is_called(
    steps: NextSteps, run: Run, lake: MemoryLake, show_it: bool
) -> None:
    made = run(*GC, "--plan", "tonight's plan.parquet", "--dry-run")
    shown = steps.follow(made, "show-plan")
    assert "would delete" in shown.stdout
    assert ORPHAN in lake.paths()
    steps.follow(steps.run("show-plan", "tonight's plan.parquet", "--config", no_file()) if show_it else made, "sweep")
    assert ORPHAN not in lake.paths()


def no_file() -> Path:
    """A configuration file that names the lake, which ``show-plan`` has no options for."""
    path = Path("the lake.toml")
    path.write_text('repository = "memory"\nengine = "local"\n', encoding="utf-8")
    return path


# ---- runs that end early ------------------------------------------------------------------------------
@proposes("services/ending.py: *")
@pytest.mark.parametrize(
    ("more", "then"),
    [
        ((), "sweep --resume"),
        (("--quarantine", PLACE), "sweep --resume"),
        (("--outcomes-to", "outcomes.jsonl"), "sweep --resume"),
        (("--defer-deletes",), "sweep --resume --defer-deletes"),
        (("--dry-run",), "sweep --dry-run"),
        (("--plan", "plan.parquet"), "sweep --plan"),
        (("--inmemory",), "gc"),
    ],
)
def test_a_gc_that_ends_in_its_sweep_is_finished(
    steps: NextSteps, run: Run, lake: MemoryLake, dies: Callable[..., None], more: tuple[str, ...], then: str
) -> None:
    dies(MemoryRepository, "references", 3)  # at the re-check
    ended = run(*GC, *more)
    assert 130 == ended.exit_code, ended.output
    steps.follow(ended, then)
    assert (ORPHAN in lake.paths()) == bool(set(more) & {"--defer-deletes", "--dry-run", "--plan"})
    assert Path("plan.parquet").exists() == ("--plan" in more)
    assert Path("outcomes.jsonl").exists() == ("--outcomes-to" in more)


@pytest.mark.parametrize(("more", "then"), [((), "sweep ID"), (("--dry-run",), "sweep --dry-run")])
def test_a_gc_that_ends_just_after_its_mark_is_finished(
    steps: NextSteps, run: Run, lake: MemoryLake, dies: Callable[..., None], more: tuple[str, ...], then: str
) -> None:
    dies(sweep.SweepService, "swept")
    steps.follow(run(*GC, *more), then)
    assert (ORPHAN in lake.paths()) == bool(more)


def test_a_mark_that_ends_early_is_run_again(
    steps: NextSteps, run: Run, lake: MemoryLake, dies: Callable[..., None]
) -> None:
    dies(MemoryRepository, "references", 2)
    ended = run(*GC, "--json")
    said = json.loads(ended.stdout)
    assert (130, {}) == (ended.exit_code, said["done"])
    steps.follow(f"deletes files: '{said['next']}'", "gc")
    assert ORPHAN not in lake.paths()


def test_a_plan_whose_application_ends_early_is_applied_to_its_end_and_no_further(
    steps: NextSteps, run: Run, lake: MemoryLake, dies: Callable[..., None]
) -> None:
    assert 0 == run(*GC, "--plan", "plan.parquet").exit_code
    later = lake.put("memory://warehouse/db/t/data/later.parquet")
    dies(deletion.Deletion, "_take")
    ended = run("sweep", *COLLECT, "--apply", "plan.parquet")
    assert 130 == ended.exit_code
    steps.follow(ended, "sweep --resume")
    assert (False, True) == (ORPHAN in lake.paths(), later in lake.paths())


def test_what_deletes_less_than_a_sweep_is_run_again_as_it_was(
    steps: NextSteps, run: Run, lake: MemoryLake, dies: Callable[..., None]
) -> None:
    dies(deletion.Deletion, "_take")
    arguments = ("remove-orphan-files", *COLLECT[:4], "--table", "db.t", "--older-than", "PT0S", "--no-age-floor")
    steps.follow(run(*arguments), "remove-orphan-files")
    assert ORPHAN not in lake.paths()


def test_deferred_deletions_that_end_early_are_finished(
    steps: NextSteps, run: Run, lake: MemoryLake, dies: Callable[..., None]
) -> None:
    id_ = json.loads(run(*GC, "--defer-deletes", "--json").stdout)["live_set_id"]
    dies(deletion.Deletion, "_take")
    ended = run("deferred-deletes", *COLLECT[:4], "-l", id_)
    assert 130 == ended.exit_code, ended.output
    steps.follow(ended, "deferred-deletes")
    assert ORPHAN not in lake.paths()


@pytest.mark.parametrize("command", ["restore", "purge"])
def test_a_release_that_ends_early_is_finished(
    steps: NextSteps, run: Run, lake: MemoryLake, dies: Callable[..., None], command: str
) -> None:
    lake.put("memory://warehouse/db/t/data/orphan-2.parquet")
    run(*GC, "--quarantine", PLACE, "--quarantine-for", "PT0S")
    dies(outcomes.ReleasedFiles, "begin", 2)
    more = ("--everything",) if command == "restore" else ()
    ended = run(command, *COLLECT[:4], "--files-per-step", "1", *more)
    assert 130 == ended.exit_code, ended.output
    steps.follow(ended, command)
    assert (ORPHAN in lake.paths()) == (command == "restore")
    assert not any(path.startswith(PLACE) for path in lake.paths())


# ---- the options of the run ---------------------------------------------------------------------------
def test_a_command_has_the_options_that_its_run_was_given_and_names_the_secrets_that_it_lacks(
    run: Run, lake: MemoryLake, dies: Callable[..., None]
) -> None:
    Path("the lake.toml").write_text('engine = "local"\n', encoding="utf-8")
    given = ("--config", "the lake.toml", "--repository", "memory", "--allow", "memory://warehouse/it's here/")
    dies(sweep.SweepService, "swept")
    ended = run("gc", *given, "-I", "s3.endpoint=http://a:9000", "-I", "s3.secret=hunter2")
    said = ended.stderr.splitlines()[-1]
    assert "hunter2" not in ended.output
    assert "--config 'the lake.toml'" in said
    assert """--allow 'memory://warehouse/it'"'"'s here/'""" in said
    assert "--iceberg s3.endpoint=http://a:9000" in said
    assert "(with NESSIE_GC_ICEBERG set)" in said


def test_options_of_the_environment_and_of_the_file_in_the_folder_are_not_repeated(
    run: Run, lake: MemoryLake, dies: Callable[..., None]
) -> None:
    Path("nessie-gc.toml").write_text('repository = "memory"\n', encoding="utf-8")
    dies(sweep.SweepService, "swept")
    ended = run("gc", "--dry-run", "--json", env={"NESSIE_GC_ENGINE": "local"})
    said = json.loads(ended.stdout)
    assert f"nessie-gc sweep --dry-run {said['live_set_id']}" == said["next"]
