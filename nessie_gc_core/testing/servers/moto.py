"""AWS as moto plays it: S3, Glue and DynamoDB behind one address."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK, answers_ok


class MotoServer(OneProcessServer):
    """An AWS account that is empty, checks no credentials, and forgets all when it stops.

    Example::

        with MotoServer() as aws:
            load_catalog("glue", type="glue", **aws.properties, **{"glue.endpoint": aws.endpoint})
    """

    title = "moto"
    region = "us-east-1"

    @property
    def endpoint(self) -> str:
        """The base URL of all its services."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def properties(self) -> Mapping[str, str]:
        """Iceberg FileIO properties for its S3."""
        return {
            "s3.endpoint": self.endpoint,
            "s3.access-key-id": "testing",
            "s3.secret-access-key": "testing",
            "s3.region": self.region,
            "s3.path-style-access": "true",
        }

    def _command(self, folder: Path, port: int) -> list[str]:
        if importlib.util.find_spec("moto") is None or importlib.util.find_spec("flask") is None:
            raise ConfigurationError("no AWS server for the tests is installed: pip install 'moto[server]'")
        start = "import sys; from moto.server import main; main(sys.argv[1:])"
        return [sys.executable, "-c", start, "-H", LOOPBACK, "-p", str(port)]

    def _is_ready(self, port: int) -> bool:
        return answers_ok(f"http://{LOOPBACK}:{port}/moto-api/")
