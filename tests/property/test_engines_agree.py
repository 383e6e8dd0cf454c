"""Both engines give the same report and the same rows; Spark too deletes exactly what the oracle allows."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from collected_scenes import CollectedScenes, collect_scenes
from collecting import on_disk, spark_engine
from histories import lakes
from hypothesis import HealthCheck, Phase, given, seed, settings
from nessie_gc_memory import MemoryLake, MemoryRepository, put
from oracle import deletable
from scenes import NOW

from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import Outcome
from nessie_gc_core.model.policies import ReferencePolicies
from nessie_gc_core.model.repository import Operation, OperationKind, ReferenceKind
from nessie_gc_core.services.finding_parameters import Membership
from nessie_gc_core.services.parameters import SweepParameters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
_DIFFERENT = (
    *("repository", "address", "repositories", "live_set_id"),
    *("engine", "started", "finished", "phases", "traffic"),
)


@pytest.fixture
def local() -> Iterator[Engine]:
    with LocalEngine(workers=2) as engine:
        yield engine


def comparable(run: CollectedScenes) -> dict[str, Any]:
    """The report as it would be in memory, without what is different in every run."""
    report = json.loads(run.in_memory(json.dumps(run.report.to_dict())))
    for name in _DIFFERENT:
        report.pop(name)
    for name in ("unknown", "unread", "refused"):
        report[name] = sorted(report[name], key=lambda each: each["location"])
    for name in ("failed_files", "spared_files"):
        report[name] = sorted(report[name], key=lambda each: each["path"]) if len(report[name]) < 100 else "many"
    report["lost"]["names"] = sorted(report["lost"]["names"], key=lambda each: each["path"])
    report["warnings"] = sorted(report["warnings"])
    return report


def bytes_read(run: CollectedScenes) -> int:
    """How much was read; into how many listings it is cut is the engine's business, and how long they take nobody's."""
    assert run.report.traffic is not None
    return run.report.traffic.bytes_read


def rows(run: CollectedScenes) -> list[dict[str, Any]]:
    """The outcome file, but for the live set that each row names."""
    found = ({name: value for name, value in row.items() if name != "live_set_id"} for row in run.rows)
    return sorted(found, key=lambda row: (row["path"], row["sidecar"]))


def test_both_engines_give_the_same_report_and_rows(
    collected_locally: CollectedScenes, collected_by_spark: CollectedScenes
) -> None:
    one, other = collected_locally, collected_by_spark
    assert rows(one) == rows(other)
    assert comparable(one) == comparable(other)
    assert bytes_read(one) == bytes_read(other)
    assert len(one.rows) > 50


@pytest.mark.server
def test_on_spark_connect_exactly_what_must_go_is_gone_and_the_report_is_the_same(
    collected_locally: CollectedScenes, collected_by_spark_connect: CollectedScenes
) -> None:
    one, other = collected_locally, collected_by_spark_connect
    assert rows(one) == rows(other)
    assert comparable(one) == comparable(other)
    assert other.report.traffic is None
    for name, scene in other.scenes.items():
        stored = {path for path in other.before if path.startswith(scene.path(""))} - scene.dead
        assert (scene.dead, stored) == (other.result(name).gone, other.result(name).stored)


def test_both_engines_agree_with_a_bloom_filter_caps_and_allowed_locations(
    spark: SparkSession, local: Engine, tmp_path: Path
) -> None:
    runs = []
    for engine in (local, spark_engine(spark)):
        root = tmp_path / engine.name / "lake"
        runs.append(
            collect_scenes(
                engine,
                SweepParameters(
                    dry_run=True,
                    membership=Membership.BLOOM,
                    expected_file_count=1,
                    fpp=0.3,
                    max_deletes_per_location=4,
                    allow=tuple(
                        f"file://{(root / 'a' / 'lake').resolve()}/wh/{name}/"
                        for name in ("odd_names", "ages", "whole_names")
                    ),
                ),
                root,
            )
        )
    # the hash of a path differs with the directory, so only what no filter decides can be compared
    one, other = (comparable(run) for run in runs)
    for name in ("refused", "unknown", "lost", "content_versions", "files_expanded", "files_listed", "locations"):
        assert one[name] == other[name]
    for run in runs:
        gone = {row["path"] for row in run.rows if row["outcome"] == "would_delete"}
        assert gone <= {path for scene in run.scenes.values() for path in scene.dead}
        assert run.report.outcomes[Outcome.SPARED].files > 0


@dataclass(frozen=True)
class History:
    """One random history within a merged lake."""

    home: str
    """Its own bucket."""
    policy: str


HISTORIES = 40


def draw_histories() -> list[MemoryLake]:
    """The richest of many random lakes, the same in every run."""
    found: list[MemoryLake] = []

    @seed(39)
    @settings(
        max_examples=8 * HISTORIES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(lakes())
    def draw(lake: MemoryLake) -> None:
        found.append(lake)

    draw()
    return sorted(found, key=lambda lake: -len(lake.paths()))[:HISTORIES]


def merge(found: list[MemoryLake]) -> tuple[MemoryLake, list[History]]:
    """All histories as one lake: a bucket and a namespace of references for each, their clocks moved to one end."""
    merged = MemoryLake("merged-histories")
    merged.now = NOW
    choice = random.Random(39)
    histories = []
    for number, lake in enumerate(found):
        home = f"h{number:02}-"
        shift = NOW - lake.time

        def moved(path: str, home: str = home) -> str:
            return path.replace("memory://", f"memory://{home}")

        for path, stored in lake.objects.below("memory://"):
            data = stored.data.decode().replace("memory://", f"memory://{home}").encode() if stored.data else None
            merged.objects.put(moved(path), stored.size if data is None else data, modified=stored.modified + shift)
        for location, needed in lake.needed.items():
            merged.needed[moved(location)] = frozenset(moved(path) for path in needed)
        _copy_history(lake, merged, home, shift)
        histories.append(History(home, choice.choice(["NONE", "0", "1", "2", "5", "PT0H", "PT20H", "PT60H"])))
    return merged, histories


def _copy_history(lake: MemoryLake, merged: MemoryLake, home: str, shift: timedelta) -> None:
    ids: dict[str, str] = {}
    for commit in lake.history.commits():
        name = f"{home}/walk"
        parent = ids[commit.parent_id] if commit.parent_id is not None else None
        if any(reference.name == name for reference in merged.history.references()):
            merged.drop(name)
        merged.branch(name, parent)
        operations = tuple(_moved(operation, home) for operation in commit.operations)
        ids[commit.commit_id] = merged.commit(name, *operations, time=commit.commit_time + shift)
    merged.drop(f"{home}/walk")
    for reference in lake.history.references():
        at = ids[reference.commit_id] if reference.commit_id is not None else None
        if reference.kind is ReferenceKind.TAG and at is not None:
            merged.tag(f"{home}/{reference.name}", at)
        else:
            merged.branch(f"{home}/{reference.name}", at)


def _moved(operation: Operation, home: str) -> Operation:
    version = operation.content
    if operation.kind is not OperationKind.PUT or version is None:
        return replace(operation, content_key=f"{home}.{operation.content_key}")
    assert version.metadata_location is not None
    location = version.metadata_location.replace("memory://", f"memory://{home}")
    key = f"{home}.{operation.content_key}"
    return put(replace(version, content_id=f"{home}.{version.content_id}", metadata_location=location, content_key=key))


def test_spark_deletes_exactly_what_the_oracle_allows_over_many_histories(spark: SparkSession, tmp_path: Path) -> None:
    lake, histories = merge(draw_histories())
    cutoffs = [f"{history.home}/.*={history.policy}" for history in histories]
    policies = ReferencePolicies.parse("NONE", cutoffs, reference_time=NOW)
    MemoryLake._lakes[lake.name] = lake
    expected = deletable(
        lake, MemoryRepository.from_options({"lake": lake.name}), policies=policies, newest=NOW - timedelta(days=1)
    )
    MemoryLake.forget(lake.name)
    folder = (tmp_path / "a" / "lake").resolve()
    services = on_disk(lake, folder, spark_engine(spark))
    report = services.collect("NONE", *cutoffs)
    stored = {f"memory://{path.relative_to(folder)}" for path in folder.rglob("*") if path.is_file()}
    gone = lake.paths() - stored
    by_history = {
        h.home: {path for path in expected ^ gone if path.startswith(f"memory://{h.home}")} for h in histories
    }
    assert {} == {home: paths for home, paths in by_history.items() if paths}
    assert expected == gone
    assert ({}, 0) == (report.unknown, report.lost.files)
    assert len(expected) > 5 * HISTORIES
