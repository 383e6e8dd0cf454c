"""Lost and found: a stored file stays that bears the name of a reachable file which was found nowhere (S30)."""

from __future__ import annotations

from dataclasses import dataclass

from nessie_gc_core.algorithms.count import StoredCounts
from nessie_gc_core.algorithms.expand import Expansion
from nessie_gc_core.algorithms.namesakes import MAY_BE, NOWHERE, dead_namesakes, lost_names, spare_namesakes
from nessie_gc_core.algorithms.subtract import count_by_unit
from nessie_gc_core.algorithms.units import SweepPlan
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.relations import FILE_KEYS
from nessie_gc_core.model.text import plural
from nessie_gc_core.services.file_lists import not_in_lists
from nessie_gc_core.services.looked_at import LookedAt
from nessie_gc_core.services.quarantine.needed_again import NeededAgain
from nessie_gc_core.services.report import MAX_NAMES, NamedFile
from nessie_gc_core.services.run import SweepRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """What a sweep did not find."""

    lost: Dataset
    """Reachable files of the units that are not stored (:data:`REACHABLE_FILES`)."""
    names: Dataset | None
    """The names of these, and of files that are in no known place (:data:`LOST_NAMES`); ``None``: there are none."""


def find_missing(
    looked_at: LookedAt,
    expansion: Expansion,
    plan: SweepPlan,
    counts: StoredCounts,
    run: SweepRun,
    again: NeededAgain,
    *,
    by_lists: bool,
) -> Missing:
    """Reachable files that are not stored, which are reported; freezes units in which none was found.

    Args:
        looked_at: what was listed.
        expansion: what is reachable.
        plan: the units.
        counts: what was listed in each unit.
        run: the run.
        again: knows what of it is in quarantine, which is not missing.
        by_lists: whether lists of files replace the listing, which may be older than the files.
    """
    nowhere = looked_at.nowhere(expansion, plan).checkpoint()
    missing = count_by_unit(nowhere)
    if missing:
        nowhere = again.not_taken(nowhere)
        missing = count_by_unit(nowhere)
    if not missing:
        return Missing(lost=nowhere, names=None)
    names = lost_names(nowhere).checkpoint()
    again.may_be_lost(names)
    missing.pop(NOWHERE, None)
    lost_files = nowhere.where("unit", [NOWHERE], negate=True)
    if by_lists:
        lost_files, units = not_in_lists(run, missing, counts.files_by_unit, plan)
        missing = {unit: missing[unit] for unit in units}
    else:
        run.report.lost.files = sum(missing.values())
    for row in lost_files.head(MAX_NAMES).to_pylist():
        run.report.lost_files.append(NamedFile(row["path"], "it is referenced but missing"))
    _freeze_where_nothing_was_found(missing, expansion, plan)
    return Missing(lost=lost_files, names=names)


def _freeze_where_nothing_was_found(missing: dict[str, int], expansion: Expansion, plan: SweepPlan) -> None:
    """Freezes units of which all files are missing: there are most likely two names for one place."""
    left = missing.keys() & set(plan.roots)
    if not left:
        return
    written = expansion.written().where("unit", sorted(left))
    for unit, needed in count_by_unit(written.distinct(list(FILE_KEYS.names))).items():
        if missing[unit] == needed:
            plan.freeze([unit], "the listing shows none of the expected files")


def keep_namesakes(verdicts: Dataset, names: Dataset | None, run: SweepRun) -> Dataset:
    """The verdicts (:data:`VERDICTS`), but what may be a file that was found nowhere stays, and is reported.

    Args:
        verdicts: what was judged.
        names: of files that were found nowhere (:data:`LOST_NAMES`); ``None``: all were found.
        run: the run.
    """
    if names is None:
        return verdicts
    found = dead_namesakes(verdicts, names).checkpoint()
    files = found.count()
    if not files:
        return verdicts
    report = run.report
    report.may_be_lost.files += files
    for row in found.head(MAX_NAMES - len(report.may_be_lost_files)).to_pylist():
        report.may_be_lost_files.append(NamedFile(row["unit"] + row["key"], f"{MAY_BE}{row['lost']}"))
    example = report.may_be_lost_files[0]
    report.warn(
        f"kept {plural(files, 'file')} named like a file that live metadata needs and that was not found, such as "
        f"{example.path}: {example.reason}, spelled in another way"
    )
    return spare_namesakes(verdicts, found).checkpoint()
