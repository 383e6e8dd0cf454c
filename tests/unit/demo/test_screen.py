from __future__ import annotations

import io

import pytest
from rich.console import Console

from nessie_gc_core.demo.collector import Collection
from nessie_gc_core.demo.screen import FolderCount, Screen


@pytest.fixture
def screen() -> Screen:
    return Screen(Console(file=io.StringIO(), highlight=False))


def printed(screen: Screen) -> str:
    assert isinstance(screen.console.file, io.StringIO)
    return screen.console.file.getvalue()


def test_off_a_terminal_a_step_is_one_plain_line(screen: Screen) -> None:
    with screen.step("Spark is starting", done="Spark answers"):
        pass
    assert 1 == printed(screen).count("\n")
    assert printed(screen).startswith("- Spark answers ")
    assert "\x1b" not in printed(screen)


def test_the_report_shows_what_was_read_and_every_outcome_that_is_not_none(screen: Screen) -> None:
    report = {
        "phases": {"mark": 0.26},
        "references": 3,
        "files_listed": {"files": 7, "bytes": 1},
        "deleted": {"files": 2, "bytes": 2500},
    }
    screen.report(Collection(report={**report, "failed": {"files": 0, "bytes": 0}}, exit_code=0, complaints=""))
    assert "  read: 3 references, 7 files listed\n  time: mark 0.3 s\n  deleted: 2 files, 2.4 KiB\n" == printed(screen)


def test_folders_show_what_stays_and_why(screen: Screen) -> None:
    screen.folders([FolderCount(name="orders", before=9, after=4, after_bytes=100, why="needed by main")])
    header, row = printed(screen).splitlines()
    assert ["before", "deleted", "left", "why", "it", "stays"] == header.split()
    assert ["orders", "9", "5", "4", "(100", "B)", "needed", "by", "main"] == row.split()
