"""The configuration file of a schedule, which may change while somebody works with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from nessie_gc_core.config.file import ConfigFile, keys_of
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.config.settings import PluginSettings, StoreSettings
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.file_watch import FileWatch


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleFile:
    """A file, and what must stay as it was."""

    path: Path
    known: Iterable[str]
    """The keys that a configuration file may have."""
    plugins: PluginRegistry
    """All installed plugins."""
    name: str
    """The name of the schedule."""
    before: ConfigFile
    """The file as it was read first."""

    def read(self, contents: bytes | None = None) -> ScheduleDefinition:
        """The schedule as the file has it now.

        Args:
            contents: what it has, if that was read already.

        Raises:
            ConfigurationError: it is wrong, or it is another schedule, or one of another store.
        """
        file = ConfigFile.read(self.path, self.known, contents)
        found = ScheduleDefinition.read(file, JobDigests(self.plugins))
        if found.name != self.name:
            raise ConfigurationError(f"it has the schedule {found.name!r} now; restart the scheduler")
        if _of_process(file) != _of_process(self.before):
            raise ConfigurationError("it has another store or other plugins now; restart the scheduler")
        return found

    def watch(self, definition: ScheduleDefinition) -> FileWatch:
        """Watches it, for a scheduler that has this definition."""
        return FileWatch(self.path, definition, self.read)


def _of_process(file: ConfigFile) -> object:
    """What a process reads once: how the store is reached, and which plugins count."""
    names = (field.name for group in (StoreSettings, PluginSettings) for field in dataclasses.fields(group))
    return {key: file.options.get(key) for key in keys_of(names)}, dict(file.store)
