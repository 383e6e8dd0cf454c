"""What is due at a table, by what its metadata says, and how a report shows it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.console import Console

from nessie_gc_core.algorithms.retention import PREVIOUS_VERSIONS_MAX
from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import (
    ICEBERG_TABLE,
    ICEBERG_VIEW,
    ContentVersion,
    FileEntry,
    FileKind,
    LogEntry,
    Manifest,
    Operation,
    OperationKind,
    PartitionField,
    PartitionRange,
    Reference,
    ReferenceKind,
    TableMetadata,
)
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.repository import UNKNOWN_CONTENT
from nessie_gc_core.model.table_properties import MANIFEST_TARGET_SIZE
from nessie_gc_core.model.times import LATEST
from nessie_gc_core.plugins.registry import installed
from nessie_gc_core.services.health.examination import (
    DELETE_AFTER_COMMIT,
    TARGET_FILE_SIZE,
    examined,
    sweep_finding,
    unread_finding,
)
from nessie_gc_core.services.health.manifests_read import read_manifests
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import Finding, FindingName, HealthReport, TableHealth
from nessie_gc_core.services.health.visible import Visible, visible_tables

NOW = datetime(2026, 1, 31, tzinfo=UTC)
MILLISECONDS = int(NOW.timestamp() * 1000)
DAY = 86_400_000


def parsed(
    fields: Mapping[str, Any], *, name: str = "db.t", size: int | None = None, snapshot_id: int | None = None
) -> TableMetadata:
    return TableMetadata.parse(
        fields,
        metadata_location="m",
        metadata_bytes=size,
        snapshot_id=snapshot_id,
        reference="main",
        commit_id="c",
        content_key=name,
        content_id="i",
    )


def table(
    ages: tuple[int, ...] = (0,), *, log: int = 0, size: int | None = 1000, name: str = "db.t", **fields: Any
) -> TableMetadata:
    """A table with snapshots of so many days, the newest first, each made from the next one."""
    number = len(ages)
    snapshots = [
        {
            "snapshot-id": number - place,
            "parent-snapshot-id": number - place - 1 or None,
            "timestamp-ms": MILLISECONDS - days * DAY,
            "summary": fields.get("summary", {}) if place == 0 else {"total-data-files": "1000000"},
        }
        for place, days in enumerate(ages)
    ]
    metadata = {
        "location": "file:///t",
        "format-version": 2,
        "snapshots": snapshots,
        "current-snapshot-id": number or -1,
        "properties": fields.get("properties", {}),
        "metadata-log": [{"metadata-file": f"m{n}"} for n in range(log)],
    }
    return parsed(metadata, name=name, size=size)


def due(found: TableMetadata, *, can_expire: bool = True, **parameters: Any) -> dict[str, Finding]:
    """What is due, by name."""
    health = examined(found, HealthParameters(**parameters), NOW, can_expire=can_expire)
    return {finding.name.value: finding for finding in health.findings}


def summary(**totals: object) -> dict[str, str]:
    return {name.replace("_", "-"): str(value) for name, value in totals.items()}


# ---- what is due --------------------------------------------------------------------------------------
def test_a_young_table_has_nothing_due() -> None:
    assert due(table(summary=summary(total_data_files=2, total_files_size=10, total_delete_files=0))) == {}


def test_a_table_without_a_snapshot_has_nothing_due_and_nothing_known() -> None:
    health = examined(table(()), HealthParameters(), NOW, can_expire=True)
    assert (health.snapshots, health.expirable, health.oldest_snapshot) == (0, 0, None)
    assert (health.data_files, health.average_file_bytes, health.delete_ratio, health.manifests) == (None,) * 4
    assert () == health.findings


def test_snapshots_are_counted_by_the_tables_own_rules() -> None:
    ages = (0, 1, 10, 20, 30)
    found = due(table(ages), snapshot_threshold=3)["snapshots"]
    assert (found.value, found.limit) == (3, 3)
    command = "`nessie-gc expire-snapshots --include 'db[.]t'`"
    does = "removes them and deletes the files that only they need"
    assert str(found) == f"3 of 5 snapshots can expire: {command} {does}"
    assert "snapshots" not in due(table(ages), snapshot_threshold=4)
    kept = table(ages, properties={"history.expire.max-snapshot-age-ms": str(25 * DAY)})
    assert due(kept, snapshot_threshold=1)["snapshots"].value == 1
    oldest = examined(table(ages), HealthParameters(), NOW, can_expire=True).oldest_snapshot
    assert NOW - timedelta(days=30) == oldest


def test_s33_snapshots_with_times_in_microseconds_are_examined_and_expire_nothing() -> None:
    fields = table((0, 10))
    micros = replace(fields, snapshots=tuple(replace(s, timestamp_ms=s.timestamp_ms * 1000) for s in fields.snapshots))
    health = examined(micros, HealthParameters(), NOW, can_expire=True)
    assert (LATEST, 0) == (health.oldest_snapshot, health.expirable)


def test_where_nothing_can_expire_snapshots_it_does_not_say_so() -> None:
    found = due(table((0, 10)), can_expire=False, snapshot_threshold=1)["snapshots"]
    assert "expire-snapshots" not in found.action
    assert "nessie-gc gc" in found.action


def test_where_branches_can_get_other_metadata_it_says_which() -> None:
    seen = replace(table((0, 10)), reference="dev/1")
    parameters = HealthParameters(snapshot_threshold=1)
    health = examined(seen, parameters, NOW, can_expire=False, has_branches=True)
    (found,) = (finding for finding in health.findings if finding.name == "snapshots")
    assert "`nessie-gc gc`" in found.action
    assert "`nessie-gc expire-snapshots --commit-to 'dev[/]1' --include 'db[.]t'`" in found.action


def test_files_are_small_by_the_rule_of_compaction() -> None:
    written = summary(total_data_files=30, total_files_size=250 << 20, total_delete_files=0)
    found = due(table(summary=written))["small-files"]
    assert (found.value, found.limit) == (14.0, 10.0)
    assert found.text == "at least 28 of 30 data files are smaller than 100.0 MiB"
    assert found.action == "`nessie-gc compact --catalog CATALOG --include 'db[.]t'`"
    assert due(table(summary=written), max_small_files=14) == {}
    assert due(table(summary=written), small_file_size="10MB") == {}
    fewer = due(table(summary=written), small_file_size="10MB", max_small_files=0.1)["small-files"]
    assert fewer.text == "at least 5 of 30 data files are smaller than 10.0 MiB"
    assert due(table(summary=summary(total_data_files=10, total_files_size=10))) == {}


def test_the_command_names_the_limits_that_are_not_the_usual_ones() -> None:
    written = summary(total_data_files=5, total_files_size=5, manifests_created=100, manifests_kept=0)
    given = due(table(summary=written), max_small_files=2.0, small_file_size="1 MB", effort="high")
    assert given["small-files"].action.endswith(" --max-small-files 2.0 --small-file-size '1 MB'`")
    assert given["manifests"].action.endswith(" --effort high`")


def test_delete_files_count_by_the_rule_of_compaction_and_by_records() -> None:
    deletes = {"total_position_deletes": 20, "total_equality_deletes": 10, "total_records": 100}
    written = summary(total_data_files=4, total_delete_files=8, total_files_size=4 << 30, **deletes)
    found = due(table(summary=written))
    assert list(found) == ["delete-ratio"]
    assert "`nessie-gc compact --max-delete-files 0 --catalog CATALOG" in found["delete-ratio"].action
    assert list(due(table(summary=written), max_delete_files=1.9, delete_ratio_threshold=0.31)) == ["delete-files"]
    assert due(table(summary=written), max_delete_files=2, delete_ratio_threshold=0.31) == {}
    health = examined(table(summary=written), HealthParameters(), NOW, can_expire=True)
    assert (health.delete_file_share, health.delete_ratio) == (2.0, 0.3)
    assert (health.position_deletes, health.equality_deletes) == (20, 10)


def test_what_snapshots_free_is_what_later_ones_took_out() -> None:
    name = "removed-files-size"
    removed: tuple[dict[str, str], ...] = ({name: "100"}, {}, {name: "30"}, {name: "7"})
    counts = {"total-files-size": "1"}
    fields: dict[str, Any] = {
        "location": "file:///t",
        "format-version": 2,
        "current-snapshot-id": 4,
        "snapshots": [
            {
                "snapshot-id": number,
                "parent-snapshot-id": number - 1 or None,
                "timestamp-ms": MILLISECONDS - (3 if number < 4 else 0) * 10 * DAY,
                "summary": {**counts, **said},
            }
            for number, said in enumerate(removed, start=1)
        ],
    }
    found = due(parsed(fields), snapshot_threshold=3)["snapshots"]
    assert found.text == "3 of 4 snapshots can expire, which frees about 37 B"
    fields["snapshots"][1]["summary"] = {}
    health = examined(parsed(fields), HealthParameters(), NOW, can_expire=True)
    assert (health.expirable, health.reclaimable_bytes) == (3, None)


def line(*parents: int | None, refs: dict[str, Any] | None = None) -> dict[str, Any]:
    """Old snapshots 1, 2, ... with their parents, each of which took out 10 bytes; a young one is the current one."""
    number = len(parents)
    return {
        "location": "file:///t",
        "format-version": 2,
        "current-snapshot-id": number,
        "refs": {"main": {"snapshot-id": number, "type": "branch"}, **(refs or {})},
        "snapshots": [
            {
                "snapshot-id": place,
                "parent-snapshot-id": parent,
                "timestamp-ms": MILLISECONDS - (30 * DAY if place < number else 0),
                "summary": {"total-files-size": 5, "removed-files-size": "10"},
            }
            for place, parent in enumerate(parents, start=1)
        ],
    }


@pytest.mark.parametrize(
    ("fields", "freed"),
    [
        (line(None, 1, 2), 20),
        (line(None, 1, 2, 2), None),  # rolled back: what 3 took out is in 4 again
        (line(None, 1, 2, refs={"kept": {"snapshot-id": 1, "type": "tag"}}), None),
    ],
)
def test_what_is_freed_is_known_of_one_line_of_snapshots_that_nothing_else_holds(
    fields: dict[str, Any], freed: int | None
) -> None:
    found = parsed(fields)
    assert examined(found, HealthParameters(), NOW, can_expire=True).reclaimable_bytes == freed
    with_branches = examined(found, HealthParameters(), NOW, can_expire=False, has_branches=True)
    assert with_branches.reclaimable_bytes is None


def test_the_command_names_the_branch_where_there_are_branches() -> None:
    written = summary(total_data_files=50, total_files_size=5, manifests_created=100, manifests_kept=0)
    seen = replace(table(summary=written), reference="dev 1")
    health = examined(seen, HealthParameters(), NOW, can_expire=False, has_branches=True)
    assert all(" --include 'db[.]t' --branch 'dev 1'`" in finding.action for finding in health.findings)
    assert {"small-files", "manifests"} == {finding.name.value for finding in health.findings}


def test_a_table_that_a_product_maintains_is_left_to_it() -> None:
    many = summary(total_data_files=500, total_files_size=500)
    found = due(table(summary=many, properties={"self-optimizing.enabled": "true"}))
    assert {"unread": "it is skipped (Amoro)"} == {name: each.text for name, each in found.items()}


def test_a_table_that_its_catalog_could_not_read_is_not_called_somebody_elses() -> None:
    found = unread_finding((UNKNOWN_CONTENT,))
    assert ("unread", "its catalog lists it and could not read it; the log says why") == (found.name.value, found.text)
    assert "less busy" in found.action


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"small_file_size": "100"}, "small_file_size"),
        ({"small_file_size": "200MB"}, "small_file_size"),
        ({"target_manifest_size": "1B"}, "target_manifest_size"),
        ({"include": ["("]}, "include"),
    ],
)
def test_parameters_that_make_no_sense_are_refused_by_name(parameters: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=f"[`']{named}[`']"):
        HealthParameters(**parameters).check()


def test_manifests_are_known_only_where_the_writer_says_both() -> None:
    said = summary(manifests_created=30, manifests_kept=80, manifests_replaced=9)
    found = due(table(summary=said))["manifests"]
    assert found.value == 110
    assert found.action.startswith("`nessie-gc rewrite-manifests --catalog CATALOG --include ")
    for name in ("manifests-created", "manifests-kept"):
        rest = {key: value for key, value in said.items() if key != name}
        assert examined(table(summary=rest), HealthParameters(), NOW, can_expire=True).manifests is None


def test_metadata_is_large_by_its_bytes_or_its_snapshots() -> None:
    assert due(table(size=20 << 20))["metadata-size"].value == 20 << 20
    assert due(table((0, 1, 2), size=None), listed_snapshot_threshold=3)["metadata-size"].value == 3
    assert due(table((0, 1, 2), size=None)) == {}


def test_a_full_metadata_log_is_due_unless_writers_delete_what_falls_out() -> None:
    found = due(table(log=100))["metadata-versions"]
    assert (found.value, found.limit, found.action) == (100, 100, "`nessie-gc gc` deletes what nothing needs")
    assert due(table(log=99)) == {}
    assert due(table(log=100, properties={DELETE_AFTER_COMMIT: "TRUE"})) == {}
    assert due(table(log=4, properties={PREVIOUS_VERSIONS_MAX: "4"}))["metadata-versions"].limit == 4


@pytest.mark.parametrize(
    "name", [TARGET_FILE_SIZE, PREVIOUS_VERSIONS_MAX, MANIFEST_TARGET_SIZE, "history.expire.max-ref-age-ms"]
)
def test_a_property_that_is_no_number_is_found_and_hides_nothing_else(name: str) -> None:
    found = due(table((0, 10), size=20 << 20, properties={name: "many"}))
    assert {"metadata-size", "invalid-property"} == set(found)
    assert str(found["invalid-property"]).startswith(f"the property {name} of db.t is 'many': set a number")


def test_numbers_that_make_no_sense_are_not_known() -> None:
    nonsense = table(summary=summary(total_data_files="-3", total_files_size="1e9"))
    health = examined(nonsense, HealthParameters(), NOW, can_expire=True)
    assert (health.data_files, health.average_file_bytes) == (None, None)


def test_the_current_snapshot_is_the_one_that_the_repository_names() -> None:
    fields = {
        "location": "file:///t",
        "format-version": 2,
        "current-snapshot-id": 2,
        "refs": {"main": {"snapshot-id": 2, "type": "branch", "min-snapshots-to-keep": 3}},
        "snapshots": [{"snapshot-id": n, "timestamp-ms": n, "summary": {"total-records": n}} for n in (1, 2)],
    }
    assert parsed(fields).summary == {"total-records": "2"}
    named = parsed(fields, snapshot_id=1)
    assert named.summary == {"total-records": "1"}
    assert (named.refs["main"].snapshot_id, named.refs["main"].min_snapshots_to_keep) == (1, 3)


@pytest.mark.parametrize("name", ["db.t", "db.it's $HOME", "a-b.c_d", "db.[x]^\\y", "db.\u00e9t\u00e9"])
def test_a_name_is_a_pattern_of_itself_in_a_command(name: str) -> None:
    action = due(table((0, 10), name=name), snapshot_threshold=1)["snapshots"].action
    *command, pattern = shlex.split(action.split("`")[1])
    assert ["nessie-gc", "expire-snapshots", "--include"] == command
    assert re.fullmatch(pattern, name)
    assert not re.fullmatch(pattern, name.replace(".", "-"))


def test_a_name_is_quoted_for_a_shell() -> None:
    many = summary(total_delete_files=500, total_data_files=1)
    action = due(table(name="db.it's", summary=many))["delete-files"].action
    assert ["db[.]it[']s"] == shlex.split(action.strip("`"))[-1:]


def test_a_sweep_is_due_where_there_was_none_or_it_is_long_ago() -> None:
    week = timedelta(days=7)
    never = sweep_finding(None, NOW, week)
    assert never is not None
    assert (never.value, never.times_over) == (None, 1.0)
    assert sweep_finding(NOW - timedelta(days=6), NOW, week) is None
    late = sweep_finding(NOW - timedelta(days=21), NOW, week)
    assert late is not None
    assert (late.text, late.times_over) == ("the last sweep was 21 d ago", 3.0)


# ---- what manifests say -------------------------------------------------------------------------------
def data(number: int, size: int, region: str = "eu", kind: FileKind = FileKind.DATA) -> list[FileEntry]:
    """Files of one partition."""
    one = FileEntry(path="f", kind=kind, file_format="PARQUET", size=size, records=1, spec_id=1, partition=(region,))
    return [one] * number


def manifest(length: int = 8 << 20, number: int = 0) -> Manifest:
    within = PartitionRange(lower="eu", upper="us", contains_null=False, contains_nan=False)
    return Manifest(
        path=f"m{number}",
        length=length,
        spec_id=1,
        snapshot_id=number,
        added_files=1,
        existing_files=0,
        deleted_files=0,
        partitions=[within],
    )


class Reader:
    """Manifests, of which the first names all files."""

    def __init__(self, manifests: Sequence[Manifest], files: Sequence[FileEntry]) -> None:
        self._manifests, self._files = manifests, files
        self.opened: list[str] = []

    def manifests(self, version: ContentVersion) -> Iterator[Manifest]:
        yield from self._manifests

    def entries(self, manifest: Manifest) -> Iterator[FileEntry]:
        self.opened.append(manifest.path)
        yield from self._files if manifest is self._manifests[0] else ()


def by_region(**totals: object) -> TableMetadata:
    field = PartitionField(name="region", transform="identity", source_id=1)
    return replace(table(summary=summary(**totals)), spec_fields={1: (field,)}, default_spec=1)


def read(reader: Reader, found: TableMetadata, **parameters: Any) -> TableHealth:
    given = HealthParameters(read_manifests=True, **parameters)
    return examined(found, given, NOW, can_expire=True, read=read_manifests(reader, version("db.t"), found, given))


def test_with_manifests_it_is_due_what_compaction_would_rewrite() -> None:
    small = [*data(11, 1 << 20), *data(10, 1 << 20, "us"), *data(1, 1, "us", FileKind.POSITION_DELETES)]
    reader = Reader([manifest()], small)
    health = read(reader, by_region(total_data_files=21, total_delete_files=1))
    (found,) = health.findings
    assert (found.name, found.value, found.limit) == (FindingName.SMALL_FILES, 11.0, 10.0)
    assert found.text == "11 data files smaller than 100.0 MiB in 1 of 2 partitions"
    assert (health.partitions, health.due_partitions, health.due_bytes) == (2, 1, 11 << 20)
    assert (health.data_files, health.small_files, health.delete_files) == (21, 21, 1)
    assert reader.opened == ["m0"]
    assert not list(read(reader, by_region(), max_small_files=11).findings)


def test_with_manifests_delete_files_are_due_where_compaction_merges_them() -> None:
    files = [*data(1, 200 << 20), *data(11, 1, kind=FileKind.POSITION_DELETES), *data(90, 200 << 20, "us")]
    many = by_region(total_data_files=91, total_delete_files=11, total_files_size=91 * (200 << 20))
    (found,) = read(Reader([manifest()], files), many).findings
    assert (found.name, found.value, found.limit) == (FindingName.DELETE_FILES, 11.0, 10.0)
    assert found.text == "11 delete files in 1 of 2 partitions"
    assert not examined(many, HealthParameters(), NOW, can_expire=True).findings  # the table as a whole is well


def with_old_spec(**totals: object) -> TableMetadata:
    return replace(by_region(**totals), spec_fields={0: (), **by_region().spec_fields})


def test_what_is_due_and_held_back_is_said_with_the_reason_and_what_to_do() -> None:
    old = replace(data(1, 1 << 20)[0], spec_id=0, partition=())
    files = [*[old] * 50, *data(3, 1 << 20)]
    health = read(Reader([manifest()], files), with_old_spec())
    (found,) = health.findings
    assert (found.name, found.value) == (FindingName.HELD_BACK, 1)
    assert found.text.startswith("50 small data files in 1 of 2 partitions are due but cannot be rewritten: ")
    assert "compact --earlier-specs --catalog CATALOG" in found.action
    assert (health.due_partitions, health.held_partitions) == (0, 1)

    moved = read(
        Reader([manifest()], files), with_old_spec(total_data_files=2, total_delete_files=0), earlier_specs=True
    )
    (found,) = moved.findings
    assert (found.name, moved.due_partitions, moved.held_partitions) == (FindingName.SMALL_FILES, 2, 0)
    assert found.action.endswith(" --earlier-specs`")


def test_so_few_files_that_nothing_is_due_are_not_opened() -> None:
    reader = Reader([manifest()], data(2, 1))
    health = read(reader, by_region(total_data_files=2, total_delete_files=0, total_files_size=2))
    assert (health.manifests, health.partitions, health.due_partitions, health.findings) == (1, None, 0, ())
    assert (health.data_files, health.small_files) == (2, 2)  # by the summary
    assert reader.opened == []


def test_with_manifests_it_is_due_what_a_reorganization_would_rewrite() -> None:
    few = by_region(total_data_files=2, total_delete_files=0, manifests_created=200, manifests_kept=0)
    large = [manifest(9 << 20, number) for number in range(2)]
    assert not read(Reader(large, ()), few).findings
    health = read(Reader([manifest(1000, number) for number in range(30)], ()), few, effort="high")
    (found,) = health.findings
    assert found.text == "30 of 30 manifests would become about 1; a query for one partition opens 30.0"
    assert found.action == "`nessie-gc rewrite-manifests --catalog CATALOG --include 'db[.]t' --effort high`"
    assert (health.manifests, health.manifest_overlap, health.manifests_read) == (30, 30.0, True)


# ---- the report ---------------------------------------------------------------------------------------
def report(*tables: TableHealth, **fields: Any) -> HealthReport:
    given = {"repository": "sql:here", "checked": NOW, "last_sweep": None, "findings": (), **fields}
    return HealthReport(tables=sorted(tables, key=lambda each: each.rank), **given)


def finding(name: FindingName, value: float = 2, limit: float = 1) -> Finding:
    return Finding(name=name, value=value, limit=limit, text=f"{value} of {name}", action="do it")


def test_the_worst_tables_come_first() -> None:
    small, many = finding(FindingName.SMALL_FILES, 1, 10), finding(FindingName.SNAPSHOTS)
    given = {"none": (), "far": (small,), "near": (many,), "both": (small, many)}
    tables = [TableHealth(table=name, reference="main", findings=found) for name, found in given.items()]
    broken = TableHealth(table="broken", reference="main", problem="it is truncated")
    found = report(*tables, broken)
    assert ["broken", "both", "far", "near", "none"] == [each.table for each in found.tables]
    assert (3, 1, 1) == (found.due, found.unreadable, found.exit_code)


def test_what_is_due_is_no_failure() -> None:
    late = sweep_finding(None, NOW, timedelta(days=7))
    assert late is not None
    assert 0 == report(TableHealth(table="t", reference="main", findings=(late,)), findings=(late,)).exit_code


def test_text_from_tables_does_not_act_upon_a_terminal() -> None:
    evil = "db.\x1b[2J"
    console = Console(width=200)
    found = report(TableHealth(table=evil, reference=evil, findings=(unread_finding((evil,)),)))
    with console.capture() as capture:
        console.print(found)
    assert "\x1b[2J" not in capture.get()
    assert "db.\\x1b[2J: it is skipped" in capture.get()


def test_a_page_shows_the_worst_and_counts_the_rest() -> None:
    tables = [
        TableHealth(table=f"t{n:02}", reference="main", findings=(finding(FindingName.SNAPSHOTS),)) for n in range(23)
    ]
    text = str(report(*tables, last_sweep=NOW - timedelta(hours=5), warnings=["the clocks differ"]))
    assert "23 tables, 23 with something due" in text
    assert "last sweep: 5 h ago" in text
    assert "warning: the clocks differ" in text
    assert "t19: 2 of snapshots: do it\nand 3 more tables" in text


def test_it_is_json() -> None:
    health = examined(table((0, 10)), HealthParameters(snapshot_threshold=1), NOW, can_expire=True)
    shown = json.loads(json.dumps(report(health, last_sweep=NOW).to_dict()))
    (row,) = shown["tables"]
    assert (row["snapshots"], row["expirable"], row["manifests"]) == (2, 1, None)
    assert row["oldest_snapshot"] == "2026-01-21T00:00:00Z"
    assert ("snapshots", 1, 1) == tuple(row["findings"][0][name] for name in ("name", "value", "limit"))


# ---- which tables are visible -------------------------------------------------------------------------
class Branches(RepositoryConnector):
    """References with contents, or with a log that names every state."""

    name = "branches"

    def __init__(self, contents: dict[str, list[ContentVersion]], logs: dict[str, list[ContentVersion]]) -> None:
        super().__init__(ConnectorOptions())
        self._contents, self._logs = contents, logs

    def identity(self) -> str:
        return "branches"

    def references(self) -> Iterator[Reference]:
        for name in {**self._contents, **self._logs}:
            yield Reference(name=name, kind=ReferenceKind.BRANCH, commit_id=name)

    def contents(self, reference: Reference) -> Iterator[ContentVersion]:
        yield from self._contents.get(reference.name, ())

    def commit_log(self, reference: Reference) -> Iterator[LogEntry]:
        given = self._logs.get(reference.name, ())
        put = [Operation(kind=OperationKind.PUT, content_key=each.content_key, content=each) for each in given]
        yield LogEntry(commit_id=reference.name, parent_id=None, commit_time=NOW, operations=tuple(put))
        raise AssertionError("the head is enough")


class WithDefault(Branches):
    def default_reference(self) -> str:
        return "main"


def version(key: str, metadata: str | None = "m", type_: str = ICEBERG_TABLE, snapshot: int = 1) -> ContentVersion:
    return ContentVersion(
        content_id=key,
        content_type=type_,
        metadata_location=metadata,
        snapshot_id=snapshot,
        content_key=key,
        commit_id="c",
    )


def seen(repository: RepositoryConnector, *names: str) -> list[tuple[str, str, str | None]]:
    found: Iterator[Visible] = visible_tables(repository, installed(), names)
    return [(each.reference, each.table, each.version.metadata_location if each.version else None) for each in found]


def test_the_default_branch_is_looked_at_or_the_references_that_are_named() -> None:
    repository = WithDefault({"dev": [version("db.t", "m1")], "main": [version("db.t", "m0")]}, {})
    assert seen(repository) == [("main", "db.t", "m0")]
    assert seen(repository, "dev") == [("dev", "db.t", "m1")]
    with pytest.raises(ConfigurationError, match="the branch or tag 'prod' does not exist"):
        seen(repository, "dev", "prod")


def test_what_several_references_have_comes_once() -> None:
    shared = version("db.t")
    repository = Branches({"a": [shared, version("db.u")], "b": [shared, version("db.u", "m2")]}, {})
    assert [("a", "db.t", "m"), ("a", "db.u", "m"), ("b", "db.u", "m2")] == seen(repository)


def test_of_a_log_that_names_every_state_the_head_counts() -> None:
    states = [version("db.t", snapshot=3), version("db.t", snapshot=2), version("db.t", None, "SOMEBODY_ELSES")]
    repository = Branches({}, {"db.t": states, "db.v": [version("db.v", type_=ICEBERG_VIEW)]})
    (found,) = (each for each in visible_tables(repository, installed(), ()) if each.table == "db.t")
    assert found.version == states[0]
    assert found.unread == ("SOMEBODY_ELSES",)
