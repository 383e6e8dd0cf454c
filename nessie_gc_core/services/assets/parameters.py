"""The typed parameters of the services of unreferenced assets."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.tables import TableName
from nessie_gc_core.services.finding_parameters import (
    GUARD,
    Membership,
    PlaceParameters,
    by_table_option,
    dropped_after_option,
    dropped_under_option,
    exclude_option,
    expected_file_count_option,
    fpp_option,
    include_option,
    known_unknowns_option,
    max_file_modification_option,
    membership_option,
    min_age_option,
    no_age_floor_option,
)
from nessie_gc_core.services.mark_parameters import MARK, cutoff_option, cutoff_ref_time_option, default_cutoff_option
from nessie_gc_core.services.parameters import DeletionParameters, GcParameters, part_of

_ASSETS = "Unreferenced assets"

DEFAULT_BRANCH = "unreferenced_assets"
"""A branch of its own: every commit on another one would shorten the window of a count policy there."""


def table_option() -> str | None:
    """Declares the table of the assets."""
    return option(
        None, section=_ASSETS, metavar="CATALOG.NAMESPACE.TABLE", help="The Iceberg table of unreferenced assets."
    )


def branch_option() -> str:
    """Declares the branch of Nessie on which the table is."""
    return option(
        DEFAULT_BRANCH,
        section=_ASSETS,
        metavar="NAME",
        help="In Nessie, the branch that has the table; created empty if missing.",
    )


def own_branch_option() -> bool:
    """Declares whether the table is on its own branch."""
    return option(
        True, section=_ASSETS, help="In Nessie, use --branch; otherwise the branch that the catalog is configured for."
    )


def seen_count_option() -> int:
    """Declares in how many runs an asset must have been seen."""
    return option(
        10,
        section=_ASSETS,
        minimum=1,
        metavar="N",
        help="Minimum number of runs in a row that saw the asset, up to the latest; a run that looked and did not see "
        "it begins the count again.",
    )


def seen_apart_option() -> timedelta:
    """Declares which runs count."""
    return option(timedelta(0), section=_ASSETS, help="Count runs separately only if they are at least this far apart.")


def where_option() -> str | None:
    """Declares by what a person approves."""
    return option(
        None,
        section=_ASSETS,
        metavar="PREDICATE",
        help="Only assets whose row in the latest run meets this predicate, in the engine's SQL.",
    )


def check_seen_count(count: int) -> None:
    """Refuses a threshold that everything meets.

    Raises:
        ConfigurationError: it is below 1.
    """
    if count < 1:
        raise ConfigurationError(f"`seen_count` must be at least 1, not {count}")


def expansion_cache_option() -> str | None:
    """Declares where what manifests name is remembered."""
    return option(
        None,
        section=_ASSETS,
        metavar="NAMESPACE.TABLE",
        help="Iceberg table in the same catalog that caches what manifests list, so that each is read only once.",
    )


def cache_name(text: str | None) -> TableName | None:
    """The name of an expansion cache.

    Raises:
        ConfigurationError: it has no namespace.
    """
    return None if text is None else own_name(text, "expansion_cache")


def table_name(text: str | None) -> tuple[str, TableName]:
    """The catalog, and the name of the table in it.

    Raises:
        ConfigurationError: none is given, or it has no namespace.
    """
    if not text:
        raise ConfigurationError("`table` is missing; name the table of assets as CATALOG.NAMESPACE.TABLE")
    catalog, *name = text.split(".")
    if len(name) < 2 or not all((catalog, *name)):
        raise ConfigurationError(f"`table` {text!r} is not of the form CATALOG.NAMESPACE.TABLE")
    return catalog, tuple(name)


@options
class FindParameters(PlaceParameters):
    """What is unreferenced."""

    default_cutoff: str = default_cutoff_option()
    cutoff: Sequence[str] = cutoff_option()
    cutoff_ref_time: datetime | None = cutoff_ref_time_option()
    membership: Membership = membership_option()
    expected_file_count: int = expected_file_count_option()
    fpp: float = fpp_option()
    dropped_after: timedelta | None = dropped_after_option()
    dropped_under: Sequence[str] = dropped_under_option()
    min_age: timedelta = min_age_option()
    no_age_floor: bool = no_age_floor_option()
    max_file_modification: datetime | None = max_file_modification_option()
    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()

    @property
    def finding(self) -> GcParameters:
        """The collection that finds it, and deletes nothing."""
        return part_of(self, GcParameters, dry_run=True)

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        PlaceParameters.check(self, choice)
        self.finding.check(choice)


@options
class IdentifyParameters(FindParameters):
    """What is unreferenced, and where to write it."""

    table: str | None = table_option()
    branch: str = branch_option()
    own_branch: bool = own_branch_option()
    run_id: str | None = option(
        None,
        section=_ASSETS,
        metavar="UUID",
        help="Id of the run (default: a new one). A run that is already complete is not repeated.",
    )
    dry_run: bool = option(False, section=_ASSETS, help="Find the assets, but write nothing.")
    by_table: bool = by_table_option()
    history: bool = option(
        False,
        section=_ASSETS,
        help="Walk all commits to report why each asset is unreferenced and what referenced it last; changes no "
        "decision.",
    )
    known_unknowns: str | None = known_unknowns_option()
    lost_table: str | None = option(
        None,
        section=_ASSETS,
        metavar="NAMESPACE.TABLE",
        help="Iceberg table in the same catalog that receives a row for each file that is needed but missing, and "
        "what it breaks.",
    )
    default_cutoff: str = default_cutoff_option("P7D")
    expected_file_count: int = expected_file_count_option(10_000_000)

    expansion_cache: str | None = expansion_cache_option()

    @property
    def identity(self) -> str | None:
        """The wanted identity of the run, in the usual form of a UUID."""
        try:
            return None if self.run_id is None else str(uuid.UUID(self.run_id))
        except ValueError as error:
            raise ConfigurationError(f"`run_id` {self.run_id!r} is not a UUID") from error

    @property
    def lost_name(self) -> TableName | None:
        """The name of the table of lost files."""
        return None if self.lost_table is None else own_name(self.lost_table, "lost_table")

    @property
    def more_tables(self) -> list[TableName]:
        """The other tables that an identification writes to."""
        return [name for name in (self.lost_name, cache_name(self.expansion_cache)) if name is not None]

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        FindParameters.check(self, choice)
        table_name(self.table)
        _ = self.more_tables
        _ = self.identity


@options
class DeleteUnreferencedParameters(DeletionParameters):
    """Which assets to delete, and what happens to their rows."""

    table: str | None = table_option()
    branch: str = branch_option()
    own_branch: bool = own_branch_option()
    seen_count: int = seen_count_option()
    seen_apart: timedelta = seen_apart_option()
    where: str | None = where_option()
    report_table: str | None = option(
        None,
        section=_ASSETS,
        metavar="NAMESPACE.TABLE",
        help="Iceberg table in the same catalog that receives a row for each asset that was handled.",
    )
    expansion_cache: str | None = expansion_cache_option()
    remove_directories: bool = option(
        False,
        section=_ASSETS,
        help="Also remove the empty directories of dropped tables, on file systems that have directories.",
    )
    delete_on_purge: bool = option(
        True, section=_ASSETS, help="Remove the rows of deleted assets from the table of assets."
    )
    drop_gc_table: bool = option(
        False,
        section=_ASSETS,
        help="Drop the table of assets afterwards. This also loses the sightings of all other assets.",
    )
    default_cutoff: str | None = option(
        None,
        section=MARK,
        flag="-c",
        metavar="POLICY",
        help="The policy of references that no pattern matches (default: as in the latest run).",
    )
    cutoff: Sequence[str] = option(
        (),
        section=MARK,
        flag="-C",
        metavar="PATTERN=POLICY,...",
        whole=True,
        help="The policy of references whose whole name matches a regular expression (default: as in the latest run).",
    )
    min_age: timedelta | None = option(
        None, section=GUARD, help="Keep files that are younger than this (default: as in the latest run)."
    )
    no_age_floor: bool = no_age_floor_option()

    @property
    def settings(self) -> dict[str, object]:
        """What is said here of the settings that the latest run has as well."""
        names = ("default_cutoff", "cutoff", "min_age", "no_age_floor", "allow", "min_depth")
        said = {name: getattr(self, name) for name in (*names, "strict_unknown", "set_aside")}
        return {
            name: value for name, value in said.items() if not (value is None or value is False or value in ((), []))
        }

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        DeletionParameters.check(self, choice)
        table_name(self.table)
        check_seen_count(self.seen_count)
        if self.report_table is not None:
            own_name(self.report_table, "report_table")
        cache_name(self.expansion_cache)


def own_name(text: str, parameter: str) -> TableName:
    """The name of another table of the same catalog.

    Raises:
        ConfigurationError: it has no namespace.
    """
    name = tuple(text.split("."))
    if len(name) < 2 or not all(name):
        raise ConfigurationError(f"`{parameter}` {text!r} is not of the form NAMESPACE.TABLE")
    return name


@options
class AssetPageParameters(ConnectorOptions):
    """The table to report on, and where to write the report."""

    table: str | None = table_option()
    branch: str = branch_option()
    own_branch: bool = own_branch_option()
    output: str | None = option(
        None,
        section=_ASSETS,
        metavar="FILE.html",
        help="Write the page to this file, replacing an existing one; on the command line, '-' is standard output.",
        per_machine=True,
    )
    plots: str | None = option(
        None,
        section=_ASSETS,
        metavar="FOLDER",
        help="Write the plots of the page to this folder, as PNG files; it is created if need be.",
        per_machine=True,
    )
    seen_count: int = seen_count_option()
    seen_apart: timedelta = seen_apart_option()
    where: str | None = where_option()

    def check(self) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        table_name(self.table)
        check_seen_count(self.seen_count)
        if self.output is not None:
            _check_page(Path(self.output))
        if self.plots is not None and Path(self.plots).exists() and not Path(self.plots).is_dir():
            raise ConfigurationError(f"`plots` {self.plots!r} is not a folder; name one, which is created if need be")


def _check_page(path: Path) -> None:
    if path.suffix.lower() not in (".html", ".htm"):
        raise ConfigurationError(f"`output` {str(path)!r} must end in .html")
    if path.is_dir():
        raise ConfigurationError(f"`output` {str(path)!r} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise ConfigurationError(
            f"`output` {str(path)!r}: the folder {str(path.parent)!r} does not exist; create it first"
        )
