"""How many commits were made since an instant, of references whose history is read no further than needed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from nessie_gc_core.connectors import RepositoryConnector
from nessie_gc_core.model.closing import closed
from nessie_gc_core.model.repository import Reference


def commits_since(
    repository: RepositoryConnector, references: Iterable[Reference], since: datetime, *, most: int
) -> int:
    """Counts commits that are newer than an instant; what several references have counts once.

    In a plain catalog, these are the snapshots that its tables list. A history whose newest commit has an earlier time
    than the next ones is not read on, so there may be more.

    Args:
        repository: the repository.
        references: whose commits are counted.
        since: later commits count, by the times that they have.
        most: counting ends when there are so many.

    Raises:
        NessieGcError: the repository cannot be read.
    """
    seen = set[str]()
    for reference in references:
        with closed(repository.commit_log(reference)) as log:
            for entry in log:
                if entry.commit_time <= since:
                    break
                seen.add(entry.commit_id)
                if len(seen) >= most:
                    return most
    return len(seen)
