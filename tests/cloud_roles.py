"""The role files for Google Cloud Storage and Azure, and access to Azurite with the rights of one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from azure.storage.blob import ContainerSasPermissions, generate_container_sas

from nessie_gc_core.testing.servers import AzureServer

RIGHTS = Path(__file__).parents[1] / "examples" / "rights"
FSSPEC = {"py-io-impl": "pyiceberg.io.fsspec.FsspecFileIO"}


def role(store: str, use: str) -> dict[str, Any]:
    """The role of a file."""
    found: dict[str, Any] = json.loads((RIGHTS / store / f"{use}.json").read_text(encoding="utf-8"))
    return found


def shared_access(actions: Iterable[str]) -> str:
    """A token for data actions on the container ``lake``: what Azurite knows of rights is shared access."""
    may = {action.rpartition("/")[2] for action in actions}
    return generate_container_sas(
        AzureServer.account,
        "lake",
        account_key=AzureServer.key,
        permission=ContainerSasPermissions(
            read="read" in may, list="read" in may, write="write" in may, delete="delete" in may
        ),
        expiry=datetime.now(UTC) + timedelta(hours=1),
    )
