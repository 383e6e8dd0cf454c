"""The stores of a process: each is opened for the first place in it, and shared by reader, lister and deleter."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping

from nessie_gc_core.connectors import CredentialSource
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_iceberg_files.fsspec_options import FALLBACK_SCHEMES, check_fsspec, is_through_fsspec
from nessie_gc_iceberg_files.name_nodes import check_hadoop, refusal_of
from nessie_gc_iceberg_files.places import ADLS_SCHEMES, GCS_SCHEMES, S3_SCHEMES, SCHEMES, Place
from nessie_gc_iceberg_files.storage_credentials import StorageCredentials
from nessie_gc_iceberg_files.stores import Store, one_line
from nessie_gc_iceberg_files.vended_access import Access, vended_access

_Identity = tuple[str, str, tuple[frozenset[tuple[str, str]], str]]
"""Scheme, authority and access of a store."""
_MOST = 256
"""So many stores with credentials of their own are open at once; each has a client."""


class _Shared:
    """The open stores of this process, each with how many connectors use it."""

    def __init__(self) -> None:
        self.forget()

    def taken(self, place: Place, access: Access) -> tuple[_Identity, Store]:
        """The store of a place, which is someone more's until it is given back."""
        identity = (place.scheme, place.authority, access.identity)
        with self._lock:
            store, users = self._open.get(identity) or (_open(place, access), 0)
            self._open[identity] = (store, users + 1)
            unused = self._unused()
        _close(unused)
        return identity, store

    def give_back(self, identity: _Identity) -> None:
        """Closes the store where nobody else has it.

        May be called by the garbage collector, in the middle of anything here: it is then closed with the next one.
        """
        self._given_back.append(identity)
        while self._given_back and self._lock.acquire(blocking=False):
            try:
                unused = self._unused()
            finally:
                self._lock.release()
            _close(unused)

    def _unused(self) -> list[Store]:
        """Removes the stores that nobody has any more (the lock is held)."""
        unused: list[Store] = []
        while self._given_back:
            identity = self._given_back.popleft()
            store, users = self._open.pop(identity)
            if users > 1:
                self._open[identity] = (store, users - 1)
            else:
                unused.append(store)
        return unused

    def forget(self) -> None:
        """A copy of a process leaves the connections to the process that it is a copy of."""
        self._open: dict[_Identity, tuple[Store, int]] = {}
        self._given_back = deque[_Identity]()
        self._lock = threading.Lock()


def _close(stores: list[Store]) -> None:
    for store in stores:
        store.close()


_SHARED = _Shared()
os.register_at_fork(after_in_child=_SHARED.forget)


class Stores:
    """The stores that one connector uses, one for each authority and credentials."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        check_fsspec(properties)
        check_hadoop(properties)
        self._credentials = StorageCredentials(properties)
        self._source: CredentialSource | None = None
        self._open: dict[_Identity, tuple[_Identity, Store]] = {}
        self._lock = threading.Lock()
        self._begun = threading.local()

    def use_credentials(self, source: CredentialSource) -> None:
        """Where credentials come from that replace the configured ones."""
        self._source = source

    def access(self, place: Place) -> Access:
        """With what a place is reached.

        Raises:
            NessieGcError: it is not known which credentials are for it.
        """
        return vended_access(place, self._credentials.at(place), self._source)

    def have_same_access(self, place: Place, other: Place) -> bool:
        """Whether both places are reached with the same credentials and properties."""
        return self.access(place).identity == self.access(other).identity

    def of(self, place: Place) -> Store:
        """The store of a place.

        Raises:
            ConfigurationError: the scheme is not known, its library is not installed, a property is wrong, or the
                place names a host that the configuration does not (S28).
            NessieGcError: as for :meth:`access`.
        """
        refusal = refusal_of(f"{place.scheme}://{place.authority}/", self._credentials.at(place))
        if refusal is not None:
            raise ConfigurationError(f"nothing is sent for {place.scheme} locations of {place.authority!r}: {refusal}")
        access = self.access(place)
        identity = (place.scheme, place.authority, access.identity)
        surplus: list[_Identity] = []
        with self._lock:
            if identity not in self._open:
                surplus = self._surplus()
                self._open[identity] = _SHARED.taken(place, access)
            store = self._open[identity][1]
        for each in surplus:
            _SHARED.give_back(each)
        self._begin_count(store)
        return store

    def _surplus(self) -> list[_Identity]:
        """Forgets the oldest of those whose credentials a repository gave, where there are too many (the lock is held).

        One that is in use may be closed: a client of S3 connects again.
        """
        renewing = [identity for identity in self._open if identity[2][1]]
        return [self._open.pop(identity)[0] for identity in renewing[: max(0, len(renewing) + 1 - _MOST)]]

    def _begin_count(self, store: Store) -> None:
        """What other connectors left alone in this thread is theirs, and they may have closed without asking."""
        begun: set[int] = self._begun.__dict__.setdefault("stores", set())
        if id(store) not in begun:
            begun.add(id(store))
            store.take_left_alone()

    def take_left_alone(self) -> int:
        """How many names the listings of all stores have left out since this was asked last."""
        with self._lock:
            return sum(store.take_left_alone() for _, store in self._open.values())

    def close(self) -> None:
        """Gives all stores back."""
        with self._lock:
            given_back, self._open = list(self._open.values()), {}
            self._begun = threading.local()
        for identity, _ in given_back:
            _SHARED.give_back(identity)


def _open(place: Place, access: Access) -> Store:
    properties = dict(access.properties)
    if place.scheme == "file":
        from nessie_gc_iceberg_files.local_store import LocalStore

        return LocalStore()
    try:
        if is_through_fsspec(place.scheme, properties):
            from nessie_gc_iceberg_files.fsspec_open import fsspec_store

            return fsspec_store(place, properties)
        if place.scheme in S3_SCHEMES:
            from nessie_gc_iceberg_files.s3_store import S3Store

            return S3Store(place.authority, properties, access.renewal)
        if place.scheme in GCS_SCHEMES:
            from nessie_gc_iceberg_files.gcs_store import GcsStore

            return GcsStore(place.authority, properties)
        if place.scheme in ADLS_SCHEMES:
            from nessie_gc_iceberg_files.adls_store import AdlsStore

            return AdlsStore(place.authority, properties)
    except ImportError as error:
        raise ConfigurationError(_to_install(place.scheme, properties, error)) from error
    known = ", ".join(sorted(SCHEMES | FALLBACK_SCHEMES))
    raise ConfigurationError(f"unknown scheme {place.scheme!r}; known are: {known}")


def _to_install(scheme: str, properties: Mapping[str, str], error: ImportError) -> str:
    if scheme in FALLBACK_SCHEMES:
        extra = "sftp" if scheme in ("sftp", "ssh") else "fsspec"
        if error.name is None or (extra == "fsspec" and error.name != "fsspec"):
            return f"{scheme} locations need an additional library: {one_line(error)}"
    elif scheme in S3_SCHEMES:
        extra = "s3fs" if is_through_fsspec(scheme, properties) else "s3"
    else:
        extra = "gcs" if scheme in GCS_SCHEMES else "adls"
    return f"{scheme} locations need {error.name}: pip install 'nessie-gc-iceberg-files[{extra}]'"
