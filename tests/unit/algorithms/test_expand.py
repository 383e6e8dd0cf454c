from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import ClassVar

import pytest

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms import expand_files
from nessie_gc_core.algorithms.expand import ReadVersions
from nessie_gc_core.algorithms.expand_files import ExpandFiles
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.batches import to_batches, to_rows, version_rows
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.relations import CONTENT_VERSIONS, EXPANDED_FILES, PROBLEM
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.plugins import PluginRegistry

NAMED = [f"s3://b/elsewhere/{number}" for number in range(5)]


class BreaksOff(ContentToFiles):
    """Names five files of another location, and then finds that its own is cut off."""

    name = "breaks-off"
    content_types = frozenset({"CUT"})
    expandable_kinds = ("LIST",)

    def files(self, version):
        return iter(())

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        for path in NAMED:
            yield ReachableFile(path=path, kind="DATA")
        raise UnreadableFileError(file.path, "it is truncated")


class Remembers(ContentToFiles):
    """Names one file for each version, and tells how often it was asked to remember."""

    name = "remembers"
    content_types = frozenset({"REMEMBERED"})
    expandable_kinds = ()
    asked: ClassVar[list[str]] = []

    def files(self, version: ContentVersion) -> Iterator[ReachableFile]:
        yield ReachableFile(path=f"{version.metadata_location}/{version.snapshot_id}", kind="DATA")

    def expand(self, file: ReachableFile) -> Iterator[ReachableFile]:
        return iter(())

    @contextmanager
    def remembering(self) -> Iterator[None]:
        self.asked.append("once more")
        yield


def test_a_metadata_file_is_opened_once_however_many_of_its_snapshots_are_read() -> None:
    """Else a plain catalog's metadata would be read again and again: every snapshot is a version of its own."""
    registry = PluginRegistry()
    registry.register(
        SimpleNamespace(nessie_gc_register_content_to_files=hookimpl(lambda: Remembers)), name="remembers"
    )
    versions = [
        ContentVersion(
            content_id=str(table),
            content_type="REMEMBERED",
            metadata_location=f"s3://b/t{table}",
            snapshot_id=snapshot,
            content_key=f"t{table}",
            commit_id="c",
        )
        for snapshot in range(500)
        for table in range(3)
    ]
    Remembers.asked.clear()
    with LocalEngine(workers=8) as engine:
        rows = engine.dataset(version_rows(versions), CONTENT_VERSIONS).spread(["metadata_location"], together=True)
        found = rows.flat_map(ReadVersions(ConnectorChoice(plugins=registry))).summary().column("path").to_pylist()
    assert sorted(f"s3://b/t{table}/{snapshot}" for snapshot in range(500) for table in range(3)) == sorted(found)
    assert len(Remembers.asked) == 3


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("piece", [2, 5, 5_000])
def test_what_a_file_named_before_it_broke_off_stays_live(
    threads: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may lie in locations that are not frozen for it (S6)."""
    monkeypatch.setattr(expand_files, "PIECE", piece)
    registry = PluginRegistry()
    plugin = SimpleNamespace(nessie_gc_register_content_to_files=hookimpl(lambda: BreaksOff))
    registry.register(plugin, name="breaks-off")
    choice = ConnectorChoice(plugins=registry, read_ahead=threads)
    index = UnitIndex(["s3://b/elsewhere/", "s3://b/t/"], choice.rules())
    row = ("s3://b/t/list", "LIST", "CUT", None, None, None, None, None)
    batches = ExpandFiles(choice, index)(to_batches(iter([row]), EXPANDED_FILES))
    found = [each for batch in batches for each in to_rows(batch, "path", "kind")]
    assert sorted([*((path, "DATA") for path in NAMED), ("s3://b/t/list", PROBLEM)]) == sorted(found)
