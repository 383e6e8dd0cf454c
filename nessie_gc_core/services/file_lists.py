"""A sweep that takes what is stored from lists of files: what such a list cannot say, and who must look again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nessie_gc_core.algorithms.file_list import stored_from_lists
from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsLookUp
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.locations import LocationRules, scheme_of
from nessie_gc_core.model.relations import REACHABLE_FILES
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.run import SweepRun


def stored_by_lists(run: SweepRun, names: Sequence[str], units: Sequence[SweepUnit], rules: LocationRules) -> Dataset:
    """What the lists have in the units (:data:`STORED_FILES`).

    Raises:
        ConfigurationError: a lister cannot look at single files, which a list makes necessary.
        ListingError: a list cannot be read completely.
    """
    _check_listers(run, units)
    stored, elsewhere = stored_from_lists(run.engine, names, units, rules)
    if elsewhere:
        run.report.warn(f"ignored {plural(elsewhere, 'row')} of the file list outside the swept locations")
    return stored


def _check_listers(run: SweepRun, units: Sequence[SweepUnit]) -> None:
    with OpenConnectors(run.choice) as connectors:
        for location in {scheme_of(at): at for unit in units for at in unit.locations}.values():
            lister = connectors.lister(location)
            if not isinstance(lister, SupportsLookUp):
                raise ConfigurationError(
                    f"`file_list` needs a lister that can look at single files, which {lister.name!r} cannot for "
                    f"{location}; leave `file_list` out"
                )


def not_in_lists(run: SweepRun, missing: Mapping[str, int], listed: Mapping[str, int]) -> tuple[Dataset, list[str]]:
    """What is said of needed files that no list has, which may be younger than it: none is called lost.

    Args:
        run: the run.
        missing: how many there are in each unit.
        listed: how many files the lists have in each unit.

    Returns:
        No lost files (:data:`REACHABLE_FILES`), and the units of which a list has some files.
    """
    files, nothing = sum(missing.values()), [unit for unit in missing if not listed.get(unit)]
    if files:
        run.report.warn(
            f"{plural(files, 'needed file')} {'is' if files == 1 else 'are'} not in the file list; possibly newer than "
            "the list, and not reported as lost"
        )
    if nothing:
        run.report.warn(
            f"the file list has no files for {plural(len(nothing), 'location')} with needed files, such as "
            f"{nothing[0]}; nothing is deleted there"
        )
    return run.engine.empty(REACHABLE_FILES), [unit for unit in missing if listed.get(unit)]
