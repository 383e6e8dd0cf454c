"""S28: what data says never reaches a terminal or a log unescaped, and standard output holds the JSON object alone."""

from __future__ import annotations

import io
import json
import logging
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from nessie_gc_memory import MemoryLake, put
from rich.console import Console

from nessie_gc_core.cli.command import Session
from nessie_gc_core.cli.errors import fail
from nessie_gc_core.cli.logs import logging_to
from nessie_gc_core.cli.main import cli
from nessie_gc_core.cli.screen import show_report
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.text import json_text, shown
from nessie_gc_core.services.report import GcReport, MarkedRepository, NamedFile

EVIL = "\x1b[2Ka\x9b31m\x7f\r\n\u202egpj.\u2028\u2066\U000e0041\ud800x"
SHOWN = r"\x1b[2Ka\x9b31m\x7f\r\n\u202egpj.\u2028\u2066\U000e0041\ud800x"
PATH = EVIL.replace("\ud800", "")
"""The same as a path that text can hold."""
PATH_SHOWN = SHOWN.replace(r"\ud800", "")
SWEEP = ("--repository", "memory", "--engine", "local", "--min-age", "PT0S", "--no-age-floor")


def unsafe(text: str) -> set[str]:
    """What would act upon a terminal; ends of lines are ours."""
    return {c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}


# ---- the function -------------------------------------------------------------------------------------
def test_s28_control_format_and_direction_characters_are_escaped() -> None:
    assert SHOWN == shown(EVIL)
    assert "tab\\tand\\nline" == shown("tab\tand\nline")
    assert "tab\tand\nline\\x1b" == shown("tab\tand\nline\x1b", lines=True)


def test_s28_what_people_write_stays_as_it_is() -> None:
    names = "p=a%20b/ü 日本語😀 e\u0301 \u00a0 quote'\"\\.parquet"
    assert names == shown(names)


@given(st.text(st.characters(exclude_categories=())))
def test_s28_nothing_unsafe_is_shown_and_json_stays_exact(text: str) -> None:
    assert not unsafe(shown(text))
    assert "\n" not in shown(text)
    written = json_text({"path": text, text: [text]}, indent=2)
    assert not unsafe(written)
    assert {"path": text, text: [text]} == json.loads(written)


# ---- places where it is shown -------------------------------------------------------------------------
@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryLake]:
    """The lake that the memory connectors use where no other is named; its names are hostile."""
    for name in [name for name in os.environ if name.startswith("NESSIE_GC_") and name != "NESSIE_GC_REQUIRE_SERVERS"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    MemoryLake.forget("default")
    lake = MemoryLake.named("default")
    lake.now = datetime(2026, 1, 1, tzinfo=UTC)
    table = lake.table(f"db.{PATH}", location=f"memory://warehouse/db/{PATH}/t").append(f"{PATH}.parquet")
    lake.commit("main", put(table.version))
    lake.put(f"memory://warehouse/db/{PATH}/t/data/dead-{PATH}.parquet")
    lake.put(f"memory://warehouse/db/{PATH}/t/data/stuck-{PATH}.parquet")
    lake.faults.deleting[f"memory://warehouse/db/{PATH}/t/data/stuck-{PATH}.parquet"] = f"denied {PATH}"
    lake.now = None
    yield lake
    MemoryLake.forget("default")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def marked() -> str:
    return str(json.loads(run("mark", "--repository", "memory", "-c", "1", "--json").stdout)["live_set_id"])


@pytest.mark.parametrize("as_json", [False, True])
def test_s28_names_of_a_lake_reach_no_terminal_unescaped(lake: MemoryLake, as_json: bool) -> None:
    id_ = marked()
    more = ("--json",) if as_json else ()
    results = [run("sweep", *SWEEP, "-l", id_, "--defer-deletes", *more)]
    results += [run("list-deferred", "-l", id_, *more), run("show", "-l", id_, "-D", "-C", "-B", *more)]
    results += [run("deferred-deletes", *SWEEP[:4], "-l", id_, *more), run("list", *more)]
    results += [run("check", *SWEEP[:4], "--allow", f"memory://warehouse/db/{PATH}/", *more)]
    assert [0, 0, 0, 1, 0, 0] == [result.exit_code for result in results]
    assert set() == set().union(*(unsafe(result.output) for result in results))
    listed = results[1].stdout
    if as_json:
        paths = {file["path"] for file in json.loads(listed)["files"]}
        assert {f"data/dead-{PATH}.parquet", f"data/stuck-{PATH}.parquet"} <= paths
    else:
        assert f"data/dead-{PATH_SHOWN}.parquet" in listed
        assert f"denied {PATH_SHOWN}" in results[3].stdout


def test_s28_a_report_shows_reasons_and_warnings_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    report = GcReport(live_set_id="x", engine="local", repositories=[MarkedRepository(repository=EVIL, address="")])
    for reasons in (report.unknown, report.unread, report.refused):
        reasons[f"s3://{EVIL}/"] = EVIL
    report.lost.files, report.lost_files = 1, [NamedFile(EVIL, EVIL)]
    report.warn(EVIL)
    show_report("gc", report, as_json=False)
    printed = capsys.readouterr().out
    assert not unsafe(printed)
    assert f"warning: {SHOWN}" in printed.splitlines()
    show_report("gc", report, as_json=True)
    printed = capsys.readouterr().out
    assert not unsafe(printed)
    assert [EVIL] == json.loads(printed)["warnings"]


@pytest.mark.parametrize("verbosity", [0, 2])
def test_s28_an_error_is_shown_escaped(capsys: pytest.CaptureFixture[str], verbosity: int) -> None:
    session = Session(as_json=True, verbosity=verbosity)
    fail(NessieGcError(f"cannot read {EVIL}"), session)
    printed = capsys.readouterr()
    assert not unsafe(printed.err)
    assert not unsafe(printed.out)
    assert "\\x1b[2Ka" in json.loads(printed.out)["error"]


@pytest.mark.parametrize("terminal", [False, True])
def test_s28_a_log_line_stays_one_line_and_a_traceback_keeps_its_lines(terminal: bool) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, color_system=None, width=2000)
    log = logging.getLogger("nessie_gc_core.test")
    with logging_to(console, 2, GcReport(), quiet=False):
        log.warning("cannot split %s", EVIL)
        try:
            raise ValueError(EVIL)
        except ValueError:
            log.warning("failed", exc_info=True)
    said = stream.getvalue()
    assert not unsafe(said)
    assert 1 == sum("cannot split" in line and SHOWN in line for line in said.splitlines())
    assert any(line.strip().startswith("Traceback") for line in said.splitlines())


# ---- standard output ----------------------------------------------------------------------------------
NOISY = """
import os, subprocess
from nessie_gc_core import hookimpl

os.write(1, b"noise of a library\\n")
print("noise of a plugin")
subprocess.run(["sh", "-c", "echo noise of a child"], check=True)

@hookimpl
def nessie_gc_veto_deletion(location, files):
    os.write(1, b"noise of a veto\\n")
"""


@pytest.fixture
def noisy(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the program where an installed plugin prints to standard output in every way there is."""
    site, work = tmp_path / "site", tmp_path / "work"
    info = site / "nessie_gc_noisy-1.dist-info"
    info.mkdir(parents=True)
    work.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nessie-gc-noisy\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[nessie_gc]\nnoisy = nessie_gc_noisy\n")
    (site / "nessie_gc_noisy.py").write_text(NOISY)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NESSIE_GC_")}
    environment["PYTHONPATH"] = os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
    environment["XDG_DATA_HOME"] = str(tmp_path / "data")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "nessie_gc_core", *arguments],
            cwd=work,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_s28_with_json_standard_output_holds_the_object_alone(
    noisy: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    for arguments, code in (
        (("plugins", "--json"), 0),
        (("list", "--json"), 0),
        (("gc", "--repository", "memory", "--engine", "local", "--inmemory", "--json"), 0),
        (("show", "-l", "00000000-0000-0000-0000-000000000000", "--json"), 1),
    ):
        done = noisy(*arguments)
        assert code == done.returncode, done.stderr
        assert isinstance(json.loads(done.stdout), dict)
        for noise in ("library", "plugin", "child"):
            assert f"noise of a {noise}" in done.stderr


def test_s28_without_json_the_lines_come_as_ever(noisy: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = noisy("list")
    assert "there are no live sets; 'nessie-gc mark' creates one" in done.stdout.splitlines()


@pytest.mark.spark
def test_s28_what_a_jvm_prints_is_not_in_the_result(
    noisy: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    done = noisy(
        *("gc", "--repository", "memory", "--inmemory", "--spark-master", "local[1]", "--json"),
        *("--spark-conf", "spark.driver.extraJavaOptions=-Xlog:gc:stdout"),
    )
    assert 0 == done.returncode, done.stderr
    assert isinstance(json.loads(done.stdout), dict)
    assert "[gc]" in done.stderr
