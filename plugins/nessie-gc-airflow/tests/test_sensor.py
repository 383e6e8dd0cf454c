from __future__ import annotations

import dataclasses
import sys
import typing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dags import run_task
from lake import Lake
from nessie_gc_airflow import NessieGcSensor
from nessie_gc_airflow.calls import Call, Result
from nessie_gc_airflow.sensors import FINDINGS, MOST_TABLES, TOTALS

from nessie_gc_core import Collector
from nessie_gc_core.services.health.report import FindingName, TableHealth

EXECUTABLE = str(Path(sys.executable).with_name("nessie-gc"))
NOW = datetime(2026, 1, 8, tzinfo=UTC)


def _sense(dag_id: str, lake: Lake, **arguments: Any) -> Any:
    more = {"config": str(lake.config), "poke_interval": 0.2, "timeout": 60, **arguments}
    return run_task(dag_id, class_="NessieGcSensor", **more)


@pytest.mark.parametrize("place", [{}, {"executable": EXECUTABLE}], ids=["worker", "executable"])
def test_it_passes_when_something_is_due_and_xcom_has_the_report(lake: Lake, place: dict[str, str]) -> None:
    ended = _sense("due", lake, findings=["orphans"], **place)
    assert ("success", ["orphans"]) == (ended.state, [each["name"] for each in ended.report["findings"]])


def test_it_waits_and_then_passes(lake: Lake) -> None:
    waited: list[int] = []
    run_call = NessieGcSensor.run_call

    def run_and_sweep(sensor: NessieGcSensor, call: Call) -> Result:
        """After the second look somebody sweeps."""
        result = run_call(sensor, call)
        waited.append(result.exit_code)
        if len(waited) == 2:
            with Collector(config=lake.config) as collector:
                collector.run("gc", dry_run=False)
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NessieGcSensor, "run_call", run_and_sweep)
        ended = _sense("waits", lake, swept_within=timedelta(hours=1))
    assert ("success", [0, 0, 0]) == (ended.state, waited)
    assert ended.report["last_sweep"] is not None


def test_it_gives_up_when_its_time_is_over(lake: Lake) -> None:
    ended = _sense("gives_up", lake, totals={"snapshots": 1_000}, timeout=0.1)
    assert ("failed", None) == (ended.state, ended.report)


def test_a_wrong_parameter_fails_at_once(lake: Lake) -> None:
    assert "failed" == _sense("wrong_sensor", lake, parameters={"snapshot_thresold": 1}).state


def _report(*tables: dict[str, Any], last_sweep: datetime | None = None) -> dict[str, Any]:
    return {
        "checked": NOW.isoformat(),
        "last_sweep": None if last_sweep is None else last_sweep.isoformat(),
        "findings": [],
        "tables": [{**dict.fromkeys(TOTALS), "findings": [], **table} for table in tables],
    }


def _passes(report: dict[str, Any], **arguments: Any) -> bool:
    return any(NessieGcSensor(task_id="task", **arguments)._reasons(report))


def test_totals_are_sums_over_the_tables_that_know_them() -> None:
    report = _report({"reclaimable_bytes": 6}, {"reclaimable_bytes": None}, {"reclaimable_bytes": 4})
    assert _passes(report, totals={"reclaimable_bytes": 10})
    assert not _passes(report, totals={"reclaimable_bytes": 11})
    assert _passes(report, totals={"reclaimable_bytes": 11, "snapshots": 0})


def test_findings_of_tables_and_of_the_repository_count() -> None:
    of_a_table = _report({"findings": [{"name": "small-files"}]})
    assert _passes(of_a_table)
    assert _passes(of_a_table, findings=["small-files", "orphans"])
    assert not _passes(of_a_table, findings=["orphans"])
    assert _passes({**_report(), "findings": [{"name": "orphans"}]}, findings=["orphans"])
    assert not _passes(_report({}))


def test_with_totals_findings_have_to_be_named() -> None:
    report = _report({"findings": [{"name": "small-files"}], "snapshots": 1})
    assert not _passes(report, totals={"snapshots": 2})
    assert _passes(report, totals={"snapshots": 2}, findings=["small-files"])


def test_xcom_has_the_tables_that_are_due_and_the_number_of_the_others() -> None:
    report = _report({"findings": [{"name": "small-files"}]}, {}, {"findings": [{"name": "manifests"}]})
    cut = NessieGcSensor(task_id="task", findings=["manifests"])._cut(report)
    assert ([report["tables"][2]], 2) == (cut["tables"], cut["tables_left_out"])
    assert {**report, "tables": [], "tables_left_out": 0} == {**cut, "tables": [], "tables_left_out": 0}


def test_xcom_has_the_tables_with_the_largest_numbers_up_to_a_limit() -> None:
    report = _report(*({"reclaimable_bytes": number} for number in range(MOST_TABLES + 3)))
    cut = NessieGcSensor(task_id="task", totals={"reclaimable_bytes": 1})._cut(report)
    expected = [*range(MOST_TABLES + 2, 2, -1)]
    assert (expected, 3) == ([table["reclaimable_bytes"] for table in cut["tables"]], cut["tables_left_out"])


@pytest.mark.parametrize(("days", "passes"), [(0, True), (1, True), (2, False)])
def test_a_sweep_has_to_be_recent(days: int, passes: bool) -> None:
    report = _report(last_sweep=NOW - timedelta(days=days))
    assert passes is _passes(report, swept_within=timedelta(days=1))


def test_a_repository_that_was_never_swept_waits() -> None:
    assert not _passes(_report({"findings": [{"name": "orphans"}]}), swept_within=timedelta(days=1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"findings": ["small-file"]}, "there is no finding 'small-file'; there are delete-files, "),
        ({"totals": {"delete_ratio": 1}}, "there is no total 'delete_ratio'; there are data_files, "),
        ({"totals": {"snapshots": 1}, "swept_within": timedelta(1)}, "`swept_within` excludes `findings` and `totals`"),
    ],
)
def test_s27_what_it_cannot_wait_for_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NessieGcSensor(task_id="task", **arguments)


def test_it_knows_every_finding_of_health() -> None:
    assert FINDINGS == {finding.value for finding in FindingName}


def test_what_it_adds_up_are_counts_of_health() -> None:
    types = typing.get_type_hints(TableHealth)
    assert {int | None} == {types[name] for name in TOTALS}
    assert TOTALS <= {field.name for field in dataclasses.fields(TableHealth)}
