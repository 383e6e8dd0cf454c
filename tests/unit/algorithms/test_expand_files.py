from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace

import pyarrow as pa
import pytest

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms import expand_files
from nessie_gc_core.algorithms.expand_files import ExpandFiles
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.model.batches import Row, named_files, to_batches, to_rows
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.relations import EXPANDED_FILES, NAMED_FILES, PROBLEM
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.plugins import PluginRegistry

LIST = "s3://b/t/list"
INVALID = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\3\0\0\0"), pa.py_buffer(b"s3\xff"))


class ByRows(ContentToFiles):
    """Names two files of any list."""

    name = "by-columns"
    content_types = frozenset({"COLUMNS"})
    expandable_kinds = ("LIST",)

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        raise NotImplementedError

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        yield from (ReachableFile(path=f"s3://b/t/{name}", kind="DATA") for name in "ab")


class ByColumns(ByRows):
    """Names the same two files as a batch."""

    def expand_batches(self, file: ReachableFile) -> Iterator[pa.RecordBatch]:
        yield from named_files(self.expand(file))


class RowsChanged(ByColumns):
    """A subclass that overrides the method with rows alone."""

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        yield ReachableFile(path="s3://b/t/mine", kind="DATA")


def giving(*batches: pa.RecordBatch) -> type[ContentToFiles]:
    class Gives(ByColumns):
        def expand_batches(self, file: ReachableFile) -> Iterator[pa.RecordBatch]:
            yield from batches

    return Gives


def named(paths: Sequence[str | None] | pa.Array, kinds: Sequence[str | None] = ()) -> pa.RecordBatch:
    named = [pa.array(paths, pa.string()), pa.array(kinds or ["DATA"] * len(paths))]
    told = [pa.nulls(len(paths), pa.int64()), pa.nulls(len(paths), pa.string())]
    return pa.RecordBatch.from_arrays([*named, *told], NAMED_FILES.names)


def expanded(reader: type[ContentToFiles], *lists: str) -> list[Row]:
    """Path, kind and problem of every row."""
    registry = PluginRegistry()
    registry.register(SimpleNamespace(nessie_gc_register_content_to_files=hookimpl(lambda: reader)), name="columns")
    choice = ConnectorChoice(plugins=registry)
    rows = [(path, "LIST", "COLUMNS", None, None, None, None, None) for path in lists or (LIST,)]
    found = ExpandFiles(choice, UnitIndex(["s3://b/t/"], choice.rules()))(to_batches(rows, EXPANDED_FILES))
    return sorted(row for batch in found for row in to_rows(batch, "path", "kind", "problem"))


@pytest.mark.parametrize("reader", [ByRows, ByColumns])
def test_columns_and_rows_name_the_same_files(reader: type[ContentToFiles]) -> None:
    assert [("s3://b/t/a", "DATA", None), ("s3://b/t/b", "DATA", None)] == expanded(reader)


def test_a_subclass_that_changes_the_rows_alone_is_asked_for_rows() -> None:
    assert [("s3://b/t/mine", "DATA", None)] == expanded(RowsChanged)


@pytest.mark.parametrize(
    ("batch", "problem"),
    [
        (named(["s3://b/t/a", "s3://b/t/\0", "s3://b/t/b"]), r"it names 's3://b/t/\x00', which is not a valid path"),
        (named(["s3://b/t/a", None]), "it names a file without a path or a kind"),
        (named(["s3://b/t/a", "s3://b/t/b"], ["DATA", None]), "it names a file without a path or a kind"),
        (named(INVALID), "Invalid: Invalid UTF8 sequence at string index 0"),
        (named(["s3://b/t/a"]).select(["path", "length"]), "'Field \"kind\" does not exist in schema'"),
    ],
)
def test_what_no_relation_can_hold_makes_the_file_that_names_it_unreadable(batch: pa.RecordBatch, problem: str) -> None:
    *_, (path, kind, found) = expanded(giving(named(["s3://b/t/before"]), batch))
    assert (LIST, PROBLEM) == (path, kind)
    assert problem in str(found)


def test_what_was_named_before_it_stays_live() -> None:
    batch = named(["s3://b/t/a", "s3://b/t/\0"])
    assert ["s3://b/t/a", "s3://b/t/before", LIST] == [
        path for path, _, _ in expanded(giving(named(["s3://b/t/before"]), batch))
    ]


def test_a_file_that_many_lists_name_is_one_row_as_far_as_it_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = giving(named(["s3://b/t/a", "s3://b/t/a", "s3://b/t/b"], ["DATA", "OTHER", "DATA"]))
    lists = [f"{LIST}{number}" for number in range(5)]
    assert 3 == len(expanded(reader, *lists))
    monkeypatch.setattr(expand_files, "REMEMBERED_CHILDREN", 1)
    assert 1 + 5 * 2 == len(expanded(reader, *lists))
