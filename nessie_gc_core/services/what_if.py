"""The service that says what a cut-off policy would free, and which states would end; it changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar

import pyarrow as pa

from nessie_gc_core.algorithms.assets import Sighting
from nessie_gc_core.algorithms.history import ENDED_STATES, HISTORY_VERSIONS, ended_states
from nessie_gc_core.connectors import Service
from nessie_gc_core.dataset import Dataset
from nessie_gc_core.model.assets import AssetReason
from nessie_gc_core.model.batches import from_micros, to_texts
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.model.text import json_time, plural, size_text, time_text
from nessie_gc_core.services.aside import AsideStore
from nessie_gc_core.services.assets.finding import named_assets, table_locations, walked
from nessie_gc_core.services.assets.parameters import FindParameters
from nessie_gc_core.services.assets.tallies import tallies_by, tally
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.left_out import Names
from nessie_gc_core.services.preconditions import check_one_repository
from nessie_gc_core.services.report import MAX_NAMES, GcReport
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.shown import ShownAsText
from nessie_gc_core.services.sweep import Directions
from nessie_gc_core.services.tally import Tally

_ENDED = pa.schema([pa.field(name, pa.int64()) for name in ("states", "oldest", "newest")])
_SHOWN = 10
"""So many rows of a grouping a terminal shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedStates:
    """States of one reference or of one table that could not be read any more."""

    name: str
    """The reference, or the dotted key of the table."""
    states: int
    """How many: snapshots that no commit within the policy has."""
    oldest: datetime
    """The time of the first of their last commits, UTC."""
    newest: datetime
    """The time of the last of them."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        times = {"oldest": json_time(self.oldest), "newest": json_time(self.newest)}
        return {"name": self.name, "states": self.states, **times}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedState:
    """A state that could not be read any more."""

    reference: str
    """A reference that has it."""
    table: str
    """The dotted key of its table or view."""
    snapshot_id: int
    """Its snapshot."""
    commit_id: str
    """The last commit of the reference at which it was visible."""
    commit_time: datetime
    """When that commit was made, UTC."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "reference": self.reference,
            "table": self.table,
            "snapshot_id": self.snapshot_id,
            "commit_id": self.commit_id,
            "commit_time": json_time(self.commit_time),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfReport(ShownAsText):
    """What some cut-off policies would free, and what would end."""

    policies: Mapping[str, int]
    """Each policy, with the number of references that it would apply to."""
    freed: Tally
    """Files that only commits beyond the policies need."""
    freed_by_table: Sequence[tuple[str, Tally]]
    """The same by table, the most bytes first."""
    freed_by_reference: Sequence[tuple[str, Tally]]
    """The same by a reference that had them, the most bytes first."""
    garbage: Tally
    """Files that nothing needs, whatever the policies: no known commit has them."""
    ended_by_reference: Sequence[EndedStates]
    """States that would end, by a reference that has them, the most first."""
    ended_by_table: Sequence[EndedStates]
    """The same by table."""
    ended: Sequence[EndedState]
    """Some of them: 100 at most."""
    collection: GcReport
    """What was read, what is unknown, and how long it took."""

    @property
    def exit_code(self) -> int:
        """1 where something stayed unknown or could not be read, else 0."""
        return self.collection.exit_code

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            "policies": dict(self.policies),
            "freed": self.freed.to_dict(),
            "freed_by_table": [{"name": name, **tally.to_dict()} for name, tally in self.freed_by_table],
            "freed_by_reference": [{"name": name, **tally.to_dict()} for name, tally in self.freed_by_reference],
            "garbage": self.garbage.to_dict(),
            "ended_by_reference": [each.to_dict() for each in self.ended_by_reference],
            "ended_by_table": [each.to_dict() for each in self.ended_by_table],
            "ended": [each.to_dict() for each in self.ended],
            "collection": self.collection.to_dict(),
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A page for a terminal."""
        references = [f"{policy} for {plural(number, 'reference')}" for policy, number in self.policies.items()]
        lines = [
            f"policies: {', '.join(references)}; every head stays readable, including tags",
            f"would be freed: {self.freed}",
            *_tallies("by table", self.freed_by_table),
            *_tallies("by reference", self.freed_by_reference),
            f"garbage under any policy: {self.garbage}",
            f"states that would end: {sum(each.states for each in self.ended_by_reference):,}",
            *_ended_lines("by reference", self.ended_by_reference),
            *_ended_lines("by table", self.ended_by_table),
        ]
        return "\n".join(lines)


def _tallies(title: str, tallies: Sequence[tuple[str, Tally]]) -> list[str]:
    rows = [
        f"    {name or '(none)'}: {plural(tally.files, 'file')}, {size_text(tally.bytes)}" for name, tally in tallies
    ]
    return _some(title, rows)


def _ended_lines(title: str, ended: Sequence[EndedStates]) -> list[str]:
    rows = [f"    {e.name}: {e.states:,}, from {time_text(e.oldest)} to {time_text(e.newest)}" for e in ended]
    return _some(title, rows)


def _some(title: str, rows: Sequence[str]) -> list[str]:
    more = [f"    and {len(rows) - _SHOWN:,} more"] if len(rows) > _SHOWN else []
    return [f"  {title}", *rows[:_SHOWN], *more] if rows else []


@dataclass(frozen=True, slots=True)
class WhatIfService(Service[Run]):
    """Report what a cut-off policy would free, by table and reference, and which states would end; deletes no files.

    All commits are walked, and the files of old states are found as by 'gc'. A file or state of several references
    counts for one of them. --include and --exclude limit the report to some tables; the others are read, because they
    may need files of these. Another run may work on the repository at the same time; a warning then says that the
    answer may already be out of date.
    """

    name: ClassVar[str] = "what-if"
    Parameters: ClassVar[type[ConnectorOptions]] = FindParameters
    lasting_store: ClassVar[bool] = False

    parameters: FindParameters

    def run(self, run: Run) -> WhatIfReport:
        """Looks.

        Raises:
            NessieGcError: something that is needed could not be read.
        """
        self.parameters.check(run.choice)
        check_one_repository(run)
        with AsideStore(run.store) as store:  # nobody should sweep what a policy marked that is not in force
            report = self._looked(run.aside(store))
            for note in store.notes:
                run.report.warn(note)
            return report

    def _looked(self, run: Run) -> WhatIfReport:
        swept = GcService(self.parameters.finding, Directions(remember=False, alone=False)).swept(run)
        history = walked(run, swept, self.parameters.identify_parallelism)
        live_set = swept.live_set
        sighting = Sighting(run=str(live_set.id), runid=0, at=live_set.references_listed or live_set.created)
        assets = named_assets(run, swept, sighting, history, tables=table_locations(swept)).checkpoint()
        freed = assets.where("reason", [AssetReason.EXPIRED_COMMIT.value])
        chosen = history.versions.flat_map(_OfTables(self.parameters.finding.tables, swept.located.names))
        ended = ended_states(chosen, swept.located.versions).checkpoint()
        policies = [head.policy for head in live_set.heads]
        return WhatIfReport(
            policies={policy: policies.count(policy) for policy in sorted(set(policies))},
            freed=tally(freed),
            freed_by_table=tallies_by(freed, "tableName"),
            freed_by_reference=tallies_by(freed, "lastReference"),
            garbage=tally(assets.where("reason", [AssetReason.EXPIRED_COMMIT.value], negate=True)),
            ended_by_reference=_counts(ended, "reference"),
            ended_by_table=_counts(ended, "content_key"),
            ended=[_state(row) for row in ended.head(MAX_NAMES).to_pylist()],
            collection=run.report,
        )


class _OfTables:
    """Versions (:data:`HISTORY_VERSIONS`) to those of the selected tables, by all live names of each.

    A table that no longer exists goes by the name that it had in the version.
    """

    schema = HISTORY_VERSIONS

    def __init__(self, patterns: TablePatterns, names: Names) -> None:
        self._patterns = patterns
        self._names = names

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows = to_texts(batch, "content_id", "content_key")
            meant = [self._patterns.matches_any(self._names.get(content_id, {name})) for content_id, name in rows]
            yield batch.filter(pa.array(meant, pa.bool_()))


def _counts(ended: Dataset, column: str) -> list[EndedStates]:
    schema = pa.schema([ENDED_STATES.field(column), *_ENDED])
    measures = {"states": ("count", "commit_id"), "oldest": ("min", "micros"), "newest": ("max", "micros")}
    rows = ended.aggregate([column], measures, schema).summary().to_pylist()
    counted = [
        EndedStates(name=row[column], states=row["states"], oldest=_time(row["oldest"]), newest=_time(row["newest"]))
        for row in rows
    ]
    return sorted(counted, key=lambda each: (-each.states, each.name))


def _state(row: Mapping[str, Any]) -> EndedState:
    return EndedState(
        reference=row["reference"],
        table=row["content_key"],
        snapshot_id=row["snapshot_id"],
        commit_id=row["commit_id"],
        commit_time=_time(row["micros"]),
    )


def _time(micros: int) -> datetime:
    time = from_micros(micros)
    assert time is not None
    return time
