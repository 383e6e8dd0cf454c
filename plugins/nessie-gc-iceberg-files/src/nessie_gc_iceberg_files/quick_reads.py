"""Whole objects through obstore, for keys that it takes as they are (S4).

It spends a tenth of what the clients of the clouds spend on a request. It takes keys apart, though: empty elements,
``.`` and ``..``, control characters, and slashes at either end are refused or lost. Such keys are left to the exact
client, and so is the last word on every object that is not got: only that client tells a missing object from a missing
bucket, follows a bucket into its region, and says what is wrong in words that hold no secret.
"""

from __future__ import annotations

import logging
import os
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from nessie_gc_core.model.unpacking import Limit, TooMuchError

if TYPE_CHECKING:
    from obstore import GetResult
    from obstore.store import ClientConfig

log = logging.getLogger(__name__)

MOST_IN_VAIN = 5
_PANIC = "PanicException"
"""What a panic of obstore is in Python: no Exception, and of a class that cannot be imported."""
_ODD = re.compile(r"(?:^|/)\.{0,2}(?:/|$)|[\x00-\x1f\x7f]")
"""What a key has in it that is not kept as it is."""


_NOBODY: ClientConfig = {"proxy_url": "http://127.0.0.1:9", "proxy_excludes": "*,0.0.0.0/0,::/0"}
"""A proxy for no host: it keeps obstore from taking one from the environment."""


def is_kept(key: str) -> bool:
    """Whether a key reaches the store character by character."""
    return _ODD.search(key) is None


def by_proxy(proxy: str | None) -> ClientConfig:
    """Requests through this proxy, or through none, whatever the environment says."""
    return {"proxy_url": proxy} if proxy else _NOBODY


def is_unpacked(found: GetResult) -> bool:
    """Whether the bytes are the object's: clients that unpack what is stored packed would get others."""
    return "Content-Encoding" not in found.attributes


class Client(Protocol):
    """What is asked of a store of obstore."""

    def get(self, path: str, /) -> GetResult:
        """The object of this key."""


class QuickReads:
    """Reads of one bucket; its client is made when the first one comes."""

    def __init__(
        self, open_store: Callable[[], Client | None], takes: Callable[[GetResult], bool] = lambda _: True
    ) -> None:
        """Nothing is opened yet.

        Args:
            open_store: Makes the client; ``None`` if everything is left to the exact one.
            takes: Whether an answer is what the exact client would have got.
        """
        self._open_store = open_store
        self._takes = takes
        self._lock = threading.Lock()
        self._is_open = False
        self._store: Client | None = None
        self._in_vain = 0

    def read_or_ask(self, key: str, exact: Callable[[str], bytes], limit: Limit | None = None) -> bytes:
        """The whole object; the exact client has the last word where a key is odd, or this one did not get it."""
        found = self.read(key, limit)
        if found is None:
            found = exact(key)
            if is_kept(key):
                self.was_in_vain()
        return found

    def read(self, key: str, limit: Limit | None = None) -> bytes | None:
        """The whole object; ``None`` if the exact client must be asked.

        Raises:
            TooMuchError: it has more bytes than the limit allows, and is not read.
        """
        if not is_kept(key):
            return None
        try:
            store = self._opened()
            if store is None:
                return None
            answer = store.get(key)
            if not self._takes(answer):
                log.debug("asking again for %r: the answer differs from the exact client's", key)
                return None
            if limit is not None:
                limit.check_stored(answer.meta["size"])
            found = bytes(answer.bytes())
        except TooMuchError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and type(error).__name__ != _PANIC:
                raise
            log.debug("asking again for %r: %s", key, type(error).__name__)
            return None
        self._in_vain = 0
        return found

    def was_in_vain(self) -> None:
        """Says that the exact client has got an object that this one did not.

        After a few in a row (a bucket in another region, a server that it does not understand) it is asked no more.
        """
        with self._lock:
            self._in_vain += 1
            if self._in_vain >= MOST_IN_VAIN and self._store is not None:
                log.info("obstore can read none of these objects, so the exact client reads them")
                self._store = None

    def _opened(self) -> Client | None:
        with self._lock:
            if not self._is_open:
                self._is_open = True  # also where it cannot be opened: it is not tried again
                self._store = self._open_store() if _is_first_process() else None
            return self._store


_used_in: set[int] = set()
"""The process that used obstore first, of this one and those that it is a copy of."""


def _is_first_process() -> bool:
    """Whether obstore works here: a forked process does not inherit the threads of its runtime."""
    _used_in.add(os.getpid())
    return len(_used_in) == 1
