"""Where a lake lies while it is measured: on the disk, in a bucket, in a bucket whose answers are held back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from lakes.upload import upload
from nessie_gc_memory.mock import MockChanges, MockLake, MockLakeSpec, write_lake

from benchmark.latency import held_back
from benchmark.shape import on_disk
from nessie_gc_core.testing.servers import S3Server
from nessie_gc_core.testing.servers.process import LOOPBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A place, and how it is reached."""

    name: str
    bucket: str | None = None
    """``None``: the disk."""
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Iceberg FileIO properties."""

    def root(self, folder: Path) -> str:
        """The root of a lake here, which on the disk is in a folder."""
        return on_disk(folder) if self.bucket is None else f"s3://{self.bucket}/lake"

    def fill(self, spec: MockLakeSpec) -> None:
        """Writes the files of a lake whose root is here."""
        lake = MockLake(spec, MockChanges())
        if self.bucket is None:
            write_lake(lake, Path(spec.root.removeprefix("file://")))
        else:
            upload(lake, self.properties)

    def arguments(self) -> list[str]:
        """Arguments of ``nessie-gc``; what has just been uploaded is young, so no least age is asked."""
        if self.bucket is None:
            return []
        properties = (part for name, value in self.properties.items() for part in ("-I", f"{name}={value}"))
        return [*properties, "--min-age", "PT0S", "--no-age-floor"]


DISK = Place(name="disk")


class Bucket:
    """A bucket of an S3 server on loopback."""

    def __init__(self, server: S3Server) -> None:
        self._server = server
        self.place = Place(name="S3", bucket=server.bucket, properties=server.properties)

    @contextmanager
    def held_back(self, milliseconds: float) -> Iterator[Place]:
        """The same bucket by an address that holds every answer back."""
        with held_back(urlsplit(self._server.endpoint).port or 80, milliseconds) as port:
            properties = {**self.place.properties, "s3.endpoint": f"http://{LOOPBACK}:{port}"}
            yield Place(name=f"S3 + {milliseconds:g} ms", bucket=self.place.bucket, properties=properties)
