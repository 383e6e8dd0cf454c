"""Everything that is printed as JSON says the version of its format."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from cli_runs import Run
from pyarrow import parquet

import nessie_gc_core.cli
from nessie_gc_core.cli.command import commands_of
from nessie_gc_core.cli.main import cli
from nessie_gc_core.model.report_format import FILE_KEY, FORMAT, KEY, with_format
from nessie_gc_core.services.outcome_formats import open_format
from nessie_gc_core.services.schedule.outcome import numbers_of

SCHEDULE = """
[schedule.jobs.nightly]
service = "gc"
cron = "30 2 * * *"
"""
WRITES = {"output.py", "errors.py", "logs.py"}
"""Files of the command line that write JSON: results, errors, and log lines, which have no version."""
LOCAL = ("--repository", "mock", "--engine", "local")


@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("plugins",),
        ("list-quarantine",),
        ("config", "show"),
        ("schedule", "list"),
        ("schedule", "history"),
        ("schedule", "run", "--once"),
        ("schedule", "pause", "nightly"),
        ("schedule", "page"),
        ("health", "--repository", "mock"),
        ("prune", "--older-than", "P1D"),
        ("gc", "--dry-run", *LOCAL),
        ("check", *LOCAL),
        ("show", "-l", "00000000-0000-0000-0000-000000000000"),
        ("gc", "--no-such-option"),
    ],
    ids=" ".join,
)
def test_a_result_or_an_error_says_its_format_first(run: Run, home: Path, command: tuple[str, ...]) -> None:
    (home / "nessie-gc.toml").write_text(SCHEDULE)
    if " ".join(command[:2]) not in commands_of(cli) and command[0] not in commands_of(cli):
        pytest.fail(f"there is no command {command}")
    printed = json.loads(run(*command, "--json").stdout)
    assert (KEY, FORMAT) == next(iter(printed.items()))


def test_commands_write_json_only_in_the_places_that_add_the_format() -> None:
    folder = Path(nessie_gc_core.cli.__file__).parent
    writing = set()
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and "json_text" in {name.name for name in node.names}:
                writing.add(file.name)
    assert WRITES == writing


def test_a_report_that_has_such_a_field_gets_ours() -> None:
    assert [("format", FORMAT), ("a", 1)] == [*with_format({"a": 1, "format": "other"}).items()]


def test_the_format_is_no_number_of_a_report() -> None:
    assert {"deleted.files": 3} == dict(numbers_of(with_format({"deleted": {"files": 3}})))


def test_a_parquet_file_of_outcomes_says_its_format(tmp_path: Path) -> None:
    open_format(tmp_path / "outcomes.parquet").close()
    assert str(FORMAT).encode() == parquet.read_schema(tmp_path / "outcomes.parquet").metadata[FILE_KEY]
