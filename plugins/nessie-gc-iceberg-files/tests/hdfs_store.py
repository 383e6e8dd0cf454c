"""The back doors of an HDFS cluster: plain requests of WebHDFS, without fsspec."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import requests

from nessie_gc_core.testing.servers import HdfsServer

USER = "gc"
"""An ordinary user, who has no rights but those that files give."""


class HdfsFiles:
    """The files of a cluster by their absolute paths, without the first slash; they belong to :data:`USER`."""

    def __init__(self, server: HdfsServer) -> None:
        self._address = server.http_address
        self._superuser = server.user
        self._session = requests.Session()
        self._ask("put", "", "SETPERMISSION", permission="777", **{"user.name": self._superuser})

    def put(self, key: str, data: bytes) -> None:
        """Stores a file, with the directories above it."""
        is_composed = unicodedata.normalize("NFC", key) == key
        written = key if is_composed else "to-be-moved"
        first = self._ask("put", written, "CREATE", overwrite="true", noredirect="true")
        self._session.put(first.json()["Location"], data=data, timeout=60).raise_for_status()
        if not is_composed:  # the name node composes the names that it hands over to a data node, and no others
            self._ask("put", key.rpartition("/")[0], "MKDIRS")
            assert self._ask("put", written, "RENAME", destination=f"/{key}").json()["boolean"]

    def put_directory(self, key: str) -> None:
        """Makes a directory."""
        self._ask("put", key, "MKDIRS")

    def read(self, key: str) -> bytes:
        """What is in a file."""
        return self._ask("get", key, "OPEN").content

    def put_link(self, key: str, target: str) -> None:
        """Makes a link, which the test cluster allows, to an absolute path."""
        self._ask("put", key, "CREATESYMLINK", destination=target, createParent="true")

    def forbid(self, key: str, rights: str = "000") -> None:
        """Takes rights to a directory from everybody but the superuser; all of them by default."""
        self._ask("put", key, "SETPERMISSION", permission=rights)

    def remove(self, key: str) -> None:
        """Removes a directory with all that is in it."""
        self._ask("delete", key, "DELETE", recursive="true")

    def set_time(self, key: str, milliseconds: int) -> None:
        """Sets the time of the last modification, since 1970."""
        self._ask("put", key, "SETTIMES", modificationtime=str(milliseconds))

    def keys(self, prefix: str) -> list[str]:
        """All files and links below a prefix that ends in a slash."""
        return list(self._keys(prefix))

    def is_directory(self, key: str) -> bool:
        """Whether it is there, and a directory."""
        said = self._request("get", key, "GETFILESTATUS")
        return said.ok and said.json()["FileStatus"]["type"] == "DIRECTORY"

    def close(self) -> None:
        """Ends the connections."""
        self._session.close()

    def _keys(self, prefix: str) -> Iterator[str]:
        said = self._request("get", prefix.rstrip("/"), "LISTSTATUS")
        if said.status_code == requests.codes.not_found:
            return
        said.raise_for_status()
        for found in said.json()["FileStatuses"]["FileStatus"]:
            key = prefix + found["pathSuffix"]
            if found["type"] == "DIRECTORY":
                yield from self._keys(f"{key}/")
            else:
                yield key

    def _ask(self, method: str, key: str, verb: str, data: bytes | None = None, /, **more: str) -> requests.Response:
        said = self._request(method, key, verb, data, **more)
        assert said.ok, said.text
        return said

    def _request(
        self, method: str, key: str, verb: str, data: bytes | None = None, /, **more: Any
    ) -> requests.Response:
        url = f"http://{self._address}/webhdfs/v1/{quote(key, safe='/')}"
        asked = {"op": verb, "user.name": USER, **more}
        return self._session.request(method, url, params=asked, data=data, timeout=60)
