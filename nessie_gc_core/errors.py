"""All errors of Nessie GC, grouped by what the caller should do about them."""

from __future__ import annotations


class NessieGcError(Exception):
    """Root of all errors that Nessie GC raises on purpose; the command line prints it as one line."""

    exit_code = 1


class ConfigurationError(NessieGcError, ValueError):
    """Fix the configuration: an option, a policy, a pattern, a scheme or a plugin name is wrong."""

    exit_code = 2


class PluginError(ConfigurationError):
    """Fix the installation: a plugin is missing, broken, or claimed by two distributions."""


class SafetyError(NessieGcError):
    """Stop: going on would break a safety rule (a stale live set, a foreign repository, a cap)."""


class IncompleteError(NessieGcError):
    """Look at the report and run again: something could not be deleted, or stayed unknown."""


class InsufficientMemoryError(NessieGcError, MemoryError):
    """Raise a limit, or free some room, and run again: what has to be compared does not fit."""


class ServiceUnavailableError(NessieGcError, ConnectionError):
    """Retry later: a server does not answer, or is unavailable."""


class AccessDeniedError(NessieGcError, PermissionError):
    """Fix the credentials: a server or a store rejected them."""


class RepositoryError(NessieGcError):
    """Stop: the repository sent an invalid response."""


class LimitExceededError(RepositoryError):
    """Check the server, or raise the limit that is named: a response is larger, slower or longer than that."""


class ReferenceNotFoundError(RepositoryError, LookupError):
    """The named reference or commit does not exist in the repository, or no longer exists."""


class CommitConflictError(RepositoryError):
    """Read again and retry: someone else changed the same thing, and nothing was committed."""


class CommitUnknownError(RepositoryError):
    """Look again later: it is unknown whether a commit was made (S19)."""


class UnreadableFileError(NessieGcError, OSError):
    """A file that decides what is live cannot be read; what depends on it has the verdict *unknown*."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot read {path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[UnreadableFileError], tuple[str, str]]:
        return (type(self), (self.path, self.reason))


class MissingFileError(UnreadableFileError, FileNotFoundError):
    """A file that decides what is live does not exist."""


class UnwritableFileError(NessieGcError, OSError):
    """A file cannot be written; nothing refers to it, and leftovers of the failed attempt are garbage."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"cannot write {path}: {reason}")
        self.path = path
        self.reason = reason

    def __reduce__(self) -> tuple[type[UnwritableFileError], tuple[str, str]]:
        return (type(self), (self.path, self.reason))


class ListingError(NessieGcError, OSError):
    """A location cannot be listed, or its listing cannot be trusted; nothing there is deleted."""


class StoreError(NessieGcError):
    """The live-set store cannot be used: it is unreachable, locked, or has another schema version."""


class LiveSetNotFoundError(StoreError, LookupError):
    """There is no live set with the given id."""


class LiveSetStateError(StoreError, RuntimeError):
    """A live set is not in the status that the operation needs; the message names both."""


class LeaseHeldError(StoreError, RuntimeError):
    """Another process collects the same repository with the same store right now."""


class TableError(NessieGcError):
    """A table in which a service keeps what it found cannot be read or written, or is something else."""


class ForeignTableError(TableError):
    """A table of a catalog is not an Iceberg table. Nothing is wrong; the table is left alone."""


class UnknownLocationError(NessieGcError, ValueError):
    """A location's scheme or form is not known, so it cannot be compared with any other (S3)."""
