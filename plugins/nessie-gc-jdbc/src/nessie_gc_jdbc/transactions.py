"""Transactions, which are run again if the database goes away before they are complete."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from nessie_gc_core.model.text import duration_text
from nessie_gc_jdbc.problems import is_away, store_error
from nessie_gc_jdbc.urls import shown

log = logging.getLogger(__name__)

WRITES = "nessie_gc_writes"
"""The execution option of a connection whose transaction writes."""
REBUILDS = "nessie_gc_rebuilds"
"""The execution option of a connection whose transaction changes tables, which SQLite does by rebuilding them."""
_FIRST_PAUSE_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 3.0

_T = TypeVar("_T")


class _CommitUnansweredError(Exception):
    """A transaction that may have been committed: it cannot be run again; its cause says what happened."""


class Transactions:
    """Runs work in transactions of one engine.

    A database that is restarted costs time only: what was to be read, or was not yet to be committed, is done again. A
    commit whose answer is lost may have been made, so that is an error.
    """

    def __init__(self, engine: Engine, *, wait_seconds: float) -> None:
        """Takes how long a database that was reached before is waited for."""
        self._engine = engine
        self._wait_seconds = wait_seconds
        self._errors = (SQLAlchemyError, UnicodeEncodeError, engine.dialect.loaded_dbapi.Error)
        self._patiently = Retrying(
            retry=retry_if_exception(is_away),
            stop=stop_after_delay(wait_seconds),
            wait=wait_random_exponential(multiplier=_FIRST_PAUSE_SECONDS, max=_LONGEST_PAUSE_SECONDS),
            before_sleep=self._say,
            reraise=True,
        )

    def run(self, work: Callable[[Connection], _T], *, writes: bool, waits: bool, rebuilds: bool = False) -> _T:
        """Runs work in a transaction, and gives what it gives.

        Args:
            work: may be run several times, each time in a new transaction; its own errors end the transaction.
            writes: whether it writes; what it reads then stays true until it ends.
            waits: whether a database that does not answer is waited for.
            rebuilds: whether it changes tables; SQLite then checks no foreign keys.

        Raises:
            StoreError: the database cannot be used.
        """
        once = partial(self._once, work, writes=writes, rebuilds=rebuilds)
        try:
            return self._patiently(once) if waits else once()
        except _CommitUnansweredError as unanswered:
            error = unanswered.__cause__ or unanswered
            raise store_error(error, self._engine.url) from error
        except self._errors as error:
            raise store_error(error, self._engine.url) from error

    def _once(self, work: Callable[[Connection], _T], *, writes: bool, rebuilds: bool) -> _T:
        is_complete = False
        options: dict[str, Any] = {"preserve_rowcount": True, WRITES: writes, REBUILDS: rebuilds}
        try:
            with self._engine.connect().execution_options(**options) as connection, connection.begin():
                result = work(connection)
                is_complete = True
        except self._errors as error:
            if is_complete and writes:
                raise _CommitUnansweredError from error
            raise
        return result

    def _say(self, state: RetryCallState) -> None:
        """Says it once for each time that the database goes away."""
        if state.attempt_number == 1 and state.outcome is not None:
            error = state.outcome.exception()
            reason = store_error(error, self._engine.url) if error is not None else shown(self._engine.url)
            log.warning("%s; waiting for it, up to %s", reason, duration_text(self._wait_seconds))
