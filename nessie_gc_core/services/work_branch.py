"""A branch of its own for the work of a service, merged back when everything was done."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum

from nessie_gc_core.connectors import RepositoryConnector, SupportsWorkBranches
from nessie_gc_core.errors import CommitConflictError, CommitUnknownError, ConfigurationError, NessieGcError
from nessie_gc_core.model.repository import Reference, ReferenceKind
from nessie_gc_core.model.text import one_line

log = logging.getLogger(__name__)


class Merged(StrEnum):
    """What became of a merge."""

    MERGED = "merged"
    """It was made; the branch of its own is gone."""
    NOTHING = "nothing to merge"
    """Nothing was committed to the branch of its own, and it is gone."""
    LEFT = "left"
    """Nobody asked for it, or not everything was done; the branch is there to look at."""
    CONFLICT = "conflict"
    """A table changed on both branches; nothing was merged, and the branch is there."""
    REFUSED = "refused"
    """The repository refused it; nothing was merged, and the branch is there."""
    UNKNOWN = "unknown"
    """Nobody can tell (S19); the branch is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """A branch of its own, and what became of it."""

    branch: str
    """Its name."""
    into: str
    """The branch that it was made from."""
    outcome: Merged
    """What became of the merge."""
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
        if not isinstance(repository, SupportsWorkBranches):
            raise ConfigurationError(f"`work_branch`: the repository {repository.name!r} has no branches to work on")
        found = _branch(repository, base)
        if found is None:
            raise ConfigurationError(f"`branch`: there is no branch {base!r}")
        if not repository.copy_branch(name, found):
            raise ConfigurationError(f"`work_branch`: {name!r} is there already; give another name, or delete it")
        work = cls(repository=repository, connector=repository, base=found, name=name)
        try:
            yield work
        except BaseException:
            work.drop_unused()
            raise

    def drop_unused(self) -> None:
        """Deletes it unless something was committed to it."""
        unused = Reference(name=self.name, kind=ReferenceKind.BRANCH, commit_id=self.base.commit_id)
        try:
            self.repository.drop_branch(unused)
        except NessieGcError as error:
            log.warning("the branch %s is left: %s", self.name, error)

    def ended(self, *, merge: bool, problem: str | None, message: str) -> MergeReport:
        """Merges it back and deletes it, where that was asked for and nothing went wrong.

        Args:
            merge: whether it is merged.
            problem: why it is left to be looked at; ``None``: everything was done.
            message: what the history says of the merge.
        """
        try:
            now = _branch(self.connector, self.name)
            if now is not None and now.commit_id == self.base.commit_id and problem is None:
                self.drop_unused()
                return self._report(Merged.NOTHING)
            if now is None or not merge or problem is not None:
                gone = "it is gone" if now is None else None
                return self._report(Merged.LEFT, gone or problem)
            self.repository.merge_branch(now, self.base, message=message)
        except CommitConflictError as error:
            return self._report(Merged.CONFLICT, one_line(error))
        except CommitUnknownError as error:
            return self._report(Merged.UNKNOWN, one_line(error))
        except NessieGcError as error:
            return self._report(Merged.REFUSED, one_line(error))
        return self._report(Merged.MERGED, self._dropped(now))

    def _dropped(self, now: Reference) -> str | None:
        """Why the branch is still there after the merge; ``None``: it is gone."""
        try:
            return None if self.repository.drop_branch(now) else "somebody moved the branch, and it stays"
        except NessieGcError as error:
            return f"the branch stays: {one_line(error)}"

    def _report(self, outcome: Merged, reason: str | None = None) -> MergeReport:
        return MergeReport(branch=self.name, into=self.base.name, outcome=outcome, reason=reason)


def _branch(repository: RepositoryConnector, name: str) -> Reference | None:
    kind = ReferenceKind.BRANCH
    return next((each for each in repository.references() if each.name == name and each.kind is kind), None)
