"""Commands in a real terminal, and what is on its screen after them."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyte

COLUMNS = 112
_WIDEST, _ROWS = 500, 300
"""Of the screen that takes what programs write: longer lines are broken between words afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Some characters of a line that look alike."""

    text: str
    colour: str
    """The name of a colour, or ``default``."""
    bold: bool


Line = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Terminal:
    """A folder and an environment in which a user types commands."""

    folder: Path
    environment: Mapping[str, str]
    home: str = "/home/ada/my-lakes"
    """What is shown for the folder; as long as its name, where columns are to stay aligned."""

    def run(self, command: str) -> tuple[Line, ...]:
        """Runs a command in bash to its end; what it wrote, as the screen shows it.

        Addresses of this machine get the usual port of a Nessie.
        """
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, COLUMNS, 0, 0))
        environment = {name: value for name, value in self.environment.items() if name not in ("COLUMNS", "NO_COLOR")}
        process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.folder,
            env={**environment, "TERM": "xterm-256color"},
            stdin=side,
            stdout=side,
            stderr=side,
        )
        os.close(side)
        try:
            written = b"".join(_chunks(main)).decode(errors="replace")
        finally:
            os.close(main)
            exit_code = process.wait()
        assert 0 == exit_code, f"{command}\nended with {exit_code} and printed:\n{written}"
        written = re.sub(r"(127\.0\.0\.1|localhost):\d+", "localhost:19120", written)
        return tuple(_lines(written.replace(str(self.folder), self.home)))


def _chunks(terminal: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # nobody has the other side open any more
            return
        if not chunk:
            return
        yield chunk


def _lines(written: str) -> Iterator[Line]:
    """The lines on the screen, without empty ones at the end."""
    screen = pyte.Screen(_WIDEST, _ROWS)
    pyte.Stream(screen).feed(written)
    filled = [number for number, line in enumerate(screen.display) if line.strip()]
    for number in range(filled[-1] + 1 if filled else 0):
        row = [screen.buffer[number][column] for column in range(_WIDEST)]
        spans = [
            Span(text="".join(char.data for char in chars), colour=colour, bold=bold)
            for (colour, bold), chars in itertools.groupby(row, lambda char: (char.fg, char.bold))
        ]
        yield from _broken(_trimmed(spans))


def _broken(line: Line) -> Iterator[Line]:
    """A line in parts that fit into the window, broken between words; later parts are indented."""
    text = "".join(span.text for span in line)
    if len(text) <= COLUMNS:
        yield line
        return
    at = text.rfind(" ", 0, COLUMNS) + 1 or COLUMNS
    yield _trimmed(list(_cut(line, 0, at)))
    yield from _broken((Span(text="  ", colour="default", bold=False), *_cut(line, at, len(text))))


def _cut(line: Line, begin: int, end: int) -> Iterator[Span]:
    """The characters of a line between two places."""
    start = 0
    for span in line:
        text = span.text[max(begin - start, 0) : max(end - start, 0)]
        start += len(span.text)
        if text:
            yield Span(text=text, colour=span.colour, bold=span.bold)


def _trimmed(spans: list[Span]) -> Line:
    while spans and not spans[-1].text.strip():
        spans.pop()
    if spans:
        last = spans[-1]
        spans[-1] = Span(text=last.text.rstrip(), colour=last.colour, bold=last.bold)
    return tuple(spans)
