"""Which tags are ours: what the live-set store remembers of one repository."""

from __future__ import annotations

from collections.abc import Iterable

from nessie_gc_core.connectors import (
    LiveSetStore,
    RepositoryConnector,
    SupportsFormerIdentities,
    SupportsTagRecords,
)
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.report import GcReport


class Recording:
    """The records of tags of a repository."""

    def __init__(self, store: LiveSetStore, repository: RepositoryConnector) -> None:
        """Takes both.

        Raises:
            ConfigurationError: the store keeps no such records.
        """
        if not isinstance(store, SupportsTagRecords):
            raise ConfigurationError(
                f"the live-set store {store.name!r} does not record which tags were created, so that none could ever "
                "be deleted; use another store, such as 'jdbc'"
            )
        self.identity = repository.identity()
        self._repository, self._store, self._records = repository, store, store

    def by_holder(self) -> dict[str, dict[str, TagRecord]]:
        """All of them, by holder and name."""
        found: dict[str, dict[str, TagRecord]] = {}
        for record in self._records.tags(self.identity):
            found.setdefault(record.holder, {})[record.name] = record
        return found

    def put(self, records: Iterable[TagRecord]) -> None:
        """Adds or replaces some."""
        self._records.put_tags(self.identity, records)

    def forget(self, records: Iterable[TagRecord]) -> None:
        """Removes some."""
        self._records.forget_tags(self.identity, [record.key for record in records])

    def warn_of_former(self, report: GcReport) -> None:
        """Warns of records under a former identity of the repository: their tags are never deleted."""
        repository = self._repository
        if not isinstance(repository, SupportsFormerIdentities):
            return
        for former in repository.former_identities():
            count = self._store.count_records(former).tags
            if count:
                report.warn(
                    f"the store remembers {plural(count, 'tag')} of this repository under its former identity, and "
                    "ignores them; move them with "
                    + next_call("move_records", source=former, target=self.identity, dry_run=False)
                )
