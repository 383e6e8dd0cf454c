"""What is proposed about live sets, records and their store is run as it is printed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from cli_runs import COLLECT, Run
from nessie_gc_jdbc import JdbcLiveSetStore
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore, MemoryRepository
from next_steps import NextSteps, proposes, steps_over

from nessie_gc_core.config.flags import with_flags
from nessie_gc_core.errors import LiveSetNotFoundError
from nessie_gc_core.model.live_sets import LiveSetStatus
from nessie_gc_core.model.policies import SWEPT_ONLY_BY

ORPHAN = "memory://warehouse/db/t/data/orphan.parquet"
FORMER = "memory:it's before"
VERSION_4 = Path(__file__).parents[3] / "plugins/nessie-gc-jdbc/tests/tables/version_4_sqlite.sql"
"""The tables of an earlier release."""


@pytest.fixture
def steps(run: Run, lake: MemoryLake) -> NextSteps:
    return steps_over(lake, run)


@pytest.fixture
def database(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the store, which the environment names."""
    monkeypatch.setenv("NESSIE_GC_JDBC_URL", f"sqlite:///{home}/live-sets.db")
    return home / "live-sets.db"


@pytest.fixture
def store(database: Path) -> Iterator[JdbcLiveSetStore]:
    with JdbcLiveSetStore.from_options({"url": f"sqlite:///{database}"}) as store:
        yield store


def mark(run: Run) -> UUID:
    return UUID(json.loads(run("mark", "--repository", "memory", "-c", "1", "--json").stdout)["live_set_id"])


def statuses(run: Run) -> dict[str, str]:
    return {found["id"]: found["status"] for found in json.loads(run("list", "--json").stdout)["live_sets"]}


def change(database: Path, statement: str) -> None:
    with closing(sqlite3.connect(database)) as opened, opened:
        assert opened.execute(statement).rowcount


# ---- by status ----------------------------------------------------------------------------------------
@proposes("model/live_sets.py: mark()", "model/live_sets.py: sweep(live_set_id)")
def test_a_live_set_that_is_not_swept_is_swept_first(
    steps: NextSteps, run: Run, lake: MemoryLake, store: JdbcLiveSetStore
) -> None:
    id_ = mark(run)
    steps.follow(run("deferred-deletes", *COLLECT[:4], "-l", str(id_)), "sweep")
    assert LiveSetStatus.EXPIRY_SUCCESS == store.get(id_).status
    assert ORPHAN not in lake.paths()
    steps.follow(run("sweep", *COLLECT, "-l", str(id_)), "mark")
    assert 2 == len(statuses(run))


@proposes("model/live_sets.py: sweep(live_set_id, resume)")
@pytest.mark.parametrize("failure", ["it failed", None])
@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_a_sweep_that_failed_or_was_killed_is_finished(
    steps: NextSteps,
    run: Run,
    lake: MemoryLake,
    store: JdbcLiveSetStore,
    failure: str | None,
    more: tuple[str, ...],
) -> None:
    id_, now = mark(run), datetime.now(UTC)
    store.start_expire(id_, at=now)
    if failure is not None:
        store.finish_expire(id_, at=now, failure=failure)
    steps.follow(run("sweep", *COLLECT, "-l", str(id_), *more), "sweep --resume")
    assert ORPHAN not in lake.paths()


@proposes("model/live_sets.py: delete(live_set_id)", "services/pruning.py: delete(live_set_id)")
@pytest.mark.parametrize("asked", ["sweep", "prune"])
def test_a_mark_whose_process_is_gone_is_forgotten(
    steps: NextSteps, run: Run, lake: MemoryLake, store: JdbcLiveSetStore, asked: str
) -> None:
    id_ = uuid4()
    store.start_identify(id_, repository="memory:default", created=datetime.now(UTC) - timedelta(days=2))
    more = (*COLLECT, "-l", str(id_)) if asked == "sweep" else ("--older-than", "P1D")
    steps.follow(run(asked, *more), "delete")
    assert {} == statuses(run)


def test_a_mark_that_failed_is_made_again(
    steps: NextSteps, run: Run, lake: MemoryLake, store: JdbcLiveSetStore
) -> None:
    id_, now = uuid4(), datetime.now(UTC)
    store.start_identify(id_, repository="memory:default", created=now)
    store.finish_identify(id_, at=now, failure="it failed")
    steps.follow(run("sweep", *COLLECT, "-l", str(id_)), "mark")
    assert 2 == len(statuses(run))


@proposes("services/preconditions.py: mark()")
def test_a_live_set_of_another_service_is_not_swept(
    steps: NextSteps, run: Run, lake: MemoryLake, database: Path
) -> None:
    id_ = mark(run)
    change(database, f"UPDATE nessie_gc_live_sets SET policies = '[\"{SWEPT_ONLY_BY}remove-orphan-files\"]'")
    steps.follow(run("sweep", *COLLECT, "-l", str(id_)), "mark")
    assert 2 == len(statuses(run))


# ---- names --------------------------------------------------------------------------------------------
@proposes("cli/live_set_commands.py: mark()")
def test_where_there_is_no_live_set_a_mark_makes_one(run: Run, lake: MemoryLake, steps: NextSteps) -> None:
    Path("nessie-gc.toml").write_text('repository = "memory"\n', encoding="utf-8")
    steps.follow(run("list"), "mark")
    assert 1 == len(statuses(run))


@proposes("services/live_set_ids.py: list()", "nessie_gc_jdbc/status.py: list()")
@pytest.mark.parametrize("id_", ["abcdef", str(UUID(int=7))])
def test_an_id_that_is_not_there_leads_to_the_list(run: Run, lake: MemoryLake, steps: NextSteps, id_: str) -> None:
    made = mark(run)
    shown = run("show", "-l", id_)
    assert 1 == shown.exit_code
    assert str(made) in steps.follow(shown, "list").stdout


@proposes("nessie_gc_memory/store.py: list()")
def test_so_it_does_in_the_store_of_a_process(run: Run, lake: MemoryLake, steps: NextSteps) -> None:
    with MemoryLiveSetStore.from_options({}) as store, pytest.raises(LiveSetNotFoundError) as raised:
        store.get(UUID(int=7))
    steps.follow(with_flags(str(raised.value)), "list")


# ---- records ------------------------------------------------------------------------------------------
@proposes("services/stored_live_sets.py: deferred-deletes(live_set_id)")
def test_deferred_deletions_run_before_their_live_set_is_deleted(
    steps: NextSteps, run: Run, lake: MemoryLake, database: Path
) -> None:
    Path("nessie-gc.toml").write_text('repository = "memory"\n', encoding="utf-8")
    id_ = json.loads(run("gc", *COLLECT, "--defer-deletes", "--json").stdout)["live_set_id"]
    steps.follow(run("delete", "-l", id_), "deferred-deletes")
    assert ORPHAN not in lake.paths()
    assert 0 == run("delete", "-l", id_).exit_code


@proposes("services/file_deletions.py: delete(discard_deferred, live_set_id)")
def test_deferred_deletions_that_were_changed_are_discarded(
    steps: NextSteps, run: Run, lake: MemoryLake, database: Path
) -> None:
    id_ = json.loads(run("gc", *COLLECT, "--defer-deletes", "--json").stdout)["live_set_id"]
    change(database, "UPDATE nessie_gc_file_deletions SET path = 'data/other.parquet'")
    steps.follow(run("deferred-deletes", *COLLECT[:4], "-l", id_), "delete")
    assert {} == statuses(run)


@proposes("services/stored_versions.py: delete(live_set_id)")
def test_a_live_set_that_lost_a_row_is_forgotten(steps: NextSteps, run: Run, lake: MemoryLake, database: Path) -> None:
    id_ = mark(run)
    change(database, "DELETE FROM nessie_gc_content_versions")
    steps.follow(run("sweep", *COLLECT, "-l", str(id_)), "delete")
    assert {} == statuses(run)


@proposes("services/records.py: move-records(dry_run, source, target)")
def test_records_under_a_former_identity_are_moved(
    steps: NextSteps, run: Run, lake: MemoryLake, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("gc", *COLLECT, "-c", "1")
    called_otherwise(run, monkeypatch)
    steps.follow(run("gc", *COLLECT, "-c", "1", "--dry-run"), "move-records")
    assert {"memory:default"} == repositories(run)


@proposes("services/autotag/recording.py: move-records(dry_run, source, target)")
def test_tags_under_a_former_identity_are_moved(
    steps: NextSteps, run: Run, lake: MemoryLake, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    autotag = ("autotag", "--repository", "memory", "--tag-branch", "main", "--tag-policy", "daily=3")
    assert 0 == run(*autotag).exit_code
    mark(run)
    called_otherwise(run, monkeypatch)
    steps.follow(run(*autotag), "move-records")
    assert {"memory:default"} == repositories(run)


def called_otherwise(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """All records are those of the repository as it was called before."""
    assert 0 == run("move-records", "--from", "memory:default", "--to", FORMER).exit_code
    monkeypatch.setattr(MemoryRepository, "former_identities", lambda _: [FORMER], raising=False)


def repositories(run: Run) -> set[str]:
    return {found["repository"] for found in json.loads(run("list", "--json").stdout)["live_sets"]}


# ---- the tables of the store --------------------------------------------------------------------------
@proposes("nessie_gc_jdbc/schema.py: create-sql-schema")
def test_tables_that_are_not_there_are_created(steps: NextSteps, run: Run, home: Path, lake: MemoryLake) -> None:
    store = ("--jdbc-url", f"sqlite:///{home}/other.db", "--store-option", "schema=NONE")
    steps.follow(run("list", *store), "create-sql-schema")
    assert 0 == run("list", *store).exit_code


@proposes("nessie_gc_jdbc/schema.py: create-sql-schema --jdbc-schema CREATE_IF_NOT_EXISTS")
def test_tables_of_an_earlier_version_are_upgraded(steps: NextSteps, run: Run, home: Path, lake: MemoryLake) -> None:
    store = ("--jdbc-url", f"sqlite:///{home}/other.db", "--store-option", "schema=NONE")
    with closing(sqlite3.connect(home / "other.db")) as opened:
        opened.executescript(VERSION_4.read_text(encoding="utf-8"))
    steps.follow(run("list", *store), "create-sql-schema --jdbc-schema CREATE_IF_NOT_EXISTS")
    assert 0 == run("list", *store).exit_code


@proposes("nessie_gc_jdbc/schema.py: create-sql-schema --jdbc-schema DROP_AND_CREATE")
def test_tables_of_which_one_is_missing_are_made_anew(
    steps: NextSteps, run: Run, database: Path, lake: MemoryLake
) -> None:
    assert 0 == run("create-sql-schema").exit_code
    with closing(sqlite3.connect(database)) as opened:
        opened.execute("DROP TABLE nessie_gc_tombstones")
        opened.execute("DROP TABLE nessie_gc_migrations")
    said = run("list")
    assert "drop all that the store holds" in said.stderr
    steps.follow(said, "create-sql-schema --jdbc-schema DROP_AND_CREATE")
    assert 0 == run("list").exit_code
