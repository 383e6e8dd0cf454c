"""Which changes of its file a scheduler takes while it runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import click
import pytest

from nessie_gc_core.cli.command import Call, known_options, session_of
from nessie_gc_core.cli.main import cli
from nessie_gc_core.cli.schedule_file import watched_file
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.file_watch import FileWatch

TEXT = """
jdbc-url = "sqlite:///schedule.db"
[schedule]
lease = "PT1M"
[schedule.jobs.nightly]
service = "gc"
every = "PT1H"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "nessie-gc.toml"
    path.write_text(TEXT)
    return path


@pytest.fixture
def watched(path: Path) -> FileWatch:
    file = ConfigFile.read(path, known_options(cli))
    context = click.Context(cli)
    session_of(context).config = dataclasses.replace(file, name=str(path))
    watch = watched_file(Call(context), ScheduleDefinition.read(file, JobDigests(installed())))
    assert watch.look() is None
    return watch


def looks(watched: FileWatch) -> ScheduleDefinition | None:
    assert watched.look() is None
    return watched.look()


def test_jobs_that_change_are_taken(path: Path, watched: FileWatch) -> None:
    path.write_text('allow = ["s3://lake/"]' + TEXT)
    assert looks(watched) is not None


@pytest.mark.parametrize(
    ("text", "changed", "said"),
    [
        ("schedule.db", "other.db", "it has another store or other plugins now; restart the scheduler"),
        ("[schedule]", 'disable-plugin = ["x"]\n[schedule]', "it has another store or other plugins now"),
        ("[schedule]", '[store]\nname = "memory"\n[schedule]', "it has another store or other plugins now"),
        ('"PT1M"', '"PT1M"\nname = "other"', "it has the schedule 'other' now; restart the scheduler"),
        ("every", "often", "unknown option 'often'"),
        ("jdbc-url", "jdbc-link", "unknown key 'jdbc-link'"),
    ],
)
def test_what_needs_a_restart_or_is_wrong_is_said_and_not_taken(
    path: Path, watched: FileWatch, caplog: pytest.LogCaptureFixture, text: str, changed: str, said: str
) -> None:
    assert text in TEXT
    path.write_text(TEXT.replace(text, changed))
    assert looks(watched) is None
    (message,) = caplog.messages
    assert said in message
