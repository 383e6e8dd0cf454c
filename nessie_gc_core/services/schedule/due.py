"""Runs that only start if ``health`` finds something to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.sizes import parse_size
from nessie_gc_core.model.text import json_time, plural, size_text
from nessie_gc_core.services.health.report import FindingName
from nessie_gc_core.services.schedule.outcome import Outcome, Work
from nessie_gc_core.services.schedule.tables import reclaimable_bytes

HEALTH = "health"
"""The service whose report decides."""
_OF_MANIFESTS = {FindingName.SMALL_FILES, FindingName.DELETE_FILES, FindingName.MANIFESTS, FindingName.HELD_BACK}
"""What manifests say by partition, and summaries only of the table as a whole."""
_NO_TABLE = {"exclude": "(?s:.*)"}
"""Parameters with which it reads no table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """What has to be due; one of these is enough."""

    findings: frozenset[FindingName]
    """In any table, or in the repository as a whole."""
    reclaimable_bytes: int | None
    """So much that expired snapshots alone need, in all tables together."""
    commits: int | None = None
    """So many commits since its last run that succeeded."""

    @classmethod
    def read(cls, findings: Sequence[str], reclaimable: str | None, commits: int | None = None) -> Trigger | None:
        """Reads the settings ``when``, ``when-reclaimable`` and ``when-commits``; ``None``: a job has none of them.

        Raises:
            ConfigurationError: a finding or a size is unknown.
        """
        known = {name.value for name in FindingName}
        wrong = [name for name in findings if name not in known]
        if wrong:
            raise ConfigurationError(
                f"`when` has an unknown finding {wrong[0]!r}; there are: {', '.join(sorted(known))}"
            )
        if not findings and reclaimable is None and commits is None:
            return None
        size = None if reclaimable is None else parse_size(reclaimable, "when-reclaimable")
        return cls(findings=frozenset(map(FindingName, findings)), reclaimable_bytes=size, commits=commits)

    @property
    def text(self) -> str:
        """The same for people."""
        names = [name.value for name in sorted(self.findings)]
        size = [] if self.reclaimable_bytes is None else [f"{size_text(self.reclaimable_bytes)} reclaimable"]
        commits = [] if self.commits is None else [f"{plural(self.commits, 'commit')} since its last success"]
        return " or ".join([*names, *size, *commits])

    @property
    def needs_tables(self) -> bool:
        """Whether something decides beside commits, which are counted without a look at tables."""
        return bool(self.findings) or self.reclaimable_bytes is not None

    def parameters(self, succeeded: datetime | None) -> dict[str, str | bool]:
        """Parameters of ``health``, beside what the file says.

        Args:
            succeeded: when the last run of the job ended that succeeded.
        """
        manifests: dict[str, str | bool] = {"read_manifests": True} if self.findings & _OF_MANIFESTS else {}
        if self.commits is None or succeeded is None:
            return manifests
        counted = {**manifests, "commits_since": json_time(succeeded), "max_commits": str(self.commits)}
        return counted if self.needs_tables else {**counted, **_NO_TABLE}

    def is_met(self, report: Mapping[str, Any]) -> bool:
        """Whether a report of ``health`` has one of them."""
        tables = report.get("tables", [])
        found = [*report.get("findings", []), *(finding for table in tables for finding in table["findings"])]
        if self.findings & {finding["name"] for finding in found}:
            return True
        if self.commits is not None and (report.get("commits") or 0) >= self.commits:
            return True
        return self.reclaimable_bytes is not None and reclaimable_bytes(tables) >= self.reclaimable_bytes

    def is_unknown(self, report: Mapping[str, Any], exit_code: int | None) -> bool:
        """Whether a report of ``health`` in which nothing is due lacks something that could be."""
        return (self.commits is not None and report.get("commits") is None) or (self.needs_tables and exit_code != 0)


class WhenDue:
    """A run of ``health``, and then of the service itself if something is due."""

    def __init__(self, trigger: Trigger, look: Work, start: Callable[[float], Work], leased: float) -> None:
        """Takes what has to be due, the run of ``health``, what starts the service, and since when it has a lease."""
        self._trigger, self._start, self._leased = trigger, start, leased
        self._now, self._looks = look, True
        self._stopped = False

    def wait(self, seconds: float) -> Outcome | None:
        """How the run ended: with what ``health`` says where it decides."""
        outcome = self._now.wait(seconds)
        if outcome is None or not self._looks:
            return outcome
        report = outcome.body()
        if "tables" not in report:
            return outcome  # it failed, and says why
        if self._stopped:
            return Outcome(exit_code=143, error="it was stopped before it began")
        if not self._trigger.is_met(report):
            if not self._trigger.is_unknown(report, outcome.exit_code):
                return Outcome(exit_code=0, not_due=f"health found no {self._trigger.text}")
            return outcome if outcome.exit_code != 0 else Outcome(exit_code=1, error="health counted no commits")
        self._looks = False
        self._now = self._start(self._leased)
        return None

    def beat(self, renewed: float) -> None:
        """Tells what goes on that it has its job for a lease since then."""
        self._leased = renewed
        self._now.beat(renewed)

    def stop(self, *, kill: bool) -> None:
        """Ends what goes on, and starts nothing more."""
        self._stopped = True
        self._now.stop(kill=kill)
