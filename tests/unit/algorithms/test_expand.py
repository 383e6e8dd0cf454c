from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms import expand
from nessie_gc_core.algorithms.expand import ExpandFiles
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.errors import UnreadableFileError
from nessie_gc_core.model.batches import to_batches, to_rows
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.relations import EXPANDED_FILES, PROBLEM
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
        raise UnreadableFileError(file.path, "it is cut off")


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("piece", [2, 5, 5_000])
def test_what_a_file_named_before_it_broke_off_stays_live(
    threads: int, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may lie in locations that are not frozen for it (S6)."""
    monkeypatch.setattr(expand, "PIECE", piece)
    registry = PluginRegistry()
    plugin = SimpleNamespace(nessie_gc_register_content_to_files=hookimpl(lambda: BreaksOff))
    registry.register(plugin, name="breaks-off")
    choice = ConnectorChoice(plugins=registry, read_ahead=threads)
    index = UnitIndex(["s3://b/elsewhere/", "s3://b/t/"], choice.rules())
    row = ("s3://b/t/list", "LIST", "CUT", None, None, None, None)
    batches = ExpandFiles(choice, index)(to_batches(iter([row]), EXPANDED_FILES))
    found = [each for batch in batches for each in to_rows(batch, "path", "kind")]
    assert [(path, "DATA") for path in NAMED] + [("s3://b/t/list", PROBLEM)] == found
