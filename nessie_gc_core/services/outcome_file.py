"""The outcome file: one line or row for every file, with its outcome; nothing that is gone stays nameless."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

import pyarrow as pa

from nessie_gc_core.algorithms.planned import PLANNED_FILES, PLANNED_KEYS, NameOutcome
from nessie_gc_core.dataset import Dataset, Engine
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.batches import Row, to_batches, to_micros
from nessie_gc_core.model.parsing import parsed_json
from nessie_gc_core.model.times import Clock
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.services.outcome_formats import (
    NAMES,
    RECORDED,
    open_format,
    sync_folder,
    telling_errors,
)

PLANNED = "planned"
"""Outcome of a file that an earlier attempt was about to delete, where nothing says whether it did."""
_BY_EARLIER = "by an earlier attempt"
_NOT_KNOWN = "an earlier attempt was about to delete it, and this run does not sweep its location"


class OutcomeFile:
    """Writes outcomes as they come: JSON lines or Parquet, by the file's name; nothing without a file.

    A run that deletes names the files of each step in a plan beside the file before their deletion, and takes the
    plan away when their lines are written and cannot get lost. A plan that is still there tells the next attempt
    what a killed one may have deleted.
    """

    def __init__(
        self,
        path: str | None,
        *,
        live_set_id: UUID,
        clock: Clock,
        deletes: bool = True,
        alone: bool = True,
        done: Outcome = Outcome.DELETED,
    ) -> None:
        """Opens the file, before anything is deleted; what is in it stays, whoever wrote it.

        Args:
            path: the file; ``None``: nothing is written.
            live_set_id: the live set.
            clock: says what time it is.
            deletes: whether files are removed.
            alone: whether a lease is held, so that nobody else writes to the file.
            done: the outcome of a file that is removed.

        Raises:
            ConfigurationError: it cannot be written.
        """
        self._path = None if path is None else Path(path)
        self._live_set_id = str(live_set_id)
        self._clock = clock
        self._deletes = deletes
        self._done = done
        self._format = None if self._path is None else open_format(self._path, alone=alone)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._format is not None:
            with telling_errors(self._path):
                self._format.close()

    def plan(self, planned: Dataset) -> None:
        """Names what a step is about to delete (:data:`PLANNED_FILES`), durably, streamed."""
        if self._format is None:
            return
        plan = self._plan_path
        unfinished = plan.with_name(f"{plan.name}.unfinished")
        with telling_errors(self._path):
            since = self._format.position()
            try:
                with unfinished.open("wb") as file:
                    file.write(json.dumps({"since": since, "outcome": self._done.value}).encode() + b"\n")
                    for batch in planned.batches():
                        file.writelines(json.dumps(list(row.values())).encode() + b"\n" for row in batch.to_pylist())
                    file.flush()
                    os.fsync(file.fileno())
            except OSError:
                unfinished.unlink(missing_ok=True)
                raise
            unfinished.replace(plan)
            sync_folder(plan)

    def write(self, outcomes: Dataset) -> None:
        """Adds all rows of a dataset of :data:`OUTCOMES`, streamed; then the plan of their step has served."""
        if self._format is None:
            return
        with telling_errors(self._path):
            for batch in outcomes.batches():
                self._format.write(self._recorded(batch))
            if self._deletes:
                self._format.sync()
                self._plan_path.unlink(missing_ok=True)

    def name_earlier(self, stored: Dataset, locations: Sequence[str], engine: Engine) -> None:
        """Names the files that a killed attempt may have deleted without writing them.

        Args:
            stored: the files there that nothing live needs, as they are now (:data:`PLANNED_FILES`).
            locations: what was listed this time, as it is spelled; of others nobody knows what is stored.
            engine: compares them.
        """
        if self._format is None or not self._plan_path.exists():
            return
        since, outcome, planned = self._read_plan()
        written = engine.dataset(self._format.names_since(since), NAMES)
        left = engine.dataset(planned, PLANNED_FILES).anti_join(written, NAMES.names).checkpoint()
        gone = left.where("location", locations).anti_join(stored, PLANNED_KEYS)
        elsewhere = left.where("location", locations, negate=True)
        named = gone.flat_map(NameOutcome(outcome, f"{outcome} {_BY_EARLIER}"))
        self.write(named.union(elsewhere.flat_map(NameOutcome(PLANNED, _NOT_KNOWN))).checkpoint())

    @property
    def _plan_path(self) -> Path:
        assert self._path is not None
        return self._path.with_name(f"{self._path.name}.{self._live_set_id}.plan")

    def _read_plan(self) -> tuple[int, str, Iterator[pa.RecordBatch]]:
        with self._plan_path.open("rb") as file, self._understood():
            said: Any = parsed_json(file.readline())
            since, outcome = int(said["since"]), str(said.get("outcome", Outcome.DELETED.value))
        return since, outcome, to_batches(self._planned_rows(), PLANNED_FILES)

    def _planned_rows(self) -> Iterator[Row]:
        with self._plan_path.open("rb") as file:
            file.readline()
            for line in file:
                with self._understood():
                    row: Any = parsed_json(line)
                    planned = tuple(row)
                yield planned

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Says which file it is that is not as it was written.

        Raises:
            NessieGcError: it is this plan.
        """
        try:
            yield
        except (ValueError, KeyError, TypeError) as error:
            raise NessieGcError(
                f"{self._plan_path}, the list of what an earlier run was about to delete, is damaged or was changed: "
                "remove it to go on; files that this run finds gone are then not named as deleted by the earlier one"
            ) from error

    def _recorded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        ids = pa.array([self._live_set_id] * batch.num_rows, pa.string())
        times = pa.array([to_micros(self._clock())] * batch.num_rows, pa.int64())
        return pa.RecordBatch.from_arrays([*batch.columns, ids, times], schema=RECORDED)
