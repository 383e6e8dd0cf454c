"""Cases of ``expire_snapshots``: which files go with the snapshots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from versus.cases import Asked, Case, Known, Procedure, days_ago, now
from versus.java_tables import branch_at, data_file, delete_where_equal, put_in, take_out
from versus.stage import Stage, local

_V3 = "ours in a dry run: PyIceberg writes no v3 metadata, which an SQL catalog needs"
_MERGE_ON_READ = {"write_delete_mode": "merge-on-read", "write_update_mode": "merge-on-read"}


# ---- formats ------------------------------------------------------------------------------------------
def _format(version: int) -> Callable[[Stage], Asked]:
    """Appends, row deletes (files in v1, position deletes in v2, deletion vectors in v3), an overwrite of a part."""

    def write(stage: Stage) -> Asked:
        more = {} if version == 1 else _MERGE_ON_READ
        stage.create(columns="id BIGINT, part STRING", more="PARTITIONED BY (part)", version=version, **more)
        stage.sql(
            "INSERT INTO {t} SELECT id, 'a' FROM range(20)",
            "INSERT INTO {t} SELECT id, 'b' FROM range(20)",
            "DELETE FROM {t} WHERE id < 5",
            "DELETE FROM {t} WHERE id = 7",
            "DELETE FROM {t} WHERE part = 'b'",
            "INSERT INTO {t} VALUES (1, 'c')",
            "INSERT OVERWRITE {t} VALUES (2, 'c')",
        )
        return Asked(older_than=now(), retain_last=2, only_plan=_V3 if version == 3 else "")

    return write


def _equality_deletes(stage: Stage) -> Asked:
    stage.create(columns="id INT")
    stage.append("(1), (2), (3)", "(4), (5)")
    delete_where_equal(stage, 1, 4)
    stage.append("6")
    delete_where_equal(stage, 6)
    stage.sql("DELETE FROM {t} WHERE id < 5")
    stage.append("7")
    return Asked(older_than=now(), retain_last=1)


def _merged_manifests(stage: Stage) -> Asked:
    """Every commit merges all manifests, deletes among them."""
    stage.create(commit_manifest_min__count__to__merge="2", version=2, **_MERGE_ON_READ)
    stage.append("(1), (2), (3)", "(4), (5)", "(6), (7)")
    stage.sql("DELETE FROM {t} WHERE id = 1", "DELETE FROM {t} WHERE id = 4", "DELETE FROM {t} WHERE id >= 6")
    stage.append("8")
    stage.sql("DELETE FROM {t} WHERE id = 2")
    return Asked(older_than=now(), retain_last=2)


def _expired_manifest_in_valid_snapshot(stage: Stage) -> Asked:
    """A manifest that an expired snapshot added is still one of the current snapshot."""
    stage.create()
    stage.append("(1), (2)", "3")
    stage.sql("DELETE FROM {t} WHERE id = 3")
    stage.append("4")
    return Asked(older_than=now(), retain_last=1)


# ---- maintenance --------------------------------------------------------------------------------------
def _statistics(stage: Stage) -> Asked:
    """Of each snapshot a file of statistics and one of statistics by partition."""
    stage.create(columns="id BIGINT, part STRING", more="PARTITIONED BY (part)")
    for row in ("1, 'a'", "2, 'b'", "3, 'a'"):
        stage.append(row)
        stage.call("compute_table_stats", "'db.t'")
        stage.call("compute_partition_stats", "'db.t'")
    return Asked(older_than=now(), retain_last=1)


def _rewritten_manifests(stage: Stage) -> Asked:
    stage.create()
    stage.append("1", "2", "3")
    stage.call("rewrite_manifests", "'db.t'")
    stage.append("4")
    return Asked(older_than=now(), retain_last=1)


def _rewritten_data_files(stage: Stage) -> Asked:
    stage.create(version=2, **_MERGE_ON_READ)
    stage.append("(1), (2)", "3", "4")
    stage.sql("DELETE FROM {t} WHERE id = 1")
    stage.call("rewrite_data_files", "table => 'db.t', options => map('rewrite-all', 'true')")
    stage.append("5")
    return Asked(older_than=now(), retain_last=2)


def _trimmed_log(stage: Stage) -> Asked:
    """Of ten metadata files the log holds two. Only ``remove_orphan_files`` deletes what fell out of it."""
    stage.create(write_metadata_previous__versions__max="2")
    stage.append(*map(str, range(8)))
    return Asked(older_than=now(), retain_last=1, then_orphans=True)


def _log_that_cleans_itself(stage: Stage) -> Asked:
    stage.create(write_metadata_previous__versions__max="2", write_metadata_delete__after__commit_enabled="true")
    stage.append(*map(str, range(5)))
    return Asked(older_than=now(), retain_last=1)


# ---- where others lost files --------------------------------------------------------------------------
def _removed_and_added_again(stage: Stage) -> Asked:
    """iceberg#17304: a path is taken out, and added again by a later snapshot."""
    _add_again(stage)
    return Asked(older_than=now(), retain_last=1)


def _add_again(stage: Stage) -> str:
    """Gives the path."""
    stage.create()
    stage.append("1")
    file = data_file(stage)
    stage.append("2")
    take_out(stage, file)
    put_in(stage, file)
    stage.append("3")
    return stage.below(file.location())


def _branch_still_holds(stage: Stage) -> Asked:
    """iceberg#13568, iceberg#10982: main has left a file behind which a branch still has."""
    stage.create()
    stage.append("1", "2")
    branch_at(stage, "audit", stage.snapshots()[1])
    stage.sql("DELETE FROM {t} WHERE id = 1")
    stage.append("3")
    stage.sql("INSERT INTO {t}.branch_audit VALUES (10)")
    return Asked(older_than=now(), retain_last=1)


def _file_of_main_added_to_a_branch(stage: Stage) -> Asked:
    """The same data file is named by a manifest of main, which expires, and by one of a branch, which stays."""
    stage.create()
    stage.append("1", "2")
    file = data_file(stage)
    branch_at(stage, "audit", stage.snapshots()[0])
    stage.sql("INSERT OVERWRITE {t}.branch_audit VALUES (10)")
    put_in(stage, file, branch="audit")
    stage.sql("INSERT OVERWRITE {t} VALUES (3)")
    return Asked(older_than=now(), retain_last=1)


def _missing_manifest_list(stage: Stage) -> Asked:
    """That of an expired snapshot. The procedure fails when the snapshots are out of the metadata already."""
    stage.create()
    stage.append("1", "2")
    stage.sql("INSERT OVERWRITE {t} VALUES (3)")
    stage.sql("INSERT OVERWRITE {t} VALUES (4)")
    lists = {each["snapshot-id"]: each["manifest-list"] for each in stage.metadata()["snapshots"]}
    ids, before = stage.snapshots(), stage.files()
    local(lists[ids[0]]).unlink()
    named = stage.sql("SELECT path FROM {t}.manifests UNION SELECT file_path FROM {t}.files").collect()
    kept = {stage.below(row[0]) for row in named} | {stage.below(lists[ids[-1]]), stage.below(lists[ids[0]])}
    gone = frozenset(path for path in before - kept if not path.endswith(".metadata.json"))
    reason = "one missing manifest list stops the procedure after its commit, and all files leak (iceberg#17715, #7937)"
    return Asked(older_than=now(), retain_last=1, known=Known(reason=reason, only_ours=gone, they_fail=True))


def _missing_manifest(stage: Stage) -> Asked:
    """That of the current snapshot."""
    stage.create()
    stage.append("1", "2")
    stage.sql("INSERT OVERWRITE {t} VALUES (3)")
    local(stage.sql("SELECT path FROM {t}.manifests").collect()[0][0]).unlink()
    reason = "what stays cannot be read, so nothing is committed; the procedure fails after its commit (iceberg#17715)"
    known = Known(reason=reason, they_fail=True)
    return Asked(older_than=now(), retain_last=1, known=known, both_refuse=True)


def _shared_by_add_files(stage: Stage) -> Asked:
    """Two tables have one data file, by ``add_files``; one of them gives it up."""
    stage.create("t")
    stage.create("u")
    stage.append("1")
    folder = f"{stage.warehouse}/db/t/data"
    stage.call("add_files", f"table => 'db.u', source_table => '`parquet`.`{folder}`'")
    stage.sql("INSERT OVERWRITE {t} VALUES (2)")
    shared = frozenset(stage.below(row[0]) for row in stage.sql("SELECT file_path FROM {u}.files").collect())
    reason = "another table has the file, too (iceberg#17213: one table's metadata decides alone)"
    return Asked(older_than=now(), retain_last=1, known=Known(reason=reason, only_theirs=shared))


def _object_storage_layout(stage: Stage) -> Asked:
    stage.create(columns="id INT, part STRING", more="PARTITIONED BY (part)", write_object__storage_enabled="true")
    stage.append("(1, 'a'), (2, 'b')", "(3, 'c')")
    stage.sql("INSERT OVERWRITE {t} VALUES (4, 'a')")
    return Asked(older_than=now(), retain_last=1)


def _data_elsewhere(stage: Stage) -> Asked:
    """Data and metadata outside of the table's location, at places that ours has to be allowed by name (S13)."""
    stage.create(write_data_path=f"{stage.warehouse}/data_of_t", write_metadata_path=f"{stage.warehouse}/meta_of_t")
    stage.append("1", "2")
    stage.sql("INSERT OVERWRITE {t} VALUES (3)")
    return Asked(older_than=now(), retain_last=1, allow=(str(stage.warehouse),))


def _added_from_outside(stage: Stage) -> Asked:
    """Data files of a folder that is no table's, by ``add_files``."""
    stage.create()
    stage.sql(f"INSERT OVERWRITE DIRECTORY '{stage.warehouse}/outside' USING parquet SELECT 1L AS id")
    stage.call("add_files", f"table => 'db.t', source_table => '`parquet`.`{stage.warehouse}/outside`'")
    stage.sql("INSERT OVERWRITE {t} VALUES (2)")
    outside = frozenset(path for path in stage.files() if path.startswith("outside/") and path.endswith(".parquet"))
    reason = "files outside of every table's location are reported, never deleted (S13)"
    known = Known(reason=reason, only_theirs=outside, keeps_more=True)
    return Asked(older_than=now(), retain_last=1, known=known)


def _nothing_to_do(stage: Stage) -> Asked:
    stage.create()
    return Asked(older_than=days_ago(0), retain_last=1)


def files() -> Iterator[Case]:
    """Formats, maintenance, and where others lost files."""
    found: Mapping[str, Callable[[Stage], Asked]] = {
        "v1, copy on write": _format(1),
        "v2, position deletes": _format(2),
        "v3, deletion vectors": _format(3),
        "v2, equality deletes": _equality_deletes,
        "merged manifests with deletes": _merged_manifests,
        "expired manifest inside a valid snapshot": _expired_manifest_in_valid_snapshot,
        "statistics and partition statistics": _statistics,
        "rewritten manifests": _rewritten_manifests,
        "rewritten data files": _rewritten_data_files,
        "metadata log trimmed (then remove_orphan_files)": _trimmed_log,
        "metadata log that cleans itself": _log_that_cleans_itself,
        "path removed and added again (iceberg#17304)": _removed_and_added_again,
        "a branch still holds the file (iceberg#13568)": _branch_still_holds,
        "file of main added to a branch (iceberg#10982)": _file_of_main_added_to_a_branch,
        "missing manifest list in an expired snapshot": _missing_manifest_list,
        "missing manifest in a retained snapshot": _missing_manifest,
        "data file shared by add_files": _shared_by_add_files,
        "object storage layout": _object_storage_layout,
        "data and metadata elsewhere": _data_elsewhere,
        "data file added from outside": _added_from_outside,
        "table without snapshots": _nothing_to_do,
    }
    quick = {
        "v2, position deletes",
        "v2, equality deletes",
        "statistics and partition statistics",
        "path removed and added again (iceberg#17304)",
        "a branch still holds the file (iceberg#13568)",
        "missing manifest list in an expired snapshot",
        "data file shared by add_files",
    }
    for name, write in found.items():
        yield Case(name=name, procedure=Procedure.EXPIRE, write=write, quick=name in quick)


def _incremental_clean_up_loses(stage: Stage) -> Asked:
    held = frozenset({_add_again(stage)})
    reason = "its incremental clean-up deletes a file that the table has (iceberg#17304, open)"
    return Asked(older_than=now(), retain_last=1, known=Known(reason=reason, only_theirs=held))


def by_java_api() -> Iterator[Case]:
    """The same tables, expired by Iceberg's Java API: there is the clean-up that lost files."""
    for name, write in {
        "path removed and added again (iceberg#17304)": _incremental_clean_up_loses,
        "a branch still holds the file (iceberg#13568)": _branch_still_holds,
        "file of main added to a branch (iceberg#10982)": _file_of_main_added_to_a_branch,
        "v2, position deletes": _format(2),
    }.items():
        yield Case(name=name, procedure=Procedure.JAVA_API, write=write)
