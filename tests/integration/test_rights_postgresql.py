"""The roles for PostgreSQL have exactly the rights that the statements of each command need."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from expiry_lakes import ExpiryLake
from rights_of_statements import Right, noted_statements
from store_accounts import ROLES, StoreAccounts, account_of
from uses_of_stores import USES, Lake, lake_of_stores, mark

from nessie_gc_core.errors import StoreError

pytestmark = pytest.mark.server


@pytest.fixture
def lake(expiry_lake: ExpiryLake) -> Iterator[Lake]:
    with lake_of_stores(expiry_lake) as lake:
        yield lake


def granted(role: str) -> set[Right]:
    """What the script grants to a role."""
    found = re.findall(rf"GRANT ([A-Z, ]+) ON ([a-z_, ]+) TO {role};", ROLES.read_text(encoding="utf-8"))
    return {(table, verb) for verbs, tables in found for verb in verbs.split(", ") for table in tables.split(", ")}


@pytest.mark.parametrize("role", USES)
def test_a_role_may_do_what_its_commands_do_and_nothing_else(
    store_accounts: StoreAccounts, lake: Lake, role: str
) -> None:
    with noted_statements(account_of(role)) as needed:
        USES[role](lake, store_accounts.url(role), store_accounts.owner)
    assert granted(role) == needed


@pytest.mark.parametrize("right", sorted(granted("nessie_gc_mark")))
def test_one_right_less_is_said_in_one_line(store_accounts: StoreAccounts, lake: Lake, right: Right) -> None:
    table, verb = right
    store_accounts.do(f"REVOKE {verb} ON {table} FROM nessie_gc_mark")
    try:
        with pytest.raises(StoreError) as caught:
            mark(lake, store_accounts.url("nessie_gc_mark"), store_accounts.owner)
    finally:
        store_accounts.do(f"GRANT {verb} ON {table} TO nessie_gc_mark")
    assert f"permission denied for table {table}" in str(caught.value)
    assert 1 == len(str(caught.value).splitlines())


def test_the_script_has_no_other_roles() -> None:
    created = re.findall(r"(?m)^CREATE ROLE (\w+) NOLOGIN;$", ROLES.read_text(encoding="utf-8"))
    assert [*USES] == created
