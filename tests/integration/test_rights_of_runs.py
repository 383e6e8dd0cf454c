"""Which roles of PostgreSQL the commands need that have no role of their own, enforced by PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cli_runs import go_home
from click.testing import CliRunner, Result
from nessie_gc_memory import MemoryLake, put
from store_accounts import StoreAccounts

from nessie_gc_core.cli.main import cli

pytestmark = pytest.mark.server

LIVE, GARBAGE = ("memory://wh/db/t/data/live.parquet", "memory://wh/db/t/data/nobody-names-me.parquet")
ENGINE = ("--engine", "local")
BOTH = ("nessie_gc_mark", "nessie_gc_sweep")
READ = ("nessie_gc_read",)
ALSO_SEEN = ("nessie_gc_leases", "nessie_gc_reached_places", "nessie_gc_seen_contents", "nessie_gc_tombstones")
BY_BOTH = (
    ("gc", "--dry-run", *ENGINE),
    ("gc", *ENGINE),
    ("remove-orphan-files", "--dry-run", "--table", "db.t", *ENGINE),
    ("remove-orphan-files", "--table", "db.t", *ENGINE),
)
BY_READ = (("health",), ("check", *ENGINE))
BY_READ_AND_LEASES = (("explain", LIVE, *ENGINE), ("what-if", *ENGINE))


@pytest.fixture(scope="module")
def accounts(store_accounts: StoreAccounts) -> Iterator[StoreAccounts]:
    """Two accounts more: one with both roles, and one that may also see what other runs work on."""
    store_accounts.do(
        f"CREATE ROLE both_account LOGIN PASSWORD 'word' IN ROLE {', '.join(BOTH)};"
        f"CREATE ROLE leases_account LOGIN PASSWORD 'word' IN ROLE {', '.join(READ)};"
        f"GRANT SELECT ON {', '.join(ALSO_SEEN)} TO leases_account"
    )
    yield store_accounts
    store_accounts.do("DROP OWNED BY leases_account; DROP ROLE both_account, leases_account")


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lake with a file of garbage."""
    go_home(tmp_path, monkeypatch)
    lake = MemoryLake("rights-of-runs")
    lake.now = datetime.now(UTC) - timedelta(days=30)
    lake.commit("main", put(lake.table("db.t", location="memory://wh/db/t").append("live.parquet").version))
    lake.put(GARBAGE)
    return lake.write_to(tmp_path / "lake")


def run(accounts: StoreAccounts, account: str, history: Path, command: tuple[str, ...]) -> Result:
    """Runs a command as an account."""
    url = accounts.url(account.removesuffix("_account"))
    repository = ["--repository", "memory", "-r", f"history_file={history}"]
    return CliRunner().invoke(cli, [*command, *repository, "--jdbc-url", url])


def name_of(value: object) -> str:
    return value[0] + ("-dry" if "--dry-run" in value else "") if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize(
    ("account", "command"),
    [
        *(("both", command) for command in BY_BOTH),
        *(("nessie_gc_read", command) for command in BY_READ),
        *(("leases", command) for command in BY_READ_AND_LEASES),
    ],
    ids=name_of,
)
def test_an_account_with_these_roles_is_enough(
    accounts: StoreAccounts, history: Path, account: str, command: tuple[str, ...]
) -> None:
    assert 0 == run(accounts, "both", history, BY_BOTH[1]).exit_code  # so that there are records to read
    result = run(accounts, account, history, command)
    assert 0 == result.exit_code, result.output


@pytest.mark.parametrize(
    ("account", "command"),
    [
        *((role, command) for role in BOTH for command in BY_BOTH),
        *(("nessie_gc_read", command) for command in BY_READ_AND_LEASES),
    ],
    ids=name_of,
)
def test_less_is_said_with_the_table_and_nothing_is_deleted(
    accounts: StoreAccounts, history: Path, account: str, command: tuple[str, ...]
) -> None:
    result = run(accounts, account, history, command)
    assert (1, True) == (result.exit_code, "permission denied for table nessie_gc_" in result.stderr), result.output
    garbage = history.parent / GARBAGE.removeprefix("memory://")
    assert garbage.exists()
