"""Google Cloud Storage as an emulator plays it, from the wheel ``gcp-storage-emulator``."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK, answers_ok


class GcsServer(OneProcessServer):
    """A project with one empty bucket, which checks no credentials, and forgets all when it stops.

    It lists a bucket in one page, whatever its size, and cuts names at a semicolon.

    Example::

        with GcsServer() as gcs:
            load_catalog("lake", type="sql", uri=..., warehouse=f"gs://{gcs.bucket}/", **gcs.properties)
    """

    title: ClassVar[str] = "the emulator of GCS"

    def __init__(self, *, bucket: str = "lake") -> None:
        super().__init__()
        self.bucket = bucket

    @property
    def endpoint(self) -> str:
        """The base URL of its JSON API."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def properties(self) -> Mapping[str, str]:
        """Iceberg FileIO properties for its buckets."""
        return {"gcs.service.host": self.endpoint, "gcs.oauth2.token": "anon"}

    def _command(self, folder: Path, port: int) -> list[str]:
        if importlib.util.find_spec("gcp_storage_emulator") is None:
            raise ConfigurationError("no GCS for the tests is installed: pip install gcp-storage-emulator")
        start = "import sys; from gcp_storage_emulator.__main__ import main; sys.exit(main(sys.argv[1:]))"
        options = ["--host", LOOPBACK, "--port", str(port), "--in-memory", "--default-bucket", self.bucket, "--quiet"]
        return [sys.executable, "-c", start, "start", *options]

    def _is_ready(self, port: int) -> bool:
        return answers_ok(f"http://{LOOPBACK}:{port}/storage/v1/b/{self.bucket}/o")
