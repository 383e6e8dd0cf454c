"""A proxy before an S3 server that answers some requests as an object store does on a bad day."""

from __future__ import annotations

import json
import sys
import urllib.request
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK, answers_ok

COUNTS = "/-/faults"
"""Where the proxy says what it has done; no bucket has this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """Which requests do not get the server's answer; shares are between 0 and 1."""

    seed: int = 0
    """The same seed gives the same sequence of faults; which request meets which one depends on their order."""
    unavailable: float = 0.0
    """Share of requests that get ``503 SlowDown`` and do not reach the server."""
    key_errors: float = 0.0
    """Share of the keys of a DeleteObjects that stay, with an error in the answer 200."""
    key_error: str = "SlowDown"
    """The code of these errors."""
    resets: float = 0.0
    """Share of requests whose connection is reset, one half before and one half after the server did what it asks."""
    expired: float = 0.0
    """Share of requests that get ``400 ExpiredToken`` and do not reach the server."""
    slow: float = 0.0
    """Share of requests that are answered late."""
    slow_seconds: float = 0.5
    """How late that is."""
    stop_at: int = 0
    """From this request on nothing is answered, as if the network were gone; 0: never."""
    stop_at_delete: int = 0
    """The same, counted in DeleteObjects: the first that is not answered has been done by the server."""


class FaultProxy(OneProcessServer):
    """An address on loopback that stands for an S3 server, and has faults.

    Signatures hold, because the server gets the requests with the host and the path that clients signed.

    Example::

        with S3Server() as s3, FaultProxy(s3.properties, Faults(unavailable=0.2)) as proxy:
            nessie_gc(proxy.properties)
            print(proxy.counts())
    """

    title = "the fault proxy"
    ready_timeout_seconds = 30

    def __init__(self, properties: Mapping[str, str], faults: Faults) -> None:
        """Takes the server's Iceberg FileIO properties, with an access key that may delete."""
        super().__init__()
        self._properties = dict(properties)
        self._faults = faults

    @property
    def endpoint(self) -> str:
        """The base URL of the proxy."""
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def properties(self) -> Mapping[str, str]:
        """The server's properties, by the address of the proxy."""
        return {**self._properties, "s3.endpoint": self.endpoint}

    def counts(self) -> Mapping[str, int]:
        """How many ``requests`` and ``deletes`` (DeleteObjects) came, and how many of each fault were made."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(self.endpoint + COUNTS, timeout=10) as answer:
            return dict(json.load(answer))

    def _command(self, folder: Path, port: int) -> list[str]:
        given = folder / "faults.json"
        given.touch(mode=0o600)
        given.write_text(json.dumps({"properties": self._properties, "faults": asdict(self._faults)}), encoding="utf-8")
        return [sys.executable, "-m", "nessie_gc_core.testing.servers.faulty_answers", str(port), str(given)]

    def _is_ready(self, port: int) -> bool:
        return answers_ok(f"http://{LOOPBACK}:{port}{COUNTS}")
