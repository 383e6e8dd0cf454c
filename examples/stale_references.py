"""A plugin for Nessie GC with a service that finds references to which nobody commits any more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from nessie_gc_core import ConnectorOptions, hookimpl, option, options
from nessie_gc_core.api import Run
from nessie_gc_core.connectors import Service


@options
class StaleParameters(ConnectorOptions):
    """What counts as stale."""

    older_than: timedelta = option(
        timedelta(days=90), minimum=1, help="Report references whose newest commit is at least this old."
    )


@dataclass(frozen=True, slots=True)
class StaleReport:
    """The stale references, each with the time of its newest commit."""

    found: Mapping[str, datetime]

    @property
    def exit_code(self) -> int:
        """Always 0: a stale reference is not a failure."""
        return 0

    def to_dict(self) -> Mapping[str, object]:
        """The report as JSON."""
        return {"references": [{"name": name, "newest": time.isoformat()} for name, time in self.found.items()]}


@dataclass(frozen=True, slots=True)
class StaleReferences(Service[Run]):
    """List branches and tags whose newest commit is old. Everything they reach stays live."""

    name = "stale-references"
    Parameters = StaleParameters
    uses_files = False

    parameters: StaleParameters

    def run(self, run: Run) -> StaleReport:
        """Reads the newest commit of each reference."""
        oldest = run.clock() - self.parameters.older_than
        return StaleReport({name: time for name, time in self._newest(run) if time < oldest})

    def _newest(self, run: Run) -> Iterator[tuple[str, datetime]]:
        for reference in run.repository.references():
            newest = next(iter(run.repository.commit_log(reference)), None)
            if newest is not None:
                yield reference.name, newest.commit_time


@hookimpl
def nessie_gc_register_service() -> type[StaleReferences]:
    """Registers the service."""
    return StaleReferences
