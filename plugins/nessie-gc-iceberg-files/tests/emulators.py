"""Emulators of GCS and of Azure's blob service, and a GCS that answers in small pages."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import platformdirs

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers import ServerProcess, free_ports

AZURITE = "azurite@3.37.0"
AZURE_ACCOUNT = "devstoreaccount1"
# The key of Azurite's only account, which is the same everywhere and documented.
AZURE_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


@contextmanager
def azurite(folder: Path) -> Iterator[str]:
    """Runs Azurite, and gives its connection string."""
    (port,) = free_ports(1)
    command = [
        str(_find_azurite()),
        *("--silent", "--skipApiVersionCheck", "--disableTelemetry", "--blobHost", "127.0.0.1"),
        *("--blobPort", str(port), "--location", str(folder)),
    ]
    with ServerProcess("Azurite", command, is_ready=lambda: _answers(port), log=folder / "azurite.log"):
        yield (
            f"DefaultEndpointsProtocol=http;AccountName={AZURE_ACCOUNT};AccountKey={AZURE_KEY};"
            f"BlobEndpoint=http://127.0.0.1:{port}/{AZURE_ACCOUNT};"
        )


def _find_azurite() -> Path:
    """On the path, else installed once into the cache by npm."""
    found = shutil.which("azurite-blob")
    if found:
        return Path(found)
    folder = Path(platformdirs.user_cache_dir("nessie-gc")) / "azurite"
    program = folder / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise ConfigurationError("there is no Azure for the tests: npm install -g azurite")
        command = [npm, "install", "--silent", "--prefix", str(folder), AZURITE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
        if done.returncode != 0:
            raise ConfigurationError(f"there is no Azure for the tests, npm cannot install it: {done.stderr[-300:]}")
    return program


def _answers(port: int) -> bool:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status > 0
    except OSError:
        return False
    finally:
        connection.close()


@contextmanager
def gcs_emulator() -> Iterator[str]:
    """Runs an emulator of GCS with the bucket ``lake``, and gives its endpoint."""
    from gcp_storage_emulator.server import create_server

    (port,) = free_ports(1)
    server = create_server("127.0.0.1", port, in_memory=True, default_bucket="lake")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.stop()


@contextmanager
def gcs_in_pages(names: Sequence[str], *, page: int) -> Iterator[str]:
    """A GCS that only lists, and answers in pages of some names; any other bucket than ``lake`` is forbidden.

    The bucket keeps noncurrent versions.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(asked.query).items()}
            if asked.path.endswith("/b/lake"):
                self._answer(200, {"versioning": {"enabled": True}})
                return
            if not asked.path.endswith("/b/lake/o"):
                self._answer(403, {"error": {"message": "not yours"}})
                return
            found = [name for name in names if name.startswith(query.get("prefix", ""))]
            start = int(query.get("pageToken", 0))
            answer: dict[str, object] = {"items": [_item(name) for name in found[start : start + page]]}
            if start + page < len(found):
                answer["nextPageToken"] = str(start + page)
            self._answer(200, answer)

        def _answer(self, status: int, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _item(name: str) -> dict[str, str]:
    return {"name": name, "size": "1", "updated": "2026-01-02T03:04:05.678Z"}
