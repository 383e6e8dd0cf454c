"""The kit on schedules in SQLite, PostgreSQL and MariaDB."""

from __future__ import annotations

from functools import partial

import pytest
from nessie_gc_jdbc import JdbcScheduleStore

from nessie_gc_core.testing.schedule_samples import job, occasion
from nessie_gc_core.testing.schedule_store import ScheduleStoreContract
from nessie_gc_core.testing.servers import free_ports


class _JdbcContract(ScheduleStoreContract):
    @pytest.fixture
    def open_schedules(self, url):
        return lambda **options: schedules_at(url, **options)

    @pytest.mark.parametrize("fetch_size", [1, 3])
    def test_pages_of_any_size_give_every_job_once(self, open_schedules, schedule, fetch_size):
        with open_schedules(fetch_size=fetch_size) as schedules:
            many = [job(f"job {number}", number) for number in range(7)]
            schedules.define_jobs(schedule, many)
            assert many == sorted(schedules.jobs(schedule), key=lambda each: each.name)
            assert many[:5] == schedules.due_jobs(schedule, at=occasion(4).starts, limit=9)


class TestSqlite(_JdbcContract):
    @pytest.fixture
    def url(self, sqlite_url):
        return sqlite_url

    @pytest.fixture
    def unusable(self, tmp_path):
        (tmp_path / "text.db").write_text("this is a text and no database, and it is long enough to be sure" * 20)
        return [partial(schedules_at, f"jdbc:sqlite:{tmp_path}/{path}") for path in ("no/folder.db", "text.db", "")]


@pytest.mark.server
class TestPostgres(_JdbcContract):
    @pytest.fixture
    def url(self, postgres_url):
        return postgres_url

    @pytest.fixture
    def unusable(self, postgres_server, empty_postgres_url):
        nobody = f"jdbc:postgresql://127.0.0.1:{free_ports(1)[0]}/gc?user=me"
        return [partial(schedules_at, url) for url in (nobody, postgres_server.uri("nowhere"), empty_postgres_url)]


@pytest.mark.server
class TestMariaDb(_JdbcContract):
    @pytest.fixture
    def url(self, mariadb_url):
        return mariadb_url

    @pytest.fixture
    def unusable(self, mariadb_server, empty_mariadb_url):
        nobody = f"jdbc:mariadb://127.0.0.1:{free_ports(1)[0]}/gc?user=me"
        return [partial(schedules_at, url) for url in (nobody, mariadb_server.uri("nowhere"), empty_mariadb_url)]


def schedules_at(url, **options):
    return JdbcScheduleStore.from_options({"url": url, **options})
