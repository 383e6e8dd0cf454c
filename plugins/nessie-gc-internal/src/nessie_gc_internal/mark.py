"""Which records of a repository are live.

The references are read in one statement, and everything that they reach is read after it. Nessie keeps running;
what it does meanwhile is safe because of the order in which it writes (the rule of Nessie's own ``cleanup-repository``,
https://github.com/projectnessie/nessie/pull/9401 and
https://github.com/projectnessie/nessie/tree/main/versioned/storage/cleanup):

- Records never change what they name (those that are replaced, entities and snapshots of the catalog service, name
  nothing), so what a commit reaches is the same whenever it is looked at. Only Nessie's admin tool changes commits: an
  import, which shows as long as it lasts, and the cut of a history, which only takes names away.
- A record is written before anything names it: contents and indexes before or with their commit, a commit before the
  reference moves to it. Writing a record that exists sets its stamp ("referenced"). So whatever becomes needed after
  the references were read was written after that time, or was live already, and its stamp is newer than the grace
  period allows, or changes before the deletion, which names the stamp that it saw.
- The exception is a client that points a reference at an old commit that nothing reached, or that merges from one: it
  writes no old record again. So the references are read again within every deletion, and heads that were not seen are
  walked first (S9). That client's request itself can still lose the race, between its look at the commit and the move
  of the reference.
- That look may be long ago: a server answers from its cache for purged records, without a time limit, and with
  ``reference-cache-ttl`` for references that another server deleted. It then makes a reference that points at nothing,
  or merges what no longer exists. This program cannot see that, so users are told never to name a commit that no
  reference reaches after a purge, at least until all servers have been restarted.

A client must not still know, in good faith, what is purged. So every commit stays to which a reference pointed within
the grace period, including references that were deleted in it. The commits of ``int/refs`` record each deletion, with
the time and the commit; they are all read, because they are live. And a record that is too young keeps what it names,
as long as it is too young. Nessie's tool does neither: it would leave a branch that was deleted yesterday with its
newest commits but without their parents.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Set
from contextlib import closing

from nessie_gc_core.errors import RepositoryError
from nessie_gc_internal.contents import related_ids
from nessie_gc_internal.index import values_by_key
from nessie_gc_internal.kinds import INDEX_SEGMENTS, NAMES, NO_COMMIT, RELATED, SINGLETONS
from nessie_gc_internal.objects import commit_indexes, index_of, index_segments, named_by, new_reference
from nessie_gc_internal.store import ObjectStore, StoredObject, StoredReference
from nessie_gc_internal.wire import FormatError

OBJECTS_AT_ONCE = 200
"""Records that are fetched at once; indexes hold up to 200 kB each, by Nessie's default."""
YOUNG_AT_ONCE = 10_000
_REFERENCE_NAMES = "int/refs"
"""The internal reference whose keys are the names of all others."""

Roots = dict[bytes, "bytes | str"]
"""Ids, each with what names it: the id of a record, or words."""


class Mark:
    """The ids of all live records, and no others, in memory: about 100 bytes each."""

    def __init__(self, store: ObjectStore, cutoff: int, kinds: Iterable[str], *, tell: Callable[[int], None]) -> None:
        """Takes the store.

        Args:
            store: an open store.
            cutoff: records with a later stamp are too young, in microseconds since the epoch.
            kinds: the kinds of records that it has; those that are written later are too young to go.
            tell: told how many records were read.
        """
        self._store = store
        self._cutoff = cutoff
        self._tell = tell
        self._has_related = bool(RELATED & set(kinds))
        self._in_creation: tuple[bytes, Set[str], Roots] = (b"", frozenset(), {})
        self._wanted: Roots = {}
        self.live: set[bytes] = set(SINGLETONS) | {NO_COMMIT}
        """What references reach."""
        self.kept: set[bytes] = set()
        """What only young records, and references of the past, reach."""
        self.contents: set[str] = set()
        """The ids of contents that live commits see."""
        self.records_read = 0

    def keeps(self, id_: bytes) -> bool:
        """Whether a record stays whatever its age."""
        return id_ in self.live or id_ in self.kept

    def from_references(self, references: Iterable[StoredReference]) -> None:
        """Marks all that references reach, and reached within the grace period.

        Raises:
            RepositoryError: something that is live is missing, or is not understood.
        """
        references = list(references)
        self._follow({each.pointer: f"the reference {each.name!r}" for each in references if not each.deleted})
        self._follow({**self._past(references), **self._created(_pointers(references))}, live=False)

    def from_young(self) -> None:
        """Marks all that records reach which are too young to go."""
        with closing(self._store.written_after(self._cutoff)) as young:
            while some := list(itertools.islice(young, YOUNG_AT_ONCE)):
                self._follow({id_: "a young record" for id_ in some if not self.keeps(id_)}, live=False)

    def unseen(self, pointers: Mapping[str, bytes]) -> bool:
        """Whether a reference points to what was not marked.

        Args:
            pointers: the commit of each reference, by the reference's name.
        """
        return bool({*pointers.values(), *self._created(pointers)} - self.live - self.kept)

    # ---- the walk -------------------------------------------------------------------------------------
    def _follow(self, roots: Roots, *, live: bool = True) -> None:
        """Marks some ids and all that they reach.

        Args:
            roots: the ids.
            live: whether everything that is named must exist; else what is missing is passed over.
        """
        pending: Roots = {}
        for id_, name in roots.items():
            self._add(pending, (id_,), name, live=live)
        while pending:
            batch = dict(pending.popitem() for _ in range(min(OBJECTS_AT_ONCE, len(pending))))
            found = self._store.fetch(list(batch))
            if live and len(found) < len(batch):
                raise _missing(batch, found)
            for each in found:
                self._read(each, pending, live=live)
            self.records_read += len(found)
            self._tell(self.records_read)
        if live and self._wanted:
            wanted, self._wanted = self._wanted, {}
            self._follow(wanted, live=False)

    def _read(self, record: StoredObject, pending: Roots, *, live: bool) -> None:
        try:
            named = named_by(record.kind, record.data)
        except FormatError as error:
            if not live and record.kind not in NAMES:
                return
            what = f"the record {record.id.hex()} of kind {record.kind!r}"
            raise RepositoryError(f"{what} cannot be read, so nothing more is purged: {error}") from error
        self._add(pending, named.needed, record.id, live=live)
        wanted: Roots = dict.fromkeys(named.welcome, record.id)
        if named.dropped is not None and named.dropped.time > self._cutoff:
            wanted[named.dropped.pointer] = f"the deleted reference {named.dropped.name!r}"
        if live:
            self._wanted.update(wanted)
        else:
            self._add(pending, wanted, record.id, live=False)
        if named.content is not None:
            if live:
                self.contents.add(named.content.content_id)
            if self._has_related:
                (self.live if live else self.kept).update(related_ids(named.content))

    def _add(self, pending: Roots, ids: Iterable[bytes], name: bytes | str, *, live: bool) -> None:
        new = set(ids) - self.live
        if live:
            self.live |= new
        else:
            new -= self.kept
            self.kept |= new
        pending.update(dict.fromkeys(new, name))

    # ---- references -----------------------------------------------------------------------------------
    def _past(self, references: Iterable[StoredReference]) -> Roots:
        """Where references pointed within the grace period, those that are being deleted, and what is known of them."""
        found: Roots = {}
        for each in references:
            name = f"the reference {each.name!r}, earlier"
            found.update((pointer, name) for pointer, changed in each.previous if changed > self._cutoff)
            if each.deleted:
                found[each.pointer] = name
            if each.extended_info is not None:
                found[each.extended_info] = name
        return found

    def _created(self, pointers: Mapping[str, bytes]) -> Roots:
        """The commits of references that are being created: their names are known, and they point nowhere yet."""
        head = pointers.get(_REFERENCE_NAMES)
        if head is None:
            raise RepositoryError(f"the reference {_REFERENCE_NAMES!r} is missing, so the other references are unknown")
        if self._in_creation[0] != head or self._in_creation[1] != pointers.keys():
            known = {name.encode("utf-8", "surrogateescape") for name in pointers}
            ids = [value for key, value in self._keys_at(head).items() if value is not None and key not in known]
            try:
                created = [new_reference(record.data) for record in self._store.fetch(ids)] if ids else []
            except FormatError as error:
                raise RepositoryError(f"a reference that is being created cannot be read: {error}") from error
            roots: Roots = {each.initial_pointer: f"the new reference {each.name!r}" for each in created}
            self._in_creation = (head, frozenset(pointers), roots)
        return self._in_creation[2]

    def _keys_at(self, commit_id: bytes) -> Mapping[bytes, bytes | None]:
        """The keys that are there at a commit."""
        found: dict[bytes, bytes | None] = {}
        commits = [] if commit_id == NO_COMMIT else self._store.fetch([commit_id])
        try:
            for commit in commits:
                indexes = commit_indexes(commit.data)
                for index in self._indexes(indexes.segments):
                    found.update(values_by_key(index_of(index.data)))
                found.update(values_by_key(indexes.incremental))
        except FormatError as error:
            raise RepositoryError(f"the commit {commit_id.hex()} cannot be read: {error}") from error
        return found

    def _indexes(self, ids: Iterable[bytes]) -> Iterable[StoredObject]:
        for record in self._store.fetch(list(ids)):
            if record.kind == INDEX_SEGMENTS:
                yield from self._store.fetch(index_segments(record.data))
            else:
                yield record


def _pointers(references: Iterable[StoredReference]) -> Mapping[str, bytes]:
    return {each.name: each.pointer for each in references}


def _missing(batch: Mapping[bytes, bytes | str], found: Iterable[StoredObject]) -> RepositoryError:
    id_ = min(batch.keys() - {each.id for each in found})
    name = batch[id_]
    who = name if isinstance(name, str) else f"the record {name.hex()}"
    return RepositoryError(f"{who} needs the record {id_.hex()}, which is missing, so nothing more is purged")
