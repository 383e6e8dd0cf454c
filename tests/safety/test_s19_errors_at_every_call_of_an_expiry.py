"""S19: whatever fails, at whichever call, an expiry loses no file that its table lists, and the next one goes on."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from cli_runs import go_home
from click.testing import CliRunner, Result
from expiry_lakes import ExpiryLake, overwrite
from failing import KEPT, Calls, FailingPlugin, Point
from nessie_gc_iceberg_catalog import IcebergCatalogConnector, MetadataLogReader
from nessie_gc_memory import MemoryLiveSetStore

from nessie_gc_core.cli.main import cli
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import CommitUnknownError, RepositoryError, StoreError

SECRET = "s3://KEY:SECRET@bucket/x"
KINDS: Sequence[Callable[[], BaseException]] = (
    lambda: AttributeError(SECRET),
    lambda: StoreError(SECRET),
    KeyboardInterrupt,
    lambda: RepositoryError(SECRET),
    lambda: SystemExit(0),
    lambda: CommitUnknownError(SECRET),
    lambda: RecursionError(SECRET),
    lambda: MemoryError(SECRET),
)
HARMLESS = ("close", "release_lease")
"""What ends no run, and changes no outcome."""


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ExpiryLake]:
    go_home(tmp_path, monkeypatch)
    lake = ExpiryLake(tmp_path / "lake", LocalEngine(workers=1))
    lake.table()
    yield lake
    lake.close()


@pytest.fixture
def calls() -> Iterator[Calls]:
    calls = Calls()
    connectors = ("repository", IcebergCatalogConnector), ("reader", MetadataLogReader), ("store", MemoryLiveSetStore)
    MemoryLiveSetStore._shared.pop("expiry", None)
    with FailingPlugin(calls, *connectors):
        yield calls


def expire(lake: ExpiryLake, calls: Calls, at: Point | None = None, error: BaseException | None = None) -> Result:
    """Expires all but the current snapshot, with old files."""
    if len(lake.snapshots()) == 1:
        overwrite(lake.load())
    lake.age()
    calls.begin(at, error)
    catalog = ("-r", "catalog_name=prod", "-u", lake.uri, "--disable-plugin", "iceberg-catalog")
    store = ("--store", KEPT, "--store-option", "store=expiry")
    files = ("--engine", "local", "--older-than", "PT0S", "--json")
    return CliRunner().invoke(cli, ["expire-snapshots", "--repository", "iceberg-catalog", *catalog, *store, *files])


def check(result: Result, error: BaseException, lake: ExpiryLake, name: str) -> None:
    """What is so after every such run."""
    assert lake.needed() <= lake.files(), name
    assert isinstance(result.exception, (SystemExit, type(None))), (name, result.exception)
    assert "SECRET" not in result.output, name
    assert "Traceback" not in result.output, name
    store = MemoryLiveSetStore.from_options({"store": "expiry"})
    assert "SECRET" not in " ".join(str(each.error_message) for each in store.live_sets()), name
    assert name == "store.release_lease" or not store._data.leases, name
    lines = [line for line in result.stderr.splitlines() if line and not re.match(r"\d{4}-\d\d-\d\d ", line)]
    body = json.loads(result.stdout)
    if "error" in body:
        assert [f"error: {body['error']}"] == lines, name
        assert (130 if isinstance(error, KeyboardInterrupt) else 1) == result.exit_code, name
        is_fault = isinstance(error, (AttributeError, RecursionError, SystemExit))
        assert is_fault is lines[0].startswith(f"error: unexpected error {type(error).__name__} "), (name, lines)
    else:  # one table was left alone for it, and says why
        assert isinstance(error, Exception), (name, result.output)
        is_named = "***@bucket" in result.stdout or result.exit_code == 1
        assert is_named or name.endswith(HARMLESS), (name, result.output)


def test_s19_an_expiry_that_fails_at_any_call_loses_nothing_and_is_finished_by_the_next(
    lake: ExpiryLake, calls: Calls
) -> None:
    assert 0 == expire(lake, calls).exit_code
    counts = calls.counts()
    assert {"repository.remove_snapshots", "repository.reload", "store.record_steps"} <= set(counts)
    reached = set()
    for name, kind in zip(counts, itertools.cycle(KINDS), strict=False):
        error = kind()
        result = expire(lake, calls, (name, 0), error)
        if calls.has_failed:  # one that has nothing left over of an earlier run makes fewer calls
            reached.add(name)
            check(result, error, lake, name)
        if name == "store.release_lease":
            MemoryLiveSetStore.from_options({"store": "expiry"})._data.leases.clear()  # it is over by now
    assert len(reached) > len(counts) * 0.9, set(counts) - reached
    last = expire(lake, calls)
    assert 0 == last.exit_code, last.output
    assert 1 == len(lake.snapshots())
    assert {*lake.needed(), *lake.files()} == lake.files()


@pytest.mark.parametrize("kind", KINDS)
def test_s19_a_commit_that_fails_with_any_error_costs_no_file(
    lake: ExpiryLake, calls: Calls, kind: Callable[[], BaseException]
) -> None:
    before, error = lake.needed() | lake.files(), kind()
    check(expire(lake, calls, ("repository.remove_snapshots", 0), error), error, lake, "repository.remove_snapshots")
    assert before <= lake.files()
    assert 0 == expire(lake, calls).exit_code
    assert 1 == len(lake.snapshots())
