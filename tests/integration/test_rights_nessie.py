"""The rules for Nessie allow what each command needs; without any of them it says which one, or sees less."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from collecting import LakeServices
from nessie_accounts import GuardedNessie, guarded, lacking, rights
from nessie_gc_memory import MemoryLiveSetStore
from nessie_gc_nessie import NessieConnector
from pyiceberg.catalog.sql import SqlCatalog

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.report import TagOutcome
from nessie_gc_core.services.autotag.service import AutotagService
from nessie_gc_core.services.check import check_repository, checked
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.services.expiry.parameters import ExpireSnapshotsParameters
from nessie_gc_core.services.expiry.service import ExpireSnapshotsService
from nessie_gc_core.services.parameters import SweepParameters

pytestmark = pytest.mark.server
READ, WRITE, TAG = "nessie-gc", "nessie-gc-write", "nessie-gc-tag"
WORK, ASSETS, DROP = "nessie-gc-work", "nessie-gc-assets", "nessie-gc-assets-drop"
HIDES = ("READ_CONTENT_KEY",)
"""Without it, Nessie leaves out what the account may not see, and says nothing."""
NOT_CHECKED = ("READ_ENTITY_VALUE",)
"""Without these, this version of Nessie answers all the same."""
READS = ("VIEW_REFERENCE", "LIST_COMMIT_LOG", "READ_ENTRIES", "READ_CONTENT_KEY", "READ_ENTITY_VALUE")


@pytest.fixture(scope="module")
def nessie(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedNessie]:
    """A server with a table for each account that writes, each with three snapshots of its own history."""
    folder = tmp_path_factory.mktemp("rights")
    with guarded(READ, WRITE, TAG) as server:
        server.commit("db", {"type": "NAMESPACE", "elements": ["db"], "properties": {}})
        uri = f"sqlite:///{folder}/catalog.db"
        with closing(SqlCatalog("lake", uri=uri, warehouse=f"file://{folder}/warehouse")) as catalog:
            catalog.create_namespace("db")
            for account in (WRITE, *(lacking(WRITE, right) for right in rights(WRITE))):
                write(server, catalog, f"db.{account}")
        yield server


def write(server: GuardedNessie, catalog: SqlCatalog, key: str) -> None:
    rows = pa.table({"n": [1, 2]})
    table, id_ = catalog.create_table(key, rows.schema), None
    for _ in range(3):
        table.append(rows)
        content = {
            "type": "ICEBERG_TABLE",
            "metadataLocation": table.metadata_location,
            "snapshotId": table.metadata.current_snapshot_id,
            "schemaId": 0,
            "specId": 0,
            "sortOrderId": 0,
        }
        id_ = server.commit(key, content | ({} if id_ is None else {"id": id_})) or id_


@contextmanager
def services_of(server: GuardedNessie, account: str) -> Iterator[LakeServices]:
    """What an account collects with."""
    options = {"uri": server.uri, "authentication": "bearer", "token": server.token(account)}
    with (
        closing(NessieConnector.from_options(options)) as repository,
        closing(MemoryLiveSetStore.from_options({})) as store,
        LocalEngine(workers=1) as engine,
    ):
        yield LakeServices(repository=repository, store=store, engine=engine, clock=utc_now)


def content(server: GuardedNessie, account: str) -> Any:
    """What the server has of the table of an account."""
    entries = server.ask("GET", "/trees/main/entries?content=true")["entries"]
    (found,) = (entry["content"] for entry in entries if entry["name"]["elements"] == ["db", account])
    return found


def seen(server: GuardedNessie, account: str) -> tuple[int, int]:
    """How many references and states of tables a dry run finds."""
    with services_of(server, account) as services:
        report = services.collect(sweep=SweepParameters.from_mapping({"dry_run": True}))
        return report.references, report.content_versions


def expired(server: GuardedNessie, account: str) -> str:
    """What becomes of the table of an account."""
    given = ExpireSnapshotsParameters(
        commit_to=["main"], older_than="PT0S", default_cutoff="1", include=[f"db[.]{account}"]
    )
    with services_of(server, account) as services:
        tables = ExpireSnapshotsService(given).run(services.run()).tables
    return "; ".join(table.reason or table.outcome.value for table in tables)


def tagged(server: GuardedNessie, account: str) -> list[str]:
    """What becomes of the tags of two runs, of which the second one drops that of the first one."""
    said = list[str]()
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    given = AutotagParameters(tag_branch="main", tag_policy=("hourly=1",), tag_prefix=f"date/{account}/")
    with services_of(server, account) as services:
        assert isinstance(services.store, MemoryLiveSetStore)
        for hours in (1, 3):
            clock = partial(operator.add, hour, timedelta(hours=hours))
            services.store.clock = clock
            tags = AutotagService(given).run(replace(services, clock=clock).run()).tags
            said += [tag.reason or tag.outcome.value for tag in tags]
    return said


def test_who_may_read_sees_every_reference_and_state(nessie: GuardedNessie) -> None:
    assert seen(nessie, "admin") == seen(nessie, READ)


@pytest.mark.parametrize("right", READS)
def test_s06_who_may_not_read_everything_is_told_or_sees_nothing(nessie: GuardedNessie, right: str) -> None:
    account = lacking(READ, right)
    if right in HIDES:
        assert 0 == seen(nessie, account)[1]
    elif right in NOT_CHECKED:
        assert seen(nessie, "admin") == seen(nessie, account)
    else:
        with pytest.raises(NessieGcError, match=f"'{right}' is not allowed|lists no reference.*grant .* {right}"):
            seen(nessie, account)


@pytest.mark.parametrize("right", [right for right in READS if right not in NOT_CHECKED])
def test_check_names_a_missing_right(nessie: GuardedNessie, right: str) -> None:
    with services_of(nessie, lacking(READ, right)) as services:
        found = checked("repository", lambda: check_repository(services.repository))
    assert ("warn" if right in HIDES else "failed") == found.state
    assert right in found.detail
    assert 1 == len(found.detail.splitlines())


def test_check_has_no_complaint_about_who_may_read(nessie: GuardedNessie) -> None:
    with services_of(nessie, READ) as services:
        assert "ok" == checked("repository", lambda: check_repository(services.repository)).state


def test_who_may_write_commits_to_one_branch(nessie: GuardedNessie) -> None:
    assert Committed.EXPIRED.value == expired(nessie, WRITE)


@pytest.mark.parametrize("right", ["COMMIT_CHANGE_AGAINST_REFERENCE", "UPDATE_ENTITY"])
def test_who_may_not_write_commits_nothing_and_is_told_why(nessie: GuardedNessie, right: str) -> None:
    account = lacking(WRITE, right)
    before = content(nessie, account)
    assert f"'{right}' is not allowed" in expired(nessie, account)
    assert before == content(nessie, account)


def test_who_may_tag_makes_and_drops_tags(nessie: GuardedNessie) -> None:
    assert {TagOutcome.MADE.value, TagOutcome.DELETED.value} == set(tagged(nessie, TAG))


@pytest.mark.parametrize("right", ["CREATE_REFERENCE", "DELETE_REFERENCE"])
def test_who_may_not_tag_is_told_why(nessie: GuardedNessie, right: str) -> None:
    assert any(f"'{right}' is not allowed" in said for said in tagged(nessie, lacking(TAG, right)))


def test_the_rules_have_these_rights_and_no_others() -> None:
    assert {
        READ: READS,
        WRITE: (*READS, "COMMIT_CHANGE_AGAINST_REFERENCE", "UPDATE_ENTITY"),
        TAG: (*READS, "CREATE_REFERENCE", "DELETE_REFERENCE"),
        WORK: (*READS, "CREATE_REFERENCE", "DELETE_REFERENCE", "COMMIT_CHANGE_AGAINST_REFERENCE", "UPDATE_ENTITY"),
        ASSETS: (*READS, "CREATE_REFERENCE", "COMMIT_CHANGE_AGAINST_REFERENCE", "CREATE_ENTITY", "UPDATE_ENTITY"),
        DROP: (*READS, "COMMIT_CHANGE_AGAINST_REFERENCE", "UPDATE_ENTITY", "DELETE_ENTITY"),
    } == {account: tuple(rights(account)) for account in (READ, WRITE, TAG, WORK, ASSETS, DROP)}
