"""Every command that the program proposes comes from one place, and a test runs it."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from cli_runs import Run
from next_steps import proposed_in, says_it_deletes
from rich.console import Console

from nessie_gc_core.cli import output, screen
from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.model.next_steps import next_call, next_command
from nessie_gc_core.services.health.report import Finding, FindingName, HealthReport, TableHealth
from nessie_gc_core.services.shown import ShownAsText

ROOT = Path(__file__).parents[3]
SOURCES = [ROOT / "nessie_gc_core", *sorted(ROOT.glob("plugins/*/src"))]
MAKERS = {"next_call", "next_command", "command_line"}
BY_HAND = re.compile(r"nessie-gc (?:$|[\"'{a-z])|`[a-z][a-z_]*\(")
NOT_PROPOSED = {
    "cli/command.py": "the version",
    "config/settings.py": "help, whose commands the test below runs",
    "config/starter.py": "comments of a file, whose commands the test below runs",
    "demo/run.py": "the demo shows what it runs",
    "demo/spark.py": "the name of an application",
    "nessie_gc_airflow/sensors.py": "a log line of Airflow, in which no command can be run",
    "nessie_gc_internal/urls.py": "the name of an application",
    "nessie_gc_memory/mock/make_lake.py": "says what wrote a file",
    "services/assets/page/plots.py": "the name of a picture",
    "services/compaction/service.py": "the message of a commit",
    "services/expiry/branches.py": "the message of a commit",
}
"""What names the program and proposes nothing."""
ODD = ["it's", "a b", "`x`", "$HOME", "a\nb", "100%", 'say "no"', "back\\slash", "ümläut", "-x"]


@cache
def modules() -> Mapping[str, ast.Module]:
    """What proposes commands or names the program; of all others there is nothing to say."""
    found = {}
    for root in SOURCES:
        for path in root.rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            is_kit = root.name == "nessie_gc_core" and "testing" in path.relative_to(root).parts
            if not is_kit and (any(each in text for each in MAKERS) or BY_HAND.search(text)):
                found[str(path.relative_to(root))] = ast.parse(text)
    return found


def proposed() -> Iterator[str]:
    """The steps that the sources propose, as tests name them."""
    for name, module in modules().items():
        if name in ("model/next_steps.py", "config/flags.py"):
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                yield f"{name}: {step_of(node)}"
    for path in ROOT.glob("nessie_gc_core/**/*.html"):
        for words in re.findall(r"\{\{ command\((.+?)\) \}\}", path.read_text(encoding="utf-8")):
            call = ast.parse(f"command({words.replace('| string', '')})", mode="eval").body
            assert isinstance(call, ast.Call)
            yield f"templates/{path.name}: {step_of(call)}"


def step_of(call: ast.Call) -> str:
    """The command, with the names of what is given to it; ``*`` stands for what the source does not say."""
    words = [str(each.value) if isinstance(each, ast.Constant) else "*" for each in call.args]
    if not (isinstance(call.func, ast.Name) and call.func.id == "next_call"):
        return " ".join(words)
    name = words[0].replace("_", "-")
    return name if name == "*" else f"{name}({', '.join(sorted(each.arg or '*' for each in call.keywords))})"


def run_by_tests() -> Iterator[str]:
    """The steps that tests say they run."""
    for path in [*Path(__file__).parent.glob("test_next_steps_*.py"), ROOT / "tests/integration/test_due.py"]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "proposes":
                yield from (str(each.value) for each in node.args if isinstance(each, ast.Constant))


def texts(module: ast.Module) -> Iterator[str]:
    """The texts in a module that are no docstrings."""
    statements = (node for node in ast.walk(module) if isinstance(node, ast.Expr))
    said = {id(node.value) for node in statements}
    for node in ast.walk(module):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


# ---- all of them --------------------------------------------------------------------------------------
def test_every_step_that_is_proposed_is_run_by_a_test() -> None:
    assert set(proposed()) == set(run_by_tests())


def test_no_command_is_written_by_hand() -> None:
    found = {name for name, module in modules().items() if any(map(BY_HAND.search, texts(module)))}
    assert set(NOT_PROPOSED) == found - {"model/next_steps.py", "config/flags.py"}


@pytest.mark.parametrize("module", ["config/settings.py", "config/starter.py"])
def test_what_help_and_the_first_file_name_can_be_run(run: Run, module: str) -> None:
    found = modules()[module]
    commands = {each for text in texts(found) for each in re.findall(r"'(nessie-gc [^']+)'", text)}
    assert commands
    assert [] == [each for each in commands if run(*shlex.split(each)[1:]).exit_code]


def test_no_deletion_is_proposed_without_saying_so() -> None:
    for said, expected in (
        ("run 'nessie-gc gc'", False),
        ("run 'nessie-gc delete', which deletes no file", False),
        ("run 'nessie-gc gc', which deletes files", True),
        ("'nessie-gc gc' deletes what nothing needs", True),
    ):
        (found,) = proposed_in(said)
        assert expected == says_it_deletes(found)


# ---- how they are written -----------------------------------------------------------------------------
@pytest.mark.parametrize("odd", ODD)
def test_a_shell_gives_back_every_character(odd: str) -> None:
    for text in (next_call("restore", under=odd), next_command("restore", "--under", odd)):
        (found,) = proposed_in(f"use {with_flags(text)}!")
        assert ["restore", "--under", odd] == found.arguments
        assert "\n" not in found.command


def test_what_only_looks_like_a_command_stays_as_it_is() -> None:
    for text in ("a file `drop(tables=True)`", "`nessie-gc it's`", "plain"):
        assert text == with_flags(text)


def test_a_command_of_a_table_is_found_where_another_one_is() -> None:
    said = with_flags(f"run {next_call('mark')} or {next_command('plugins')}")
    assert "run 'nessie-gc mark' or 'nessie-gc plugins'" == said
    assert ["nessie-gc mark", "nessie-gc plugins"] == [each.command for each in proposed_in(said)]


# ---- where they are shown -----------------------------------------------------------------------------
LONG = next_command("restore", "--under", "s3://" + "bucket-with-a-long-name/" * 20)


class Told(ShownAsText):
    """A report that is a text."""

    exit_code = 0

    def __str__(self) -> str:
        return f"{'many words ' * 30} {LONG} brings them back"


def health() -> HealthReport:
    finding = Finding(name=FindingName.ORPHANS, value=None, limit=None, text="something " * 20, action=LONG)
    table = TableHealth(table="db.t", reference="main", metadata_location="x", findings=(finding,))
    return HealthReport(
        repository="r", checked=datetime.now(UTC), last_sweep=None, findings=(finding,), tables=(table,)
    )


@pytest.mark.parametrize("report", [Told(), health()], ids=["text", "table"])
@pytest.mark.parametrize("width", [None, 60])
def test_a_command_is_on_one_line_on_pipes_and_no_character_comes_into_it_on_a_terminal(
    report: object, width: int | None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if width is not None:
        terminal = Console(force_terminal=True, width=width, highlight=False, color_system=None)
        monkeypatch.setattr(screen, "standard_output", lambda: terminal)
    screen.show_result("name", report, as_json=False)  # type: ignore[arg-type]  # what is shown of it
    assert with_flags(LONG) in capsys.readouterr().out


def test_a_printed_line_is_not_wrapped(capsys: pytest.CaptureFixture[str]) -> None:
    output.say(f"next: {LONG}")
    assert f"next: {with_flags(LONG)}\n" == capsys.readouterr().out
