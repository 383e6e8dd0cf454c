"""Raw keys as the paths of a file system of fsspec, and back: only those that arrive as they are (S4)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Paths:
    """The keys of one bucket or server as paths.

    File systems of fsspec take paths apart as URLs, strip slashes, and read versions out of them. A key that does not
    come out of that as it went in is refused, whatever is to be done with it.
    """

    def __init__(self, file_system: Any, root: str) -> None:
        """Takes what comes before every key: ``bucket/``, or ``/`` for a server."""
        self.root = root
        self._strip: Callable[[str], str] = file_system._strip_protocol
        self._split: Callable[[str], tuple[Any, ...]] | None = getattr(file_system, "split_path", None)

    def of(self, key: str) -> str:
        """The path of a key.

        Raises:
            ValueError: fsspec would take it for another one.
        """
        path = self.root + key
        if any(element in ("", ".", "..") for element in key.split("/")) or _CONTROL.search(key):
            raise ValueError(f"fsspec cannot name the key {key!r}")
        try:
            path.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"no request can carry the key {key!r}") from error
        if self._strip(path) != path or not self._is_split_alike(path, key):
            raise ValueError(f"fsspec reads the key {key!r} as another key")
        return path

    def folder(self, prefix: str) -> str:
        """The path of a prefix, which ends in a slash or is empty; without a slash at its end.

        Raises:
            ValueError: fsspec would take it for another one.
        """
        return self.of(prefix.removesuffix("/")) if prefix else self.root.removesuffix("/") or "/"

    def _is_split_alike(self, path: str, key: str) -> bool:
        if self._split is None:
            return True
        bucket, found, *version = self._split(path)
        return (bucket, found) == (self.root.strip("/"), key) and not any(version)
