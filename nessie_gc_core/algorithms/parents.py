"""From files up to the files that name them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pyarrow as pa

from nessie_gc_core.algorithms.read_ahead import read_ahead
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.authorities import without_credentials
from nessie_gc_core.model.batches import to_batches, to_texts
from nessie_gc_core.model.files import ReachableFile
from nessie_gc_core.model.relations import PARENTS

log = logging.getLogger(__name__)


def climb(
    files: Dataset,
    readers: Sequence[type[ContentToFiles]],
    choice: ConnectorChoice,
    named: Collection[str],
    *,
    most: int,
) -> Iterator[frozenset[str]]:
    """Walks up level by level, reading the files of each level once more.

    Args:
        files: :data:`EXPANDED_FILES`, among which parents are looked for.
        readers: the readers whose contents occur.
        choice: the connectors' options.
        named: raw paths, as metadata has them.
        most: of each level, about so many parents are found.

    Yields:
        After each level the new parents: raw paths of files that name one of those that are known, and of files that
        cannot be read, which may.
    """
    known = set(named)
    for reader in readers:
        for kind in reversed(reader.expandable_kinds):
            level = files.where("kind", [kind]).where("content_type", sorted(reader.content_types))
            found = level.spread(["path"]).distinct(["path"]).flat_map(_ParentsOf(choice, known))
            parents = frozenset(str(row["parent"]) for row in found.head(most + 1).to_pylist()) - known
            known |= parents
            yield parents


class _ParentsOf:
    """Expandable files to those of them that name one of some files, or may (:data:`PARENTS`)."""

    schema = PARENTS

    def __init__(self, choice: ConnectorChoice, named: Iterable[str]) -> None:
        self._choice = choice
        self._named = frozenset(named)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rules = self._choice.rules()
        rows = (row for batch in batches for row in to_texts(batch, "path", "kind", "content_type"))
        files = ((ReachableFile(path=path, kind=kind), type_) for path, kind, type_ in rows)
        with OpenConnectors(self._choice) as connectors:

            def parent(job: tuple[ReachableFile, str]) -> Iterator[str]:
                file, type_ = job
                opened = replace(file, path=rules.to_open(file.path))
                if self._may_name_one(connectors, opened, type_):
                    yield file.path

            found = read_ahead(files, parent, at_once=lambda job: self._choice.reads_at_once(job[0].path))
            with closing(found):
                yield from to_batches(((path, None) for path in found), self.schema)

    def _may_name_one(self, connectors: OpenConnectors, file: ReachableFile, content_type: str) -> bool:
        try:
            with connectors.reader(content_type) as reader:
                return any(without_credentials(child.path) in self._named for child in reader.expand(file))
        except Exception as error:  # noqa: BLE001 - whatever a reader raises, nothing is known of this file
            log.debug("%s cannot be read: %s", file.path, error)
            return True
