"""What every schedule store must do (:class:`nessie_gc_core.connectors.ScheduleStore`)."""

from __future__ import annotations

from typing import ClassVar

from nessie_gc_core.testing.options import OptionsTests
from nessie_gc_core.testing.schedule_days import DayTests
from nessie_gc_core.testing.schedule_jobs import JobTests
from nessie_gc_core.testing.schedule_runs import RunTests


class ScheduleStoreContract(JobTests, RunTests, DayTests, OptionsTests):
    """Inherit it and give it these fixtures.

    Required:
        ``open_schedules``: a function that opens a store that is ready for use: within a test always the same one; in
        the next test a new one, or the same with whatever earlier tests left in it.

    Situations, also required; return ``NotPossible("why")`` if the situation cannot exist:
        ``unusable``: a sequence of functions that open a store that cannot be used, one for each way in which that
        can happen: its file or server is missing, is damaged, or belongs to someone else.
    """

    opener: ClassVar[str] = "open_schedules"
