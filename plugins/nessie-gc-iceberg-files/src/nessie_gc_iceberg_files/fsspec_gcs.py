"""One GCS bucket through gcsfs alone."""

from __future__ import annotations

from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.gcs_store import GcsStore


class GcsfsStore(GcsStore):
    """The native store without obstore: its requests are those of gcsfs, which hold every key, unlike its paths."""

    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """One GET, which gives the whole."""
        return self._read(key)
