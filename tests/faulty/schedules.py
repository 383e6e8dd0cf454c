from __future__ import annotations

import threading
import time
from collections import Counter
from dataclasses import replace
from uuid import uuid4

import pytest
from nessie_gc_memory import MemoryScheduleStore

from faulty import fault
from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.schedule import RunStatus
from nessie_gc_core.testing.schedule_samples import NOON
from nessie_gc_core.testing.schedule_store import ScheduleStoreContract


class GoodSchedules(MemoryScheduleStore):
    """Keeps them in its process; one of them is broken."""

    name = "good"

    def __init__(self, options):
        super().__init__(options)
        self.is_broken = options.store == "broken"

    def _of(self, schedule):
        self.check()
        return super()._of(schedule)

    def define_jobs(self, schedule, jobs, *, at=None):
        self.check()
        super().define_jobs(schedule, jobs, at=at)

    def check(self):
        if self.is_broken:
            raise StoreError("the store is broken; mend it")


class ScheduleTests(ScheduleStoreContract):
    connector: type[ScheduleStore] = GoodSchedules

    @pytest.fixture
    def open_schedules(self):
        options = {"store": str(uuid4())}
        return lambda: self.connector.from_options(options)

    @pytest.fixture
    def unusable(self):
        return [lambda: self.connector.from_options({"store": "broken"})]


class TestGood(ScheduleTests):
    pass


@fault(ScheduleTests, "test_jobs_come_back_as_they_were_defined", "Jobs come back as they were defined")
class OneSchedule(GoodSchedules):
    def define_jobs(self, schedule, jobs, *, at=None):
        super().define_jobs("all", jobs, at=at)

    def jobs(self, schedule):
        return super().jobs("all")


@fault(
    ScheduleTests,
    "test_a_job_that_did_not_change_keeps_its_next_occasion",
    "define_jobs: a job with the same definition keeps its next occasion",
)
class StartsAnew(GoodSchedules):
    def define_jobs(self, schedule, jobs, *, at=None):
        super().define_jobs(schedule, [])
        super().define_jobs(schedule, jobs, at=at)


@fault(
    ScheduleTests,
    "test_a_job_that_changed_takes_its_new_occasion_and_stays_paused",
    "define_jobs: another definition brings another next occasion",
)
class ResumesWhatChanged(GoodSchedules):
    def define_jobs(self, schedule, jobs, *, at=None):
        super().define_jobs(schedule, jobs, at=at)
        for job in jobs:
            self.set_paused(schedule, job.name, paused=False)


@fault(
    ScheduleTests,
    "test_a_job_that_changed_keeps_an_occasion_that_waits",
    "define_jobs: what waits stays, or it is lost",
)
class ForgetsWhatIsDue(GoodSchedules):
    def define_jobs(self, schedule, jobs, *, at=None):
        super().define_jobs(schedule, jobs)


@fault(
    ScheduleTests,
    "test_jobs_that_are_not_given_go_and_their_runs_stay",
    "define_jobs: jobs that are not given are removed, and their runs stay",
)
class KeepsAllJobs(GoodSchedules):
    def define_jobs(self, schedule, jobs, *, at=None):
        new = {job.name for job in jobs}
        super().define_jobs(schedule, [*jobs, *(job for job in self.jobs(schedule) if job.name not in new)], at=at)


@fault(
    ScheduleTests,
    "test_a_job_that_comes_back_while_it_runs_has_its_run",
    "define_jobs: a job that comes back while a run of it is going on has that run",
)
class ForgetsWhatRuns(GoodSchedules):
    def define_jobs(self, schedule, jobs, *, at=None):
        super().define_jobs(schedule, jobs, at=at)
        found = self._of(schedule).jobs
        found.update({name: replace(job, run=None) for name, job in found.items()})


@fault(
    ScheduleTests,
    "test_a_job_that_comes_back_is_still_paused",
    "define_jobs, add_job: a job that was removed while it was paused is paused if it comes back",
)
class ForgetsPauses(GoodSchedules):
    def define_jobs(self, schedule, jobs, *, at=None):
        super().define_jobs(schedule, jobs, at=at)
        self._of(schedule).paused.clear()


@fault(
    ScheduleTests,
    "test_a_job_is_added_beside_the_others",
    "add_job: adds a job if there is none of its name",
)
class AddsAlone(GoodSchedules):
    def add_job(self, schedule, job):
        self.define_jobs(schedule, [job])


@fault(
    ScheduleTests,
    "test_due_jobs_are_those_that_may_start_the_longest_waiting_first",
    "due_jobs: those that may start, the longest waiting first",
)
class ShortestFirst(GoodSchedules):
    def due_jobs(self, schedule, *, at, limit):
        return super().due_jobs(schedule, at=at, limit=999)[::-1][:limit]


@fault(
    ScheduleTests,
    "test_a_job_that_is_resumed_has_the_occasion_that_it_had",
    "set_paused: a paused job is not due, and resumes with the occasion that it had",
)
class PausingForgets(GoodSchedules):
    def set_paused(self, schedule, name, *, paused):
        for job in self.jobs(schedule):
            if job.name == name:
                self.set_next(schedule, name, seen=job.next, then=None)
        return super().set_paused(schedule, name, paused=paused)


@fault(
    ScheduleTests,
    "test_the_next_occasion_changes_only_if_it_was_seen",
    "set_next: compares with what the caller has seen",
)
class LastWriterWins(GoodSchedules):
    def set_next(self, schedule, name, *, seen, then):
        known = {job.name: job.next for job in self.jobs(schedule)}
        return name in known and super().set_next(schedule, name, seen=known[name], then=then)


@fault(
    ScheduleTests,
    "test_schedules_that_cannot_be_used_are_an_error_and_not_empty",
    "S15: an unusable store never counts as empty",
)
class BareErrors(GoodSchedules):
    def check(self):
        if self.is_broken:
            raise OSError(5, "no disk")


@fault(ScheduleTests, "test_a_run_that_starts_has_its_job", "start_run: the run is recorded, the job is its")
class StaysDue(GoodSchedules):
    def start_run(self, schedule, run, *, then, lease):
        return super().start_run(schedule, run, then=run.occasion, lease=lease)


@fault(
    ScheduleTests,
    "test_a_run_for_another_occasion_does_not_start",
    "start_run: false, and nothing is changed, unless the job is there, free, and due for this occasion",
)
class StartsWhatever(GoodSchedules):
    def start_run(self, schedule, run, *, then, lease):
        for job in self.jobs(schedule):
            if job.name == run.job and job.next is not None:
                run = replace(run, occasion=job.next)
        return super().start_run(schedule, run, then=then, lease=lease)


@fault(
    ScheduleTests,
    "test_of_many_schedulers_one_starts_a_job",
    "start_run: of several that want a job at once, one gets it",
)
class LooksAndTakesApart(GoodSchedules):
    """In one process only one does: it has a lock of its own."""

    def __init__(self, options):
        super().__init__(options)
        self.own = threading.Lock()

    def start_run(self, schedule, run, *, then, lease):
        with self.own:
            (job,) = (each for each in self.jobs(schedule) if each.name == run.job)
            if job.run is not None or job.next != run.occasion:
                return False
            time.sleep(0.05)
            found = self._of(schedule)
            found.jobs[job.name] = job
            return super().start_run(schedule, run, then=then, lease=lease)


@fault(
    ScheduleTests,
    "test_a_skipped_run_is_recorded_and_leaves_the_job_free",
    "start_run: a run that has ended already is only recorded",
)
class HoldsWhatIsSkipped(GoodSchedules):
    def start_run(self, schedule, run, *, then, lease):
        return super().start_run(schedule, replace(run, status=RunStatus.RUNNING), then=then, lease=lease)


@fault(ScheduleTests, "test_the_last_occasion_is_the_latest", "start_run: last is the latest due of all runs")
class LastIsThisOne(GoodSchedules):
    def start_run(self, schedule, run, *, then, lease):
        started = super().start_run(schedule, run, then=then, lease=lease)
        found = self._of(schedule).jobs
        found[run.job] = replace(found[run.job], last=run.occasion.due)
        return started


@fault(ScheduleTests, "test_a_lease_is_renewed_until_it_expires", "renew_run: a run keeps its job as long as")
class NeverExpires(GoodSchedules):
    def renew_run(self, schedule, run, *, lease):
        found = self._of(schedule).leases
        if run in found:
            found[run] = self.clock() + lease
        return run in found


@fault(
    ScheduleTests,
    "test_of_many_schedulers_one_takes_over_a_lost_run",
    "finish_run with lost: of several that find a lost run at once, one takes it over",
)
class TakesOverTwice(GoodSchedules):
    """In one process only one does: it remembers."""

    def __init__(self, options):
        super().__init__(options)
        self.taken = set()

    def finish_run(self, schedule, run, *, retry=None, lost=False, tables=()):
        if not lost or run.id in self.taken:
            return super().finish_run(schedule, run, retry=retry, lost=lost, tables=tables)
        is_lost = run.id in {each.id for each in self.lost_runs(schedule)}
        self.taken.add(run.id)
        time.sleep(0.05)
        return super().finish_run(schedule, run, retry=retry, lost=True, tables=tables) or is_lost


@fault(
    ScheduleTests,
    "test_only_a_lost_run_is_finished_by_somebody_else",
    "finish_run with lost: only a run whose lease has expired",
)
class TakesWorkAway(GoodSchedules):
    def finish_run(self, schedule, run, *, retry=None, lost=False, tables=()):
        return super().finish_run(schedule, run, retry=retry)


@fault(ScheduleTests, "test_an_outcome_comes_back_as_it_was", "finish_run: the outcome comes back complete")
class CutsReports(GoodSchedules):
    def finish_run(self, schedule, run, *, retry=None, lost=False, tables=()):
        return super().finish_run(schedule, replace(run, report=run.report[:65_535]), retry=retry, lost=lost)


@fault(
    ScheduleTests,
    "test_another_attempt_is_due_unless_the_job_is_sooner",
    "finish_run with retry: another attempt is due then, unless the job starts no later anyway",
)
class AlwaysTriesAgain(GoodSchedules):
    def finish_run(self, schedule, run, *, retry=None, lost=False, tables=()):
        finished = super().finish_run(schedule, run, retry=retry, lost=lost)
        for job in self.jobs(schedule):
            if retry is not None:
                self.set_next(schedule, job.name, seen=job.next, then=retry)
        return finished


@fault(
    ScheduleTests,
    "test_history_has_what_was_asked_for_latest_first",
    "runs: those of one schedule that were asked for, each once, latest first, without reports",
)
class EarliestFirst(GoodSchedules):
    def runs(self, schedule, **wanted):
        return iter([*super().runs(schedule, **wanted)][::-1])


@fault(
    ScheduleTests,
    "test_the_last_runs_are_those_of_each_job_and_status",
    "last_runs: of each job of this schedule, and of each status, the run that started last",
)
class LastOfEachJob(GoodSchedules):
    def last_runs(self, schedule, *, until):
        return iter({run.job: run for run in super().last_runs(schedule, until=until)}.values())


@fault(
    ScheduleTests,
    "test_history_may_be_long_and_at_one_instant",
    "runs: there may be many, also at the same instant",
)
class OneRunAtATime(GoodSchedules):
    def runs(self, schedule, **wanted):
        return iter({run.started: run for run in super().runs(schedule, **wanted)}.values())


@fault(
    ScheduleTests,
    "test_the_time_is_that_by_which_leases_expire",
    "now: the clock by which leases expire",
)
class StopsItsClock(GoodSchedules):
    def now(self):
        return NOON


@fault(
    ScheduleTests,
    "test_old_runs_are_forgotten_but_those_that_are_going_on",
    "forget_runs: removes old runs of this schedule and no others",
)
class ForgetsWhatGoesOn(GoodSchedules):
    def forget_runs(self, schedule, *, before):
        found = self._of(schedule).runs
        return sum(found.pop(run.id, None) is not None for run in [*found.values()] if run.started < before)


@fault(
    ScheduleTests,
    "test_what_became_of_each_job_last_is_not_forgotten",
    "forget_runs: of the old runs of each job, the newest stays, and the newest that succeeded",
)
class ForgetsTheLastSuccess(GoodSchedules):
    def forget_runs(self, schedule, *, before):
        gone = super().forget_runs(schedule, before=before)
        latest = {run.job: run for run in [*super().runs(schedule)][::-1]}
        for run in [*self._of(schedule).runs.values()]:
            if run.started < before and run is not latest[run.job] and run.id not in self._of(schedule).leases:
                gone += self._of(schedule).runs.pop(run.id) is not None
        return gone


@fault(
    ScheduleTests,
    "test_days_tell_what_became_of_their_runs",
    "days: each run counts on the day, UTC, on which it started",
)
class CountsOnlyWhatWentWell(GoodSchedules):
    def days(self, schedule, *, since):
        return [each for each in super().days(schedule, since=since) if each.status is RunStatus.SUCCEEDED]


@fault(
    ScheduleTests,
    "test_days_tell_what_runs_say_of_tables",
    "table_days: of each table the most garbage that a run of the day found",
)
class AddsGarbage(GoodSchedules):
    def finish_run(self, schedule, run, *, retry=None, lost=False, tables=()):
        known = {each.table: each for each in self.table_days(schedule, since=run.started.date(), most=99)}
        more = [
            replace(each, garbage=each.garbage + (known[each.table].garbage if each.table in known else 0))
            for each in tables
        ]
        return super().finish_run(schedule, run, retry=retry, lost=lost, tables=more)


@fault(
    ScheduleTests,
    "test_all_but_the_largest_tables_are_one_sum",
    "table_days: only the largest tables have their own rows",
)
class LeavesOutSmallTables(GoodSchedules):
    def table_days(self, schedule, *, since, most):
        return [each for each in super().table_days(schedule, since=since, most=most) if each.table is not None]


@fault(
    ScheduleTests,
    "test_sums_are_larger_than_any_number_of_a_run",
    "table_days: no number that a run says of a table costs the days of another one",
)
class SumsInWholeNumbers(GoodSchedules):
    def table_days(self, schedule, *, since, most):
        found = super().table_days(schedule, since=since, most=most)
        if any(each.reclaimed >= 2**63 for each in found):
            raise StoreError("integer overflow")
        return found


@fault(
    ScheduleTests,
    "test_what_an_outcome_that_is_refused_says_does_not_count",
    "finish_run: nothing of it counts, on no day and of no table, if the run is not finished by it",
)
class CountsTablesFirst(GoodSchedules):
    def finish_run(self, schedule, run, *, retry=None, lost=False, tables=()):
        leases = self._of(schedule).leases
        held = leases.setdefault(run.id, self.clock())
        super().finish_run(schedule, run, tables=tables)
        leases[run.id] = held
        return super().finish_run(schedule, run, retry=retry, lost=lost)


@fault(
    ScheduleTests,
    "test_what_an_outcome_that_is_refused_says_does_not_count",
    "finish_run: nothing of it counts, on no day and of no table, if the run is not finished by it",
)
class CountsRunsFirst(GoodSchedules):
    def finish_run(self, schedule, run, *, retry=None, lost=False, tables=()):
        finished = super().finish_run(schedule, run, retry=retry, lost=lost, tables=tables)
        if run.id in self._of(schedule).runs and not lost:
            self._of(schedule).runs[run.id] = run
        return finished


@fault(
    ScheduleTests,
    "test_tables_rank_by_all_that_is_gone_and_by_garbage_at_once",
    "table_days: tables rank by all that was reclaimed of them, and by the most garbage of a day",
)
class RanksBySumsOfGarbage(GoodSchedules):
    def table_days(self, schedule, *, since, most):
        sizes = Counter[str]()
        found = super().table_days(schedule, since=since, most=999)
        for each in found:
            if each.table is not None:
                sizes[each.table] += each.garbage + each.reclaimed
        named = [name for name, _ in sizes.most_common(most)]
        return [each if each.table in named else replace(each, table=None) for each in found]


@fault(
    ScheduleTests,
    "test_what_was_said_of_tables_is_forgotten_with_the_runs",
    "forget_runs: what runs said of tables on earlier days goes, also if the run stays",
)
class KeepsWhatWasSaidOfTables(GoodSchedules):
    def forget_runs(self, schedule, *, before):
        found = self._of(schedule).tables
        kept = dict(found)
        gone = super().forget_runs(schedule, before=before)
        found.update(kept)
        return gone
