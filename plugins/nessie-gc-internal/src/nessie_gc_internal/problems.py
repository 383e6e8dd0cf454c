"""What PostgreSQL complains about, in one line that says what to do."""

from __future__ import annotations

import psycopg
from psycopg import errors

from nessie_gc_core.errors import AccessDeniedError, NessieGcError, RepositoryError, ServiceUnavailableError
from nessie_gc_internal.urls import Parameters, redacted, shown

_CREDENTIALS = ("password", "authentication", "pg_hba", "role")
"""Words of messages about credentials; a connection that fails carries no code."""


def database_error(error: psycopg.Error, parameters: Parameters) -> NessieGcError:
    """The error as one line without the password, and what to do."""
    lines = [line.strip() for line in redacted(str(error), parameters).splitlines() if line.strip()]
    reason = lines[0] if lines else type(error).__name__
    place = f"Nessie's database {shown(parameters)}"
    if isinstance(error, errors.InsufficientPrivilege):
        return AccessDeniedError(f"{place} refuses: {reason}; grant SELECT on refs2 and objs2, and DELETE on objs2")
    if isinstance(error, errors.LockNotAvailable):
        return ServiceUnavailableError(
            f"{place}: the table objs2 is locked all the time, such as by a vacuum, an index build or an open "
            "transaction; run again later"
        )
    if isinstance(error, errors.QueryCanceled):
        return ServiceUnavailableError(f"{place} ended a statement: {reason}; raise its statement_timeout")
    if isinstance(error, psycopg.OperationalError):
        if error.sqlstate is None and any(word in reason.lower() for word in _CREDENTIALS):
            return AccessDeniedError(f"{place} refused the connection: {reason}; check user, password and database")
        return ServiceUnavailableError(
            f"{place} does not answer: {reason}; check that it is running and that the URL is right"
        )
    return RepositoryError(f"{place} failed: {reason}")
