"""The configuration file of a scheduler while it runs."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from nessie_gc_core.cli.command import Call, known_options
from nessie_gc_core.config.file import ConfigFile, keys_of
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.config.settings import PluginSettings, StoreSettings
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.file_watch import FileWatch


def watched_file(call: Call, definition: ScheduleDefinition) -> FileWatch:
    """The file of a scheduler, from which it has this definition."""
    before = call.session.config
    path, known = Path(before.name).absolute(), known_options(call.context.find_root().command)

    def read() -> ScheduleDefinition:
        file = ConfigFile.read(path, known)
        found = ScheduleDefinition.read(file, JobDigests(installed()))
        if found.name != definition.name:
            raise ConfigurationError(f"it has the schedule {found.name!r} now; restart the scheduler")
        if _of_process(file) != _of_process(before):
            raise ConfigurationError("it has another store or other plugins now; restart the scheduler")
        return found

    return FileWatch(path, definition, read)


def _of_process(file: ConfigFile) -> object:
    """What a process reads once: how the store is reached, and which plugins count."""
    names = (field.name for group in (StoreSettings, PluginSettings) for field in dataclasses.fields(group))
    return {key: file.options.get(key) for key in keys_of(names)}, dict(file.store)
