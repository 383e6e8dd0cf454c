"""What the tests ask of a connector."""

from __future__ import annotations

from nessie_gc_iceberg_catalog import IcebergCatalogConnector

from nessie_gc_core.model import ContentVersion, LogEntry, Reference


def reference(connector: IcebergCatalogConnector, name: str) -> Reference:
    return next(each for each in connector.references() if each.name == name)


def names(connector: IcebergCatalogConnector) -> list[str]:
    return sorted(each.name for each in connector.references())


def put(connector: IcebergCatalogConnector, name: str, content_type: str | None = None) -> list[ContentVersion]:
    """Every version that the log of a reference puts, each once."""
    found = {
        operation.content.identity: operation.content
        for entry in connector.commit_log(reference(connector, name))
        for operation in entry.operations or ()
        if operation.content is not None
    }
    return [version for version in found.values() if content_type in (None, version.content_type)]


def put_by(entry: LogEntry, content_type: str) -> list[ContentVersion]:
    """The versions that one entry puts."""
    found = [operation.content for operation in entry.operations or () if operation.content is not None]
    return [version for version in found if version.content_type == content_type]
