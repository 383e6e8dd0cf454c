"""The kit on schedules in SQLite, PostgreSQL and MariaDB."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from each_database import OnMariaDb, OnPostgres, OnSqlite
from nessie_gc_jdbc import JdbcScheduleStore, limited
from nessie_gc_jdbc.schedule_last import last_run_keys
from nessie_gc_jdbc.tables import AFTER_ALL, job_runs, jobs, key_of
from sqlalchemy import select, update

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.schedule import RunStatus
from nessie_gc_core.testing.schedule_samples import HOUR, NOON, done, job, occasion, run_of, started
from nessie_gc_core.testing.schedule_store import ScheduleStoreContract

DAY = NOON.date()


class _JdbcContract(ScheduleStoreContract):
    @pytest.fixture
    def open_schedules(self, url):
        return lambda **options: schedules_at(url, **options)

    @pytest.fixture
    def unusable(self, unusable_urls):
        return [partial(schedules_at, url) for url in unusable_urls]

    @pytest.mark.parametrize("fetch_size", [1, 3])
    def test_pages_of_any_size_give_every_job_once(self, open_schedules, schedule, fetch_size):
        with open_schedules(fetch_size=fetch_size) as schedules:
            many = [job(f"job {number}", number) for number in range(7)]
            schedules.define_jobs(schedule, many)
            assert many == sorted(schedules.jobs(schedule), key=lambda each: each.name)
            assert many[:5] == schedules.due_jobs(schedule, at=occasion(4).starts, limit=9)

    def test_runs_that_say_more_than_a_number_holds_are_counted(self, open_schedules, schedule):
        with open_schedules() as schedules:
            for name in ("a", "b", "c"):
                run = started(schedules, schedule, job(name))
                assert schedules.finish_run(schedule, done(run))
            schedules.database.execute(update(job_runs).where(job_runs.c.schedule == schedule).values(reclaimed=2**62))
            assert [(3, 3 * 2**62)] == [(each.runs, each.reclaimed) for each in schedules.days(schedule, since=DAY)]


class _OnAServer(_JdbcContract):
    def test_a_statement_that_waits_for_a_lock_ends(self, open_schedules, schedule, monkeypatch):
        with open_schedules() as schedules, open_schedules() as others:
            schedules.define_jobs(schedule, [job("a", 1)])
            monkeypatch.setattr(limited, "STATEMENT_SECONDS", 1)
            with others.database.engine.begin() as holding:
                holding.execute(select(jobs).with_for_update()).all()
                with pytest.raises(StoreError, match="another process holds what is needed"):
                    schedules.set_paused(schedule, "a", paused=True)
            assert schedules.set_paused(schedule, "a", paused=True)


class TestSqlite(OnSqlite, _JdbcContract):
    def test_each_last_run_is_one_look_into_an_index(self, open_schedules):
        with open_schedules() as schedules:
            plan = schedules.database.read(partial(plan_of, last_run_keys(above=b"a", upto=b"z", by_rows=False)))
        look = "INDEX nessie_gc_job_runs_jobs (job_digest=? AND status=? AND run_key>? AND run_key<?)"
        assert {f"SEARCH nessie_gc_job_runs USING COVERING {look}"} == {step for step in plan if "job_runs" in step}


def plan_of(query, connection):
    compiled = query.compile(connection)
    values = tuple(compiled.params[name] for name in compiled.positiontup)
    return [row.detail for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", values)]


@pytest.mark.server
class TestPostgres(OnPostgres, _OnAServer):
    def test_each_last_run_is_one_look_into_an_index_though_one_job_has_all_runs(self, open_schedules, schedule):
        with open_schedules() as schedules:
            schedules.define_jobs(schedule, [job(), job("never run")])
            for hours in range(40):
                seen = next(each for each in schedules.jobs(schedule) if each.name == job().name)
                run = replace(run_of(seen, started=NOON + hours * HOUR), status=RunStatus.SKIPPED)
                assert schedules.start_run(schedule, run, then=occasion(hours + 1), lease=HOUR)
            query = last_run_keys(above=key_of(schedule), upto=key_of(schedule) + AFTER_ALL, by_rows=True)

            def explained(connection):
                connection.exec_driver_sql("ANALYZE nessie_gc_job_runs")
                connection.exec_driver_sql("SET LOCAL enable_seqscan = off")  # the table is small
                sql = query.compile(connection)
                return [row[0] for row in connection.exec_driver_sql(f"EXPLAIN {sql}", sql.params)]

            looks = [line for line in schedules.database.write(explained) if "on nessie_gc_job_runs" in line]
        assert 7 == len(looks)
        assert all("using nessie_gc_job_runs_jobs" in line for line in looks), looks


@pytest.mark.server
class TestMariaDb(OnMariaDb, _OnAServer):
    pass


def schedules_at(url, **options):
    return JdbcScheduleStore.from_options({"url": url, **options})
