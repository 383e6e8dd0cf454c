"""What has tags: a repository with a history, or each table of a plain catalog."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from nessie_gc_core.connectors import RepositoryConnector, SupportsDefaultReference, SupportsTableTags, SupportsTags
from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, NessieGcError
from nessie_gc_core.model.repository import ICEBERG_TABLE, ContentVersion, Reference, ReferenceKind
from nessie_gc_core.model.table_metadata import MAIN, RefType, TableMetadata
from nessie_gc_core.model.tags import TagRecord
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.autotag.states import State, states_in, states_of


class Done(StrEnum):
    """The outcome of a change that was asked for."""

    DONE = "done"
    """It was made."""
    NOT_OURS = "not ours"
    """Someone else was faster: the name is taken, or the tag is gone or elsewhere. Nothing was changed."""
    CONFLICT = "conflict"
    """Others committed meanwhile; nothing was changed."""
    REFUSED = "refused"
    """It was refused; nothing was changed."""
    UNKNOWN = "unknown"
    """Nobody can tell (S19)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The outcome of one tag."""

    done: Done
    """What."""
    reason: str | None = None
    """Why it was not made."""


class Holder(ABC):
    """Something that has branches and tags."""

    id: str
    """The content id of a table; empty for a repository."""
    table: str | None
    """The dotted name of a table."""
    default: str
    """Its branch that plays no part in names."""
    references: Mapping[str, str | None]
    """The names of its tags with what they are at, and those of its branches with ``None``."""
    left_alone: str | None = None
    """Why nothing of it is changed."""

    @property
    def branches(self) -> list[str]:
        """The names of its branches."""
        return [name for name, target in self.references.items() if target is None]

    @abstractmethod
    def states(self, branch: str) -> Iterator[State]:
        """The states of a branch, newest first, as they are consumed.

        Raises:
            NessieGcError: they cannot be read.
        """

    @abstractmethod
    def contents(self, branch: str, state: State) -> Iterator[ContentVersion]:
        """The contents of a state that its branch does not have any more.

        Raises:
            NessieGcError: they cannot be read.
        """

    @abstractmethod
    def change(
        self, make: Sequence[TagRecord], delete: Sequence[TagRecord], check: Callable[[], None]
    ) -> Iterator[tuple[TagRecord, Change]]:
        """Makes tags, and deletes others that are where their records say; tells the outcome of each.

        Args:
            make: those to make.
            delete: those to delete.
            check: called before every commit; raises if the run has to end.
        """

    @abstractmethod
    def reloaded(self) -> Holder | None:
        """The same as it is now; ``None`` if it is gone.

        Raises:
            NessieGcError: it cannot be read.
        """


class RepositoryHolder(Holder):
    """A repository with its own history."""

    def __init__(self, repository: RepositoryConnector, tags: SupportsTags) -> None:
        self.id, self.table = "", None
        self._repository, self._tags = repository, tags
        self._visible: dict[str, set[object]] = {}
        self._found = {reference.name: reference for reference in repository.references()}
        self.references = {name: _target(each) for name, each in self._found.items()}
        self.default = repository.default_reference() if isinstance(repository, SupportsDefaultReference) else MAIN

    def states(self, branch: str) -> Iterator[State]:
        """By the commit log."""
        return states_of(self._repository.commit_log(self._found[branch]))

    def contents(self, branch: str, state: State) -> Iterator[ContentVersion]:
        """What is visible at the commit and not at the head."""
        head = self._found[branch]
        if branch not in self._visible:
            self._visible[branch] = {version.identity for version in self._repository.contents(head)}
        then = self._repository.contents(replace(head, commit_id=state.target))
        yield from (version for version in then if version.identity not in self._visible[branch])

    def change(
        self, make: Sequence[TagRecord], delete: Sequence[TagRecord], check: Callable[[], None]
    ) -> Iterator[tuple[TagRecord, Change]]:
        """One by one."""
        for tag in make:
            check()
            at = replace(self._found[tag.branch], commit_id=tag.target)
            yield tag, self._tried(partial(self._tags.make_tag, tag.name, at), tag, "the name is already taken")
        for tag in delete:
            check()
            found = Reference(name=tag.name, kind=ReferenceKind.TAG, commit_id=tag.target)
            reason = "someone deleted or moved it"
            yield tag, self._tried(partial(self._tags.delete_tag, found), tag, reason)

    def reloaded(self) -> RepositoryHolder:
        """With the references as they are now."""
        return RepositoryHolder(self._repository, self._tags)

    def _tried(self, act: Callable[[], bool], tag: TagRecord, otherwise: str) -> Change:
        try:
            return Change(done=Done.DONE) if act() else Change(done=Done.NOT_OURS, reason=otherwise)
        except CommitUnknownError as error:
            return _found_out(self, error, [tag])
        except NessieGcError as error:
            return Change(done=Done.REFUSED, reason=one_line(error))


class TableHolder(Holder):
    """A table of a plain catalog, with Iceberg's branches and tags; all that changes in it is one commit."""

    default = MAIN

    def __init__(self, tags: SupportsTableTags, table: TableMetadata) -> None:
        self.id, self.table = table.content_id, table.content_key
        self._tags, self.metadata = tags, table
        self.left_alone = table.unwritable if table.manager is None else f"it is managed by {table.manager}"
        refs = table.refs.items()
        self.references = {name: str(ref.snapshot_id) if ref.type is RefType.TAG else None for name, ref in refs}

    def states(self, branch: str) -> Iterator[State]:
        """By the table's metadata."""
        return states_in(self.metadata, branch)

    def contents(self, branch: str, state: State) -> Iterator[ContentVersion]:
        """The snapshot."""
        table = self.metadata
        yield ContentVersion(
            content_id=table.content_id,
            content_type=ICEBERG_TABLE,
            metadata_location=table.metadata_location,
            snapshot_id=int(state.target),
            content_key=table.content_key,
            commit_id=table.commit_id,
        )

    def change(
        self, make: Sequence[TagRecord], delete: Sequence[TagRecord], check: Callable[[], None]
    ) -> Iterator[tuple[TagRecord, Change]]:
        """One commit, which is made as a whole or not at all."""
        if make or delete:
            check()
            change = self._committed(make, delete)
            yield from ((tag, change) for tag in (*make, *delete))

    def reloaded(self) -> TableHolder | None:
        """As its catalog has it now."""
        now = self._tags.reload(self.metadata)
        return None if now is None else TableHolder(self._tags, now)

    def _committed(self, make: Sequence[TagRecord], delete: Sequence[TagRecord]) -> Change:
        try:
            self._tags.change_tags(self.metadata, made=_snapshots(make), deleted=_snapshots(delete))
        except CommitConflictError as error:
            return Change(done=Done.CONFLICT, reason=one_line(error))
        except CommitUnknownError as error:
            return _found_out(self, error, [*make, *delete])
        except NessieGcError as error:
            return Change(done=Done.REFUSED, reason=one_line(error))
        return Change(done=Done.DONE)


def _found_out(holder: Holder, error: CommitUnknownError, tags: Sequence[TagRecord]) -> Change:
    """The outcome of a change that nobody answered for: deletions were made where the tags are gone.

    Of a tag that was to be made nothing follows: where it is there, anybody may have made it, and where it is not, it
    may still come.
    """
    reason = one_line(error)
    try:
        now = holder.reloaded()
    except NessieGcError as also:  # the server that lost the answer does not tell now either
        return Change(done=Done.UNKNOWN, reason=f"{reason} ({one_line(also)})")
    there = {} if now is None else now.references
    is_deleted = all(tag.made and tag.name not in there for tag in tags)
    return Change(done=Done.DONE) if is_deleted else Change(done=Done.UNKNOWN, reason=reason)


def _snapshots(tags: Sequence[TagRecord]) -> dict[str, int]:
    return {tag.name: int(tag.target or 0) for tag in tags}


def _target(reference: Reference) -> str | None:
    return (reference.commit_id or "") if reference.kind is ReferenceKind.TAG else None
