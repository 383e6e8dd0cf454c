"""Random tables, some of which share files: what expired snapshots alone need goes, no more and no less."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from expiry_lakes import ROWS, ExpiryLake, needed, outcomes
from pyiceberg.table import Table
from thoroughness import examples

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import Outcome
from nessie_gc_core.services.expiry.commits import Committed

HISTORIES = examples(5)
NAMES = ("db.a", "db.b")


def append(lake: ExpiryLake, name: str, chance: random.Random) -> None:
    lake.load(name).append(ROWS)


def overwrite(lake: ExpiryLake, name: str, chance: random.Random) -> None:
    table = lake.load(name)
    if table.scan().to_arrow().num_rows:
        table.overwrite(ROWS)


def delete(lake: ExpiryLake, name: str, chance: random.Random) -> None:
    table = lake.load(name)
    if 1 in table.scan().to_arrow()["id"].to_pylist():
        table.delete("id = 1")


def tag(lake: ExpiryLake, name: str, chance: random.Random) -> None:
    if ids := lake.snapshots(name):
        age = chance.choice([None, 1, 10**12])
        refs = lake.load(name).manage_snapshots()
        refs.create_tag(chance.choice(ids), f"tag-{chance.randrange(10**6)}", max_ref_age_ms=age).commit()


def branch(lake: ExpiryLake, name: str, chance: random.Random) -> None:
    if ids := lake.snapshots(name):
        least, age = chance.choice([None, 1, 3]), chance.choice([None, 1, 10**12])
        refs = lake.load(name).manage_snapshots()
        new = f"branch-{chance.randrange(10**6)}"
        refs.create_branch(chance.choice(ids), new, min_snapshots_to_keep=least, max_snapshot_age_ms=age).commit()
        lake.load(name).append(ROWS, branch=new)


def roll_back(lake: ExpiryLake, name: str, chance: random.Random) -> None:
    table = lake.load(name)
    earlier = [entry.snapshot_id for entry in table.history()][:-1]
    ancestors = set(earlier) & set(lake.snapshots(name))
    if ancestors:
        table.manage_snapshots().rollback_to_snapshot(chance.choice(sorted(ancestors))).commit()


def share(lake: ExpiryLake, name: str, chance: random.Random) -> None:
    """A file of one table in another one, too."""
    other = next(each for each in NAMES if each != name)
    files = [task.file.file_path for task in lake.load(other).scan().plan_files()]
    mine = {task.file.file_path for task in lake.load(name).scan().plan_files()}
    if new := sorted(set(files) - mine):
        lake.load(name).add_files([chance.choice(new)], check_duplicate_files=False)


CHANGES: Mapping[Callable[[ExpiryLake, str, random.Random], None], int] = {
    append: 3,
    overwrite: 4,
    delete: 2,
    tag: 2,
    branch: 2,
    roll_back: 1,
    share: 2,
}


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_exactly_what_expired_snapshots_alone_need_goes(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    with LocalEngine(workers=2) as engine:
        lake = ExpiryLake(tmp_path / "lake", engine)
        try:
            for name in NAMES:
                lake.table(name, overwrites=1)
            for change in chance.choices(list(CHANGES), list(CHANGES.values()), k=chance.randint(4, 14)):
                try:
                    change(lake, chance.choice(NAMES), chance)
                except ValueError as error:  # PyIceberg refuses some changes to some tables
                    assert "rollback" in str(error).lower() or "ancestor" in str(error).lower(), error
            expire_and_compare(lake, chance)
        finally:
            lake.close()


def expire_and_compare(lake: ExpiryLake, chance: random.Random) -> None:
    before = {name: lake.needed(name) for name in NAMES}
    stored = lake.files("db")
    include = chance.choice([[], [chance.choice(NAMES)]])
    older_than, retain_last = chance.choice(["PT0S", "P1D"]), chance.choice([None, 1, 3])

    lake.age()
    words = {"include": include, "older_than": older_than, "retain_last": retain_last}
    dry = lake.expire_as_it_is(**words, dry_run=True)
    report = lake.expire_as_it_is(**words)

    after = {name: lake.needed(name) for name in NAMES}
    gone, live = stored - lake.files("db"), set().union(*after.values())
    assert set(outcomes(report).values()) <= {Committed.EXPIRED}
    assert live <= lake.files("db")
    assert set().union(*before.values()) - live == gone
    assert len(gone) == dry.collection.outcomes[Outcome.WOULD_DELETE].files
    for name in NAMES:
        readable(lake.load(name))


def readable(table: Table) -> None:
    """Every snapshot that is left can be read."""
    for snapshot in table.metadata.snapshots:
        table.scan(snapshot_id=snapshot.snapshot_id).to_arrow()
    assert needed(table)
