"""Cases of ``remove_orphan_files``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from versus.cases import Asked, Case, Known, Procedure, days_ago
from versus.java_tables import branch_at, delete_where_equal, tag_at
from versus.stage import Stage, local

_LEFT = ("data/00000-9-left-00001.parquet", "data/part=a/left.parquet", "metadata/left-m0.avro", "metadata/left.json")
_MERGE_ON_READ = {"write_delete_mode": "merge-on-read"}


def _write(stage: Stage, table: str = "t", *, more: str = "", version: int = 2) -> None:
    """A partitioned table with row deletes and an overwrite, and files that nothing names."""
    properties = {} if version == 1 else _MERGE_ON_READ
    columns = "id INT, part STRING"
    stage.create(table, columns=columns, more=f"PARTITIONED BY (part) {more}", version=version, **properties)
    stage.append("(1, 'a'), (2, 'a'), (3, 'b')", "(4, 'a')", table=table)
    stage.sql(f"DELETE FROM {{{table}}} WHERE id = 1", f"INSERT OVERWRITE {{{table}}} VALUES (5, 'c')")
    stage.leave(*(f"{stage.below(_location(stage, table))}/{path}" for path in _LEFT))


def _location(stage: Stage, table: str) -> str:
    return str(stage.metadata(table)["location"])


def _asked(**more: Any) -> Asked:
    return Asked(older_than=days_ago(2), **more)


def _live(stage: Stage, table: str) -> frozenset[str]:
    """The files that a table needs."""
    metadata = stage.metadata(table)
    lists = [each["manifest-list"] for each in metadata["snapshots"]]
    logged = [each["metadata-file"] for each in metadata["metadata-log"]]
    query = f"SELECT path FROM {{{table}}}.all_manifests UNION SELECT file_path FROM {{{table}}}.all_files"
    named = [row[0] for row in stage.sql(query).collect()]
    return frozenset(map(stage.below, [*lists, *logged, *named, stage.metadata_location(table)]))


# ---- one table ----------------------------------------------------------------------------------------
def _one(*, version: int = 2, **asked: Any) -> Callable[[Stage], Asked]:
    def write(stage: Stage) -> Asked:
        _write(stage, version=version)
        return _asked(**asked)

    return write


def _some_young(stage: Stage) -> Asked:
    _write(stage)
    stage.leave("db/t/data/young.parquet", "db/t/metadata/young.avro")
    return _asked()


def _unreachable_metadata(stage: Stage) -> Asked:
    stage.create(write_metadata_previous__versions__max="2")
    stage.append(*map(str, range(6)))
    return _asked()


def _held_snapshots(stage: Stage) -> Asked:
    """Staged by write-audit-publish, on a branch, by a tag, rolled back: all is listed, so all stays."""
    stage.create(columns="id INT", write_wap_enabled="true")
    stage.append("1", "2")
    stage.spark.conf.set("spark.wap.id", "audit")
    try:
        stage.append("3")
    finally:
        stage.spark.conf.unset("spark.wap.id")
    first, second, *_ = stage.snapshots()
    tag_at(stage, "held", first)
    branch_at(stage, "audit", second)
    stage.sql("INSERT INTO {t}.branch_audit VALUES (10)")
    stage.append("4")
    delete_where_equal(stage, 4)
    stage.call("rollback_to_snapshot", f"'db.t', {second}")
    stage.leave("db/t/data/left.parquet")
    return _asked()


def _statistics(stage: Stage) -> Asked:
    _write(stage)
    stage.call("compute_table_stats", "'db.t'")
    stage.call("compute_partition_stats", "'db.t'")
    return _asked()


def _empty(stage: Stage) -> Asked:
    stage.create()
    stage.leave("db/t/data/left.parquet")
    return _asked()


def _missing_manifest(stage: Stage) -> Asked:
    _write(stage)
    local(stage.sql("SELECT path FROM {t}.manifests").collect()[0][0]).unlink()
    return _asked(both_refuse=True)


def _not_to_be_collected(stage: Stage) -> Asked:
    _write(stage)
    stage.sql("ALTER TABLE {t} SET TBLPROPERTIES ('gc.enabled' = 'false')")
    return _asked(both_refuse=True)


def _object_storage_layout(stage: Stage) -> Asked:
    stage.create(columns="id INT, part STRING", more="PARTITIONED BY (part)", write_object__storage_enabled="true")
    stage.append("(1, 'a'), (2, 'b')", "(3, 'c')")
    stage.sql("INSERT OVERWRITE {t} VALUES (4, 'a')")
    stage.leave("db/t/data/0110/1010/0101/00110100/part=a/left.parquet")
    return _asked()


def _data_elsewhere(stage: Stage) -> Asked:
    """Data and metadata outside of the table's location, which neither side looks at without being told."""
    elsewhere = {
        "write_data_path": f"{stage.warehouse}/data_of_t",
        "write_metadata_path": f"{stage.warehouse}/meta_of_t",
    }
    stage.create(version=2, **elsewhere)
    stage.append("1", "2")
    stage.leave("db/t/data/left.parquet", "db/t/left", "data_of_t/left.parquet", "meta_of_t/left.avro")
    return _asked()


# ---- names --------------------------------------------------------------------------------------------
def _underscored_partition(stage: Stage) -> Asked:
    stage.create(columns="id INT, _part STRING", more="PARTITIONED BY (_part)")
    stage.append("(1, 'a'), (2, 'b')")
    stage.leave("db/t/data/_part=a/left.parquet", "db/t/data/_part=z/left.parquet")
    return _asked()


def _hidden(path: str) -> bool:
    return any(part.startswith(("_", ".")) for part in path.split("/"))


def _hidden_files(stage: Stage) -> Asked:
    _write(stage)
    stage.leave(
        "db/t/data/_SUCCESS", "db/t/data/.hidden", "db/t/_temporary/0/x.parquet", "db/t/data/_partial/x.parquet"
    )
    why = "hidden files are left out: ours takes them for files like others, and guards them by their age"
    return _asked(left_out=_hidden, why_left_out=why)


def _odd_names(stage: Stage) -> Asked:
    _write(stage)
    stage.append("(6, 'ü'), (7, 'a b+c'), (8, '100%'), (9, 'x/y'), (10, '#?&=')")
    stage.leave(*(f"db/t/data/{name}.parquet" for name in ("ä ö", "100%", "%20", "a+b", "日本", "a=b&c", "x#y", "q?r")))
    return _asked()


def _extra_slashes(stage: Stage) -> Asked:
    _write(stage, more=f"LOCATION 'file:{stage.warehouse}//db///t//'")
    return _asked()


def _three_slashes(stage: Stage) -> Asked:
    """A location with an empty authority, files without one."""
    _write(stage, more=f"LOCATION 'file://{stage.warehouse}/db/t'")
    return _asked()


# ---- several tables -----------------------------------------------------------------------------------
def _beside(stage: Stage) -> Asked:
    _write(stage, "t")
    _write(stage, "t2")
    return _asked(tables=("t", "t2"))


def _beside_in_a_list(stage: Stage) -> Asked:
    """The list has the files of ``t`` and ``t2``; the procedure is called for ``t`` alone."""
    _beside(stage)
    warehouse = _location(stage, "t").removesuffix("/db/t")
    stage.spark.createDataFrame(
        [(f"{warehouse}/{path}", days_ago(30)) for path in stage.files()],
        "file_path string, last_modified timestamp",
    ).createOrReplaceTempView("listed")
    reason = "in a file list t2 passes for a part of t: the prefix has no slash at its end (its startsWith)"
    return _asked(more="file_list_view => 'listed'", known=Known(reason=reason, only_theirs=_live(stage, "t2")))


def _on_one_location(stage: Stage) -> Asked:
    where = f"LOCATION 'file:{stage.warehouse}/db/t'"
    _write(stage, "t", more=where)
    _write(stage, "u", more=where)
    reason = "another table on the same location loses its live files (iceberg#4265, #17213)"
    return _asked(known=Known(reason=reason, only_theirs=_live(stage, "u")))


def _nested(stage: Stage) -> Asked:
    _write(stage, "t")
    _write(stage, "u", more=f"LOCATION 'file:{stage.warehouse}/db/t/inner/u'")
    reason = "another table inside the location loses its live files (iceberg#4265, #17213)"
    return _asked(known=Known(reason=reason, only_theirs=_live(stage, "u")))


def _renamed_and_created_again(stage: Stage) -> Asked:
    """The new table has the name of the old one, and so its location."""
    _write(stage, "t")
    stage.sql("ALTER TABLE {t} RENAME TO db.old")
    _write(stage, "t")
    reason = "the table that had the name before loses its live files (iceberg#4265, #17213)"
    return _asked(known=Known(reason=reason, only_theirs=_live(stage, "old")))


def _shared_by_add_files(stage: Stage) -> Asked:
    """The file lies in ``t``, which has forgotten it; ``u`` has it by ``add_files``."""
    stage.create("t")
    stage.create("u")
    stage.append("1")
    stage.call("add_files", f"table => 'db.u', source_table => '`parquet`.`{stage.warehouse}/db/t/data`'")
    shared = {row[0] for row in stage.sql("SELECT file_path FROM {u}.files").collect()}
    aside = {path: local(path).read_bytes() for path in shared}
    stage.sql("INSERT OVERWRITE {t} VALUES (2)")
    stage.call("expire_snapshots", f"table => 'db.t', older_than => TIMESTAMP '{_tomorrow()}', retain_last => 1")
    for path, content in aside.items():
        local(path).write_bytes(content)
    reason = "another table has the file, too (iceberg#17213)"
    return _asked(known=Known(reason=reason, only_theirs=frozenset(map(stage.below, shared))))


def _tomorrow() -> str:
    return days_ago(-1).strftime("%Y-%m-%d %H:%M:%S")


def orphans() -> Iterator[Case]:
    """All, with files that are left over in each."""
    found: Mapping[str, Callable[[Stage], Asked]] = {
        "files that nothing names": _one(),
        "dry run": _one(dry_run=True),
        "prefix listing": _one(more="prefix_listing => true"),
        "stream_results": _one(more="stream_results => true"),
        "v1": _one(version=1),
        "v3, deletion vectors": _one(version=3),
        "older_than": _some_young,
        "unreachable metadata versions": _unreachable_metadata,
        "staged, branch, tag, rolled back, equality deletes": _held_snapshots,
        "statistics and partition statistics": _statistics,
        "empty table": _empty,
        "the table is not to be collected": _not_to_be_collected,
        "missing manifest": _missing_manifest,
        "data and metadata elsewhere": _data_elsewhere,
        "object storage layout": _object_storage_layout,
        "partition column that begins with _": _underscored_partition,
        "hidden files": _hidden_files,
        "percent signs, spaces, unicode": _odd_names,
        "extra slashes": _extra_slashes,
        "three slashes": _three_slashes,
        "t beside t2": _beside,
        "t beside t2 in a file list": _beside_in_a_list,
        "two tables on one location": _on_one_location,
        "nested locations": _nested,
        "renamed, then created again": _renamed_and_created_again,
        "data file shared by add_files": _shared_by_add_files,
    }
    quick = {"older_than", "t beside t2 in a file list", "two tables on one location", "percent signs, spaces, unicode"}
    for name, write in found.items():
        yield Case(name=name, procedure=Procedure.ORPHANS, write=write, young=_is_young, quick=name in quick)


def _is_young(path: str) -> bool:
    return path.rpartition("/")[2].startswith("young")
