"""Credentials that repositories give: who is asked, for which places, and what is held of the answers."""

from __future__ import annotations

import logging
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from nessie_gc_core.config.kept_connectors import KEPT
from nessie_gc_core.connectors import CredentialSource, RepositoryConnector, SupportsStorageCredentials
from nessie_gc_core.errors import NessieGcError, RepositoryError
from nessie_gc_core.model.credentials import CredentialUse, StorageCredential, spelled_alike
from nessie_gc_core.model.options import ConnectorSpec
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.times import Clock, utc_now
from nessie_gc_core.plugins import PluginRegistry, installed

log = logging.getLogger(__name__)

_AHEAD = timedelta(minutes=5)
"""So long before they expire credentials are renewed, or a quarter of their lifetime before, if that is less."""
_LEAST = timedelta(seconds=1)
"""They are not renewed more often than this, however soon a server says that they expire."""
_PAUSE = timedelta(minutes=1)
"""A repository is not asked for the same credentials again within this time because a store rejects them."""


_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vendor:
    """A repository that gives credentials, and what they are used for."""

    spec: ConnectorSpec
    uses: frozenset[CredentialUse]


class _Owner(NamedTuple):
    vendor: int
    name: str


_Places = Mapping[str, _Owner]


class Vending:
    """The repositories that give credentials in one run.

    It travels with their options and with where their contents are, never with credentials: each process asks for its
    own. A problem with finding the places travels too, and then nothing is reached with configured credentials instead.
    """

    def __init__(
        self,
        vendors: Sequence[Vendor],
        key: str | None = None,
        places: _Places | str | None = None,
        *,
        clock: Clock = utc_now,
    ) -> None:
        """Takes the repositories; none is asked yet.

        Args:
            vendors: the repositories.
            key: the same for all copies.
            places: where contents are, or why that is not known; ``None``: to be asked.
            clock: says when credentials expire.
        """
        self.clock = clock
        self._vendors = tuple(vendors)
        self.key = key or uuid.uuid4().hex
        self.registry: PluginRegistry = installed()
        """The plugins of this process; they stay behind when it travels."""
        self._places = places
        self._held: dict[_Owner, _Held] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Callable[..., Vending], tuple[tuple[Vendor, ...], str, _Places | str]]:
        return _arrived, (self._vendors, self.key, self._found_places())

    def source(self, use: CredentialUse) -> CredentialSource | None:
        """What connectors ask that are used for something; ``None``: no repository gives credentials for that."""
        vendors = frozenset(number for number, vendor in enumerate(self._vendors) if use in vendor.uses)
        return _Source(self, vendors) if vendors else None

    def connectors(self) -> Iterator[type[RepositoryConnector]]:
        """The classes of the repositories.

        Raises:
            PluginError: one is not installed here.
        """
        return (self.registry.connector_class(RepositoryConnector, vendor.spec.name) for vendor in self._vendors)

    # ---- where ----------------------------------------------------------------------------------------
    def owner(self, location: str, vendors: frozenset[int]) -> _Owner | None:
        """Whose credentials a raw path is reached with, by the longest location above it.

        Raises:
            RepositoryError: it is not known where contents are.
        """
        places = self._found_places()
        if isinstance(places, str):
            raise RepositoryError(places)
        spelled = spelled_alike(location)
        end = len(spelled)
        while (end := spelled.rfind("/", 0, end)) > 0:
            found = places.get(spelled[: end + 1])
            if found is not None and found.vendor in vendors:
                return found
        return None

    def _found_places(self) -> _Places | str:
        with self._lock:
            if self._places is None:
                try:
                    self._places = dict(self._asked_places())
                except NessieGcError as error:
                    self._places = f"it is not known which credentials are for which table: {one_line(error)}"
                    log.warning("%s", self._places)
            return self._places

    def _asked_places(self) -> Iterator[tuple[str, _Owner]]:
        """All places, the first that has one last: the others of the same spelling are replaced."""
        for number in reversed(range(len(self._vendors))):
            with self._opened(number) as repository:
                found = [
                    (spelled_alike(each.location), _Owner(number, each.owner))
                    for each in repository.credential_places()
                ]
            yield from reversed(found)

    # ---- credentials ----------------------------------------------------------------------------------
    def held(self, owner: _Owner) -> _Held:
        """What is held for a content."""
        with self._lock:
            return self._held.setdefault(owner, _Held())

    def asked(self, owner: _Owner) -> Sequence[StorageCredential]:
        """New credentials for a content; of what a connector gives, only credentials count (S28)."""
        with self._opened(owner.vendor) as repository:
            given = repository.storage_credentials(owner.name)
        checked = [
            replace(each, expires=said.expires or each.expires)
            for said in given
            for each in StorageCredential.parse(said.prefix, said.properties)
        ]
        return [replace(each, scope=f"{self.key}:{owner.vendor}:{owner.name}:{each.prefix}") for each in checked]

    @contextmanager
    def _opened(self, vendor: int) -> Iterator[SupportsStorageCredentials]:
        spec = self._vendors[vendor].spec
        connector = self.registry.connector_class(RepositoryConnector, spec.name)
        with KEPT.used(connector, spec.options) as repository:
            yield cast("SupportsStorageCredentials", repository)


@dataclass(slots=True)
class _Held:
    """The credentials of one content."""

    credentials: Sequence[StorageCredential] | None = None
    renew_at: datetime | None = None
    problem: NessieGcError | None = None
    """Why there are none; they are not asked for again before ``renew_at``."""
    asked: datetime = _NEVER
    lock: threading.Lock = field(default_factory=threading.Lock)


class _Source:
    """The credentials of some of the repositories."""

    def __init__(self, vending: Vending, vendors: frozenset[int]) -> None:
        self._vending = vending
        self._vendors = vendors

    def credential(self, location: str) -> StorageCredential | None:
        """Those of the longest prefix, renewed in time."""
        owner = self._vending.owner(location, self._vendors)
        if owner is None:
            return None
        held = self._vending.held(owner)
        with held.lock:
            is_due = held.renew_at is not None and self._vending.clock() >= held.renew_at
            if held.problem is not None and not is_due:
                raise held.problem.with_traceback(None)
            if held.credentials is None or is_due:
                self._ask(owner, held)
            return _longest(held.credentials or (), location)

    def renewed(self, location: str, rejected: StorageCredential) -> StorageCredential | None:
        """Those that another thread has got since, or new ones."""
        owner = self._vending.owner(location, self._vendors)
        if owner is None:
            return None
        held = self._vending.held(owner)
        with held.lock:
            found = _longest(held.credentials or (), location)
            if found == rejected and self._vending.clock() - held.asked >= _PAUSE:
                self._ask(owner, held)
                found = _longest(held.credentials or (), location)
            return None if found == rejected else found

    def _ask(self, owner: _Owner, held: _Held) -> None:
        """Asks for new ones; where that fails, those that are still valid stay (the lock is held)."""
        now = held.asked = self._vending.clock()
        try:
            found = self._vending.asked(owner)
        except NessieGcError as error:
            if not held.credentials or any(
                each.expires is not None and each.expires <= now for each in held.credentials
            ):
                held.problem, held.renew_at = error, now + _PAUSE
                raise
            log.warning("the credentials of %r are not renewed yet: %s", owner.name, one_line(error))
            held.renew_at = now + _PAUSE
            return
        held.credentials, held.problem = found, None
        expiries = [each.expires for each in found if each.expires is not None]
        ahead = (each - min(_AHEAD, (each - now) / 4) for each in expiries)
        held.renew_at = max(min(ahead), now + _LEAST) if expiries else None


def _longest(credentials: Sequence[StorageCredential], location: str) -> StorageCredential | None:
    return max((each for each in credentials if each.covers(location)), key=lambda each: len(each.prefix), default=None)


_INTERNED: weakref.WeakValueDictionary[str, Vending] = weakref.WeakValueDictionary()
"""Those that arrived in this process: the connectors of later tasks share what the first ones were given."""


def _arrived(vendors: tuple[Vendor, ...], key: str, places: _Places | str) -> Vending:
    return _INTERNED.setdefault(key, Vending(vendors, key, places))
