"""In which order actions of Iceberg commit, and what follows one that failed; the JVM is scripted."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from nessie_gc_core.engines.spark import maintenance
from nessie_gc_core.engines.spark.compaction import FileRewriter
from nessie_gc_core.engines.spark.maintenance import Refusals, SparkMaintenance
from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, TableError
from nessie_gc_core.model.compaction import FileRewrite, Partition, PartitionSet, RewriteFailure, RewrittenFiles
from nessie_gc_core.model.tables import CurrentTable

TABLE = CurrentTable(name=("db", "t"), uuid="u", metadata_location="m", snapshot_id=1, format_version=2)
FAILED = "org.apache.iceberg.exceptions.CommitFailedException"
INVALID = "org.apache.iceberg.exceptions.ValidationException"
UNKNOWN = "org.apache.iceberg.exceptions.CommitStateUnknownException"


class RaisedError(Exception):
    """What Py4J raises for an exception of Java."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        class_ = SimpleNamespace(getName=lambda: name)
        self.java_exception = SimpleNamespace(getClass=lambda: class_, getCause=lambda: None, getMessage=lambda: name)


class Action:
    """Commits one snapshot, or none, or raises; and says how many files could not be rewritten."""

    def __init__(self, lake: Scripted, name: str, *, commits: bool, error: Exception | None, unwritten: int) -> None:
        self.lake, self.name, self.commits, self.error, self.unwritten = lake, name, commits, error, unwritten

    def execute(self) -> Any:
        self.lake.executed.append(self.name)
        if self.commits:
            self.lake.snapshots.append(len(self.lake.snapshots) + 1)
        if self.error is not None:
            raise self.error
        return SimpleNamespace(failedDataFilesCount=lambda: self.unwritten)


class Scripted:
    """Stands in for the rewriter of files, and for its table."""

    def __init__(self) -> None:
        self.executed: list[str] = []
        self.snapshots: list[int] = []
        self.plan: list[Action] = [self.action(name) for name in ("data", "dangling", "deletes")]
        self.wanted, self.removed = 4, 4
        self.kept: str | None = None
        self.unreadable: Exception | None = None

    def action(self, name: str, *, commits: bool = True, error: Exception | None = None, unwritten: int = 0) -> Action:
        return Action(self, name, commits=commits, error=error, unwritten=unwritten)

    def refresh(self) -> None:
        if self.unreadable is not None:
            raise self.unreadable

    def actions(self, table: Any) -> Sequence[Action]:
        return self.plan

    def files_to_rewrite(self, table: Any) -> int:
        return self.wanted

    def why_dangling_stay(self, table: Any) -> str | None:
        return self.kept

    def done(self, table: Any, after: CurrentTable) -> RewrittenFiles:
        removed = self.removed if self.snapshots else 0
        return RewrittenFiles(after=after, snapshot_ids=tuple(self.snapshots), removed_data_files=removed)


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    scripted = Scripted()
    monkeypatch.setattr(maintenance, "FileRewriter", lambda *_: scripted)
    monkeypatch.setattr(maintenance, "_current", lambda name, table: TABLE)
    monkeypatch.setattr(SparkMaintenance, "_load_as", lambda self, table: scripted)
    return scripted


def rewritten(*, partial_progress: bool = False) -> RewrittenFiles:
    spark: Any = object.__new__(SparkMaintenance)
    spark._gateway = spark._session = None
    spark._shown = "c"
    spark._iceberg = SimpleNamespace(action_committed_nothing=lambda error: str(error) in (FAILED, INVALID, "refused"))
    partitions = PartitionSet(partitions={Partition(0)}, is_all=True, with_deletes=True, largest_bytes=1)
    rewrite = FileRewrite(target_bytes=10, small_bytes=5, partial_progress=partial_progress)
    result: RewrittenFiles = spark.rewrite_files(TABLE, partitions, rewrite)
    return result


def test_delete_files_come_after_data_files(lake: Scripted) -> None:
    assert ((1, 2, 3), None) == (rewritten().snapshot_ids, rewritten().failure)
    assert ["data", "dangling", "deletes"] == lake.executed[:3]


def test_delete_files_stay_where_partial_progress_left_data_files(lake: Scripted) -> None:
    lake.removed = 3
    done = rewritten(partial_progress=True)
    assert (["data"], RewriteFailure.UNKNOWN) == (lake.executed, done.failure)
    assert str(done.failed).startswith("1 of 4 data files of table db.t of catalog 'c' were not rewritten")


def test_files_that_spark_could_not_rewrite_are_no_unknown_commit(lake: Scripted) -> None:
    lake.removed = 3
    lake.plan[0] = lake.action("data", unwritten=1)
    assert (RewriteFailure.REFUSED, ["data"]) == (rewritten(partial_progress=True).failure, lake.executed)


@pytest.mark.parametrize(("unwritten", "error"), [(4, TableError), (1, CommitUnknownError)])
def test_s19_partial_progress_without_any_commit_is_no_part_of_the_work(
    lake: Scripted, unwritten: int, error: type[Exception]
) -> None:
    lake.plan[0] = lake.action("data", commits=False, unwritten=unwritten)
    with pytest.raises(error, match="4 of 4 data files"):
        rewritten(partial_progress=True)
    assert ["data"] == lake.executed


@pytest.mark.parametrize(
    ("raised", "failure"),
    [
        (UNKNOWN, RewriteFailure.UNKNOWN),
        (FAILED, RewriteFailure.CONFLICT),
        (INVALID, RewriteFailure.CONFLICT),
        ("refused", RewriteFailure.REFUSED),
    ],
)
def test_s19_nothing_is_committed_upon_an_action_that_failed(
    lake: Scripted, raised: str, failure: RewriteFailure
) -> None:
    lake.plan[1] = lake.action("dangling", commits=False, error=RaisedError(raised))
    done = rewritten()
    assert (["data", "dangling"], (1,), failure) == (lake.executed, done.snapshot_ids, done.failure)
    assert raised in str(done.failed)


@pytest.mark.parametrize(
    ("raised", "error"), [(UNKNOWN, CommitUnknownError), (FAILED, CommitConflictError), ("refused", TableError)]
)
def test_what_failed_before_any_commit_is_raised(lake: Scripted, raised: str, error: type[Exception]) -> None:
    lake.plan[0] = lake.action("data", commits=False, error=RaisedError(raised))
    with pytest.raises(error, match=raised):
        rewritten()


def test_a_commit_whose_snapshot_is_there_was_made_whatever_was_raised(lake: Scripted) -> None:
    lake.plan[0] = lake.action("data", error=RaisedError(UNKNOWN))
    assert ((1, 2, 3), None) == (rewritten().snapshot_ids, rewritten().failure)


def test_s19_a_table_that_cannot_be_read_after_an_action_leaves_the_outcome_unknown(lake: Scripted) -> None:
    lake.unreadable = ConnectionError("the catalog is gone")
    with pytest.raises(CommitUnknownError, match="the catalog is gone"):
        rewritten()
    assert ["data"] == lake.executed


def test_delete_files_that_may_apply_elsewhere_are_not_taken_out_and_the_reason_is_said(lake: Scripted) -> None:
    lake.kept = "they may apply"
    assert (None, "they may apply") == (rewritten().failure, rewritten().kept)
    assert ["data", "deletes"] == lake.executed[:2]


# ---- whether dangling delete files may be taken out ----------------------------------------------------
def manifest(spec_id: int, *, live: bool = True) -> Any:
    return SimpleNamespace(partitionSpecId=lambda: spec_id, hasAddedFiles=lambda: live, hasExistingFiles=lambda: False)


def why_dangling_stay(*, deletes: list[Any], data: list[Any], partitioned: dict[int, bool]) -> str | None:
    """Of a table with these manifests, and partition specs that have partitions or none."""
    specs = {id_: SimpleNamespace(isUnpartitioned=lambda is_=is_: not is_) for id_, is_ in partitioned.items()}
    snapshot = SimpleNamespace(deleteManifests=lambda io: deletes, dataManifests=lambda io: data)
    table = SimpleNamespace(
        specs=lambda: SimpleNamespace(size=lambda: len(specs), get=specs.get),
        currentSnapshot=lambda: snapshot,
        io=lambda: None,
    )
    rewriter: Any = object.__new__(FileRewriter)
    found: str | None = rewriter.why_dangling_stay(table)
    return found


def test_deletes_of_an_unpartitioned_spec_stay_while_another_spec_has_data_files() -> None:
    partitioned = {0: False, 1: True}
    kept = why_dangling_stay(deletes=[manifest(0)], data=[manifest(1)], partitioned=partitioned)
    assert "which apply to files of other specs" in str(kept)


@pytest.mark.parametrize(
    ("deletes", "data"),
    [
        ([manifest(1)], [manifest(0), manifest(1)]),  # they belong to a partition
        ([manifest(0, live=False)], [manifest(1)]),  # they are gone
        ([manifest(0)], [manifest(0), manifest(1, live=False)]),  # the other spec has no files
        ([], [manifest(1)]),
    ],
)
def test_deletes_that_cannot_apply_to_files_of_other_specs_may_be_taken_out(
    deletes: list[Any], data: list[Any]
) -> None:
    assert None is why_dangling_stay(deletes=deletes, data=data, partitioned={0: False, 1: True})


# ---- manifests ----------------------------------------------------------------------------------------
def test_s19_a_commit_after_which_the_table_cannot_be_read_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone() -> None:
        raise RaisedError("org.apache.iceberg.exceptions.NoSuchTableException")

    committed: list[str] = []
    transaction = SimpleNamespace(commitTransaction=lambda: committed.append("it"))
    table = SimpleNamespace(
        newTransaction=lambda: transaction, properties=lambda: {"commit.manifest.target-size-bytes": "9"}, refresh=gone
    )
    monkeypatch.setattr(SparkMaintenance, "_load_as", lambda self, state: table)
    spark: Any = object.__new__(SparkMaintenance)
    spark._shown = "c"
    assert (None, ["it"]) == (spark.rewrite_manifests(TABLE, {}, target_bytes=9, summary={}), committed)


# ---- refusals -----------------------------------------------------------------------------------------
def test_what_does_not_fit_a_table_is_refused_and_no_conflict() -> None:
    with pytest.raises(TableError, match="cannot sort it"), Refusals("sort it", conflicts=()):
        raise RaisedError(INVALID)
