"""Files in quarantine are counted from an index alone, and none is missing while records change."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
import sqlalchemy
from each_database import engine_of
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_jdbc.quarantine import QuarantineVerbs, _row
from old_tables import make_version_5

from nessie_gc_core.model.quarantine import HeldFile, HeldState
from nessie_gc_core.testing.live_set_samples import NOON

SWEEPS = [UUID(int=number) for number in range(3)]


def held_file(repository, live_set_id, name):
    return HeldFile(
        repository=repository,
        live_set_id=live_set_id,
        place="s3://lake/held/",
        held_path=name,
        location="s3://lake/wh/t/",
        path=name,
        size=10,
        held=NOON,
        until=NOON + timedelta(days=30),
        state=HeldState.HELD,
    )


def held_files():
    """Files of several sweeps, places, ends and states; some are sidecars, or have no known size."""
    for number in range(60):
        file = held_file(f"r{number % 3}", SWEEPS[number % 3], f"{number}.parquet")
        yield replace(
            file,
            place=f"s3://lake/held-{number % 2}/",
            until=file.until + timedelta(days=number % 4),
            state=HeldState.HELD if number % 5 else HeldState.PURGING,
            size=None if number % 7 == 0 else number,
            sidecar=number % 6 == 0,
        )


def expected():
    """Files and bytes of each quarantine, counted here."""
    found: dict[tuple[Any, ...], tuple[int, int]] = {}
    for file in held_files():
        key = file.repository, file.live_set_id, file.place, file.until, file.state
        files, bytes_ = found.get(key, (0, 0))
        found[key] = (files, bytes_) if file.sidecar else (files + 1, bytes_ + (file.size or 0))
    return found


def counted(quarantines):
    return {
        (each.repository, each.live_set_id, each.place, each.until, each.state): (each.files, each.bytes)
        for each in quarantines
    }


@pytest.fixture
def no_row(monkeypatch):
    """Fails the test if all records are looked at."""
    monkeypatch.setattr(QuarantineVerbs, "_quarantines_by_row", lambda self: pytest.fail("looked at all records"))


def test_files_are_counted_by_their_keys(store, no_row):
    store.put_held_files(held_files())
    assert expected() == counted(store.quarantines())


def test_files_that_change_their_state_are_counted_by_their_new_key(store, no_row):
    store.put_held_files(replace(file, state=HeldState.MOVING, until=NOON) for file in held_files())
    store.put_held_files(held_files())
    assert expected() == counted(store.quarantines())


def test_records_that_move_to_another_identity_are_counted_under_it(store, no_row):
    store.put_held_files([held_file("old", SWEEPS[0], "a"), held_file("old", SWEEPS[0], "b")])
    store.move_records("old", "new")
    assert [("new", 2)] == [(each.repository, each.files) for each in store.quarantines()]


@pytest.mark.parametrize("state", [HeldState.PURGING, None], ids=["changed", "gone"])
def test_s15_no_place_is_missing_while_records_change(store, monkeypatch, state):
    file = held_file("r", SWEEPS[0], "a")
    store.put_held_files([file])
    real, questions = store.database.rows, []

    def rows(query):
        found = real(query)
        questions.append(query)
        if len(questions) == 1:
            store.forget_held_files([file])
            store.put_held_files([replace(file, state=state or HeldState.HELD, held_path="b")])
            if state:
                store.put_held_files([replace(file, state=state)])
        return found

    monkeypatch.setattr(store.database, "rows", rows)
    assert {file.place} == {each.place for each in store.quarantines()}
    assert counted(store._quarantines_by_row()) == counted(store.quarantines())


def test_records_that_an_earlier_release_writes_are_counted(store, url):
    store.put_held_files(held_files())
    engine = engine_of(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("UPDATE nessie_gc_held_files SET group_key = '' WHERE sidecar = 1"))
    engine.dispose()
    assert expected() == counted(store.quarantines())


def test_records_of_earlier_releases_get_their_keys(url, no_row):
    engine = engine_of(url)
    make_version_5(engine)
    table = sqlalchemy.Table("nessie_gc_held_files", sqlalchemy.MetaData(), autoload_with=engine)
    rows = [{name: value for name, value in _row(file).items() if name != "group_key"} for file in held_files()]
    with engine.begin() as connection:
        connection.execute(table.insert(), rows)
    engine.dispose()
    with JdbcLiveSetStore.from_options({"url": url, "schema": "CREATE_IF_NOT_EXISTS"}) as store:
        assert expected() == counted(store.quarantines())


def test_no_row_is_looked_at_for_the_sums(sqlite_url):
    with JdbcLiveSetStore.from_options({"url": sqlite_url}) as store:
        store.create_schema("CREATE")
        statements = []

        def note(connection, cursor, statement, *others):
            statements.append(statement)

        sqlalchemy.event.listen(store.database.engine, "before_cursor_execute", note)
        assert [] == store._quarantines_by_key()
        (asked,) = (each for each in statements if "GROUP BY" in each)
        with store.database.engine.connect() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked}", (1,) * asked.count("?")).all()
    looked_at = [each.detail for each in plan if "nessie_gc_held_files" in each.detail]
    index = "INDEX nessie_gc_held_files_groups"
    assert any(f"SCAN nessie_gc_held_files USING COVERING {index}" in each for each in looked_at)
    assert all(index in each for each in looked_at)
