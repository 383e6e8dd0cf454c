"""A branch of its own for the work of a service, merged back when everything was done."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum

from nessie_gc_core.connectors import RepositoryConnector, SupportsWorkBranches
from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, ConfigurationError, NessieGcError
from nessie_gc_core.model.repository import Reference, ReferenceKind
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.heads import contents_at

log = logging.getLogger(__name__)


class Merged(StrEnum):
    """The outcome of a merge."""

    MERGED = "merged"
    """It was made; the branch of its own is gone."""
    NOTHING = "nothing to merge"
    """Nothing was committed to the branch of its own."""
    LEFT = "left"
    """It was not requested, or not everything was done; the branch stays for inspection."""
    CONFLICT = "conflict"
    """A table changed on both branches; nothing was merged, and the branch stays."""
    REFUSED = "refused"
    """The repository refused it; nothing was merged, and the branch stays."""
    UNKNOWN = "unknown"
    """The outcome is unknown (S19); the branch stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """A branch of its own, and its outcome."""

    branch: str
    """Its name."""
    into: str
    """The branch that it was made from."""
    outcome: Merged
    """The outcome of the merge."""
    reason: str | None = None
    """Why it was not made."""

    def to_dict(self) -> dict[str, str | None]:
        """As JSON shows it."""
        return {"branch": self.branch, "into": self.into, "outcome": self.outcome.value, "reason": self.reason}

    def __str__(self) -> str:
        """One line."""
        reason = "" if self.reason is None else f": {self.reason}"
        return f"branch {self.branch} of {self.into}: {self.outcome.value}{reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkBranch:
    """A branch that was made for the work of one run."""

    repository: SupportsWorkBranches
    connector: RepositoryConnector
    base: Reference
    """The branch that it was made from, at its commit then."""
    name: str

    @classmethod
    @contextmanager
    def made(cls, repository: RepositoryConnector, name: str, base: str) -> Iterator[WorkBranch]:
        """Makes it; where the work ends with an error before anything was committed, it is taken away again.

        Raises:
            ConfigurationError: the repository has no branches to work on, the base is not there, or the name is taken.
            NessieGcError: it could not be made.
        """
        found = check_work_branch(repository, name, base)
        assert isinstance(repository, SupportsWorkBranches)
        if not repository.copy_branch(name, found):
            raise _taken(name)
        work = cls(repository=repository, connector=repository, base=found, name=name)
        try:
            yield work
        except BaseException:
            work.drop_unused()
            raise

    def check_catalog(self, locations: Mapping[str, str]) -> None:
        """Refuses to work where the catalog is of another repository than the one in which the branch was made.

        Args:
            locations: dotted names of tables with their metadata files, as the catalog has them on the branch.

        Raises:
            ConfigurationError: they are others here.
        """
        at = replace(self.base, name=self.name)
        here = {version.content_key: version.metadata_location for version in contents_at(self.connector, at)}
        for table, location in locations.items():
            if here.get(table) != location:
                raise ConfigurationError(
                    f"`work_branch`: {table} is at {location} in the catalog and at {here.get(table)} in "
                    f"{self.connector.address()}; configure the repository that the catalog uses"
                )

    def drop_unused(self) -> str | None:
        """Deletes it unless something was committed to it; why it is still there, where it is."""
        unused = Reference(name=self.name, kind=ReferenceKind.BRANCH, commit_id=self.base.commit_id)
        return self._dropped(unused)

    def ended(self, *, merge: bool, committed: bool, problem: str | None, message: str) -> MergeReport:
        """Merges it back and deletes it, where that was asked for and nothing went wrong.

        Args:
            merge: whether it is merged.
            committed: whether something was committed to it.
            problem: why it is left to be looked at; ``None``: everything was done.
            message: what the history says of the merge.
        """
        try:
            now = _branch(self.connector, self.name)
            if now is None:
                return self._report(Merged.REFUSED if merge else Merged.LEFT, "it is gone")
            if now.commit_id == self.base.commit_id:
                if committed:
                    return self._report(Merged.REFUSED, "the commits are not on it; the catalog uses another server")
                return self._report(Merged.NOTHING, self.drop_unused())
            if not merge or problem is not None:
                return self._report(Merged.LEFT, problem)
            self.repository.merge_branch(now, self.base, message=message)
        except CommitConflictError as error:
            return self._report(Merged.CONFLICT, one_line(error))
        except CommitUnknownError as error:
            return self._report(Merged.UNKNOWN, one_line(error))
        except NessieGcError as error:
            return self._report(Merged.REFUSED, one_line(error))
        return self._report(Merged.MERGED, self._dropped(now))

    def _dropped(self, now: Reference) -> str | None:
        """Deletes it; why it is still there, where it is."""
        try:
            return None if self.repository.drop_branch(now) else "someone moved the branch, so it stays"
        except NessieGcError as error:
            log.warning("the branch %s stays: %s", self.name, error)
            return f"the branch stays: {one_line(error)}"

    def _report(self, outcome: Merged, reason: str | None = None) -> MergeReport:
        return MergeReport(branch=self.name, into=self.base.name, outcome=outcome, reason=reason)


def check_work_branch(repository: RepositoryConnector, name: str, base: str) -> Reference:
    """The branch that another one can be made of, to work on.

    Raises:
        ConfigurationError: the repository has no branches to work on, the base is not there, or the name is taken.
    """
    if not isinstance(repository, SupportsWorkBranches):
        raise ConfigurationError(f"`work_branch`: the repository {repository.name!r} has no branches to work on")
    references = {reference.name: reference for reference in repository.references()}
    found = references.get(base)
    if found is None or found.kind is not ReferenceKind.BRANCH:
        raise ConfigurationError(f"`table_branch`: the branch {base!r} does not exist")
    if name in references:
        raise _taken(name)
    return found


def _taken(name: str) -> ConfigurationError:
    return ConfigurationError(f"`work_branch`: {name!r} already exists; choose another name, or delete it")


def _branch(repository: RepositoryConnector, name: str) -> Reference | None:
    kind = ReferenceKind.BRANCH
    return next((each for each in repository.references() if each.name == name and each.kind is kind), None)
