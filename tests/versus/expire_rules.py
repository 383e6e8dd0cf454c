"""Cases of ``expire_snapshots``: which snapshots, branches and tags go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from versus.cases import Asked, Case, Procedure, days_ago, now
from versus.java_tables import branch_at, tag_at
from versus.stage import DAY, Stage

_DAY_MS = DAY * 1000
_AGES = (9, 8, 7, 6, 2, 1)
"""Days; so old are the snapshots of :func:`_aged`."""


def _aged(stage: Stage, **properties: str) -> None:
    """Six snapshots: appends, a row delete, an overwrite."""
    stage.create(version=2, **properties)
    stage.append("(1), (2), (3)", "4")
    stage.sql("DELETE FROM {t} WHERE id = 2")
    stage.append("5")
    stage.sql("INSERT OVERWRITE {t} VALUES (6)")
    stage.append("7")
    stage.date_back(*_AGES)


def _asking(**asked: Any) -> Callable[[Stage], Asked]:
    """Asks the same, whatever the snapshots are called; ``snapshot_ids`` are their numbers, ``older_than`` days."""

    def write(stage: Stage) -> Asked:
        _aged(stage, **asked.get("properties", {}))
        ids = stage.snapshots()
        given = {key: asked[key] for key in ("retain_last", "both_refuse", "more") if key in asked}
        older_than = days_ago(asked["older_than"]) if "older_than" in asked else None
        return Asked(older_than=older_than, snapshot_ids=[ids[n] for n in asked.get("snapshots", ())], **given)

    return write


_BY_RULES: Mapping[str, Mapping[str, Any]] = {
    "nothing said: five days, one snapshot": {},
    "retain_last 1": {"retain_last": 1, "older_than": 0},
    "retain_last 3": {"retain_last": 3, "older_than": 0},
    "retain_last 3, nothing else": {"retain_last": 3},
    "retain_last more than there are": {"retain_last": 20, "older_than": 0},
    "older_than between snapshots": {"older_than": 6.5},
    "older_than x retain_last": {"older_than": 1.5, "retain_last": 4},
    "older_than before all": {"older_than": 20},
    "ids": {"snapshots": (3,), "older_than": 20},
    "ids x older_than x retain_last": {"snapshots": (4,), "older_than": 7.5, "retain_last": 4},
    "ids, the current one among them": {"snapshots": (5,), "older_than": 20, "both_refuse": True},
    "the table says 20 days": {"properties": {"history_expire_max__snapshot__age__ms": str(20 * _DAY_MS)}},
    "the table says 3 snapshots": {"properties": {"history_expire_min__snapshots__to__keep": "3"}, "older_than": 0},
    "the table is not to be collected": {"properties": {"gc_enabled": "false"}, "older_than": 0, "both_refuse": True},
    "stream_results": {"retain_last": 2, "older_than": 0, "more": "stream_results => true"},
}
_QUICK = {"retain_last 3", "older_than x retain_last", "ids x older_than x retain_last"}


def rules() -> Iterator[Case]:
    """``retain_last`` x ``older_than`` x ``snapshot_ids``, and properties of the table."""
    for name, asked in _BY_RULES.items():
        yield Case(name=name, procedure=Procedure.EXPIRE, write=_asking(**asked), quick=name in _QUICK)


# ---- snapshots beside main ----------------------------------------------------------------------------
def _staged(stage: Stage, *, ages: tuple[float, ...]) -> None:
    stage.create(write_wap_enabled="true")
    stage.append("1", "2")
    stage.spark.conf.set("spark.wap.id", "audit")
    try:
        stage.append("3")
    finally:
        stage.spark.conf.unset("spark.wap.id")
    stage.append("4", "5")
    stage.date_back(*ages)


def _old_staged(stage: Stage) -> Asked:
    _staged(stage, ages=(9, 8, 7, 6, 5))
    return Asked(older_than=days_ago(6.5), retain_last=1)


def _young_staged(stage: Stage) -> Asked:
    _staged(stage, ages=(9, 8, 3, 6, 5))
    return Asked(older_than=days_ago(4), retain_last=1)


def _cherry_picked(stage: Stage) -> Asked:
    _staged(stage, ages=(9, 8, 7, 6, 5))
    staged = stage.snapshots()[2]
    stage.call("cherrypick_snapshot", f"'db.t', {staged}")
    return Asked(older_than=now(), retain_last=1)


def _fast_forward_cherry_pick(stage: Stage) -> Asked:
    """The parent of the staged snapshot is current: it becomes current itself."""
    stage.create(write_wap_enabled="true")
    stage.append("1", "2")
    stage.spark.conf.set("spark.wap.id", "audit")
    try:
        stage.append("3")
    finally:
        stage.spark.conf.unset("spark.wap.id")
    stage.call("cherrypick_snapshot", f"'db.t', {stage.snapshots()[2]}")
    stage.append("4")
    return Asked(older_than=now(), retain_last=2)


def _rolled_back(stage: Stage) -> Asked:
    stage.create()
    stage.append("1", "2", "3")
    stage.call("rollback_to_snapshot", f"'db.t', {stage.snapshots()[0]}")
    stage.append("4", "5")
    return Asked(older_than=now(), retain_last=2)


def _rolled_back_and_young(stage: Stage) -> Asked:
    stage.create()
    stage.append("1", "2", "3")
    stage.call("rollback_to_snapshot", f"'db.t', {stage.snapshots()[0]}")
    stage.append("4", "5")
    stage.date_back(9, 8, 1, 6, 5)
    return Asked(older_than=days_ago(4), retain_last=1)


# ---- branches and tags --------------------------------------------------------------------------------
def _tags_and_branches(stage: Stage) -> Asked:
    """One tag and one branch are too old, one of each is not, one of each has no age."""
    stage.create()
    stage.append("1", "2", "3", "4", "5", "6", "7")
    stage.date_back(9, 8, 7, 6, 5, 4, 3)
    ids = stage.snapshots()
    tag_at(stage, "old", ids[0], max_ref_age_ms=2 * _DAY_MS)
    tag_at(stage, "young", ids[1], max_ref_age_ms=20 * _DAY_MS)
    tag_at(stage, "ageless", ids[2])
    branch_at(stage, "old_branch", ids[3], max_ref_age_ms=2 * _DAY_MS)
    branch_at(stage, "young_branch", ids[4], max_ref_age_ms=20 * _DAY_MS, min_snapshots=1, max_age_ms=1)
    return Asked(older_than=now(), retain_last=1)


def _several_branches(stage: Stage) -> Asked:
    """Each with its own least number and greatest age, and commits of its own."""
    stage.create()
    stage.append("1", "2")
    first, second = stage.snapshots()
    branch_at(stage, "few", second, min_snapshots=1, max_age_ms=_DAY_MS)
    branch_at(stage, "many", second, min_snapshots=3, max_age_ms=_DAY_MS)
    branch_at(stage, "aged", first, min_snapshots=1, max_age_ms=20 * _DAY_MS)
    branch_at(stage, "silent", first)
    for branch in ("few", "many", "aged", "silent"):
        stage.sql(*(f"INSERT OVERWRITE {{t}}.branch_{branch} VALUES ({n})" for n in (10, 11)))
    stage.append("3", "4")
    stage.date_back(*range(12, 0, -1))
    return Asked(older_than=days_ago(1.5), retain_last=2)


def _unreferenced_parent_of_a_tag(stage: Stage) -> Asked:
    """A tag on a staged-like line: its parent is held by nothing."""
    stage.create()
    stage.append("1")
    branch_at(stage, "side", stage.snapshots()[0])
    stage.sql("INSERT INTO {t}.branch_side VALUES (10)", "INSERT OVERWRITE {t}.branch_side VALUES (11)")
    tag_at(stage, "held", stage.snapshots()[2])
    stage.sql("ALTER TABLE {t} DROP BRANCH side")
    stage.append("2")
    return Asked(older_than=now(), retain_last=1)


def _ref_aged_off_main(stage: Stage) -> Asked:
    """A tag on an old snapshot of main expires, and with it the snapshot that only the tag held."""
    stage.create()
    stage.append("1", "2")
    tag_at(stage, "gone", stage.snapshots()[0], max_ref_age_ms=_DAY_MS)
    branch_at(stage, "gone_too", stage.snapshots()[1], max_ref_age_ms=_DAY_MS)
    stage.sql("INSERT INTO {t}.branch_gone_too VALUES (10)", "INSERT OVERWRITE {t} VALUES (3)")
    stage.date_back(9, 8, 7, 6)
    return Asked(older_than=days_ago(5))


def _no_main(stage: Stage) -> Asked:
    """Only a branch has snapshots."""
    stage.create()
    stage.sql("ALTER TABLE {t} CREATE BRANCH dev")
    stage.sql(*(f"INSERT INTO {{t}}.branch_dev VALUES ({n})" for n in (1, 2)))
    stage.sql("INSERT OVERWRITE {t}.branch_dev VALUES (3)")

    def forget_main(metadata: dict[str, Any]) -> None:
        metadata["refs"].pop("main", None)
        metadata["current-snapshot-id"] = -1
        metadata["snapshot-log"] = []

    stage.change_metadata(forget_main)
    return Asked(older_than=now(), retain_last=1)


def refs() -> Iterator[Case]:
    """Snapshots beside main, branches, tags."""
    found: Mapping[str, Callable[[Stage], Asked]] = {
        "staged snapshot, old": _old_staged,
        "staged snapshot, young": _young_staged,
        "cherry-picked": _cherry_picked,
        "cherry-picked by fast-forward": _fast_forward_cherry_pick,
        "rolled back": _rolled_back,
        "rolled back, one of it young": _rolled_back_and_young,
        "tags and branches with their own ages": _tags_and_branches,
        "branches with their own least number and age": _several_branches,
        "unreferenced parent of a tag": _unreferenced_parent_of_a_tag,
        "tag and branch aged off main": _ref_aged_off_main,
        "no main but a branch": _no_main,
    }
    quick = {"staged snapshot, old", "tags and branches with their own ages", "no main but a branch"}
    for name, write in found.items():
        yield Case(name=name, procedure=Procedure.EXPIRE, write=write, quick=name in quick)
