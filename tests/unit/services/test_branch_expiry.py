"""Branches get metadata without what no live commit has, whatever happens meanwhile; nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NoReturn

import pytest
from branch_lakes import MemoryBranchLake, file_of
from nessie_gc_iceberg_files.content import IcebergContentToFiles
from nessie_gc_memory import delete, put

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import (
    AccessDeniedError,
    CommitConflictError,
    CommitUnknownError,
    ConfigurationError,
    LeaseHeldError,
    ServiceUnavailableError,
)
from nessie_gc_core.model import ICEBERG_VIEW, ContentVersion
from nessie_gc_core.services.expiry.commits import Committed
from nessie_gc_core.services.expiry.report import ExpiryReport
from nessie_gc_core.services.lease import hold_lease


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[MemoryBranchLake]:
    with LocalEngine(workers=1) as engine:
        lake = MemoryBranchLake(tmp_path / "wh" / "lake", engine)
        yield lake
        lake.close()


def outcomes(report: ExpiryReport) -> dict[str, Committed]:
    return {table.table: table.outcome for table in report.tables}


def reasons(report: ExpiryReport) -> dict[str, str | None]:
    return {table.table: table.reason for table in report.tables}


def heads(lake: MemoryBranchLake) -> dict[str, str | None]:
    return {reference.name: reference.commit_id for reference in lake.repository.references()}


def raising(error: Exception) -> NoReturn:
    raise error


# ---- commits ------------------------------------------------------------------------------------------
def test_all_tables_of_a_branch_are_changed_in_one_commit(lake: MemoryBranchLake) -> None:
    newest = {key: [lake.write(key) for _ in range(4)][-1] for key in ("db.t", "db.u", "db.v")}
    before = heads(lake)["main"]

    report = lake.expire()

    assert dict.fromkeys(newest, Committed.EXPIRED) == outcomes(report)
    assert [f"file://{lake.folder}/{key}/" for key in newest] == [table.location for table in report.tables]
    assert {key: [id_] for key, id_ in newest.items()} == {key: lake.listed(key) for key in newest}
    head, parent, *_ = lake.repository.commit_log(lake.lake.history.reference("main"))
    assert (before, 3) == (parent.commit_id, len(head.operations or ()))
    assert ("nessie-gc expire-snapshots: metadata of 3 tables without 9 snapshots",) == lake.repository.messages
    assert (9, True, 0) == (report.snapshots, report.files_stay, report.exit_code)


def test_no_file_is_deleted_or_changed(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    before = {path: path.read_bytes() for path in lake.files()}
    lake.expire()
    assert before == {path: path.read_bytes() for path in lake.files() if path in before}
    assert 1 == len(lake.files()) - len(before)


def test_s19_a_commit_that_the_branch_shows_was_made(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    lake.repository.after_commit = lambda: raising(CommitUnknownError("the connection broke"))

    report = lake.expire()

    assert ({"db.t": Committed.EXPIRED}, 0) == (outcomes(report), report.exit_code)
    assert 1 == len(lake.listed())


@pytest.mark.parametrize("is_down", [False, True])
def test_s19_of_a_commit_that_the_branch_does_not_show_nothing_is_known_and_what_was_written_stays(
    lake: MemoryBranchLake, is_down: bool
) -> None:
    lake.write()
    lake.write()
    before, files = heads(lake), lake.files()

    def lose() -> None:
        if is_down:
            lake.lake.faults.references = ServiceUnavailableError("nobody answers")
        raise CommitUnknownError("the connection broke")

    lake.repository.before_commit = lose
    report = lake.expire()
    lake.lake.faults.references = None

    assert ({"db.t": Committed.UNKNOWN}, 1) == (outcomes(report), report.exit_code)
    assert {"db.t": "the connection broke"} == reasons(report)
    assert (before, 1) == (heads(lake), len(lake.files() - files))


def test_what_is_refused_is_left_as_it_is_and_said(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    before = heads(lake)
    lake.repository.before_commit = lambda: raising(AccessDeniedError("this account may not commit"))

    report = lake.expire()

    assert ({"db.t": Committed.REFUSED}, 1) == (outcomes(report), report.exit_code)
    assert {"db.t": "this account may not commit"} == reasons(report)
    assert before == heads(lake)


def test_a_table_that_others_change_each_time_is_given_up_after_some_attempts(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    lake.repository.before_commit = lake.write

    report = lake.expire(commit_retries=2)

    assert ({"db.t": Committed.CONFLICT}, 1) == (outcomes(report), report.exit_code)
    assert 5 == len(lake.listed())


def test_what_was_written_for_one_table_is_committed_though_another_one_moved(lake: MemoryBranchLake) -> None:
    for key in ("db.t", "db.u"):
        lake.write(key)
        lake.write(key)
    before = lake.files()
    moves = [lambda: lake.write("db.u")]
    lake.repository.before_commit = lambda: moves.pop()() if moves else None

    report = lake.expire()

    assert {"db.t": Committed.EXPIRED, "db.u": Committed.EXPIRED} == outcomes(report)
    assert [1, 2] == [len(lake.listed(key)) for key in ("db.t", "db.u")]
    written = {path.parent.parent.name for path in lake.files() - before if path.name.endswith(".json")}
    assert ({"db.t", "db.u"}, 1 + 2 + 1) == (
        written,
        len([path for path in lake.files() - before if path.name.endswith(".json")]),
    )


def test_what_came_back_since_the_mark_stays_listed(lake: MemoryBranchLake) -> None:
    """Somebody rolls the table back to a dead snapshot, and writes on from there, between the mark and the commit."""
    first, dead, last = lake.write(), lake.write(), lake.write()

    def roll_back() -> None:
        lake.repository.before_commit = lambda: None
        lake.put("db.t", {**lake.fields(), "current-snapshot-id": first})
        lake.write()

    lake.repository.before_commit = roll_back
    lake.expire()

    assert {first, last, lake.version().snapshot_id} == set(lake.listed())
    assert dead not in lake.listed()


def test_a_table_that_is_dropped_meanwhile_is_left_alone(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()

    def drop() -> None:
        lake.repository.before_commit = lambda: None
        lake.lake.commit("main", delete("db.t"))
        raise CommitConflictError("it is gone")

    lake.repository.before_commit = drop
    assert {"db.t": Committed.LEFT_ALONE} == outcomes(lake.expire())
    assert "db.t" not in lake.lake.history.state_at(heads(lake)["main"])


def test_a_branch_that_is_dropped_meanwhile_is_a_conflict(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    lake.lake.branch("dev", "main")

    def drop() -> None:
        lake.lake.drop("dev")
        raise CommitConflictError("the branch is gone")

    lake.repository.before_commit = drop
    assert {"db.t": Committed.CONFLICT} == outcomes(lake.expire(commit_to=["dev"]))


def test_nobody_commits_while_another_collector_holds_the_lease(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    before, run = heads(lake), lake.services.run()
    lease = hold_lease(run.store, [lake.repository.identity()], timedelta(minutes=1), elapsed=run.elapsed)
    with lease, pytest.raises(LeaseHeldError):
        lake.expire()
    assert before == heads(lake)
    assert [] == list(run.store.live_sets())


# ---- what stays ---------------------------------------------------------------------------------------
def test_tags_and_other_branches_are_never_committed_to(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    lake.lake.tag("main-tag", "main")
    lake.lake.branch("main-archive", "main")
    before = heads(lake)

    report = lake.expire(commit_to=["main", "main-tag"])

    assert {"main"} == {name for name, head in heads(lake).items() if head != before[name]}
    assert ["the pattern 'main-tag' of `commit_to` matches no branch"] == report.collection.warnings


def test_a_dry_run_says_what_the_real_run_does_and_changes_nothing(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    lake.write()
    before, files = heads(lake), lake.files()

    dry = lake.expire(dry_run=True)
    assert (before, files, []) == (heads(lake), lake.files(), list(lake.services.store.live_sets()))
    real = lake.expire()

    assert dry.tables == real.tables
    assert (True, False) == (dry.dry_run, real.dry_run)


def test_what_a_live_commit_of_any_reference_has_stays_listed(lake: MemoryBranchLake) -> None:
    ids = [lake.write() for _ in range(2)]
    lake.lake.tag("v1", "main")
    ids += [lake.write() for _ in range(2)]
    lake.lake.branch("dev", "main")
    ids += [lake.write() for _ in range(3)]

    lake.expire()

    assert [ids[1], ids[3], ids[6]] == lake.listed()


def test_s14_s25_what_has_a_name_or_is_staged_in_the_metadata_stays_listed_whatever_its_age(
    lake: MemoryBranchLake,
) -> None:
    named, staged, _, last = (lake.write() for _ in range(4))
    fields = lake.fields()
    fields["snapshots"][1]["summary"] = {"wap.id": "audit"}
    fields["snapshots"][2]["parent-snapshot-id"] = named
    fields["snapshot-log"] = [each for each in fields["snapshot-log"] if each["snapshot-id"] != staged]
    fields["refs"] = {"old": {"snapshot-id": named, "type": "tag", "max-ref-age-ms": 1}}
    fields["refs"]["main"] = {"snapshot-id": last, "type": "branch"}
    lake.put("db.t", fields)

    lake.expire()

    assert [named, staged, last] == lake.listed()
    assert fields["refs"] == lake.fields()["refs"]


def test_s25_a_table_whose_live_version_names_no_snapshot_keeps_all_that_it_lists(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    path = file_of(lake.version())
    lake.lake.commit("main", put(replace(lake.version(), snapshot_id=None)))
    assert () == tuple(lake.expire().tables)
    assert path == file_of(lake.version())


def test_what_is_young_or_among_the_last_stays_listed(lake: MemoryBranchLake) -> None:
    ids = [lake.write() for _ in range(5)]
    assert [] == list(lake.expire(older_than="P1D").tables)
    assert [] == list(lake.expire(older_than=None).tables), "five days, as the table says nothing"
    lake.expire(retain_last=2)
    assert ids[3:] == lake.listed()


def test_schemas_specs_and_sort_orders_all_stay(lake: MemoryBranchLake) -> None:
    """A live version names them by their ids, and writers count on from the highest one."""
    lake.write()
    lake.write()
    before = lake.fields()
    lake.expire()
    names = ("schemas", "partition-specs", "sort-orders", "current-schema-id", "default-spec-id", "properties")
    assert {name: before[name] for name in names} == {name: lake.fields()[name] for name in names}


def test_other_contents_are_not_touched(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    view = replace(lake.version(), content_id="view", content_type=ICEBERG_VIEW, content_key="db.v")
    lake.lake.commit("main", put(view))
    lake.expire()
    assert view.identity == lake.version("db.v").identity


def test_s18_a_table_that_cannot_be_read_is_left_alone_and_the_others_go_on(lake: MemoryBranchLake) -> None:
    for key in ("db.t", "db.u", "db.v"):
        lake.write(key)
        lake.write(key)
    file_of(lake.version("db.t")).unlink()
    file_of(lake.version("db.u")).write_text("{")

    report = lake.expire()

    left, done = Committed.LEFT_ALONE, Committed.EXPIRED
    assert {"db.t": left, "db.u": left, "db.v": done} == outcomes(report)
    assert 1 == report.exit_code
    assert 1 == len(lake.listed("db.v"))


def test_s06_a_mark_that_fails_ends_the_run_before_anything_is_written(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.write()
    before, files = heads(lake), lake.files()
    commit = heads(lake)["main"]
    assert commit is not None
    lake.lake.faults.log[commit] = ServiceUnavailableError("half a history")
    with pytest.raises(ServiceUnavailableError):
        lake.expire()
    assert (before, files) == (heads(lake), lake.files())


def test_s13_nothing_is_written_where_the_configuration_does_not_allow_it(
    lake: MemoryBranchLake, tmp_path: Path
) -> None:
    lake.write("db.t")
    lake.write("db.t")
    lake.write("db.u")
    lake.write("db.u")
    elsewhere = {"gc.enabled": "false", "write.metadata.path": f"file://{tmp_path}/elsewhere/of/others"}
    lake.write("db.u", properties=elsewhere)

    free = lake.expire(include=["db[.]u"])
    assert "name it in `allow`" in str(reasons(free)["db.u"])
    limited = lake.expire(allow=[f"file://{tmp_path}/another"])
    assert dict.fromkeys(("db.t", "db.u"), Committed.LEFT_ALONE) == outcomes(limited)
    assert not (tmp_path / "elsewhere").exists()

    allowed = lake.expire(allow=[f"file://{tmp_path}"])
    assert dict.fromkeys(("db.t", "db.u"), Committed.EXPIRED) == outcomes(allowed)
    assert file_of(lake.version("db.u")).is_relative_to(tmp_path / "elsewhere")


def test_a_folder_that_cannot_be_written_to_stops_no_other_table(lake: MemoryBranchLake, tmp_path: Path) -> None:
    lake.write("db.t")
    lake.write("db.u")
    lake.write("db.u")
    (tmp_path / "wh" / "file").write_text("")
    lake.write("db.t", properties={"write.metadata.path": f"file://{tmp_path}/wh/file"})

    report = lake.expire(allow=[f"file://{tmp_path}"])

    assert {"db.t": Committed.REFUSED, "db.u": Committed.EXPIRED} == outcomes(report)
    assert "cannot write" in str(reasons(report)["db.t"])
    assert 2 == len(lake.listed("db.t"))


def test_s18_a_reader_that_breaks_while_it_writes_one_table_stops_no_other(
    lake: MemoryBranchLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in ("db.t", "db.u"):
        lake.write(key)
        lake.write(key)
    real = IcebergContentToFiles.write_without

    def broken(reader: IcebergContentToFiles, version: ContentVersion, *arguments: Any, **more: Any) -> str:
        if version.content_key == "db.t":
            raise RuntimeError("out of luck")
        return real(reader, version, *arguments, **more)

    monkeypatch.setattr(IcebergContentToFiles, "write_without", broken)
    report = lake.expire()
    assert {"db.t": Committed.REFUSED, "db.u": Committed.EXPIRED} == outcomes(report)
    assert "out of luck" in str(reasons(report)["db.t"])


def test_what_was_committed_to_one_branch_is_told_though_another_cannot_be_read(lake: MemoryBranchLake) -> None:
    lake.write()
    lake.lake.branch("stage", "main")
    lake.write(branch="stage")
    lake.write(branch="main")

    def fail_from_now_on() -> None:
        stage = lake.lake.history.reference("stage").commit_id
        assert stage is not None
        lake.lake.faults.contents[stage] = ServiceUnavailableError("nobody answers")

    lake.repository.after_commit = fail_from_now_on
    report = lake.expire(commit_to=["main", "stage"])
    assert [("main", Committed.EXPIRED)] == [(table.reference, table.outcome) for table in report.tables]
    assert {"branch stage": "nobody answers"} == report.collection.unreadable
    assert 1 == report.exit_code


# ---- words --------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"commit_to": []}, "choose those to commit to with `commit_to`"),
        ({"commit_to": ["("]}, "is not a valid regular expression"),
        ({"max_ref_age": timedelta(days=1)}, "`max_ref_age` is for plain catalogs"),
        ({"retention": ["db[.]t=max-ref-age P1D"]}, "`max_ref_age` is for plain catalogs"),
        ({"clean_expired_metadata": True}, "`clean_expired_metadata` is for plain catalogs"),
        ({"outcomes_to": "out.jsonl"}, "`outcomes_to` needs a run that deletes files"),
        ({"default_cutoff": "20"}, "counts commits"),
        ({"default_cutoff": "soon"}, "unknown cut-off policy 'soon'"),
    ],
)
def test_s27_words_that_mean_nothing_here_are_errors_before_anything_is_read(
    lake: MemoryBranchLake, given: dict[str, Any], said: str
) -> None:
    lake.write()
    lake.write()
    before, files = heads(lake), lake.files()
    with pytest.raises(ConfigurationError, match=said):
        lake.expire(**given)
    assert (before, files, []) == (heads(lake), lake.files(), list(lake.services.store.live_sets()))


def test_a_snapshot_that_is_asked_for_goes_only_if_no_live_commit_has_it(lake: MemoryBranchLake) -> None:
    ids = [lake.write(), lake.write()]
    lake.lake.tag("v1", "main")
    ids.append(lake.write())

    kept = lake.expire(older_than="P1D", snapshot_ids=[str(ids[1])])
    assert {"db.t": f"snapshot {ids[1]} of db.t cannot expire: a live commit needs it"} == reasons(kept)
    lake.expire(older_than="P1D", snapshot_ids=[str(ids[0])])
    assert ids[1:] == lake.listed()
