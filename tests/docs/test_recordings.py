"""The recordings of the README: what they show is what the commands print today.

``RENEW_RECORDINGS=1 THOROUGH_TESTS=1 pytest tests/docs/test_recordings.py`` writes them anew where that differs in
more than times, sizes, ids and places.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from docs.pages import DOCS, ROOT
from docs.recording import Scene, comparable, recorded, svg, text_of
from docs.servers import small_lake
from docs.terminal import Line, Span, Terminal

IMAGES = DOCS / "images"
DEMO = "nessie-gc demo --engine local"
ADDRESS = "http://localhost:19120/api/v2"
FIRST_RUN = (
    f"nessie-gc init --uri {ADDRESS} --engine local --allow $PWD/warehouse/ --default-cutoff 10",
    "nessie-gc config show",
    "nessie-gc check",
    "nessie-gc gc --dry-run",
    "nessie-gc gc",
    "nessie-gc gc --dry-run",
)
"""From a configuration file to a deletion, and that nothing is left to delete."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a short name, which the screen shows."""
    with tempfile.TemporaryDirectory(prefix="lake-", dir="/tmp") as name:
        yield Path(name).resolve()


def _check(name: str, title: str, scenes: list[Scene]) -> None:
    path = IMAGES / f"{name}.svg"
    if comparable(text_of(scenes)) != comparable(recorded(path)) and os.environ.get("RENEW_RECORDINGS"):
        path.write_text(svg(title, scenes), encoding="utf-8")
    again = f"RENEW_RECORDINGS=1 THOROUGH_TESTS=1 pytest {Path(__file__).relative_to(ROOT)} renews it"
    assert comparable(text_of(scenes)) == comparable(recorded(path)), again


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.thorough  # tests/integration/test_demo.py runs it every time
@pytest.mark.timeout(900)
def test_the_recording_of_the_demo_shows_what_it_prints(folder: Path, environment: Mapping[str, str]) -> None:
    terminal = Terminal(folder, environment)
    _check("recorded-demo", "the demo", [Scene(command=DEMO, lines=terminal.run(DEMO))])


@pytest.mark.server
@pytest.mark.timeout(600)
def test_the_recording_of_a_first_run_shows_what_it_prints(folder: Path, environment: Mapping[str, str]) -> None:
    with small_lake(folder) as uri:
        terminal = Terminal(folder, {**environment, "XDG_DATA_HOME": str(folder / ".data")})
        typed = [(command, command.replace(ADDRESS, uri)) for command in FIRST_RUN]
        scenes = [Scene(command=shown, lines=terminal.run(command)) for shown, command in typed]
    _check("recorded-first-run", "a first run", scenes)


def test_a_recording_keeps_its_lines_and_has_no_script(tmp_path: Path) -> None:
    line: Line = (
        Span(text="deleted  3 <files> &", colour="red", bold=True),
        Span(text=" done", colour="default", bold=False),
    )
    (tmp_path / "one.svg").write_text(svg("one", [Scene(command="nessie-gc gc \\\n  --dry-run", lines=[line])]))
    assert "$ nessie-gc gc \\\n>   --dry-run\ndeleted  3 <files> & done" == recorded(tmp_path / "one.svg")
    assert "<script" not in (tmp_path / "one.svg").read_text()


def test_a_terminal_shows_what_is_left_on_its_screen_in_its_colours(tmp_path: Path) -> None:
    lines = Terminal(tmp_path, os.environ).run(r"printf 'working...\r\033[2K\033[1;32mdone\033[0m in %s\n' $PWD")
    assert [
        (
            Span(text="done", colour="green", bold=True),
            Span(text=" in /home/ada/my-lakes", colour="default", bold=False),
        )
    ] == list(lines)


def test_a_line_that_is_too_long_is_broken_between_words(tmp_path: Path) -> None:
    words = ["word"] * 30
    lines = Terminal(tmp_path, os.environ).run(f"echo {' '.join(words)}")
    shown = ["".join(span.text for span in line) for line in lines]
    assert [" ".join(words[:22]), "  " + " ".join(words[22:])] == shown


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("begun 2026-01-31 10:00:00+00:00", "begun 2026-02-01 11:59:59+01:00"),
        ("time: mark 0.1 s, 7 B, 12.3 KiB", "time: mark 1 min 12 s, 1,001 B, 9.9 MiB"),
        ("live set 7b0f7e3c-1f9c-4d0e-9a39-5a3a2b1c0d9e", "live set 00000000-1f9c-4d0e-9a39-5a3a2b1c0d9e"),
        ("a    b", "a b"),
    ],
)
def test_times_sizes_ids_and_spaces_are_no_difference(one: str, other: str) -> None:
    assert comparable(one) == comparable(other)


def test_counts_and_words_are_a_difference() -> None:
    assert comparable("deleted 3 files") != comparable("deleted 4 files")
