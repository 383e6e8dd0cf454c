"""The outcome file of restore and purge: a line or row for every file that they looked at, once (S15)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa

from nessie_gc_core.model.batches import Row, from_micros, to_batches, to_micros
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.model.text import json_time
from nessie_gc_core.model.times import Clock
from nessie_gc_core.services.outcome_formats import RECORDED, OutcomeFormat, open_format, telling_errors

_SAID = pa.schema(
    [pa.field(name, pa.string(), nullable=False) for name in ("live_set_id", "location", "path", "modified", "outcome")]
)
_AGAIN = ("failed", "kept", "waiting", "blocked")
"""Outcomes of files that stay in quarantine: a later run says so again, whatever an earlier one or a sweep said."""
_AT_ONCE = 10_000
"""How many files are written at once."""


class ReleasedFiles:
    """Writes what became of files in quarantine; nothing without a file.

    Their lines are written, and cannot get lost, before their records change. So a run that is killed leaves no file
    without a line; and the next one, which finds the record as it was, looks whether the line is there already.
    """

    def __init__(self, path: str | None, *, rules: LocationRules, clock: Clock, alone: bool) -> None:
        """Opens the file, before anything is touched.

        Args:
            path: the file; ``None``: nothing is written.
            rules: how locations are compared.
            clock: says what time it is.
            alone: whether a lease is held, so that nobody else writes to the file.

        Raises:
            ConfigurationError: it cannot be written.
        """
        self._path = None if path is None else Path(path)
        self._rules = rules
        self._clock = clock
        self._format: OutcomeFormat | None = None if self._path is None else open_format(self._path, alone=alone)
        self._rows: list[Row] = []
        self._said: set[Row] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._format is not None:
            with telling_errors(self._path):
                self._write(self._format)
                self._format.close()

    def begin(self, files: Iterable[HeldFile], doing: HeldState) -> None:
        """Looks for what a killed run wrote of those files of a step that it may have begun to release."""
        mine = [file for file in files if file.state in (doing, HeldState.MOVING)]
        begun: dict[Row, Row] = {(*_key(file)[:-1], form): _key(file) for file in mine for form in _forms(file)}
        self._said.clear()
        if self._format is None or not begun:
            return
        with telling_errors(self._path):
            self._said.update((*begun[row[:-1]], row[-1]) for row in _rows(self._format) if row[:-1] in begun)

    def add(self, file: HeldFile, outcome: str, reason: str | None) -> None:
        """Names a file with its outcome."""
        if self._format is None or (outcome not in _AGAIN and (*_key(file), outcome) in self._said):
            return
        unit = self._rules.place_prefix_or_none(file.location) or file.location
        name = (unit, file.location, file.path, file.size or 0, to_micros(file.modified), file.sidecar)
        self._rows.append((*name, outcome, reason, str(file.live_set_id), to_micros(self._clock())))
        if len(self._rows) >= _AT_ONCE:
            with telling_errors(self._path):
                self._write(self._format)

    def sync(self) -> None:
        """Makes sure that nothing takes away any more what was named."""
        if self._format is not None:
            with telling_errors(self._path):
                self._write(self._format)
                self._format.sync()

    def _write(self, format_: OutcomeFormat) -> None:
        for batch in to_batches(self._rows, RECORDED):
            format_.write(batch)
        self._rows.clear()


def _key(file: HeldFile) -> tuple[str, str, str, str]:
    return str(file.live_set_id), file.location, file.path, str(to_micros(file.modified))


def _forms(file: HeldFile) -> tuple[str, str, str]:
    """How formats, and earlier versions, write the time of a file: two states of one path are two files."""
    text = str(json_time(from_micros(to_micros(file.modified))))
    return str(to_micros(file.modified)), text, text.replace("Z", "+00:00")


def _rows(format_: OutcomeFormat) -> Iterator[Row]:
    """What the file says of all files so far (:data:`_SAID`)."""
    for batch in format_.names_since(0, _SAID):
        yield from zip(*(batch.column(name).to_pylist() for name in _SAID.names), strict=True)
