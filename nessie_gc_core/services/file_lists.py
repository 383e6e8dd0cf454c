"""A sweep that takes what is stored from lists of files: how old they are, what they lack, who must look again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from nessie_gc_core.algorithms.file_list import stored_from_lists
from nessie_gc_core.algorithms.file_list_source import FileList
from nessie_gc_core.algorithms.units import SweepPlan, SweepUnit
from nessie_gc_core.config.connectors import OpenConnectors
from nessie_gc_core.connectors import SupportsLookUp
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, SafetyError
from nessie_gc_core.model.locations import LocationRules, scheme_of, store_of
from nessie_gc_core.model.relations import REACHABLE_FILES
from nessie_gc_core.model.text import duration_text, plural, time_text
from nessie_gc_core.services.listed_tables import open_file_lists
from nessie_gc_core.services.parameters import CollectionParameters
from nessie_gc_core.services.preconditions import TOLERANCE
from nessie_gc_core.services.run import SweepRun


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLists:
    """The lists of a sweep, which are opened once: a newer inventory in the same folder is not mixed with them."""

    lists: Sequence[FileList] = ()
    made: datetime | None = None
    """The earliest time at which one of them is known to have been made (UTC)."""

    @classmethod
    def opened(cls, run: SweepRun, parameters: CollectionParameters) -> FileLists:
        """Opens the lists, and says in the report how old they are.

        Raises:
            ConfigurationError: a list or a part of it is missing, or is not understood.
            SafetyError: one is too old, or from the future.
        """
        if not parameters.file_list:
            return cls()
        lists = open_file_lists(parameters.file_list, run.choice)
        given = parameters.file_list_time
        for each in lists:
            for made in (each.made, given):
                if made is not None:
                    _check_age(each.name, made, run.clock(), parameters.file_list_max_age)
        times = [made for made in (given, *(each.made for each in lists)) if made is not None]
        if not times:
            return cls(lists=lists)
        age = max(timedelta(0), run.clock() - min(times))
        run.report.warn(
            f"the file list is {duration_text(age)} old: it was made at {time_text(min(times))}, from which `min_age` "
            "counts back; what was written later is not seen"
        )
        return cls(lists=lists, made=min(times))

    def counted_from(self, references_listed: datetime) -> datetime:
        """From when the minimum age counts back: no file is judged by a state newer than the lists (S8)."""
        return references_listed if self.made is None else min(self.made, references_listed)

    def stored(self, run: SweepRun, units: Sequence[SweepUnit], rules: LocationRules) -> Dataset:
        """What the lists have in the units (:data:`STORED_FILES`).

        Raises:
            ConfigurationError: a lister cannot look at single files, which a list makes necessary.
            ListingError: a list cannot be read completely.
        """
        _check_listers(run, units)
        stored, elsewhere = stored_from_lists(run.engine, self.lists, units, rules)
        if elsewhere:
            run.report.warn(f"ignored {plural(elsewhere, 'row')} of the file list outside the swept locations")
        return stored


def _check_age(name: str, made: datetime, now: datetime, max_age: timedelta) -> None:
    if made - now > TOLERANCE:
        raise SafetyError(
            f"the file list {name!r} is from the future: made at {time_text(made)}, and now it is {time_text(now)}; "
            "correct the wrong clock, or `file_list_time`"
        )
    if now - made > max_age:
        raise SafetyError(
            f"the file list {name!r} is {duration_text(now - made)} old, `file_list_max_age` is "
            f"{duration_text(max_age)}: use a newer one; a day may be missing"
        )


def _check_listers(run: SweepRun, units: Sequence[SweepUnit]) -> None:
    with OpenConnectors(run.choice) as connectors:
        for location in {scheme_of(at): at for unit in units for at in unit.locations}.values():
            lister = connectors.lister(location)
            if not isinstance(lister, SupportsLookUp):
                raise ConfigurationError(
                    f"`file_list` needs a lister that can look at single files, which {lister.name!r} cannot for "
                    f"{location}; leave `file_list` out"
                )


def not_in_lists(
    run: SweepRun, missing: Mapping[str, int], listed: Mapping[str, int], plan: SweepPlan
) -> tuple[Dataset, list[str]]:
    """What is said of needed files that no list has, which may be younger than it: none is called lost.

    Args:
        run: the run.
        missing: how many there are in each unit.
        listed: how many files the lists have in each unit.
        plan: the units; those of a bucket of which the lists have nothing at all are frozen (S6).

    Returns:
        No lost files (:data:`REACHABLE_FILES`), and the units of which a list has some files.
    """
    files, nothing = sum(missing.values()), [unit for unit in missing if not listed.get(unit)]
    if files:
        run.report.warn(
            f"{plural(files, 'needed file')} {'is' if files == 1 else 'are'} not in the file list; possibly newer than "
            "the list, and not reported as lost"
        )
    seen = {store_of(unit) for unit, rows in listed.items() if rows}
    for store in sorted({store_of(unit) for unit in nothing} - seen):
        units = [unit for unit in nothing if store_of(unit) == store]
        plan.freeze(units, f"the file list has no files in the swept locations of {store}, where some are needed")
    nothing = [unit for unit in nothing if store_of(unit) in seen]
    if nothing:
        run.report.warn(
            f"the file list has no files for {plural(len(nothing), 'location')} with needed files, such as "
            f"{nothing[0]}; nothing is deleted there"
        )
    return run.engine.empty(REACHABLE_FILES), [unit for unit in missing if listed.get(unit)]
