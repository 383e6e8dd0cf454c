from __future__ import annotations

import json
import logging
import uuid

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake
from rich.console import Console

from nessie_gc_core.cli.logs import Folding, logging_to
from nessie_gc_core.services.report import GcReport

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
GC = ("gc", *COLLECT, "--inmemory")


# ---- a dash as a file -----------------------------------------------------------------------------------
def test_the_id_of_a_live_set_comes_to_standard_output_alone(run: Run, lake: MemoryLake) -> None:
    result = run("mark", "--repository", "memory", "--write-live-set-id-to", "-")
    assert str(uuid.UUID(result.stdout.strip())) in result.stderr
    assert "next: 'nessie-gc sweep --dry-run" in result.stderr


def test_outcomes_of_a_dry_run_come_to_standard_output_alone(run: Run, lake: MemoryLake) -> None:
    result = run(*GC, "--dry-run", "--outcomes-to", "-")
    (line,) = result.stdout.splitlines()
    found = json.loads(line)
    assert (ORPHAN, "would_delete") == (found["location"] + found["path"], found["outcome"])
    assert "would delete" in result.stderr


WRONG = [
    ((*GC, "--outcomes-to", "-"), "needs --dry-run"),
    ((*GC, "--dry-run", "--outcomes-to", "-", "--json"), "--json both write to standard output"),
    ((*GC, "--dry-run", "--outcomes-to", "-", "--write-live-set-id-to", "-"), "both write to standard output"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_standard_output_takes_one_thing_that_may_get_lost(
    run: Run, lake: MemoryLake, arguments: tuple[str, ...], said: str
) -> None:
    before = lake.paths()
    result = run(*arguments)
    assert (2, "--json" in arguments) == (result.exit_code, bool(result.stdout))
    assert said in one_line(result)
    assert before == lake.paths()


def test_scripts_come_to_standard_output(run: Run) -> None:
    assert "_NESSIE_GC_COMPLETE" in run("completion-script", "-O", "-").stdout


# ---- the same again -------------------------------------------------------------------------------------
def test_a_hundred_equal_failures_are_one_line_with_a_count(run: Run, lake: MemoryLake) -> None:
    names = [lake.put(f"memory://warehouse/db/t/data/dead-{number}.parquet") for number in range(100)]
    lake.faults.deleting.update(dict.fromkeys(names, "access denied"))
    lines = run(*GC).stdout.splitlines()
    (line,) = [line for line in lines if "access denied" in line]
    assert line.startswith("  100 files, such as memory://warehouse/db/t/data/dead-")
    assert line.endswith(": access denied")


def test_different_failures_stay_lines_of_their_own(run: Run, lake: MemoryLake) -> None:
    for number in range(3):
        lake.faults.deleting[lake.put(f"memory://warehouse/db/t/data/dead-{number}")] = f"reason {number}"
    found = [line for line in run(*GC).stdout.splitlines() if ": reason " in line]
    assert 3 == len(found)


def test_a_log_line_whose_arguments_do_not_fit_is_for_its_handler_to_tell() -> None:
    record = logging.LogRecord("nessie_gc_core", logging.WARNING, "", 0, "bad %d", ("text",), None)
    assert Folding().filter(record)


def test_an_error_that_comes_again_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(Console(stderr=True), 0, GcReport(), quiet=True):
        for _ in range(2):
            logging.getLogger("nessie_gc_core").error("worse")
    assert capsys.readouterr().err.endswith(" ERROR [-] nessie_gc_core: worse (once more)\n")


def test_a_warning_that_comes_again_is_told_once_and_counted(capsys: pytest.CaptureFixture[str]) -> None:
    with logging_to(Console(stderr=True), 0, GcReport(), quiet=False):
        for _ in range(5):
            logging.getLogger("nessie_gc_core").warning("no answer from %s", "x")
        logging.getLogger("nessie_gc_core").warning("no answer from y")
    lines = [line.rpartition(": ")[2] for line in capsys.readouterr().err.splitlines()]
    assert ["no answer from x", "no answer from y", "no answer from x (4 times more)"] == lines
