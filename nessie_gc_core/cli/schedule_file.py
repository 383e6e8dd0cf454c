"""The configuration file of a scheduler while it runs."""

from __future__ import annotations

from pathlib import Path

from nessie_gc_core.api.schedule_file import ScheduleFile
from nessie_gc_core.cli.command import Call, known_options
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import ScheduleDefinition
from nessie_gc_core.services.schedule.file_watch import FileWatch


def watched_file(call: Call, definition: ScheduleDefinition) -> FileWatch:
    """The file of a scheduler, from which it has this definition."""
    before = call.session.config
    file = ScheduleFile(
        path=Path(before.name).absolute(),
        known=known_options(call.context.find_root().command),
        plugins=installed(),
        name=definition.name,
        before=before,
    )
    return file.watch(definition)
