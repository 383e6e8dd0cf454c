"""The stores of one task: each is opened for the first place in it, and kept."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.hosts import host_refusal
from nessie_gc_iceberg_files.places import ADLS_SCHEMES, GCS_SCHEMES, S3_SCHEMES, SCHEMES, Place
from nessie_gc_iceberg_files.stores import Store


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
