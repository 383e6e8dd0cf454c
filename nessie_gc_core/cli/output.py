"""The result of a command: lines for people, or one JSON object that nothing else gets between (S28)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from io import FileIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

import click
from rich.console import Console

from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.report_format import with_format
from nessie_gc_core.model.text import json_text, shown

PLAIN_WIDTH = 160
"""Width of tables if the output is not a terminal."""
_result: ContextVar[TextIO | None] = ContextVar("result", default=None)
"""Receives the result while everything else is kept off standard output."""
_stands_for_output: ContextVar[str | None] = ContextVar("stands_for_output", default=None)
"""A file that a command writes and that is copied to standard output."""


class _Result:
    """Where the result goes; what cannot be written there is an error of this program, in one line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Writes.

        Raises:
            NessieGcError: it cannot be written.
        """
        with _telling():
            return self._stream.write(text)

    def flush(self) -> None:
        """Flushes.

        Raises:
            NessieGcError: something cannot be written.
        """
        with _telling():
            self._stream.flush()


@contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:  # whoever read it has seen enough
        raise
    except OSError as error:
        raise NessieGcError(f"cannot write the result to standard output: {error.strerror or error}") from error


def _out() -> TextIO | None:
    """Receives the result; ``None``: standard output is closed, and nobody reads it."""
    stream = _result.get() or sys.stdout
    return None if stream is None else cast("TextIO", _Result(stream))


def standard_output() -> Console:
    """The console of results."""
    console = Console(highlight=False, soft_wrap=False, file=_out())
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    return console


def say(text: str) -> None:
    """Prints one line; data in it can neither control the terminal nor look like another line."""
    click.echo(shown(with_flags(with_names(text))), file=_out())


def with_names(text: str) -> str:
    """The text, in which standard output has its name and not that of the file that stands for it."""
    file = _stands_for_output.get()
    return text if file is None else text.replace(file, "standard output")


def write_new(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file that does not exist yet.

    Raises:
        NessieGcError: it exists, or cannot be written.
    """
    try:
        with Path(path).open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise NessieGcError(f"{path} already exists; name another file, or remove it") from error
    except OSError as error:
        raise NessieGcError(f"cannot write {path}: {error.strerror or error}") from error


def print_json(body: Mapping[str, Any]) -> None:
    """Prints one JSON object, with the version of its format."""
    click.echo(json_text(with_format(body), indent=2), file=_out())


def print_json_stream(head: Mapping[str, Any], arrays: Mapping[str, Iterable[Mapping[str, Any]]]) -> None:
    """Prints one JSON object, with the version of its format, whose arrays come as they are read."""
    out = _out()
    parts = [f"{json.dumps(key)}: {json_text(value)}" for key, value in with_format(head).items()]
    click.echo("{" + ", ".join(parts), nl=False, file=out)
    for name, rows in arrays.items():
        click.echo(f", {json.dumps(name)}: [", nl=False, file=out)
        for number, row in enumerate(rows):
            click.echo((",\n" if number else "\n") + json_text(row), nl=False, file=out)
        click.echo("]", nl=False, file=out)
    click.echo("}", file=out)


@contextmanager
def result_alone() -> Iterator[None]:
    """Keeps standard output for the result: what libraries, a JVM and other children print goes to standard error.

    Raises:
        NessieGcError: standard output is closed.
    """
    if _result.get() is not None:  # it is so already
        yield
        return
    before = sys.stdout
    if before is None:
        raise NessieGcError("standard output is closed, so that the result cannot be written: send it to a file")
    with _kept(before) as out:
        token = _result.set(out)
        sys.stdout = sys.stderr
        try:
            yield
        finally:
            sys.stdout = before
            _result.reset(token)


@contextmanager
def result_piped(*, instead_of: str) -> Iterator[BinaryIO]:
    """Gives standard output to the block alone: the result goes to standard error, as everything else does.

    Args:
        instead_of: a file that stands for standard output in the block; the result does not name it.
    """
    with result_alone():
        output = _result.get()
        assert output is not None
        tokens = _result.set(sys.stderr), _stands_for_output.set(instead_of)
        try:
            yield output.buffer
        finally:
            _result.reset(tokens[0])
            _stands_for_output.reset(tokens[1])


@contextmanager
def _kept(stream: TextIO) -> Iterator[TextIO]:
    """The stream itself; where it is the process's own, on another descriptor, while its number is standard error's."""
    kept = _copy_of(stream)
    if kept is None:
        yield stream
        return
    try:
        os.dup2(2, 1)
        with TextIOWrapper(FileIO(kept, "w", closefd=False), encoding=stream.encoding, errors=stream.errors) as out:
            yield out
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _copy_of(stream: TextIO) -> int | None:
    """Another descriptor of standard output; ``None`` where the stream is something else, as in tests."""
    try:
        stream.flush()
        return os.dup(1) if stream.fileno() == 1 else None
    except (OSError, ValueError):
        return None
