"""One container of Azure through adlfs alone."""

from __future__ import annotations

from nessie_gc_core.model.unpacking import Limit
from nessie_gc_iceberg_files.adls_store import AdlsStore


class AdlfsStore(AdlsStore):
    """The native store without obstore: its client is that of adlfs, which holds every key, unlike adlfs's paths."""

    def read(self, key: str, limit: Limit | None = None) -> bytes:
        """One download."""
        return self._read(key, limit)
