"""Tests of content readers that return batches (:class:`nessie_gc_core.connectors.SupportsExpandBatches`)."""

# ruff: noqa: D102 - the name of a test says what it says
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import pytest

from nessie_gc_core.connectors import ContentToFiles, SupportsExpandBatches
from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.model.batches import reachable_files
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.relations import NAMED_FILES
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.testing.demands import demands, skip_without


class _Written(Protocol):
    @property
    def version(self) -> ContentVersion: ...


class BatchesTests:
    """The fixtures are described at ``ContentToFilesContract``."""

    @demands("SupportsExpandBatches: the batches have the files that expand yields, and the columns of NAMED_FILES.")
    def test_batches_name_the_files_that_expand_yields(
        self, reader: ContentToFiles, contents: Sequence[_Written]
    ) -> None:
        if not isinstance(reader, SupportsExpandBatches):
            skip_without(reader, SupportsExpandBatches)
        for file in _expandable(reader, contents):
            batches = list(reader.expand_batches(file))
            assert [NAMED_FILES] * len(batches) == [batch.schema for batch in batches]
            named = Counter(child for batch in batches for child in reachable_files(batch))
            assert Counter(reader.expand(file)) == named

    @demands("SupportsExpandBatches: a file that does not exist is missing, as for expand; it is not an empty one.")
    def test_a_missing_file_has_no_batches(self, reader: ContentToFiles, contents: Sequence[_Written]) -> None:
        if not isinstance(reader, SupportsExpandBatches):
            skip_without(reader, SupportsExpandBatches)
        for file in _expandable(reader, contents):
            missing = replace(file, path=file.path + ".never-written")
            with pytest.raises((MissingFileError, UnreadableFileError)):
                list(reader.expand_batches(missing))


def _expandable(reader: ContentToFiles, contents: Sequence[_Written]) -> Sequence[ReachableFile]:
    """Every file of the contents that can be expanded."""
    found: dict[ReachableFile, None] = {}
    waiting = [file for content in contents for file in reader.files(content.version)]
    while waiting:
        file = waiting.pop()
        if file.kind in reader.expandable_kinds and file not in found:
            found[file] = None
            waiting.extend(reader.expand(file))
    return list(found)
