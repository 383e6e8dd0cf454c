"""What outlives live sets: tombstones, the register of contents, records of tags, and leases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from nessie_gc_core import ConnectorOptions, option, options
from nessie_gc_core.connectors import LiveSetStore, lease_held
from nessie_gc_core.model import SeenContent
from nessie_gc_core.model.live_sets import LeaseHolder, ReachedPlace, RepositoryRecords
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_ledger.rows import Rows, Transaction


@options
class LedgerStoreOptions(ConnectorOptions):
    """Where the rows are."""

    file: str = option("live-sets.db", help="the SQLite file, created on first use; its folder must exist")


class Registers(LiveSetStore):
    """The methods that work on one repository."""

    Options = LedgerStoreOptions

    def __init__(self, options: LedgerStoreOptions) -> None:
        super().__init__(options)
        self._rows = Rows(options.file)

    # ---- registers ------------------------------------------------------------------------------------
    def add_tombstones(self, repository: str, paths: Iterable[str], *, at: datetime) -> None:
        """Records paths."""
        kept = list(paths)
        with self._rows.transaction() as rows:
            for path in kept:
                rows.add("tombstone", repository, "", path, {"at": at})

    def tombstones(self, repository: str, paths: Iterable[str]) -> set[str]:
        """The paths that are recorded."""
        asked = list(paths)
        with self._rows.transaction() as rows:
            return {path for path in asked if rows.get("tombstone", repository, "", path) is not None}

    def register_contents(self, repository: str, contents: Iterable[SeenContent]) -> None:
        """Adds contents, or updates the time at which they were last seen."""
        kept = list(contents)
        with self._rows.transaction() as rows:
            for each in kept:
                known = rows.get("seen", repository, each.content_id, each.location)
                first = each.first_seen if known is None else known["first_seen"]
                row = replace(each, first_seen=first)
                rows.put("seen", repository, each.content_id, each.location, row)

    def seen_contents(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[SeenContent]:
        """The register."""
        for content_id in [None] if content_ids is None else set(content_ids):
            for fields in self._rows.stream("seen", repository, content_id):
                yield SeenContent(**fields)

    def register_reached(self, repository: str, reached: Iterable[ReachedPlace]) -> None:
        """Adds rows."""
        kept = list(reached)
        with self._rows.transaction() as rows:
            for each in kept:
                rows.add("reached", repository, each.content_id, each.place, each)

    def reached(self, repository: str, content_ids: Collection[str] | None = None) -> Iterator[ReachedPlace]:
        """The rows."""
        for content_id in [None] if content_ids is None else set(content_ids):
            for fields in self._rows.stream("reached", repository, content_id):
                yield ReachedPlace(**fields)

    def put_tags(self, repository: str, records: Iterable[TagRecord]) -> None:
        """Adds or replaces records."""
        kept = list(records)
        with self._rows.transaction() as rows:
            for each in kept:
                rows.put("tag", repository, each.holder, each.name, each)

    def tags(self, repository: str) -> Iterator[TagRecord]:
        """The records."""
        for fields in self._rows.stream("tag", repository):
            yield TagRecord(**{**fields, "periods": tuple(fields["periods"])})

    def forget_tags(self, repository: str, keys: Iterable[tuple[str, str]]) -> None:
        """Removes records."""
        gone = list(keys)
        with self._rows.transaction() as rows:
            for holder, name in gone:
                rows.remove("tag", repository, holder, name)

    def repositories(self) -> Iterator[str]:
        """All repositories with live sets or seen contents."""
        with self._rows.transaction() as rows:
            found = {fields["repository"] for _, _, fields in rows.all("live set")} | set(rows.owners("seen"))
        yield from sorted(found)

    def count_records(self, repository: str) -> RepositoryRecords:
        """The numbers of records."""
        with self._rows.transaction() as rows:
            return _count(rows, repository)

    def move_records(self, source: str, target: str) -> RepositoryRecords:
        """Moves all records in one transaction."""
        with self._rows.transaction() as rows:
            for repository in (source, target):
                holder = _holder(rows, repository)
                if holder is not None:
                    raise lease_held(repository, holder)
            counted = _count(rows, source)
            if source != target:
                _move(rows, source, target)
            return counted

    # ---- lease ----------------------------------------------------------------------------------------
    def acquire_lease(self, repository: str, owner: str, *, host: str, process: int, duration: timedelta) -> datetime:
        """Takes or renews the lease by this machine's clock, because a file has no clock of its own."""
        with self._rows.transaction() as rows:
            now, holder = datetime.now(UTC), _holder(rows, repository)
            if holder is not None and holder.owner != owner:
                raise lease_held(repository, holder)
            since = now if holder is None else holder.since
            taken = LeaseHolder(owner=owner, host=host, process=process, since=since, until=now + duration)
            rows.put("lease", repository, "", "", taken)
            return taken.until

    def lease(self, repository: str) -> LeaseHolder | None:
        """The holder, if the lease has not expired."""
        with self._rows.transaction() as rows:
            return _holder(rows, repository)

    def release_lease(self, repository: str, owner: str) -> None:
        """Releases the lease."""
        with self._rows.transaction() as rows:
            holder = _holder(rows, repository)
            if holder is not None and holder.owner == owner:
                rows.remove("lease", repository, "", "")


def _holder(rows: Transaction, repository: str) -> LeaseHolder | None:
    fields = rows.get("lease", repository)
    holder = LeaseHolder(**fields) if fields is not None else None
    return holder if holder is not None and holder.until > datetime.now(UTC) else None


def _count(rows: Transaction, repository: str) -> RepositoryRecords:
    live_sets = sum(fields["repository"] == repository for _, _, fields in rows.all("live set"))
    tombstones, seen, tags, reached = (rows.count(kind, repository) for kind in ("tombstone", "seen", "tag", "reached"))
    return RepositoryRecords(
        live_sets=live_sets, tombstones=tombstones, seen_contents=seen, tags=tags, reached_places=reached
    )


def _move(rows: Transaction, source: str, target: str) -> None:
    for part, key, fields in rows.all("live set"):
        if fields["repository"] == source:
            rows.put("live set", "", part, key, {**fields, "repository": target})
    for kind in ("tombstone", "reached"):
        for part, key, fields in rows.all(kind, source):
            rows.add(kind, target, part, key, fields)
    for part, key, fields in rows.all("tag", source):
        known = rows.get("tag", target, part, key) or fields
        rows.put("tag", target, part, key, fields if fields["made"] and not known["made"] else known)
    for part, key, mine in rows.all("seen", source):
        theirs = rows.get("seen", target, part, key) or mine
        latest = max(mine, theirs, key=lambda fields: fields["last_seen"])
        first = min(mine["first_seen"], theirs["first_seen"])
        rows.put("seen", target, part, key, {**latest, "first_seen": first})
    rows.clear(("tombstone", "seen", "tag", "reached"), source)
