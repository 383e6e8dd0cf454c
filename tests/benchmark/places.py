"""Where a lake lies while it is measured: on the disk, in a bucket, in a bucket whose answers are held back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from lakes.upload import upload

from benchmark.latency import held_back
from nessie_gc_core.testing.servers import S3Server
from nessie_gc_core.testing.servers.process import LOOPBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place, and how it is reached."""

    name: str
    scheme: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Iceberg FileIO properties; empty: the disk."""

    def arguments(self) -> list[str]:
        """Arguments of ``nessie-gc``; what has just been uploaded is young, so no least age is asked."""
        if not self.properties:
            return []
        properties = (part for name, value in self.properties.items() for part in ("-I", f"{name}={value}"))
        return [*properties, "--min-age", "PT0S", "--no-age-floor"]


DISK = Place(name="disk", scheme="file://")


class Bucket:
    """A bucket of an S3 server on loopback."""

    def __init__(self, server: S3Server) -> None:
        self._server = server
        self.place = Place(name="S3", scheme=f"s3://{server.bucket}", properties=server.properties)

    def fill(self, folder: Path) -> None:
        """Uploads a lake that was built for it on the disk."""
        upload(folder, self._server.bucket, self._server.properties)

    @contextmanager
    def held_back(self, milliseconds: float) -> Iterator[Place]:
        """The same bucket by an address that holds every answer back."""
        with held_back(urlsplit(self._server.endpoint).port or 80, milliseconds) as port:
            properties = {**self.place.properties, "s3.endpoint": f"http://{LOOPBACK}:{port}"}
            yield Place(name=f"S3 + {milliseconds:g} ms", scheme=self.place.scheme, properties=properties)
