"""Looks at tables: their metadata file, and each manifest of their current snapshot once where that is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import ContentToFiles, SupportsManifests, SupportsTableMetadata
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.table_metadata import TableMetadata
from nessie_gc_core.model.table_properties import product_of
from nessie_gc_core.model.text import one_line
from nessie_gc_core.services.health.examination import examined, unread_finding
from nessie_gc_core.services.health.manifests_read import ManifestsRead, read_manifests
from nessie_gc_core.services.health.parameters import HealthParameters
from nessie_gc_core.services.health.report import TableHealth
from nessie_gc_core.services.health.visible import Visible


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLook:
    """Looks at one table after the other, in several threads; keeps none."""

    connectors: OpenConnectors
    parameters: HealthParameters
    now: datetime
    """The time from which ages count, UTC."""
    can_expire: bool
    """Whether the repository can expire snapshots."""
    has_branches: bool
    """Whether branches of the repository can get metadata that lists fewer snapshots."""

    def looked(self, each: Visible) -> list[TableHealth]:
        """One table, whatever is wrong with it; nothing where it is not a table."""
        nothing = TableHealth(table=each.table, reference=each.reference, unread=each.unread)
        if each.unread:
            nothing = replace(nothing, findings=(unread_finding(each.unread),))
        if each.version is None:
            return [nothing]
        try:
            return self._looked(each.version, nothing)
        except Exception as error:  # noqa: BLE001 - whatever a reader raises is about this table alone (S18)
            return [replace(nothing, problem=one_line(error))]

    def _looked(self, version: ContentVersion, nothing: TableHealth) -> list[TableHealth]:
        with self.connectors.reader(version.content_type) as reader, reader.remembering():
            assert isinstance(reader, SupportsTableMetadata)
            table = reader.table_metadata(version, reference=nothing.reference)
            if table is None:
                return [nothing] if nothing.unread else []
            read, problem = self._read(reader, version, table, nothing)
        found = examined(
            table, self.parameters, self.now, can_expire=self.can_expire, has_branches=self.has_branches, read=read
        )
        findings = nothing.findings or found.findings
        return [replace(found, unread=nothing.unread, findings=findings, problem=problem)]

    def _read(
        self, reader: ContentToFiles, version: ContentVersion, table: TableMetadata, nothing: TableHealth
    ) -> tuple[ManifestsRead | None, str | None]:
        """What the manifests say, where that is asked for, or why they cannot be read."""
        is_others = nothing.unread or product_of(table.location, table.properties) is not None
        if is_others or not self.parameters.read_manifests:
            return None, None
        assert isinstance(reader, SupportsManifests)
        try:
            return read_manifests(reader, version, table, self.parameters), None
        except Exception as error:  # noqa: BLE001 - the metadata says a good deal without them (S18)
            return None, one_line(error)
