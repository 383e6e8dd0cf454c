"""What is visible at the head of a reference, whether its repository lists contents or names every state in its log."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model.closing import first_of
from nessie_gc_core.model.repository import ContentVersion, Reference


def contents_at(repository: RepositoryConnector, reference: Reference) -> Iterator[ContentVersion]:
    """The contents at a reference; of a catalog whose log names every state, what its head puts, the newest first."""
    contents = repository.contents(reference)
    first = next(contents, None)
    if first is not None:
        yield from chain([first], contents)
        return
    head = first_of(repository.commit_log(reference))
    for operation in (head.operations if head is not None else None) or ():
        if operation.content is not None:
            yield operation.content
