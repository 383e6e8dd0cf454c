"""Tags by time on a real Nessie and in a real catalog, also as other clients see them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from cli_runs import go_home
from click.testing import CliRunner, Result
from collecting import LakeServices
from expiry_lakes import ROWS, ExpiryLake, rewrite
from lakes.nessie import NessieCommits
from nessie_gc_iceberg_catalog import IcebergCatalogConnector
from nessie_gc_memory import MemoryLiveSetStore
from nessie_gc_nessie import NessieConnector
from tagged_lakes import outcomes, policy_of_now

from nessie_gc_core import Collector
from nessie_gc_core.cli.main import cli
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import CommitUnknownError, RepositoryError
from nessie_gc_core.services.autotag.parameters import AutotagParameters
from nessie_gc_core.services.autotag.report import AutotagReport, TagOutcome
from nessie_gc_core.services.autotag.service import AutotagService
from nessie_gc_core.testing.servers import NessieServer, running

pytestmark = pytest.mark.server
HOUR = timedelta(hours=1)
MADE, DELETED = TagOutcome.MADE, TagOutcome.DELETED


def name_of(hour: datetime, *, branch: str | None = None) -> str:
    digits = hour.strftime("%Y_%m_%d_%H_00")
    return f"date/{digits}" if branch is None else f"date/{branch}/{digits}"


# ---- Nessie -------------------------------------------------------------------------------------------
class TaggedBranch:
    """A branch with a few commits, and runs at times to come, when all of them are past."""

    def __init__(self, server: NessieServer) -> None:
        self.server, self.name = server, f"tagged-{uuid4().hex}"
        self.repository = NessieConnector.from_options({"uri": server.uri})
        self.store = MemoryLiveSetStore.from_options({})
        with NessieCommits(server.uri) as commits:
            commits.create_branch(self.name, source="main")
            content = {"type": "ICEBERG_TABLE", "snapshotId": 1, "schemaId": 0, "specId": 0, "sortOrderId": 0}
            for number in range(3):
                location = {"metadataLocation": f"s3://b/{self.name}/{number}.metadata.json"}
                self.head, _ = commits.put(self.name, {(f"t{number}",): content | location}, message="m")
        self.hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + HOUR

    def run(self, after: int = 0, **parameters: Any) -> AutotagReport:
        """Tags some hours after the first one to come."""
        now = self.hour + after * HOUR
        self.store.clock = lambda: now
        with LocalEngine(workers=1) as engine:
            services = LakeServices(repository=self.repository, store=self.store, engine=engine, clock=lambda: now)
            given = {"tag_branch": self.name, "tag_policy": ("hourly=3",), **parameters}
            return AutotagService(AutotagParameters(**given)).run(services.run())

    def tag(self, after: int = 0) -> str:
        return name_of(self.hour + after * HOUR, branch=self.name)

    @property
    def tags(self) -> dict[str, str | None]:
        found = {each.name: each.commit_id for each in self.repository.references()}
        return {name: commit for name, commit in found.items() if name.startswith(f"date/{self.name}/")}


@pytest.fixture(scope="module")
def nessie() -> Iterator[NessieServer]:
    """A server of its own: nobody can read the tables whose states are tagged."""
    with running(NessieServer) as server:
        yield server


@pytest.fixture
def branch(nessie: NessieServer) -> Iterator[TaggedBranch]:
    branch = TaggedBranch(nessie)
    with closing(branch.repository):
        yield branch


@pytest.fixture
def pynessie(nessie: NessieServer) -> Any:
    """The client that Python users of Nessie have."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its import warns
        import confuse
        from pynessie import NessieClient
    configuration = confuse.Configuration("nessie_gc_tests", read=False)
    configuration.set({"endpoint": nessie.uri.replace("/api/v2", "/api/v1"), "verify": True, "auth": {"type": "none"}})
    return NessieClient(configuration)


def test_tags_are_made_and_roll_over_on_nessie(branch: TaggedBranch) -> None:
    assert {branch.tag(): MADE} == outcomes(branch.run())
    assert {} == outcomes(branch.run())
    assert {branch.tag(1): MADE, branch.tag(2): MADE} == outcomes(branch.run(2))
    assert {branch.tag(3): MADE, branch.tag(): DELETED} == outcomes(branch.run(3))
    assert {branch.tag(number): branch.head for number in (1, 2, 3)} == branch.tags


def test_other_clients_see_the_tags_and_what_they_make_or_move_is_theirs(branch: TaggedBranch, pynessie: Any) -> None:
    branch.run()
    assert branch.head == pynessie.get_reference(branch.tag()).hash_
    earlier = [entry.commit_id for entry in branch.repository.commit_log(next(_named(branch)))][-1]
    pynessie.create_tag(branch.tag(1), branch.name, earlier)
    pynessie.assign_tag(branch.tag(), branch.name, earlier, branch.head)
    for after in (1, 2, 9):
        branch.run(after)
    assert earlier == branch.tags[branch.tag()] == branch.tags[branch.tag(1)]


def _named(branch: TaggedBranch) -> Iterator[Any]:
    return (each for each in branch.repository.references() if each.name == branch.name)


def test_the_command_tags_and_says_what_it_did(
    nessie: NessieServer, branch: TaggedBranch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_home(tmp_path, monkeypatch)

    def run(*options: str, policy: str = "yearly=1") -> Result:
        given = ("--branch", branch.name, "--tag-policy", policy)
        return CliRunner().invoke(cli, ["autotag", "--uri", nessie.uri, *given, *options])

    ahead = (datetime.now(UTC) + 2 * HOUR).isoformat()
    dry = json.loads(run("--json", "--dry-run", "--at", ahead, policy="hourly=1").stdout)
    assert (["made"], [branch.head]) == tuple([tag[key] for tag in dry["tags"]] for key in ("outcome", "target"))
    assert {} == branch.tags
    refused = run("--at", ahead)
    assert (2, True) == (refused.exit_code, "--at" in refused.stderr), refused.output
    said = run()
    assert (0, True) == (said.exit_code, "no state" in said.stdout), said.output
    missing = CliRunner().invoke(cli, ["autotag", "--uri", nessie.uri, "--branch", "nowhere"])
    assert "error: `branch`: the branch 'nowhere' does not exist" not in missing.stderr
    assert (2, True) == (missing.exit_code, "the branch 'nowhere' does not exist" in missing.stderr), missing.output


def test_python_plans_first_and_applies_no_more_than_the_plan(nessie: NessieServer, branch: TaggedBranch) -> None:
    with Collector(uri=nessie.uri, inmemory=True) as gc:
        plan = gc.autotag(tag_branch=branch.name, tag_policy=[policy_of_now()])
        assert {} == branch.tags
        report = plan.apply()
        assert {tag.name: tag.target for tag in plan.report.tags} == branch.tags
        assert ([MADE], 0) == ([tag.outcome for tag in report.tags], report.exit_code)
        assert [] == plan.apply().tags


READ = "op in ['VIEW_REFERENCE', 'LIST_COMMIT_LOG', 'READ_ENTRIES', 'READ_CONTENT_KEY', 'READ_ENTITY_VALUE']"
WRITE = "(op in ['COMMIT_CHANGE_AGAINST_REFERENCE', 'CREATE_ENTITY', 'UPDATE_ENTITY'])"
BRANCHES = "op == 'CREATE_REFERENCE' && ref.startsWith('tagged-')"
TAGS = "op in ['CREATE_REFERENCE', 'DELETE_REFERENCE'] && ref.startsWith('date/')"


@pytest.mark.parametrize(("rights", "outcome"), [((TAGS,), MADE), ((), TagOutcome.REFUSED)])
def test_the_rights_that_the_how_to_names_suffice_and_without_them_nothing_is_made(
    rights: tuple[str, ...], outcome: TagOutcome
) -> None:
    given = enumerate((READ, WRITE, BRANCHES, *rights))
    rules = {f"nessie.server.authorization.rules.r{at}": rule for at, rule in given}
    properties = {"nessie.server.authorization.enabled": "true", **rules}
    with running(lambda: NessieServer(properties=properties)) as server:
        branch = TaggedBranch(server)
        with closing(branch.repository):
            assert {branch.tag(): outcome} == outcomes(branch.run())
            assert ([branch.tag()] if rights else []) == list(branch.tags)
            if rights:
                assert DELETED is outcomes(branch.run(9))[branch.tag()]


# ---- a plain catalog ----------------------------------------------------------------------------------
class TaggingCatalog(IcebergCatalogConnector):
    """The connector, in whose commits a test can meddle."""

    before: Callable[[], object] = staticmethod(lambda: None)
    after: Callable[[], object] = staticmethod(lambda: None)

    def change_tags(self, *arguments: Any, **tags: Any) -> None:
        self.before()
        super().change_tags(*arguments, **tags)
        self.after()


class TaggedTables:
    """Tables of a plain catalog, and runs at times to come, when all their snapshots are past."""

    def __init__(self, lake: ExpiryLake) -> None:
        self.lake = lake
        self.repository = TaggingCatalog.from_options({"catalog_name": "prod", "uri": lake.uri})
        self.store = MemoryLiveSetStore.from_options({})
        self.hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + HOUR

    def run(self, after: int = 0, **parameters: Any) -> AutotagReport:
        now = self.hour + after * HOUR
        self.store.clock = lambda: now
        services = replace(self.lake.services(), repository=self.repository, store=self.store, clock=lambda: now)
        return AutotagService(AutotagParameters(**{"tag_policy": ("hourly=3",), **parameters})).run(services.run())

    def tags(self, name: str = "db.t") -> dict[str, int]:
        refs = self.lake.load(name).metadata.refs
        return {name: ref.snapshot_id for name, ref in refs.items() if ref.snapshot_ref_type == "tag"}


@pytest.fixture
def tables(expiry_lake: ExpiryLake) -> Iterator[TaggedTables]:
    tables = TaggedTables(expiry_lake)
    with closing(tables.repository):
        yield tables


@pytest.mark.parametrize("version", ["1", "2"])
def test_each_table_gets_tags_of_its_own_in_one_commit(tables: TaggedTables, version: str) -> None:
    for name in ("db.t", "db.u"):
        tables.lake.table(name, overwrites=2, format_version=version)
    current = {name: tables.lake.snapshots(name)[-1] for name in ("db.t", "db.u")}
    tables.run()
    before = len(tables.lake.load().metadata.metadata_log)
    report = tables.run(3)
    assert before + 1 == len(tables.lake.load().metadata.metadata_log)
    assert {"db.t", "db.u"} == {tag.table for tag in report.tags}
    expected = {name_of(tables.hour + number * HOUR) for number in (1, 2, 3)}
    for name, snapshot in current.items():
        assert dict.fromkeys(expected, snapshot) == tables.tags(name)


def test_only_tables_that_are_meant_are_tagged(tables: TaggedTables) -> None:
    for name in ("db.t", "db.u"):
        tables.lake.table(name, overwrites=1)
    report = tables.run(include=("db[.]t",))
    assert (1, {}, 1) == (len(tables.tags()), tables.tags("db.u"), report.tables)


def test_a_tag_shows_the_snapshot_that_was_current_also_after_a_rollback(tables: TaggedTables) -> None:
    table = tables.lake.table(overwrites=3)
    first, *_ = tables.lake.snapshots()
    table.manage_snapshots().set_current_snapshot(snapshot_id=first).commit()
    tables.run()
    assert {name_of(tables.hour): first} == tables.tags()


def test_a_branch_of_a_table_has_tags_of_its_own(tables: TaggedTables) -> None:
    table = tables.lake.table(overwrites=2)
    first, *_ = tables.lake.snapshots()
    table.manage_snapshots().create_branch(first, "audit").commit()
    tables.lake.table("db.without", overwrites=1)
    tables.run(tag_branch="audit")
    assert ({name_of(tables.hour, branch="audit"): first}, {}) == (tables.tags(), tables.tags("db.without"))


def test_somebody_who_commits_meanwhile_costs_another_try_and_nothing_else(tables: TaggedTables) -> None:
    table = tables.lake.table(overwrites=1)
    (current,) = tables.lake.snapshots()
    waiting = [lambda: table.refresh().append(ROWS)] * 2
    tables.repository.before = lambda: waiting.pop()() if waiting else None
    report = tables.run()
    assert (0, [MADE]) == (report.exit_code, [tag.outcome for tag in report.tags])
    assert [name_of(tables.hour)] == list(tables.tags())
    assert 3 == len(tables.lake.snapshots())
    assert current in tables.lake.snapshots()


def test_where_others_are_always_faster_nothing_is_made_and_it_is_said(tables: TaggedTables) -> None:
    table = tables.lake.table(overwrites=1)
    tables.repository.before = lambda: table.refresh().append(ROWS)
    report = tables.run(commit_retries=1)
    assert (1, [TagOutcome.CONFLICT], {}) == (report.exit_code, [tag.outcome for tag in report.tags], tables.tags())


def test_s19_tags_of_a_commit_whose_answer_is_lost_are_in_doubt(tables: TaggedTables) -> None:
    def lose() -> None:
        raise CommitUnknownError("the connection broke off")

    tables.lake.table(overwrites=1)
    tables.repository.before = lose
    assert [TagOutcome.UNKNOWN] == [tag.outcome for tag in tables.run().tags]
    tables.repository.before = lambda: None
    assert [MADE] == [tag.outcome for tag in tables.run().tags]
    tables.repository.after = lose
    assert [TagOutcome.UNKNOWN] == [tag.outcome for tag in tables.run(1).tags]
    tables.repository.after = lambda: None
    assert [TagOutcome.IN_DOUBT] == [tag.outcome for tag in tables.run(1).tags]
    tables.run(1, adopt=True)
    assert {DELETED} == {tag.outcome for tag in tables.run(9).tags} - {MADE}


def test_a_table_that_cannot_be_read_is_named_and_the_others_are_tagged(tables: TaggedTables) -> None:
    broken = tables.lake.table("db.broken", overwrites=1)
    tables.lake.table(overwrites=1)
    rewrite(broken, lambda metadata: metadata.update({"refs": {"main": {"snapshot-id": "none", "type": "branch"}}}))
    report = tables.run()
    assert (1, [name_of(tables.hour)]) == (report.exit_code, list(tables.tags()))
    assert {TagOutcome.REFUSED} == {tag.outcome for tag in report.tags if tag.table == "db.broken"}


def test_expiry_keeps_what_a_tag_shows_until_the_tag_goes(tables: TaggedTables) -> None:
    table = tables.lake.table(overwrites=1)
    (tagged,) = tables.lake.snapshots()
    tables.run()
    table.refresh()
    for _ in range(2):
        table.overwrite(ROWS)
    tables.lake.expire(max_ref_age=timedelta(0))
    assert tagged in tables.lake.snapshots()
    assert ROWS.num_rows == tables.lake.load().scan(snapshot_id=tagged).to_arrow().num_rows
    tables.run(40)
    tables.lake.expire()
    assert tagged not in tables.lake.snapshots()


def test_a_table_registered_twice_is_tagged_once(tables: TaggedTables) -> None:
    table = tables.lake.table(overwrites=1)
    tables.lake.catalog.register_table("db.u", table.metadata_location)
    report = tables.run()
    assert {MADE, TagOutcome.LEFT_ALONE} == {tag.outcome for tag in report.tags}
    assert [[], [name_of(tables.hour)]] == sorted(list(tables.tags(name)) for name in ("db.t", "db.u"))


def test_a_table_that_the_catalog_refuses_stops_no_other(tables: TaggedTables) -> None:
    for name in ("db.t", "db.u"):
        tables.lake.table(name, overwrites=1)

    def refuse() -> None:
        tables.repository.before = lambda: None
        raise RepositoryError("not this one")

    tables.repository.before = refuse
    report = tables.run()
    assert (1, [MADE, TagOutcome.REFUSED]) == (report.exit_code, sorted(tag.outcome for tag in report.tags))
