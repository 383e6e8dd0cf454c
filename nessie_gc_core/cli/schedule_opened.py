"""The schedule of the configuration file, for commands."""

from __future__ import annotations

from contextlib import AbstractContextManager

from nessie_gc_core.api.schedule import OpenedSchedule
from nessie_gc_core.api.schedule import open_schedule as open_given
from nessie_gc_core.cli.command import Call
from nessie_gc_core.cli.stores import check_store_lasts
from nessie_gc_core.plugins import installed


def open_schedule(call: Call) -> AbstractContextManager[OpenedSchedule]:
    """Opens the schedule.

    Raises:
        ConfigurationError: the configuration file has none, or something is wrong with it.
    """
    check_store_lasts(call, needed=True)
    return open_given(call.given(), installed())
