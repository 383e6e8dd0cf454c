"""Unreferenced assets, as Python programs and notebooks use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.assets import ASSETS
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.text import iso_duration
from nessie_gc_core.services.assets.delete import DeleteUnreferencedService
from nessie_gc_core.services.assets.identify import Identified, IdentifyService, open_table
from nessie_gc_core.services.assets.page.service import AssetPageReport, AssetPageService
from nessie_gc_core.services.assets.parameters import (
    AssetPageParameters,
    DeleteUnreferencedParameters,
    IdentifyParameters,
)
from nessie_gc_core.services.assets.report import AssetsReport, PurgeReport
from nessie_gc_core.services.run import Run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from nessie_gc_core.engines.local.frame import LocalFrame

P = TypeVar("P", bound=ConnectorOptions)
Frame: TypeAlias = "DataFrame | LocalFrame"
"""A Spark DataFrame, or on the local engine a frame with ``to_arrow()``, ``to_pandas()`` and ``sql()``."""

ORIGINAL_NAMES: Mapping[str, str] = {
    "maxAgeMicros": "default_cutoff",
    "timeSlopMicros": "min_age",
    "bloomFilterCapacity": "expected_file_count",
    "seenCount": "seen_count",
    "deleteCountThreshold": "seen_count",
    "deleteOnPurge": "delete_on_purge",
    "dropGcTable": "drop_gc_table",
}
"""Parameters of Nessie's first collector, each with what it is called here."""
_MICROS = frozenset({"maxAgeMicros", "timeSlopMicros"})


class UnreferencedAssets:
    """The table of unreferenced assets: finds, writes and shows them, and deletes those that enough runs have seen.

    Example::

        assets = Collector(spark=spark, uri=uri).unreferenced_assets("nessie.gc.unreferenced")
        found = assets.identify_unreferenced_assets()
        found.groupBy("assetType").sum("sizeBytes").show()
        assets.update_unreferenced_asset_table(found)
        assets.delete_unreferenced_assets(delete=False, seen_count=2)
    """

    def __init__(
        self, new_run: Callable[[], Run], parameters: Callable[[type[Any], Mapping[str, Any]], Any], **given: Any
    ) -> None:
        """Takes a factory of runs, a factory of parameters from the settings, and parameters of its calls."""
        self._new_run = new_run
        self._make = parameters
        self._given = renamed(given)
        self._run: Run | None = None
        self._identified: Identified | None = None

    def identify_unreferenced_assets(self, **parameters: Any) -> Frame:
        """Finds unreferenced assets, one row for each; writes nothing, and deletes nothing.

        The columns are those of the table (:data:`nessie_gc_core.model.assets.ASSETS`); ``runid`` is 0. It is computed
        once, however often it is shown.

        Args:
            parameters: those of ``nessie-gc identify-unreferenced``, such as ``default_cutoff`` or ``min_age``.
        """
        service = self._identifying(parameters)
        self._run = self._new_run()
        service.parameters.check(self._run.choice)
        self._identified = service.find(self._run, open_table(self._run, service.parameters, make_branch=False))
        return cast(Frame, self._identified.assets.to_frame())

    def update_unreferenced_asset_table(self, assets: Frame | None = None, **parameters: Any) -> AssetsReport:
        """Adds the found assets to the table, as one run.

        Args:
            assets: the rows to add, a DataFrame with the same columns (default: all).
            parameters: those of ``nessie-gc identify-unreferenced`` that do not decide what is found.

        Raises:
            ConfigurationError: ``identify_unreferenced_assets()`` was not called before.
        """
        if self._identified is None or self._run is None:
            raise ConfigurationError("nothing to add to the table yet: call identify_unreferenced_assets() first")
        service, run, identified = self._identifying(parameters), self._run, self._identified
        if service.parameters.dry_run:
            return service.report(identified.run, run, assets=identified.assets)
        table = open_table(run, service.parameters, make_branch=True)
        assert table is not None  # its branch was made
        chosen = None if assets is None else run.engine.from_frame(assets, ASSETS)
        found = service.update(table, identified, chosen, go_on=run.go_on)
        return service.report(found, run, assets=identified.assets)

    def identify(self, **parameters: Any) -> AssetsReport:
        """Finds unreferenced assets, and adds them to the table: both of the above."""
        return self._identifying({"dry_run": False, **parameters}).run(self._new_run())

    def delete_unreferenced_assets(self, *, delete: bool, **parameters: Any) -> PurgeReport:
        """Deletes the assets that enough runs have seen, unless something needs them now.

        Args:
            delete: whether to delete files; if false, it is a dry run.
            parameters: those of ``nessie-gc delete-unreferenced``, such as ``seen_count``.
        """
        given = {**self._given, **renamed(parameters), "dry_run": not delete}
        return DeleteUnreferencedService(self._typed(DeleteUnreferencedParameters, given)).run(self._new_run())

    def report(self, **parameters: Any) -> AssetPageReport:
        """Reports on the table: figures, and a page with them in ``html``; deletes nothing.

        Args:
            parameters: those of ``nessie-gc report``, such as ``output`` and ``plots``, the only files that are
                written.
        """
        given = {**self._given, **renamed(parameters)}
        return AssetPageService(self._typed(AssetPageParameters, given)).run(self._new_run())

    def _identifying(self, parameters: Mapping[str, Any]) -> IdentifyService:
        return IdentifyService(self._typed(IdentifyParameters, {**self._given, **renamed(parameters)}))

    def _typed(self, wanted: type[P], given: Mapping[str, Any]) -> P:
        """The parameters of one of the services, without those that only other services have."""
        services = (IdentifyParameters, DeleteUnreferencedParameters, AssetPageParameters)
        others = {name for service in services for name in _names(service)} - _names(wanted)
        return cast(P, self._make(wanted, {name: value for name, value in given.items() if name not in others}))


def renamed(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters by the names that they have here.

    Raises:
        ConfigurationError: one is given under both of its names.
    """
    found: dict[str, Any] = {}
    for name, value in given.items():
        ours = ORIGINAL_NAMES.get(name, name)
        if ours in found or (ours != name and ours in given):
            raise ConfigurationError(f"`{name}` is the same as `{ours}`; give only one of them")
        found[ours] = _duration(name, value) if name in _MICROS else value
    return found


def _duration(name: str, micros: object) -> str:
    if not isinstance(micros, int) or isinstance(micros, bool) or micros < 0:
        raise ConfigurationError(f"`{name}` is a number of microseconds, not {micros!r}")
    return iso_duration(timedelta(microseconds=micros))


def _names(parameters: type[ConnectorOptions]) -> set[str]:
    return {field.name for field in fields(parameters)}
