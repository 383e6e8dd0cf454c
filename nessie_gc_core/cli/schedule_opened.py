"""The schedule of the configuration file, for commands."""

from __future__ import annotations

import logging
from contextlib import AbstractContextManager

from nessie_gc_core.api.schedule import OpenedSchedule
from nessie_gc_core.api.schedule import open_schedule as open_given
from nessie_gc_core.cli.command import Call
from nessie_gc_core.cli.stores import check_store_lasts
from nessie_gc_core.model.text import shown
from nessie_gc_core.plugins import installed

log = logging.getLogger(__name__)


def open_schedule(call: Call) -> AbstractContextManager[OpenedSchedule]:
    """Opens the schedule.

    Raises:
        ConfigurationError: the configuration file has none, or something is wrong with it.
    """
    check_store_lasts(call, needed=True)
    return open_given(call.given(), installed())


def warn_if_no_scheduler_has_begun(opened: OpenedSchedule) -> None:
    """Warns if the store has no job of the schedule: often, the scheduler that goes on has another database."""
    if not any(True for _ in opened.store.jobs(opened.name)):
        log.warning(
            "no scheduler has begun with %s yet; if one is running, it has another database: name that in `jdbc-url`",
            shown(opened.place),
        )
