"""What the connectors need of a store, and how one is opened for a place.

A store speaks in raw keys only: what it lists is what it reads and deletes, character by character (S4).
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.files import DeleteOutcome, DeleteStatus
from nessie_gc_core.model.hosts import host_refusal
from nessie_gc_iceberg_files.places import ADLS_SCHEMES, GCS_SCHEMES, S3_SCHEMES, SCHEMES, Place


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as a store lists it."""

    key: str
    size: int | None
    modified: datetime | None


@dataclass(frozen=True, slots=True)
class Level:
    """One level below a prefix: the files directly in it, and the prefixes that go on."""

    files: Sequence[StoredFile]
    prefixes: Sequence[str]
    """Full raw prefixes that end in a slash."""


class Store(ABC):
    """One bucket, one container, or the local disk. Used from several threads at once."""

    @abstractmethod
    def read(self, key: str) -> bytes:
        """The whole file.

        Raises:
            FileNotFoundError: the store says for certain that there is no such file.
            OSError: it cannot be read; the message is the reason, without secrets.
        """

    @abstractmethod
    def files(self, prefix: str) -> Iterator[StoredFile]:
        """All files below a prefix that ends in a slash (or is empty), as a stream.

        Raises:
            ListingError, ServiceUnavailableError, AccessDeniedError: the listing did not come to its end.
        """

    @abstractmethod
    def level(self, prefix: str, limit: int | None) -> Level | None:
        """One level below a prefix; ``None`` where it has more names than ``limit`` (``None``: no limit)."""

    @abstractmethod
    def delete(self, prefix: str, paths: Sequence[str]) -> Iterator[DeleteOutcome]:
        """Deletes the files with the keys ``prefix + path``; one outcome for each, named by its path."""

    def refusals(self, prefix: str, paths: Sequence[str]) -> Mapping[str, str]:
        """Paths without a known size that are no files to this store, such as directories, and why each stays."""
        return {}

    def keeps_versions(self) -> bool | None:
        """Whether a deletion leaves an older version behind; ``None``: the store does not say."""
        return None

    @abstractmethod
    def now(self, prefix: str) -> datetime:
        """The time by the store's clock, UTC; asking may list below the prefix, and writes nothing."""

    def take_left_alone(self) -> int:
        """How many names its listings have left out since this was asked last."""
        return 0

    def close(self) -> None:  # noqa: B027 - some stores hold nothing open
        """Releases what it holds."""


class Stores:
    """Opens one store per authority, once, and keeps it."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._properties = dict(properties)
        self._open: dict[tuple[str, str], Store] = {}
        self._lock = threading.Lock()

    def of(self, place: Place) -> Store:
        """The store of a place.

        Raises:
            ConfigurationError: the scheme is not known, its library is not installed, a property is wrong, or the
                place names a host that the configuration does not (S28).
        """
        identity = (place.scheme, place.authority)
        refusal = host_refusal(f"{place.scheme}://{place.authority}/", self._properties)
        if refusal is not None:
            raise ConfigurationError(f"nothing is sent for {place.scheme} locations of {place.authority!r}: {refusal}")
        with self._lock:
            if identity not in self._open:
                self._open[identity] = _open(place, dict(self._properties))
            return self._open[identity]

    def take_left_alone(self) -> int:
        """How many names the listings of all stores have left out since this was asked last."""
        with self._lock:
            return sum(store.take_left_alone() for store in self._open.values())

    def close(self) -> None:
        """Closes all stores."""
        with self._lock:
            stores, self._open = list(self._open.values()), {}
        for store in stores:
            store.close()


def _open(place: Place, properties: dict[str, str]) -> Store:
    if place.scheme == "file":
        from nessie_gc_iceberg_files.local_store import LocalStore

        return LocalStore()
    try:
        if place.scheme in S3_SCHEMES:
            from nessie_gc_iceberg_files.s3_store import S3Store

            return S3Store(place.authority, properties)
        if place.scheme in GCS_SCHEMES:
            from nessie_gc_iceberg_files.gcs_store import GcsStore

            return GcsStore(place.authority, properties)
        if place.scheme in ADLS_SCHEMES:
            from nessie_gc_iceberg_files.adls_store import AdlsStore

            return AdlsStore(place.authority, properties)
    except ImportError as error:
        extra = "s3" if place.scheme in S3_SCHEMES else "gcs" if place.scheme in GCS_SCHEMES else "adls"
        raise ConfigurationError(
            f"{place.scheme} locations need {error.name}: pip install 'nessie-gc-iceberg-files[{extra}]'"
        ) from error
    raise ConfigurationError(f"unknown scheme {place.scheme!r}; known are: {', '.join(sorted(SCHEMES))}")


def failed(path: str, reason: object) -> DeleteOutcome:
    """The outcome of a file that could not be deleted."""
    return DeleteOutcome(path=path, status=DeleteStatus.FAILED, reason=one_line(reason))


def one_line(text: object, limit: int = 300) -> str:
    """The text as one short line."""
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
