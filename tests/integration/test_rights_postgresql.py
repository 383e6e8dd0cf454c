"""The roles for PostgreSQL have exactly the rights that the statements of each command need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from collecting import LakeServices, in_memory
from in_quarantine import DEAD, purge, restore, with_garbage
from lakes_by_hand import lake_at
from nessie_gc_jdbc import JdbcLiveSetStore, JdbcScheduleStore
from nessie_gc_memory import MemoryLake
from rights_of_statements import Right, noted_statements
from tagged_lakes import BEGIN, tagged_lake

from nessie_gc_core.errors import StoreError
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.stored_live_sets import LiveSetService
from nessie_gc_core.testing.schedule_samples import HOUR, LONG, NOON, done, job, occasion, run_of
from nessie_gc_core.testing.servers import PostgresServer

pytestmark = pytest.mark.server
ROLES = Path(__file__).parents[2] / "examples" / "rights" / "postgresql" / "roles.sql"


@dataclass(frozen=True, kw_only=True)
class Accounts:
    """A database with tables and roles, and an account for each role."""

    server: PostgresServer
    database: str

    @property
    def owner(self) -> str:
        """The URL for the owner of the tables."""
        return self.server.uri(self.database)

    def url(self, role: str) -> str:
        """The URL for the account of a role."""
        return f"postgresql://{account(role)}:word@127.0.0.1:{self.server.port}/{self.database}"

    def do(self, statements: str) -> None:
        """As the owner."""
        with psycopg.connect(self.owner) as connection:
            connection.execute(statements.encode())


@pytest.fixture(scope="module")
def accounts(postgres: PostgresServer) -> Accounts:
    accounts = Accounts(server=postgres, database=postgres.create_database("rights"))
    with JdbcLiveSetStore.from_options({"url": accounts.owner}) as store:
        store.create_schema("CREATE")
    accounts.do(ROLES.read_text(encoding="utf-8"))
    for role in USES:
        accounts.do(f"CREATE ROLE {account(role)} LOGIN PASSWORD 'word' IN ROLE {role}")
    return accounts


@dataclass(frozen=True, kw_only=True)
class Lake:
    """A lake with garbage, and its services with one store or another."""

    lake: MemoryLake
    services: LakeServices

    def over(self, url: str) -> LakeServices:
        """The services with the store at a URL."""
        return replace(self.services, store=JdbcLiveSetStore.from_options({"url": url}))

    def grow_old(self) -> None:
        """What was restored a moment ago is not young."""
        for path in self.lake.paths():
            found = self.lake.objects.get(path)
            assert found is not None
            self.lake.put(path, found.data if found.data is not None else found.size)
        self.lake.advance(timedelta(seconds=1))

    def leave_garbage(self) -> None:
        """Once more."""
        for path in DEAD:
            self.lake.put(path, path.encode())
        self.lake.advance(timedelta(seconds=1))


@pytest.fixture
def lake() -> Iterator[Lake]:
    with lake_at(datetime.now(UTC) - timedelta(days=40)) as lake:
        with_garbage(lake)
        with in_memory(lake) as services:
            yield Lake(lake=lake, services=services)


def at_once(**more: Any) -> SweepParameters:
    return SweepParameters.from_mapping({"min_age": "PT0S", "no_age_floor": True, **more})


HELD = at_once(quarantine=["memory://wh/.quarantine/"], quarantine_for="PT0S")


# ---- what each role does ------------------------------------------------------------------------------
def mark(lake: Lake, url: str, owner: str) -> None:
    with closing(lake.over(url).store) as store:
        replace(lake.services, store=store).mark("1")


def sweep(lake: Lake, url: str, owner: str) -> None:
    """All that happens to a live set: its files are held, restored, purged, deferred and deleted."""
    with closing(lake.over(url).store) as store, closing(lake.over(owner).store) as marking:
        services, marks = replace(lake.services, store=store), replace(lake.services, store=marking)
        held = services.sweep(marks.mark("1"), HELD)
        assert 4 == held.outcomes[Outcome.QUARANTINED].files
        assert 4 == restore(services).done.files
        lake.grow_old()
        deleted = services.sweep(marks.mark("1"), at_once(dropped_after="P1D"))
        assert 4 == deleted.outcomes[Outcome.DELETED].files
        lake.leave_garbage()
        live_set = marks.mark("1")
        services.sweep(live_set, at_once(defer_deletes=True))
        assert 3 == services.delete_deferred(live_set, at_once()).outcomes[Outcome.DELETED].files
        lake.leave_garbage()
        services.sweep(marks.mark("1"), HELD)
        lake.lake.advance(timedelta(minutes=1))
        assert 3 == purge(services).done.files


def deferred(lake: Lake, owner: str) -> str:
    """The id of a live set with deferred deletions."""
    with closing(lake.over(owner).store) as store:
        services = replace(lake.services, store=store)
        live_set = services.mark("1")
        services.sweep(live_set, at_once(defer_deletes=True))
    return str(live_set)


def read(lake: Lake, url: str, owner: str) -> None:
    live_set = deferred(lake, owner)
    with closing(lake.over(url).store) as store:
        stored = LiveSetService(store)
        stored.all()
        stored.details(live_set)
        assert [*stored.content_versions(live_set)]
        assert stored.base_locations(live_set)
        assert 4 == len([*stored.deferred(live_set)])
        assert isinstance(store, JdbcLiveSetStore)
        assert [] == [*store.held_files()]


def prune(lake: Lake, url: str, owner: str) -> None:
    live_set = deferred(lake, owner)
    with closing(lake.over(url).store) as store:
        LiveSetService(store).delete(live_set, discard_deferred=True)


def tag(lake: Lake, url: str, owner: str) -> None:
    with tagged_lake() as tagged, closing(lake.over(url).store) as store:
        tagged.services = replace(tagged.services, store=store)
        tagged.commit(BEGIN - 3 * HOUR)
        for hours in (0, 3):
            assert tagged.run(BEGIN + hours * HOUR, tag_branch="main", tag_policy=("hourly=1",)).tags


def schedule(lake: Lake, url: str, owner: str) -> None:
    """Each verb of the store, as a scheduler calls them."""
    with JdbcScheduleStore.from_options({"url": url}) as store:
        store.define_jobs("lake", [job()])
        store.add_job("lake", job("another"))
        (found,) = (each for each in store.jobs("lake") if each.name == job().name)
        run = run_of(found)
        assert 2 == len(store.due_jobs("lake", at=NOON + LONG, limit=3))
        assert store.start_run("lake", run, then=occasion(1), lease=HOUR)
        assert store.renew_run("lake", run.id, lease=HOUR)
        assert [] == store.lost_runs("lake")
        assert store.finish_run("lake", done(run))
        assert store.set_paused("lake", found.name, paused=True)
        assert store.set_next("lake", found.name, seen=occasion(1), then=None)
        assert store.run("lake", run.id)
        assert store.forget_runs("lake", before=NOON + LONG)
        store.define_jobs("lake", [])


USES: dict[str, Callable[[Lake, str, str], None]] = {
    "nessie_gc_mark": mark,
    "nessie_gc_sweep": sweep,
    "nessie_gc_read": read,
    "nessie_gc_prune": prune,
    "nessie_gc_tag": tag,
    "nessie_gc_schedule": schedule,
}


def account(role: str) -> str:
    """Who has a role, and no other."""
    return f"{role}_account"


def granted(role: str) -> set[Right]:
    """What the script grants to a role."""
    found = re.findall(rf"GRANT ([A-Z, ]+) ON ([a-z_, ]+) TO {role};", ROLES.read_text(encoding="utf-8"))
    return {(table, verb) for verbs, tables in found for verb in verbs.split(", ") for table in tables.split(", ")}


# ---- the tests ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("role", USES)
def test_a_role_may_do_what_its_commands_do_and_nothing_else(accounts: Accounts, lake: Lake, role: str) -> None:
    with noted_statements(account(role)) as needed:
        USES[role](lake, accounts.url(role), accounts.owner)
    assert granted(role) == needed


@pytest.mark.parametrize("right", sorted(granted("nessie_gc_mark")))
def test_one_right_less_is_said_in_one_line(accounts: Accounts, lake: Lake, right: Right) -> None:
    table, verb = right
    accounts.do(f"REVOKE {verb} ON {table} FROM nessie_gc_mark")
    try:
        with pytest.raises(StoreError) as caught:
            mark(lake, accounts.url("nessie_gc_mark"), accounts.owner)
    finally:
        accounts.do(f"GRANT {verb} ON {table} TO nessie_gc_mark")
    assert f"permission denied for table {table}" in str(caught.value)
    assert 1 == len(str(caught.value).splitlines())


def test_the_script_has_no_other_roles() -> None:
    created = re.findall(r"(?m)^CREATE ROLE (\w+) NOLOGIN;$", ROLES.read_text(encoding="utf-8"))
    assert [*USES] == created
