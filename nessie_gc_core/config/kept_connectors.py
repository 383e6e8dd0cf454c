"""The connectors of a process: made once for each configuration, and kept from one task to the next."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeVar, cast

from nessie_gc_core.connectors import Connector, CredentialSource, SupportsCredentialSource
from nessie_gc_core.model.closing import only_warned
from nessie_gc_core.model.options import OptionValue

log = logging.getLogger(__name__)

C = TypeVar("C", bound=Connector)

IDLE_SECONDS = 600
"""A connector that was unused for this long is closed as soon as another one is made."""

_Key = tuple[type[Connector], str, str]
"""Class, options, and whose credentials it takes."""


class Credentials(NamedTuple):
    """What a connector asks for credentials."""

    key: str
    """Tells it from other sources."""
    source: CredentialSource


@dataclass(slots=True)
class _Kept:
    connector: Connector
    users: int = 0
    last_used: float = 0.0

    def is_free(self) -> bool:
        return self.users == 0 or self.connector.shareable


def _hand_over(connector: Connector, source: CredentialSource) -> None:
    if isinstance(connector, SupportsCredentialSource):
        connector.use_credentials(source)
    elif any(option.name == "properties" for option in fields(connector.Options)):
        log.warning("%r does not take the credentials of a repository, and uses configured ones", connector.name)


class KeptConnectors:
    """Readers, listers and deleters with the number of tasks that use each at the moment.

    A worker of Spark lives on between tasks, and so do its connectors. A run that ends closes those of its process
    that nobody uses any more.
    """

    def __init__(self) -> None:
        self.forget()

    @contextmanager
    def used(
        self, connector: type[C], options: Mapping[str, OptionValue], credentials: Credentials | None = None
    ) -> Iterator[C]:
        """A connector of a class with some options; one that is not shareable is nobody else's until it is left.

        Args:
            connector: the class.
            options: its options.
            credentials: those it takes, if any.
        """
        kept = self._taken(connector, options, credentials)
        try:
            self.close_idle(IDLE_SECONDS)
            yield cast("C", kept.connector)
        finally:
            self._given_back.append(kept)  # whoever holds the lock next counts it: this may be the garbage collector

    def _taken(
        self, connector: type[Connector], options: Mapping[str, OptionValue], credentials: Credentials | None
    ) -> _Kept:
        whose = "" if credentials is None else credentials.key
        key = (connector, json.dumps(options, sort_keys=True, default=str), whose)
        with self._lock:
            self._count_given_back()
            kept = next((each for each in self._kept.get(key, ()) if each.is_free()), None)
            if kept is None:
                kept = _Kept(connector.from_options(options))  # opens nothing, so the lock is held briefly
                if credentials is not None:
                    _hand_over(kept.connector, credentials.source)
                self._kept.setdefault(key, []).append(kept)
            kept.users += 1
            return kept

    def close_idle(self, seconds: float = 0) -> None:
        """Closes those that were unused for some time; whoever needs one again gets a new one.

        May be called by the garbage collector, in the middle of anything here: then they are closed another time.
        """
        idle: list[_Kept] = []
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._count_given_back()
            until = time.monotonic() - seconds
            for all_kept in self._kept.values():
                idle += [kept for kept in all_kept if not kept.users and kept.last_used <= until]
                all_kept[:] = [kept for kept in all_kept if kept.users or kept.last_used > until]
        finally:
            self._lock.release()
        for kept in idle:
            with only_warned(f"the connector {kept.connector.name!r} cannot be closed"):  # the others are, as well
                kept.connector.close()

    def _count_given_back(self) -> None:
        """Counts those that were given back (the lock is held)."""
        while self._given_back:
            kept = self._given_back.popleft()
            kept.users -= 1
            kept.last_used = time.monotonic()

    def forget(self) -> None:
        """Leaves all of them to the process that this one is a copy of: connections do not survive that."""
        self._kept: dict[_Key, list[_Kept]] = {}
        self._given_back = deque[_Kept]()
        self._lock = threading.Lock()


KEPT = KeptConnectors()
"""Those of this process."""
os.register_at_fork(after_in_child=KEPT.forget)
