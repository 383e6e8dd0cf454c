"""Rows of metastores that hold tables of every kind: which are Iceberg's, and which are in the folder of one (S32).

Whatever a row calls itself, the metadata that it names is live: a materialized view of Trino is a row of a view, and
only its ``metadata_location`` names the table in which its rows are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nessie_gc_core.model.locations import folders_of
from nessie_gc_iceberg_catalog.listing import Listed

_METADATA_LOCATION, _PREVIOUS = "metadata_location", "previous_metadata_location"
_TABLE, _VIEW = "iceberg", "iceberg-view"
_PLAIN_VIEW = "virtual_view"
"""What Hive and Glue call a view, which has no files."""


class Metastore:
    """Looks at rows one after another."""

    def __init__(self, title: str) -> None:
        """Takes what the metastore is called."""
        self._title = title
        self._homes: dict[str, str] = {}
        """The place of each table of Iceberg, and its metadata."""
        self._others: dict[tuple[str, ...], str] = {}

    def listed(
        self, identifier: tuple[str, ...], parameters: Mapping[str, str], kind: str | None, location: str | None
    ) -> Iterator[Listed]:
        """A row as a table or view of Iceberg, if it is one; one that names no metadata is unknown.

        Args:
            identifier: its name.
            parameters: what it says of itself.
            kind: the type of table that the metastore knows.
            location: where its files are.
        """
        said = {key.lower(): value for key, value in parameters.items()}
        type_, named = str(said.get("table_type") or "").lower(), _named(parameters)
        if named:
            above = named.rpartition("/")[0].removesuffix("/metadata")
            self._homes.update((_place(home), named) for home in (location, above) if home)
            is_table = type_ in (_TABLE, _VIEW)
            yield Listed(identifier=identifier, is_view=type_ == _VIEW, is_table=is_table, metadata_location=named)
        elif type_ in (_TABLE, _VIEW):
            problem = f"it has no {_METADATA_LOCATION} in {self._title}; drop or repair it"
            previous = _named(parameters, _PREVIOUS)
            yield Listed(
                identifier=identifier, is_view=type_ == _VIEW, problem=problem, previous_location=previous or None
            )
        elif location and (kind or "").lower() != _PLAIN_VIEW:
            self._others[identifier] = location

    def in_folders_of_iceberg(self) -> Iterator[Listed]:
        """The other tables that are in the folder of one of Iceberg's, when all rows were looked at."""
        for identifier, location in self._others.items():
            around = (self._homes[folder] for folder in folders_of(_place(location)) if folder in self._homes)
            metadata = next(around, None)
            if metadata is not None:
                yield Listed(identifier=identifier, location=location, metadata_location=metadata)


def _named(parameters: Mapping[str, str], name: str = _METADATA_LOCATION) -> str | None:
    """The metadata that a row names; some metastores change the case of keys."""
    return parameters.get(name) or next((parameters[key] for key in sorted(parameters) if key.lower() == name), None)


def _place(location: str) -> str:
    """A location without its scheme, of which there are several for one store, and with a slash at its end."""
    scheme, separator, rest = location.partition(":")
    return (rest if separator and "/" not in scheme else location).strip("/") + "/"
