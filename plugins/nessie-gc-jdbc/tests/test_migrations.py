"""Tables of an earlier release become those of this one, with all that they hold."""

from __future__ import annotations

import json
import shutil
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
import sqlalchemy
from alembic.config import Config
from alembic.script import ScriptDirectory
from each_database import engine_of
from nessie_gc_jdbc import JdbcLiveSetStore, JdbcScheduleStore, database, migrations
from nessie_gc_jdbc.options import SchemaStrategy
from nessie_gc_jdbc.schedule_days import SUMMED
from nessie_gc_jdbc.schedule_rows import time_key
from nessie_gc_jdbc.schema import alone, apply_strategy, check_foreign_keys
from nessie_gc_jdbc.tables import SCHEMA_VERSION, to_micros
from old_tables import (
    LIVE_SET,
    MIGRATIONS,
    all_rows,
    columns,
    fill,
    make_stamped_version_4,
    make_version_3,
    make_version_4,
    make_version_5,
    run,
)
from test_processes import answers
from test_processes import run as start_worker

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model import DroppedSweep, RowsDigest

CURRENT = str(SCHEMA_VERSION)
EVENING = datetime(2026, 3, 1, 23, tzinfo=UTC)


def opened(url, **options):
    return JdbcLiveSetStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS", **options})


def create(url, strategy="CREATE"):
    with opened(url) as store:
        store.create_schema(strategy)


def revisions(engine):
    with engine.connect() as connection:
        return list(connection.execute(sqlalchemy.text(f"SELECT version_num FROM {MIGRATIONS}")).scalars())


def versions(engine):
    with engine.connect() as connection:
        return list(connection.execute(sqlalchemy.text("SELECT version FROM nessie_gc_schema")).scalars())


def test_the_last_migration_makes_the_version_that_this_release_needs():
    config = Config()
    config.set_main_option("script_location", migrations.SCRIPTS)
    assert [CURRENT] == ScriptDirectory.from_config(config).get_heads()


@pytest.mark.parametrize("make", [make_version_3, make_version_4, make_stamped_version_4, make_version_5])
def test_old_tables_are_brought_up_to_date_with_all_their_rows(url, engine, make):
    make(engine)
    fill(engine)
    before = all_rows(engine)
    with opened(url) as store:
        assert [UUID(LIVE_SET)] == [live_set.id for live_set in store.live_sets()]
    after = all_rows(engine)
    assert before == as_they_were(after, before)
    assert ([CURRENT], [SCHEMA_VERSION]) == (revisions(engine), versions(engine))


def test_s34_live_sets_of_an_earlier_release_have_no_digests_and_new_ones_do(url, engine):
    make_version_5(engine)
    fill(engine)
    with opened(url) as store:
        new, digest = uuid4(), RowsDigest(rows=3, total=2**128 - 1)
        store.start_identify(new, repository="r", created=EVENING)
        store.finish_identify(new, at=EVENING, versions=digest)
        store.start_expire(new, at=EVENING)
        store.finish_expire(new, at=EVENING, deletions=digest, dropped=DroppedSweep(after=timedelta(days=1), left=0))
        assert (None, None) == (store.get(UUID(LIVE_SET)).versions, store.get(UUID(LIVE_SET)).deletions)
        assert (digest, digest) == (store.get(new).versions, store.get(new).deletions)
        run(engine, f"UPDATE nessie_gc_live_sets SET versions_digest = 'odd' WHERE live_set_id = '{new}'")
        assert -1 == store.get(new).versions.rows


def as_they_were(after, before):
    """Rows without the columns that they did not have before."""
    return {
        name: [row[: len(old)] for row, old in zip(after[name], before[name], strict=True)]
        for name in before
        if name in after
    }


def test_runs_of_earlier_releases_are_counted_on_their_day(url, engine):
    make_version_5(engine)
    fill(engine)
    started = [EVENING + number * timedelta(minutes=1) for number in range(1001)]
    with engine.begin() as connection:
        runs = sqlalchemy.Table("nessie_gc_job_runs", sqlalchemy.MetaData(), autoload_with=connection)
        (row,) = connection.execute(runs.select()).mappings()
        fixed = {**row, "schedule": "s", "job": "j", "status": "SUCCEEDED"}
        connection.execute(runs.insert(), [{**fixed, **key_of_run(at)} for at in started])
    with JdbcScheduleStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS"}) as store:
        counts = [(each.day, each.runs, each.reclaimed) for each in store.days("s", since=EVENING.date())]
        found = [run.started for run in store.runs("s", jobs=["j"])]
    assert [(EVENING.date(), 60, 540), (EVENING.date() + timedelta(days=1), 941, 8469)] == counts
    assert started[::-1] == found


@pytest.mark.parametrize(
    ("job", "begun"),
    [
        ("attempt = 2, by_hand = 1, due = 5, last = 4", True),
        ("attempt = 1, by_hand = 0, due = 5, last = 5", True),
        ("attempt = 1, by_hand = 0, due = 5, last = 4", False),
        ("attempt = 1, by_hand = 0, due = 5, last = NULL", False),
        ("attempt = 1, by_hand = 1, due = 5, last = 6", False),
    ],
)
def test_jobs_of_an_earlier_release_that_are_to_be_repeated_go_on_with_what_was_begun(tmp_path, job, begun):
    url = f"sqlite:///{tmp_path / 'old.db'}"
    engine = engine_of(url)
    make_version_5(engine)
    fill(engine)
    run(engine, f"UPDATE nessie_gc_jobs SET outcome = NULL, {job}")
    with JdbcScheduleStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS"}) as store:
        store.renew_run("s", uuid4(), lease=timedelta(hours=1))
    with engine.connect() as connection:
        found = connection.execute(sqlalchemy.text("SELECT begun FROM nessie_gc_jobs")).scalars()
        assert [begun] == [bool(each) for each in found]
    engine.dispose()


def deleted(name, size):
    return json.dumps({name: {"deleted": {"files": 1, "bytes": size}}, "exit_code": 1})


OLD_RUNS = [
    ("gc", '{"deleted.bytes": 5, "outcomes.deleted.bytes": 2, "collection.deleted.bytes": 4}', None, 7),
    ("gc", f'{{"deleted.bytes": {2**64}}}', None, 2**56),
    ("gc", f'{{"deleted.bytes": {-(2**64)}}}', None, 0),
    ("gc", '{"exit_code": 1}', deleted("done", 6), 6),
    ("sweep", '{"exit_code": 1}', deleted("done", 6), 0),
    ("expire-snapshots", "{}", deleted("collection", 7), 7),
    ("expire-snapshots", "{}", deleted("collection", 2**70), 2**56),
    ("purge", '{"purged.bytes": 3}', deleted("collection", 8), 3),
    ("gc", "{}", '{"deleted', 0),
]
"""Service, numbers and report, and how much that is."""
NO_NUMBERS = ['{"deleted.bytes": null}', '{"deleted.bytes": "5"}', "[3]", "no JSON"]


def test_what_runs_of_earlier_releases_reclaimed_is_what_they_say(url, engine):
    known = [{"service": service, "numbers": numbers, "report": report} for service, numbers, report, _ in OLD_RUNS]
    with opened_with_runs(url, engine, known) as store:
        counted = [each.reclaimed for each in store.days("s", since=EVENING.date())]
        said = [run.reclaimed for run in store.runs("s")][::-1]
    assert [[size for *_, size in OLD_RUNS]] * 2 == [counted, said]


def test_numbers_that_are_none_cost_no_other_run(url, engine):
    with opened_with_runs(url, engine, [{"numbers": each} for each in (*NO_NUMBERS, '{"deleted.bytes": 5}')]) as store:
        assert [0, 0, 0, 0, 5] == [each.reclaimed for each in store.days("s", since=EVENING.date())]


def test_runs_that_a_scheduler_of_an_earlier_release_ends_later_are_counted(url, engine):
    running = {"status": "RUNNING", "numbers": "{}", "exit_code": None}
    with opened_with_runs(url, engine, [running]) as store:
        assert [] == store.days("s", since=EVENING.date())
        ends_here(engine, key_of_run(EVENING + timedelta(days=1)))
        assert 0 == store.forget_runs("s", before=EVENING)
        counts = [(each.day, each.status, each.reclaimed) for each in store.days("s", since=EVENING.date())]
        names = [run.started for run in store.runs("s", jobs=["j"])]
    days = [EVENING + timedelta(days=number) for number in (0, 1)]
    assert [(day.date(), "SUCCEEDED", 5) for day in days] == counts
    assert days[::-1] == names


def ends_here(engine, key):
    """What an earlier release writes: the end of the run that is going on, and another run."""
    ended = "status = 'SUCCEEDED', exit_code = 0, numbers = '{\"deleted.bytes\": 5}'"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE nessie_gc_job_runs SET {ended} WHERE status = 'RUNNING'")
        runs = sqlalchemy.Table("nessie_gc_job_runs", sqlalchemy.MetaData(), autoload_with=connection)
        (row,) = connection.execute(runs.select().where(runs.c.schedule == "s")).mappings()
        known = {name: row[name] for name in row if name not in SUMMED}
        connection.execute(runs.insert().values({**known, **key}))


def opened_with_runs(url, engine, known):
    """The store of an earlier release with a run of the schedule ``s`` on each day."""
    make_version_5(engine)
    fill(engine)
    with engine.begin() as connection:
        runs = sqlalchemy.Table("nessie_gc_job_runs", sqlalchemy.MetaData(), autoload_with=connection)
        (row,) = connection.execute(runs.select()).mappings()
        fixed = {**row, "schedule": "s", "job": "j", "status": "SUCCEEDED", "exit_code": 0}
        for days, values in enumerate(known):
            started = EVENING + timedelta(days=days)
            connection.execute(runs.insert().values({**fixed, **key_of_run(started), **values}))
    return JdbcScheduleStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS"})


def key_of_run(started):
    id_ = uuid4()
    return {
        "run_key": time_key("s", started) + id_.hex.encode(),
        "run_id": str(id_),
        "started": to_micros(started),
    }


def test_upgraded_tables_are_those_that_a_new_database_gets(url, engine):
    make_version_3(engine)
    create(url, "CREATE_IF_NOT_EXISTS")
    upgraded = columns(engine)
    create(url, "DROP_AND_CREATE")
    assert columns(engine) == upgraded
    assert [CURRENT] == revisions(engine)


def test_of_processes_that_open_old_tables_at_once_one_migrates(url, engine):
    make_version_3(engine)
    fill(engine)
    before = all_rows(engine)
    assert ["1"] * 2 == answers([start_worker(url, "open") for _ in range(2)])
    assert before == as_they_were(all_rows(engine), before)
    assert ([CURRENT], [SCHEMA_VERSION]) == (revisions(engine), versions(engine))


def test_a_process_waits_long_for_another_one_that_changes_a_file(sqlite_url, tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_TIMEOUT_SECONDS", 0.1)
    (tmp_path / "new folder").mkdir(exist_ok=True)
    engine = engine_of(sqlite_url)
    make_version_5(engine)
    fill(engine)
    file = tmp_path / "new folder/live-sets.db"
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("BEGIN IMMEDIATE")
        at_the_end = threading.Timer(1.5, other.execute, ["ROLLBACK"])
        at_the_end.start()
        with opened(sqlite_url) as store:
            assert [UUID(LIVE_SET)] == [live_set.id for live_set in store.live_sets()]
        at_the_end.join()
    engine.dispose()


@pytest.mark.server
def test_processes_that_create_the_tables_at_once_create_them_once(empty_mariadb_url):
    assert ["0"] * 2 == answers([start_worker(empty_mariadb_url, "open") for _ in range(2)])
    with opened(empty_mariadb_url, schema="NONE") as store:
        assert [] == list(store.live_sets())


@pytest.mark.parametrize(("revision", "what"), [(str(SCHEMA_VERSION + 1), "needs version"), ("ab12", "'ab12'")])
def test_tables_that_a_newer_release_migrated_are_refused_and_left_alone(url, engine, revision, what):
    create(url)
    run(engine, f"UPDATE {MIGRATIONS} SET version_num = '{revision}'")
    before = columns(engine)
    for strategy in ("NONE", "CREATE_IF_NOT_EXISTS"):
        with opened(url, schema=strategy) as store:
            with pytest.raises(StoreError, match=what) as caught:
                list(store.live_sets())
            assert 1 == len(str(caught.value).splitlines())
        with pytest.raises(StoreError, match=what):
            create(url, "CREATE_IF_NOT_EXISTS")
    assert (before, [revision]) == (columns(engine), revisions(engine))


@pytest.mark.parametrize("strategy", ["NONE", "CREATE_IF_NOT_EXISTS"])
@pytest.mark.parametrize(
    ("broken", "missing"),
    [
        (
            "ALTER TABLE nessie_gc_tags RENAME COLUMN periods TO seasons",
            "the column periods of the table nessie_gc_tags",
        ),
        ("DROP TABLE nessie_gc_steps", "the table nessie_gc_steps"),
    ],
)
def test_tables_without_migrations_that_are_not_what_they_say_are_refused(url, engine, strategy, broken, missing):
    create(url)
    run(engine, f"DROP TABLE {MIGRATIONS}", broken)
    with opened(url, schema=strategy) as store:
        with pytest.raises(StoreError, match=f"lacks {missing}") as caught:
            list(store.live_sets())
        assert 1 == len(str(caught.value).splitlines())


@pytest.mark.parametrize("make", [make_version_3, make_version_4, make_stamped_version_4])
def test_old_tables_that_are_to_be_left_alone_are_refused_with_what_to_do(url, engine, make):
    make(engine)
    before = columns(engine)
    with opened(url, schema="NONE") as store, pytest.raises(StoreError, match="upgrade them with `nessie-gc create-"):
        list(store.live_sets())
    assert before == columns(engine)


def test_tables_that_are_left_alone_need_no_migrations(url, engine):
    create(url)
    run(engine, f"DROP TABLE {MIGRATIONS}")
    with opened(url, schema="NONE") as store:
        assert [] == list(store.live_sets())
    assert not sqlalchemy.inspect(engine).has_table(MIGRATIONS)


# ---- a migration to come ------------------------------------------------------------------------------
NEXT = f'''
import sqlalchemy as sa
from alembic import op

revision, down_revision = "{SCHEMA_VERSION + 1}", "{CURRENT}"


def upgrade():
    op.create_table("nessie_gc_next", sa.Column("id", sa.Integer, primary_key=True), if_not_exists=True)
    FAIL
    with op.batch_alter_table("nessie_gc_live_sets", recreate="auto") as batch:
        batch.alter_column("status", type_=sa.String(60), existing_type=sa.String(40), existing_nullable=False)
        batch.add_column(sa.Column("note", sa.Text))
'''


def scripts_with_next(folder, *, fails):
    """The scripts of this release, and one more, which rebuilds the table to which all rows of live sets refer."""
    scripts = folder / "scripts of 100 %"
    shutil.copytree(Path(migrations.__file__).parent, scripts, dirs_exist_ok=True)
    (scripts / "versions/next.py").write_text(NEXT.replace("FAIL", "raise OSError('cut off')" if fails else ""))
    return str(scripts)


def migrate(store, scripts):
    def change(connection):
        with alone(connection):
            apply_strategy(connection, SchemaStrategy.CREATE_IF_NOT_EXISTS, scripts)
            check_foreign_keys(connection)

    store.database._transactions.run(change, writes=True, waits=False, rebuilds=True)


def test_a_migration_that_rebuilds_a_table_keeps_the_rows_that_refer_to_it(url, engine, tmp_path):
    make_version_4(engine)
    fill(engine)
    before = all_rows(engine)
    with opened(url) as store:
        migrate(store, scripts_with_next(tmp_path, fails=False))
    after = all_rows(engine)
    added, note = (None,) * 4, None
    assert [*before["nessie_gc_live_sets"][0], *added, note] == list(after.pop("nessie_gc_live_sets")[0])
    assert {name: rows for name, rows in before.items() if name in after} == as_they_were(after, before)
    assert "VARCHAR(60)" == columns(engine)["nessie_gc_live_sets"]["status"][0]
    assert [SCHEMA_VERSION + 1] == versions(engine)


def test_a_migration_that_is_cut_off_leaves_the_old_version_and_is_repeated(url, engine, tmp_path):
    make_version_4(engine)
    fill(engine)
    with opened(url) as store:
        with pytest.raises(OSError, match="cut off"):
            migrate(store, scripts_with_next(tmp_path, fails=True))
        assert [UUID(LIVE_SET)] == [live_set.id for live_set in store.live_sets()]
        assert [SCHEMA_VERSION] == versions(engine)
        migrate(store, scripts_with_next(tmp_path, fails=False))
    assert ([str(SCHEMA_VERSION + 1)], [SCHEMA_VERSION + 1]) == (revisions(engine), versions(engine))
    assert 1 == len(all_rows(engine)["nessie_gc_content_versions"])


def test_foreign_keys_hold_again_after_a_migration(sqlite_url):
    with opened(sqlite_url, pool_max_size=1) as store:
        store.create_schema("CREATE")
        with store.database.engine.begin() as connection:
            assert 1 == connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one()


def test_rows_that_belong_to_no_live_set_end_the_change_of_a_file(sqlite_url, tmp_path):
    with opened(sqlite_url) as store:
        store.create_schema("CREATE")
    with closing(sqlite3.connect(tmp_path / "new folder/live-sets.db")) as connection, connection:
        connection.execute("INSERT INTO nessie_gc_base_locations VALUES ('gone', x'00', 'c', 's3://b/t/')")
        connection.execute(f"DROP TABLE {MIGRATIONS}")
    with opened(sqlite_url) as store, pytest.raises(StoreError, match="belong to no live set"):
        store.create_schema("CREATE_IF_NOT_EXISTS")
