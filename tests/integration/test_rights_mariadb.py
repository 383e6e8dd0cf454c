"""The roles for MariaDB have exactly the rights that the statements of each command need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from expiry_lakes import ExpiryLake
from mariadb_accounts import MariaDbAccounts, granted, roles
from rights_of_statements import Right
from uses_of_stores import USES, Lake, lake_of_stores, mark, sweep

from nessie_gc_core.errors import StoreError
from nessie_gc_core.testing.servers import MariaDbServer, running

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def accounts() -> Iterator[MariaDbAccounts]:
    with running(MariaDbServer) as server:
        yield MariaDbAccounts.created(server)


@pytest.fixture
def lake(expiry_lake: ExpiryLake) -> Iterator[Lake]:
    with lake_of_stores(expiry_lake) as lake:
        yield lake


@pytest.mark.thorough(role="nessie_gc_read")
@pytest.mark.thorough(role="nessie_gc_prune")
@pytest.mark.thorough(role="nessie_gc_tag")
@pytest.mark.thorough(role="nessie_gc_schedule")
@pytest.mark.parametrize("role", USES)
def test_a_role_may_do_what_its_commands_do_and_nothing_else(accounts: MariaDbAccounts, lake: Lake, role: str) -> None:
    accounts.do("TRUNCATE mysql.general_log")
    USES[role](lake, accounts.url(role), accounts.owner)
    assert granted(role) == accounts.needed(role)


@pytest.mark.thorough
@pytest.mark.parametrize("right", sorted(granted("nessie_gc_mark")))
def test_one_right_less_is_said_in_one_line(accounts: MariaDbAccounts, lake: Lake, right: Right) -> None:
    table, verb = right
    accounts.do(f"REVOKE {verb} ON {table} FROM nessie_gc_mark")
    try:
        with pytest.raises(StoreError) as caught:
            mark(lake, accounts.url("nessie_gc_mark"), accounts.owner)
    finally:
        accounts.do(f"GRANT {verb} ON {table} TO nessie_gc_mark")
    assert f"{verb} command denied to user" in str(caught.value)
    assert 1 == len(str(caught.value).splitlines())


@pytest.mark.thorough
def test_an_account_with_a_role_that_has_two_of_them_marks_and_sweeps(accounts: MariaDbAccounts, lake: Lake) -> None:
    accounts.do("CREATE ROLE gc")
    for role in ("nessie_gc_mark", "nessie_gc_sweep"):
        accounts.do(f"GRANT {role} TO gc")
    accounts.add("gc")
    sweep(lake, url=accounts.url("gc"), owner=accounts.url("gc"))


def test_the_script_has_no_other_roles() -> None:
    assert [*USES] == roles()
