"""The file of a schedule, which is read again when its contents change."""

from __future__ import annotations

import dataclasses
import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.schedule.definition import JobDefinition, ScheduleDefinition, ScheduleSettings

log = logging.getLogger(__name__)

AT_ONCE = frozenset({"name", "time_zone", "quiet", "lease", "keep"})
"""Settings of a schedule that need no restart; but another name is another schedule."""


class Source(Protocol):
    """Where a scheduler has its definition from."""

    @property
    def is_changing(self) -> bool:
        """Whether it was another one just now: runs would be refused."""

    @property
    def problem(self) -> str | None:
        """Why the last look could not be used, so that runs would fail; ``None``: it could."""

    def has(self, job: JobDefinition) -> bool:
        """Whether it has a job now as it was read."""

    def look(self) -> ScheduleDefinition | None:
        """The definition if it is another one than that of the last look; else ``None``."""


class Unchanging:
    """A definition that stays as it is."""

    is_changing = False
    problem = None

    def has(self, job: JobDefinition) -> bool:
        """Always."""
        return True

    def look(self) -> None:
        """Never another one."""


class FileWatch:
    """Reads the file again when its contents have changed, and have been the same for two looks.

    A file that cannot be used leaves everything as it was, except that no run can start. It is read at each look until
    it can be used, because what is wrong may be something else, such as time zones that are just being updated.
    """

    def __init__(
        self, path: Path, known: ScheduleDefinition, read: Callable[[bytes | None], ScheduleDefinition]
    ) -> None:
        """Takes the file, what was read of it, and what reads it.

        ``read`` is given the contents of the file, or nothing if it is to read the file itself. It raises a
        ConfigurationError if the file is wrong, or needs another process.
        """
        self._path, self._known, self._read = path, known, read
        self._taken: bytes | None = None
        """A digest of the contents that were read; the first look reads them in any case."""
        self._seen: bytes | None = None
        """The same of the last look."""
        self.problem: str | None = None
        """Why what was read last cannot be used."""

    @property
    def is_changing(self) -> bool:
        """Whether the contents of the last look are newer than what was read."""
        return self._taken is not None and self._seen != self._taken

    def has(self, job: JobDefinition) -> bool:
        """Whether the file can be used now, and has a job as it was read."""
        try:
            found = self._read(None).jobs.get(job.name)
        except NessieGcError:
            return False
        return found is not None and found.digest == job.digest

    def look(self) -> ScheduleDefinition | None:
        """What the file says, if that is not what it said before."""
        contents = self._contents()
        now = hashlib.blake2b(contents or b"", digest_size=16).digest()
        is_settled, self._seen = self._taken is None or now == self._seen, now
        if not is_settled or (now == self._taken and self.problem is None):
            return None
        self._taken = now
        try:
            found = self._read(contents)
        except NessieGcError as error:
            self._cannot_be_used(one_line(error))
            return None
        self.problem = None
        if _compared(found) == _compared(self._known):
            return None
        _say_what_waits(self._known.settings, found.settings)
        self._known = found
        return found

    def _contents(self) -> bytes | None:
        try:
            return self._path.read_bytes()
        except OSError:
            return None

    def _cannot_be_used(self, problem: str) -> None:
        """Says why, unless it was the same at the last look."""
        if problem != self.problem:
            log.error("%s changed and cannot be used; no run starts until it can: %s", self._path, problem)
        self.problem = problem


def _compared(definition: ScheduleDefinition) -> object:
    jobs = {name: (job.definition, job.digest) for name, job in definition.jobs.items()}
    return definition.settings, jobs


def _say_what_waits(before: ScheduleSettings, after: ScheduleSettings) -> None:
    for field in dataclasses.fields(ScheduleSettings):
        if field.name not in AT_ONCE and getattr(before, field.name) != getattr(after, field.name):
            log.warning("another `%s` counts when the scheduler is restarted", field.name.replace("_", "-"))
