"""The rows of a plan: what would be deleted, of which table and kind, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from nessie_gc_core.algorithms.kinds import KindsOfNames
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import ContentToFiles
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.model.batches import Row, constant, in_schema, to_batches, to_rows
from nessie_gc_core.model.relations import OUTCOMES
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.tally import TableTally

PLAN_ROWS = pa.schema(
    [
        pa.field("table", pa.string(), nullable=False),
        pa.field("location", pa.string(), nullable=False),
        pa.field("path", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("modified", pa.int64(), nullable=False),
        pa.field("sidecar", pa.bool_(), nullable=False),
        pa.field("kind", pa.string()),
        pa.field("reason", pa.string(), nullable=False),
    ]
)
"""One row per file and per checksum sidecar.

``table`` has the dotted names of the tables at this location, separated by commas, and is empty for a place without a
table; ``kind`` is the probable kind of the file by its name, null if that does not tell.
"""
UNREFERENCED = "nothing live needs it"
SIDECAR = "CHECKSUM_SIDECAR"
"""The kind of a checksum sidecar ``.name.crc``."""
_OF_UNITS = pa.schema([OUTCOMES.field("unit"), PLAN_ROWS.field("table"), pa.field("why", pa.string(), nullable=False)])
_PLANNED = pa.schema([*OUTCOMES, pa.field("table", pa.string()), pa.field("why", pa.string())])


def plan_rows(
    outcomes: Dataset,
    tables: Iterable[TableTally],
    dropped: Mapping[str, str],
    *,
    readers: Sequence[type[ContentToFiles]],
    choice: ConnectorChoice,
    engine: Engine,
) -> Dataset:
    """The rows (:data:`PLAN_ROWS`) of a dry run.

    Args:
        outcomes: its outcomes (:data:`OUTCOMES`).
        tables: the tables at each location.
        dropped: raw locations of contents that are gone and were swept on their own, each with what was there.
        readers: of the contents that occur, which know what files are called.
        choice: the connectors' options.
        engine: the engine of the run.
    """
    rules = choice.rules()
    gone = {rules.place_prefix(location): reason for location, reason in dropped.items()}
    units: Iterator[Row] = (
        (each.location, ", ".join(each.tables), gone.get(each.location, UNREFERENCED)) for each in tables
    )
    of_units = engine.dataset(to_batches(units, _OF_UNITS), _OF_UNITS)
    doomed = outcomes.where("outcome", [Outcome.WOULD_DELETE.value])
    return doomed.left_join(of_units, ["unit"]).flat_map(_NameRows(readers, choice))


class _NameRows:
    """Outcomes with the tables and reasons of their units to the rows of a plan."""

    schema = PLAN_ROWS

    def __init__(self, readers: Sequence[type[ContentToFiles]], choice: ConnectorChoice) -> None:
        self._readers = tuple(reader.name for reader in readers)
        self._choice = choice

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Column by column, but for the kinds."""
        with OpenConnectors(self._choice) as connectors:
            kinds = KindsOfNames(self._readers, connectors)
            for batch in batches:
                rows = in_schema(batch, _PLANNED)
                columns = {
                    "table": rows.column("table").fill_null(""),
                    "reason": rows.column("why").fill_null(UNREFERENCED),
                    "kind": pa.array(_kinds(rows, kinds), pa.string()),
                }
                yield in_schema(rows, PLAN_ROWS, columns)


def _kinds(rows: pa.RecordBatch, kinds: KindsOfNames) -> Iterator[str | None]:
    for location, path, sidecar in to_rows(rows, "location", "path", "sidecar"):
        yield SIDECAR if sidecar else kinds.of(str(location) + str(path))


def planned_outcomes(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of a plan as the outcomes (:data:`OUTCOMES`) of the dry run; their units are not known."""
    columns = {
        "unit": constant("", rows.num_rows, pa.string()),
        "outcome": constant(Outcome.WOULD_DELETE.value, rows.num_rows, pa.string()),
    }
    return in_schema(rows, OUTCOMES, columns)
