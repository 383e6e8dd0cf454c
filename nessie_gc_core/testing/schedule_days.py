"""Tests of schedule stores: what runs did on each day."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta, timezone

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.schedule import MOST_BYTES, DayOfRuns, JobRun, RunStatus, TableBytes, TableDay
from nessie_gc_core.testing.demands import demands
from nessie_gc_core.testing.schedule_samples import HOUR, LONG, NOON, ScheduleFixtures, done, job, run_of

_TODAY = NOON.date()
_DAY = timedelta(days=1)
_SIZES = ("reclaimed", "garbage")


class DayTests(ScheduleFixtures):
    """What a store sums by day."""

    @demands("days: each run counts on the day, UTC, on which it started, with its status and its reclaimed bytes.")
    def test_days_tell_what_became_of_their_runs(self, schedules: ScheduleStore, schedule: str) -> None:
        abroad = timezone(timedelta(hours=14))
        for hours, status in (
            (0, RunStatus.SUCCEEDED),
            (11, RunStatus.SUCCEEDED),
            (11, RunStatus.FAILED),
            (12, RunStatus.SUCCEEDED),
            (-24, RunStatus.TIMED_OUT),
            (-48, RunStatus.SUCCEEDED),
        ):
            run = replace(_begun(schedules, schedule), status=status)
            run = replace(run, started=(NOON + hours * HOUR).astimezone(abroad))
            assert self._finish(schedules, schedule, run, status)
        self._start(schedules, schedule, _begun(schedules, schedule))
        big = 2**50
        assert [
            _runs(_TODAY - _DAY, RunStatus.TIMED_OUT, 1, big),
            _runs(_TODAY, RunStatus.FAILED, 1, big),
            _runs(_TODAY, RunStatus.RUNNING, 1, 0),
            _runs(_TODAY, RunStatus.SUCCEEDED, 2, 2 * big),
            _runs(_TODAY + _DAY, RunStatus.SUCCEEDED, 1, big),
        ] == sorted(schedules.days(schedule, since=_TODAY - _DAY), key=lambda each: (each.day, each.status))
        assert schedules.days(schedule + "2", since=date(2000, 1, 1)) == []

    @demands("table_days: of each table the most garbage that a run of the day found, and the sum of what is gone.")
    def test_days_tell_what_runs_say_of_tables(self, schedules: ScheduleStore, schedule: str) -> None:
        odd = "naïve 表 'x' % \\" * 30
        for days, tables in (
            (-9, [TableBytes(table="a", garbage=2**60)]),
            (0, [TableBytes(table="a", garbage=7, reclaimed=1), TableBytes(table=odd, garbage=5)]),
            (0, [TableBytes(table="a", garbage=3, reclaimed=2**50)]),
            (1, [TableBytes(table="a", reclaimed=4)]),
        ):
            run = replace(_begun(schedules, schedule), started=NOON + days * _DAY)
            assert self._finish(schedules, schedule, run, tables=tables)
        today, tomorrow = _TODAY, _TODAY + _DAY
        assert [
            TableDay(day=today, table="a", garbage=7, reclaimed=2**50 + 1),
            TableDay(day=today, table=odd, garbage=5, reclaimed=0),
            TableDay(day=tomorrow, table="a", garbage=0, reclaimed=4),
        ] == sorted(schedules.table_days(schedule, since=today, most=9), key=_order)
        assert schedules.table_days(schedule + "2", since=today, most=9) == []

    @demands("table_days: only the largest tables have their own rows; the others are one sum for each day.")
    def test_all_but_the_largest_tables_are_one_sum(self, schedules: ScheduleStore, schedule: str) -> None:
        for days, sizes in ((0, {"a": 10, "b": 20, "c": 30, None: 1000}), (1, {"a": 25, "b": 5})):
            run = replace(_begun(schedules, schedule), started=NOON + days * _DAY)
            tables = [TableBytes(table=name, garbage=size, reclaimed=size) for name, size in sizes.items()]
            assert self._finish(schedules, schedule, run, tables=tables)
        today, tomorrow = _TODAY, _TODAY + _DAY
        assert [
            TableDay(day=today, table=None, garbage=1020, reclaimed=1020),
            TableDay(day=today, table="a", garbage=10, reclaimed=10),
            TableDay(day=today, table="c", garbage=30, reclaimed=30),
            TableDay(day=tomorrow, table=None, garbage=5, reclaimed=5),
            TableDay(day=tomorrow, table="a", garbage=25, reclaimed=25),
        ] == sorted(schedules.table_days(schedule, since=today, most=2), key=_order)

    @demands("table_days: tables rank by all that was reclaimed of them, and by the most garbage of a day.")
    def test_tables_rank_by_all_that_is_gone_and_by_garbage_at_once(
        self, schedules: ScheduleStore, schedule: str
    ) -> None:
        for days in range(3):
            run = replace(_begun(schedules, schedule), started=NOON + days * _DAY)
            tables = [TableBytes(table="little garbage", garbage=60), TableBytes(table="gone", reclaimed=40)]
            tables += [TableBytes(table="much garbage", garbage=100)] if days == 1 else []
            assert self._finish(schedules, schedule, run, tables=tables)
        found = schedules.table_days(schedule, since=_TODAY, most=2)
        assert {"gone", "much garbage", None} == {each.table for each in found}
        assert [sum(getattr(each, name) for each in found if each.table is None) for name in _SIZES] == [0, 180]

    @demands("table_days: no number that a run says of a table costs the days of another one.")
    def test_sums_are_larger_than_any_number_of_a_run(self, schedules: ScheduleStore, schedule: str) -> None:
        most, largest = 2**62, MOST_BYTES
        many = [TableBytes(table=f"t{number}", garbage=largest, reclaimed=largest) for number in range(140)]
        for tables in (many, *[[TableBytes(table="a", reclaimed=most)]] * 3):
            assert self._finish(schedules, schedule, _begun(schedules, schedule), tables=tables)
        largest_table, others = sorted(schedules.table_days(schedule, since=_TODAY, most=1), key=_order, reverse=True)
        assert ("a", None, 140 * largest, 140 * largest) == (
            largest_table.table,
            others.table,
            others.garbage,
            others.reclaimed,
        )
        assert largest_table.reclaimed >= most

    @demands("finish_run: nothing of it counts, on no day and of no table, if the run is not finished by it.")
    def test_what_an_outcome_that_is_refused_says_does_not_count(self, schedules: ScheduleStore, schedule: str) -> None:
        run, tables = _begun(schedules, schedule), [TableBytes(table="a", reclaimed=4)]
        assert self._finish(schedules, schedule, run, tables=tables)
        counted = schedules.days(schedule, since=_TODAY)
        again = replace(done(run, RunStatus.FAILED), numbers={"deleted.bytes": 7})
        assert not schedules.finish_run(schedule, again, tables=tables)
        assert counted == schedules.days(schedule, since=_TODAY)
        assert [each.reclaimed for each in schedules.table_days(schedule, since=_TODAY, most=9)] == [4]

    @demands("forget_runs: what runs said of tables on earlier days goes, also if the run stays.")
    def test_what_was_said_of_tables_is_forgotten_with_the_runs(self, schedules: ScheduleStore, schedule: str) -> None:
        for days in (0, 1):
            run = replace(_begun(schedules, schedule), started=NOON + days * _DAY)
            assert self._finish(schedules, schedule, run, tables=[TableBytes(table="a", reclaimed=4)])
        assert schedules.forget_runs(schedule, before=NOON + _DAY) == 0
        left = schedules.table_days(schedule, since=date(2000, 1, 1), most=9)
        assert [each.day for each in left] == [_TODAY + _DAY]

    @staticmethod
    def _start(schedules: ScheduleStore, schedule: str, run: JobRun) -> bool:
        return schedules.start_run(schedule, run, then=None, lease=LONG)

    def _finish(
        self,
        schedules: ScheduleStore,
        schedule: str,
        run: JobRun,
        status: RunStatus = RunStatus.SUCCEEDED,
        tables: list[TableBytes] | tuple[()] = (),
    ) -> bool:
        begun = replace(run, status=RunStatus.RUNNING)
        return self._start(schedules, schedule, begun) and schedules.finish_run(
            schedule, done(run, status), tables=tables
        )


def _begun(schedules: ScheduleStore, schedule: str) -> JobRun:
    """A run of a job that is new and has no other."""
    run = run_of(job())
    found = job(f"job {run.id}")
    schedules.add_job(schedule, found)
    return replace(run, job=found.name)


def _runs(day: date, status: RunStatus, runs: int, reclaimed: int) -> DayOfRuns:
    return DayOfRuns(day=day, status=status, runs=runs, reclaimed=reclaimed)


def _order(each: TableDay) -> tuple[date, str]:
    return each.day, each.table or ""
