"""The sensor: a task that waits until maintenance is due, or until a repository was swept."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from airflow.providers.common.compat.sdk import BaseSensorOperator, Context, PokeReturnValue

from nessie_gc_airflow.calls import CallError
from nessie_gc_airflow.running import Running, failure_of

FINDINGS = frozenset(
    {
        "snapshots", "small-files", "delete-files", "held-back", "delete-ratio", "manifests", "metadata-size",
        "metadata-versions", "unread", "invalid-property", "orphans",
    }
)  # fmt: skip
"""What the service ``health`` finds."""
TOTALS = frozenset(
    {
        "snapshots", "expirable", "reclaimable_bytes", "data_files", "small_files", "delete_files", "manifests",
        "due_partitions", "due_bytes", "metadata_bytes",
    }
)  # fmt: skip
"""Numbers of tables that can be added up."""
MOST_TABLES = 100
"""So many tables go to XCom, each with almost 1 kB."""


class NessieGcSensor(Running, BaseSensorOperator):
    """Waits until something is due, by the metadata of the tables, and returns the report of ``health``.

    Nothing is changed, and no storage is listed. Of the tables, the report has up to 100 that are due, and says in
    ``tables_left_out`` how many others there are.

    Example::

        NessieGcSensor(task_id="due", config="/etc/nessie-gc.toml", totals={"reclaimable_bytes": 10**12})
    """

    template_fields: Sequence[str] = ("config", "parameters", "executable")

    def __init__(
        self,
        *,
        findings: Collection[str] | None = None,
        totals: Mapping[str, float] | None = None,
        swept_within: timedelta | None = None,
        config: str | None = None,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        executable: str | Sequence[str] | None = None,
        **arguments: Any,
    ) -> None:
        """Takes what to wait for, and how to run ``health``.

        Args:
            findings: names of findings of ``health``, such as ``orphans``; one of them is enough (default: any
                finding, unless there are totals). The parameters of ``health`` say from when on each is due.
            totals: numbers by the names of the report, such as ``reclaimable_bytes``; the sensor passes when the sum
                over all tables reaches one of them.
            swept_within: wait for something else: until the last complete sweep of the repository, as the live-set
                store knows it, is at most this old.
            config: a configuration file (TOML) on the worker.
            parameters: parameters of ``health``, by the names that they have in Python.
            settings: as in ``NessieGcOperator``.
            env: as in ``NessieGcOperator``.
            executable: as in ``NessieGcOperator``.
            arguments: those of every sensor.

        Raises:
            ValueError: there is no such finding or total, or both what is due and a sweep is waited for.
        """
        super().__init__(**arguments)
        self.set_up(config, parameters, settings, env, executable)
        _check_names("finding", findings or (), FINDINGS)
        _check_names("total", totals or (), TOTALS)
        if swept_within is not None and (findings is not None or totals):
            raise ValueError("`swept_within` excludes `findings` and `totals`: use two sensors")
        self.findings = FINDINGS if findings is None and not totals else frozenset(findings or ())
        self.totals = dict(totals or {})
        self.swept_within = swept_within

    def poke(self, context: Context) -> PokeReturnValue:
        """Looks once.

        Raises:
            AirflowException: the repository or the live-set store cannot be read.
        """
        parameters = dict(self.parameters)
        if self.swept_within is not None:
            parameters.setdefault("exclude", [".*"])  # no table has to be read
        try:
            report = self.run_call(self.call_of("health", parameters, context)).report
        except CallError as error:
            raise failure_of(error) from None
        if report["unreadable"]:
            self.log.warning("%s tables cannot be read; see nessie-gc health", report["unreadable"])
        reasons = [*self._reasons(report)]
        self.log.info("%s", "; ".join(reasons) or "nothing yet")
        return PokeReturnValue(is_done=bool(reasons), xcom_value=self._cut(report))

    def _cut(self, report: Mapping[str, Any]) -> Mapping[str, Any]:
        """The report with the tables that are due, those with the largest numbers first: XCom is a database."""
        tables = sorted(
            filter(self._is_due, report["tables"]), key=lambda table: [-(table[n] or 0) for n in self.totals]
        )
        kept = tables[:MOST_TABLES]
        return {**report, "tables": kept, "tables_left_out": len(report["tables"]) - len(kept)}

    def _is_due(self, table: Mapping[str, Any]) -> bool:
        """Whether a table has something that is waited for."""
        names = {finding["name"] for finding in table["findings"]}
        return bool(self.findings & names) or any(table[name] for name in self.totals)

    def _reasons(self, report: Mapping[str, Any]) -> Iterator[str]:
        """Why the sensor may pass."""
        if self.swept_within is not None:
            last = report["last_sweep"]
            if last is not None and _time(report["checked"]) - _time(last) <= self.swept_within:
                yield f"last sweep: {last}"
            return
        tables = report["tables"]
        found = [*report["findings"], *(finding for table in tables for finding in table["findings"])]
        for name in sorted(self.findings & {finding["name"] for finding in found}):
            yield f"due: {name}"
        for name, limit in self.totals.items():
            total = sum(table[name] or 0 for table in tables)  # none: not known
            if total >= limit:
                yield f"{name}: {total:,}, which is at least {limit:,}"


def _check_names(kind: str, names: Collection[str], known: Collection[str]) -> None:
    if unknown := sorted(set(names) - set(known)):
        raise ValueError(f"there is no {kind} {unknown[0]!r}; there are {', '.join(sorted(known))}")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
