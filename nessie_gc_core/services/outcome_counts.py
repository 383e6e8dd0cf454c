"""The outcome of files, added to the report of a run."""

from __future__ import annotations

from nessie_gc_core.algorithms.count import count_outcomes, kept_by_workers, name_outcomes
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.report import MAX_NAMES, GcReport, NamedFile

Counts = dict[str, tuple[int, int]]
"""For each outcome its files and bytes."""
_GONE = frozenset({Outcome.DELETED, Outcome.QUARANTINED, Outcome.WOULD_DELETE, Outcome.DEFERRED})


def add_outcomes(outcomes: Dataset, report: GcReport) -> dict[str, Counts]:
    """Adds outcomes (:data:`OUTCOMES`) to the report, with some names; returns files and bytes per unit and outcome."""
    by_unit: dict[str, Counts] = {}
    for row in count_outcomes(outcomes):
        outcome = Outcome(row["outcome"])
        if row["sidecar"]:
            _add_sidecars(row["unit"], outcome, row["files"], row["bytes"], report)
            continue
        report.add_outcome(row["unit"], outcome, row["files"], row["bytes"])
        by_unit.setdefault(row["unit"], {})[outcome.value] = (row["files"], row["bytes"])
    _add_names(outcomes, report)
    return by_unit


def _add_sidecars(unit: str, outcome: Outcome, files: int, bytes_: int, report: GcReport) -> None:
    if outcome in _GONE:
        report.sidecars.add(files, bytes_)
    elif outcome is Outcome.FAILED:
        report.warn(f"{files} checksum files in {unit} could not be deleted")


def _add_names(outcomes: Dataset, report: GcReport) -> None:
    """Names some of the files that failed or were spared."""
    for outcome, names in ((Outcome.FAILED, report.failed_files), (Outcome.SPARED, report.spared_files)):
        if report.outcomes[outcome].files and len(names) < MAX_NAMES:
            found = name_outcomes(outcomes, outcome, MAX_NAMES - len(names))
            names.extend(NamedFile(path, reason) for path, reason in found)
    if report.outcomes[Outcome.SPARED].files:
        for reason in kept_by_workers(outcomes, MAX_NAMES):
            report.warn(f"files that could be deleted stay: {reason}")
