"""S19: after a commit of which nobody can tell whether it was made, its files wait until the table shows it."""

from __future__ import annotations

from typing import NoReturn

import pytest
from expiry_lakes import ExpiryLake, outcomes

from nessie_gc_core.errors import CommitUnknownError, ServiceUnavailableError
from nessie_gc_core.model import LiveSetStatus, Outcome, Removal, TableMetadata
from nessie_gc_core.services.expiry.commits import Committed


@pytest.fixture
def lake(expiry_lake: ExpiryLake) -> ExpiryLake:
    return expiry_lake


def lose_the_answer(table: TableMetadata, removal: Removal) -> NoReturn:
    raise CommitUnknownError(f"expiring snapshots of {table.content_key}: the connection broke")


def test_s19_a_commit_that_the_table_shows_was_made(lake: ExpiryLake) -> None:
    lake.table()
    lake.repository.after_commit = lose_the_answer

    report = lake.expire()

    assert {"db.t": Committed.EXPIRED} == outcomes(report)
    assert lake.needed() == lake.files()
    assert 0 == report.exit_code


def test_s19_of_a_commit_that_the_table_does_not_show_no_file_goes(lake: ExpiryLake) -> None:
    lake.table()
    lake.table("db.u")
    before = lake.files()

    def lose_one(table: TableMetadata, removal: Removal) -> None:
        if table.content_key == "db.t":
            lose_the_answer(table, removal)

    lake.repository.before_commit = lose_one
    report = lake.expire()

    assert {"db.t": Committed.UNKNOWN, "db.u": Committed.EXPIRED} == outcomes(report)
    assert before == lake.files()
    assert lake.needed("db.u") == lake.files("db/u")
    assert 1 == report.exit_code
    assert report.collection.outcomes[Outcome.SPARED].files > 0


def test_s19_a_commit_that_is_made_after_all_leaks_nothing(lake: ExpiryLake) -> None:
    lake.table()
    late: list[tuple[TableMetadata, Removal]] = []

    def delay(table: TableMetadata, removal: Removal) -> NoReturn:
        late.append((table, removal))
        lose_the_answer(table, removal)

    lake.repository.before_commit = delay
    before = lake.files()
    lake.expire()
    del lake.repository.before_commit
    assert [LiveSetStatus.EXPIRY_FAILED] == [each.status for each in lake.store.live_sets()]
    lake.repository.remove_snapshots(*late[0])
    assert before < lake.files()

    report = lake.expire()

    assert lake.needed() == lake.files()
    assert () == tuple(report.tables)
    assert report.collection.outcomes[Outcome.DELETED].files > 0


def test_s19_a_catalog_that_is_down_afterwards_tells_nothing_either(lake: ExpiryLake) -> None:
    lake.table()
    inner = lake.repository.reload
    down: list[str] = []

    def reload(table: TableMetadata) -> TableMetadata | None:
        if down:
            raise ServiceUnavailableError(down[0])
        return inner(table)

    def lose(table: TableMetadata, removal: Removal) -> NoReturn:
        down.append("the catalog does not answer")
        lose_the_answer(table, removal)

    lake.repository.reload = reload  # type: ignore[method-assign]
    lake.repository.after_commit = lose
    report = lake.expire()
    assert {"db.t": Committed.UNKNOWN} == outcomes(report)
    assert lake.needed() < lake.files()
    down.clear()
    del lake.repository.after_commit

    lake.expire()

    assert lake.needed() == lake.files()
