"""Writes the plan of a dry run, and reads it again for the sweep that applies it (S21)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from importlib.metadata import version

import pyarrow as pa

from nessie_gc_core.algorithms.planned import Planned, PlannedOutcomes
from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.errors import ConfigurationError, LiveSetNotFoundError, SafetyError
from nessie_gc_core.model.relations import OUTCOMES
from nessie_gc_core.model.text import json_time
from nessie_gc_core.services.live_set_ids import check_id, find_live_set
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.plans.file import PlanFile, PlanHeader, write_plan
from nessie_gc_core.services.plans.options import options_of, with_options_of
from nessie_gc_core.services.plans.rows import plan_rows, planned_outcomes
from nessie_gc_core.services.report import WrittenPlan
from nessie_gc_core.services.run import Run, SweepRun
from nessie_gc_core.services.swept import Swept


def save_plan(path: str, swept: Swept, run: Run, parameters: SweepParameters) -> WrittenPlan:
    """Writes what a dry run would delete, and says in the report where that is.

    Args:
        path: a new file.
        swept: what the dry run found.
        run: the dry run.
        parameters: those of the dry run.

    Raises:
        ConfigurationError, NessieGcError: the file cannot be written.
    """
    report = run.report
    header = PlanHeader(
        live_set_id=str(report.live_set_id),
        repositories=tuple(each.repository for each in report.repositories),
        created=json_time(run.clock()),
        engine=run.engine.name,
        version=version("nessie-gc-core"),
        quarantine=tuple(parameters.quarantine),
        options=options_of(parameters),
    )
    with report.phase("plan"), closing(_rows(swept, run).batches()) as batches:
        end = write_plan(path, header, batches)
    report.plan = WrittenPlan(path=path, files=end.files, bytes=end.bytes, sha256=end.sha256)
    return report.plan


def _rows(swept: Swept, run: Run) -> Dataset:
    """What would be deleted (:data:`PLAN_ROWS`)."""
    return plan_rows(
        swept.outcomes if swept.outcomes is not None else run.engine.empty(OUTCOMES),
        swept.by_table(run.report, {}),
        {each.location: each.reason for each in swept.located.dropped},
        readers=swept.scope.readers,
        choice=run.choice,
        engine=run.engine,
    )


def named_by_plan(parameters: SweepParameters, store: LiveSetStore) -> SweepParameters:
    """The parameters, with the live set and the options of the plan to apply, and its quarantine if none is given.

    What an earlier attempt did not do is done by a later one.

    Raises:
        ConfigurationError: the plan cannot be read, or another live set or other options are given beside it.
        SafetyError: the store does not have its live set: it is a plan of another lake.
    """
    if parameters.apply is None:
        return parameters
    plan = PlanFile.open(parameters.apply)
    header = plan.header
    id_ = find_live_set(store, check_id(header.live_set_id, f"the live set {header.live_set_id[:60]!r} of the plan"))
    try:
        store.get(id_)
    except LiveSetNotFoundError as error:
        raise SafetyError(
            f"the plan {parameters.apply} was made from live set {id_} of {' and '.join(header.repositories)}, which "
            "this live-set store does not have; use the store and the repository of the plan"
        ) from error
    given = parameters.live_set_id
    if parameters.read_live_set_id_from is not None or (given is not None and find_live_set(store, given) != id_):
        raise ConfigurationError(f"the plan {parameters.apply} is of live set {id_}; name no other one beside `apply`")
    # What was planned for a quarantine is not deleted for good because an option was forgotten.
    named = replace(
        parameters, live_set_id=str(id_), quarantine=parameters.quarantine or header.quarantine, resume=True
    )
    return with_options_of(plan, named)


def planned_by(path: str, run: SweepRun) -> Planned:
    """The only files that may be deleted, of a plan in a file.

    Raises:
        SafetyError: it is a plan of other repositories.
        ConfigurationError: it cannot be read, or was changed.
    """
    plan = PlanFile.open(path)
    mine = sorted(member.live_set.repository for member in run.members)
    if sorted(plan.header.repositories) != mine:
        raise SafetyError(
            f"the plan {path} was made from {' and '.join(plan.header.repositories)}, not from {' and '.join(mine)}; "
            "use the repositories of the plan, or make a new plan"
        )
    return PlannedOutcomes(run.engine.dataset(_outcomes(plan), OUTCOMES))


def _outcomes(plan: PlanFile) -> Iterator[pa.RecordBatch]:
    return map(planned_outcomes, plan.batches())
