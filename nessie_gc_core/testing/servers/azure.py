"""Azure's blob service as Azurite plays it, from npm."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import platformdirs

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.one_process import OneProcessServer
from nessie_gc_core.testing.servers.process import LOOPBACK

AZURITE = "azurite@3.37.0"
"""What npm installs where there is none."""
_INSTALLATION_SECONDS = 280


class AzureServer(OneProcessServer):
    """A storage account without containers; make them with an Azure client, and give each a name of its own.

    Node.js and npm must be there. If ``azurite-blob`` is not on the path, npm installs it once into the user's cache.

    Example::

        with AzureServer() as azure:
            BlobServiceClient.from_connection_string(azure.connection_string).create_container("lake")
    """

    title: ClassVar[str] = "Azurite"
    account = "devstoreaccount1"
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    """Of Azurite's only account, which is the same everywhere and documented."""

    @property
    def endpoint(self) -> str:
        """The URL of the account's blob service."""
        return f"http://{LOOPBACK}:{self.port}/{self.account}"

    @property
    def connection_string(self) -> str:
        """What Azure's clients are given."""
        return (
            f"DefaultEndpointsProtocol=http;AccountName={self.account};AccountKey={self.key};"
            f"BlobEndpoint={self.endpoint};"
        )

    @property
    def properties(self) -> Mapping[str, str]:
        """Iceberg FileIO properties for its containers."""
        return {"adls.connection-string": self.connection_string}

    def _command(self, folder: Path, port: int) -> list[str]:
        quiet = ("--silent", "--skipApiVersionCheck", "--disableTelemetry")
        place = ("--blobHost", LOOPBACK, "--blobPort", str(port), "--location", str(folder))
        return [str(_find_azurite()), *quiet, *place]


def _find_azurite() -> Path:
    """On the path, else installed once into the cache by npm.

    Raises:
        ConfigurationError: it is not there, and cannot be installed.
    """
    found = shutil.which("azurite-blob")
    if found:
        return Path(found)
    folder = Path(platformdirs.user_cache_dir("nessie-gc")) / AZURITE.replace("@", "-")
    program = folder / "node_modules" / ".bin" / "azurite-blob"
    if not program.exists():
        npm = shutil.which("npm")
        if npm is None:
            raise ConfigurationError("no Azure for the tests is installed: npm install -g azurite")
        command = [npm, "install", "--loglevel=error", "--prefix", str(folder), AZURITE]
        try:
            subprocess.run(command, capture_output=True, text=True, timeout=_INSTALLATION_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            said = " ".join(str(getattr(error, "stderr", None) or error).split())[-300:]
            message = f"no Azure for the tests is installed, and npm cannot install {AZURITE}: {said}"
            raise ConfigurationError(message) from error
    return program
