"""What the Iceberg reader finds, against what Spark's metadata tables list, for lakes that Spark wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from spark_lakes import VIEWS, spark_files

from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.demo.lake import Lake
from nessie_gc_core.demo.verify import State, live_states
from nessie_gc_core.model.files import FileKind, ReachableFile
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.model.repository import ICEBERG_TABLE, ICEBERG_VIEW, ContentVersion
from nessie_gc_core.plugins import installed

pytestmark = [pytest.mark.server, pytest.mark.spark]
ALL_COMMITS = 250


@pytest.fixture(scope="module")
def reader() -> Iterator[ContentToFiles]:
    spec = ConnectorSpec(kind="content-to-files", name="iceberg", options={"properties": {}})
    with installed().open(ContentToFiles, spec) as opened:
        yield opened


@pytest.fixture(scope="module")
def states(written_lake: Lake) -> list[State]:
    """Every state of every content at every commit of every reference, each once."""
    found = {state.metadata_location: state for state in live_states(written_lake, commits=ALL_COMMITS)}
    return list(found.values())


def test_the_reader_finds_exactly_the_files_that_spark_lists(
    written_lake: Lake, states: list[State], reader: ContentToFiles
) -> None:
    tables = [state for state in states if state.key not in VIEWS]
    expected = {str(state): spark_files(written_lake, state) for state in tables}
    actual = {str(state): {file.path for file in reachable(reader, state)} for state in tables}
    assert len(tables) > 30
    assert expected == actual


def test_of_a_view_the_metadata_file_is_all_there_is(states: list[State], reader: ContentToFiles) -> None:
    views = [state for state in states if state.key in VIEWS]
    assert len(views) == 3
    assert [[state.metadata_location] for state in views] == [[f.path for f in reachable(reader, s)] for s in views]


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        ("formats.v1", {FileKind.DATA}),
        ("formats.v2", {FileKind.DATA, FileKind.POSITION_DELETES}),
        ("formats.v3", {FileKind.DATA, FileKind.DELETION_VECTOR}),
        ("formats.measured", {FileKind.DATA, FileKind.STATISTICS, FileKind.PARTITION_STATISTICS}),
    ],
)
def test_files_have_the_kinds_of_their_format_version(
    states: list[State], reader: ContentToFiles, table: str, kinds: set[FileKind]
) -> None:
    found = {file.kind for state in states if state.key == table for file in reachable(reader, state)}
    assert {FileKind.METADATA, FileKind.MANIFEST_LIST, FileKind.MANIFEST, *kinds} == found


def test_snapshots_held_by_iceberg_tags_and_branches_are_live(
    written_lake: Lake, states: list[State], reader: ContentToFiles
) -> None:
    newest = next(state for state in states if state.key == "formats.held")
    held = written_lake.spark.sql(
        "SELECT file_path FROM nessie.formats.held.files VERSION AS OF 'first' UNION"
        " SELECT file_path FROM nessie.formats.held.files VERSION AS OF 'audit'"
    ).collect()
    assert len(held) == 2
    assert set() == {row[0] for row in held} - {file.path for file in reachable(reader, newest)}


def test_s25_without_a_snapshot_id_a_table_keeps_every_snapshot_that_spark_lists(
    written_lake: Lake, states: list[State], reader: ContentToFiles
) -> None:
    newest = next(state for state in states if state.key == "formats.v2")
    listed = written_lake.spark.sql(f"SELECT manifest_list FROM {newest.sql_name}.snapshots").collect()
    data = written_lake.spark.sql(f"SELECT file_path FROM {newest.sql_name}.all_files").collect()
    assert len(listed) > 4
    found = {file.path for file in reachable(reader, newest, names_snapshot=False)}
    assert set() == {row[0] for row in (*listed, *data)} - found


def current_snapshot(state: State) -> int | None:
    """The snapshot that a table's metadata file calls the current one."""
    metadata = json.loads(Path(state.metadata_location.removeprefix("file:")).read_text())
    found = metadata.get("current-snapshot-id")
    return None if found is None else int(found)


def reachable(reader: ContentToFiles, state: State, *, names_snapshot: bool = True) -> list[ReachableFile]:
    """The state's files, expanded to the end."""
    is_view = state.key in VIEWS
    version = ContentVersion(
        content_id=state.key,
        content_type=ICEBERG_VIEW if is_view else ICEBERG_TABLE,
        metadata_location=state.metadata_location,
        snapshot_id=None if is_view or not names_snapshot else current_snapshot(state),
        content_key=state.key,
        commit_id=state.commit,
    )
    found, waiting = [], list(reader.files(version))
    while waiting:
        file = waiting.pop()
        found.append(file)
        if file.kind in reader.expandable_kinds:
            waiting.extend(reader.expand(file))
    return found
