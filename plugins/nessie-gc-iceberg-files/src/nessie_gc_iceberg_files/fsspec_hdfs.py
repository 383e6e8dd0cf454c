"""HDFS through pyarrow and Hadoop's native client: whose names are not those of the store in one case."""

from __future__ import annotations

from typing import Any

from nessie_gc_iceberg_files.fsspec_paths import Paths
from nessie_gc_iceberg_files.fsspec_store import FsspecStore

_LAST_OF_ONE_UNIT = "\uffff"


class NativeHdfsStore(FsspecStore):
    """Refuses what the client would take for another name, or for none.

    It hands names over in the Java machine's own form of UTF-8, in which characters beyond the first 65,536 (emoji,
    some ideographs) are different. A file of such a name would not be found, and count as gone (S4, S15).
    """

    def __init__(self, file_system: Any, root: str, **more: Any) -> None:
        """As every file system of fsspec."""
        super().__init__(file_system, root, **more)
        self._paths = _NativePaths(file_system, root)


class _NativePaths(Paths):
    def of(self, key: str) -> str:
        """The path of a key.

        Raises:
            ValueError: fsspec or the client would take it for another one.
        """
        if any(character > _LAST_OF_ONE_UNIT for character in key):
            raise ValueError(f"Hadoop's native client cannot name the key {key!r}; use webhdfs")
        return super().of(key)
