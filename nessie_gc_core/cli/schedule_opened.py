"""The schedule of the configuration file, for commands."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from nessie_gc_core.cli.command import Call
from nessie_gc_core.cli.stores import check_store_lasts
from nessie_gc_core.config.file import DEFAULT_FILE
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.config.settings import PluginSettings
from nessie_gc_core.config.specs import store_spec
from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import ScheduleDefinition

SECTION = "Schedule"
"""The heading of options of schedules."""


@dataclasses.dataclass(frozen=True, slots=True)
class OpenedSchedule:
    """The schedule of the configuration file, and its store."""

    definition: ScheduleDefinition
    store: ScheduleStore

    @property
    def name(self) -> str:
        """The name of the schedule."""
        return self.definition.name


@contextmanager
def open_schedule(call: Call) -> Iterator[OpenedSchedule]:
    """Opens the schedule.

    Raises:
        ConfigurationError: the configuration file has none, or something is wrong with it.
    """
    check_store_lasts(call, needed=True)
    file, given = call.session.config, call.given()
    if not file.name:
        raise ConfigurationError(f"a schedule is read from a file: name it with `config`, or write {DEFAULT_FILE}")
    definition = ScheduleDefinition.read(file, JobDigests(installed()))
    registry = installed().without(given.settings(PluginSettings).disable_plugin)
    spec = dataclasses.replace(store_spec(given, registry), kind="schedule-store")
    with registry.open(ScheduleStore, spec) as store:
        yield OpenedSchedule(definition, store)
