"""What a plan would delete, summed up by table, kind, age and reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from nessie_gc_core.model.batches import constant, to_micros
from nessie_gc_core.services.plans.file import PlanFile
from nessie_gc_core.services.tally import Tally

_AGES = {
    timedelta(days=1): "under 1 day",
    timedelta(days=7): "1 to 7 days",
    timedelta(days=30): "7 to 30 days",
    timedelta(days=90): "30 to 90 days",
    timedelta(days=365): "90 to 365 days",
}
_OLDER = "over 365 days"
GROUPS = ("table", "kind", "age", "reason")
"""By what the files of a plan are summed up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanSummary:
    """The files of a plan, which was read to its end and is as it was written. Sidecars count apart."""

    path: str
    """The file."""
    header: Mapping[str, Any]
    """What the plan was made from: ``live_set_id``, ``repositories``, ``created``, ``engine``, ``version``."""
    sha256: str
    """The digest of the plan."""
    total: Tally
    """All its files."""
    sidecars: Tally
    """Checksum sidecars, which go with their files."""
    groups: Mapping[str, Mapping[str, Tally]] = field(default_factory=dict)
    """By ``table``, ``kind``, ``age`` and ``reason``, those with the most bytes first; ages are by ``created``."""

    @property
    def exit_code(self) -> int:
        """A plan that can be read is in order."""
        return 0

    def to_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "path": self.path,
            **self.header,
            "sha256": self.sha256,
            **self.total.to_dict(),
            "sidecars": self.sidecars.to_dict(),
            **{
                f"by_{name}": [{name: key, **tally.to_dict()} for key, tally in tallies.items()]
                for name, tallies in self.groups.items()
            },
        }

    def __str__(self) -> str:
        return f"plan {self.path} of live set {self.header['live_set_id']}: {self.total}, digest {self.sha256}"


def summed_up(plan: PlanFile) -> PlanSummary:
    """Reads a plan to its end.

    Raises:
        ConfigurationError: it cannot be read, or was changed.
    """
    made = plan.header.time
    found: dict[str, dict[str, Tally]] = {name: {} for name in GROUPS}
    sidecars = Tally()
    for batch in plan.batches():
        is_sidecar = batch.column("sidecar")
        sidecars.add(pc.sum(is_sidecar).as_py() or 0, pc.sum(batch.filter(is_sidecar).column("size")).as_py() or 0)
        files = batch.filter(pc.invert(is_sidecar))
        for name, keys in _keys(files, made):
            for key, count, size in _sums(keys, files.column("size")):
                found[name].setdefault(key, Tally()).add(count, size)
    return PlanSummary(
        path=str(plan.path),
        header={**plan.header.to_dict(), "repositories": list(plan.header.repositories)},
        sha256=plan.end.sha256,
        total=Tally(plan.end.files, plan.end.bytes),
        sidecars=sidecars,
        groups={name: _largest_first(tallies) for name, tallies in found.items()},
    )


def _keys(files: pa.RecordBatch, made: datetime) -> Iterator[tuple[str, pa.Array]]:
    yield "table", pc.if_else(pc.equal(files.column("table"), ""), files.column("location"), files.column("table"))
    yield "kind", files.column("kind").fill_null("UNKNOWN")
    ages = constant(_OLDER, files.num_rows, pa.string())
    for age, name in reversed(_AGES.items()):
        ages = pc.if_else(pc.greater(files.column("modified"), to_micros(made - age)), name, ages)
    yield "age", ages
    yield "reason", files.column("reason")


def _sums(keys: pa.Array, sizes: pa.Array) -> Iterable[tuple[str, int, int]]:
    sums = pa.table({"key": keys, "size": sizes}).group_by("key").aggregate([("size", "count"), ("size", "sum")])
    return zip(*(sums.column(name).to_pylist() for name in ("key", "size_count", "size_sum")), strict=True)


def _largest_first(tallies: Mapping[str, Tally]) -> dict[str, Tally]:
    return dict(sorted(tallies.items(), key=lambda item: (-item[1].bytes, item[0])))
