"""S30: a stored file stays that bears the name of a reachable file which was found nowhere, and may be that file."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import pytest
from collecting import LakeServices, on_disk
from in_quarantine import held, purge
from lakes_by_hand import commit_and_let_age, lake_at, respell
from nessie_gc_memory import MemoryLake, TableState, put
from scenes import START

from nessie_gc_core.dataset import Engine
from nessie_gc_core.model import Outcome
from nessie_gc_core.services.finding_parameters import Membership
from nessie_gc_core.services.orphans.parameters import RemoveOrphanFilesParameters
from nessie_gc_core.services.orphans.service import RemoveOrphanFilesService
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import MAX_NAMES

Spelling = Callable[[str], str]
NAME = "Part 1:30.parquet"
STORED = f"memory://wh/db/t/data/{NAME}"
SPELLINGS: dict[str, Spelling] = {
    "another folder": lambda path: path.replace("/data/", "/files/"),
    "another bucket": lambda path: path.replace("memory://wh/", "memory://gateway/x/"),
    "a table's location": lambda path: path.replace("/db/t/", "/db/u/"),
    "a scheme nobody knows": lambda path: path.replace("memory:", "warp:"),
    "an encoded name": lambda path: path.replace("Part 1:30", "Part%201%3A30"),
    "a name encoded twice": lambda path: path.replace("Part 1:30", "Part%25201%253A30"),
    "a plus sign": lambda path: path.replace("Part 1", "Part+1"),
    "lower case": lambda path: path.replace("Part", "part"),
    "backslashes": lambda path: path.replace("/data/", "\\data\\"),
}
SERVICES: dict[str, SweepParameters] = {
    "deletion": SweepParameters(),
    "a Bloom filter": SweepParameters(membership=Membership.BLOOM),
    "quarantine": SweepParameters(quarantine=["memory://wh/.quarantine/"]),
}


def two_tables(lake: MemoryLake, spelling: Spelling) -> TableState:
    """Two tables with a dead file each; what metadata needs of one is stored under another spelling."""
    table = lake.table("db.t", location="memory://wh/db/t").append(NAME, "other.parquet")
    beside = lake.table("db.u", location="memory://wh/db/u").append("u.parquet")
    lake.commit("main", put(table.version), put(beside.version))
    for manifest in table.manifests[1]:
        respell(lake, manifest, lambda path: spelling(path) if path == STORED else path)
    for name in ("t", "u"):
        lake.put(f"memory://wh/db/{name}/data/nobody.parquet")
    lake.advance(timedelta(days=3))
    return table


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=list(SPELLINGS))
def test_s30_a_live_file_stays_whatever_metadata_calls_its_place(
    lake: MemoryLake, services: LakeServices, spelling: Spelling
) -> None:
    table = two_tables(lake, spelling)
    report = services.collect()
    assert table.needed <= lake.paths()
    assert "memory://wh/db/u/data/nobody.parquet" not in lake.paths()
    assert report.exit_code == int(bool(report.unknown))


@pytest.mark.parametrize("parameters", SERVICES.values(), ids=list(SERVICES))
def test_s30_the_report_says_which_lost_file_it_may_be(
    lake: MemoryLake, services: LakeServices, parameters: SweepParameters
) -> None:
    two_tables(lake, SPELLINGS["another folder"])
    report = services.collect(sweep=parameters)
    reason = f"it may be the lost file memory://wh/db/t/files/{NAME}"
    assert [(STORED, reason)] == [(file.path, file.reason) for file in report.spared_files]
    assert {"files": 1, "names": [{"path": STORED, "reason": reason}]} == report.to_dict()["may_be_lost"]
    assert [1, 0] == [report.lost.files, report.exit_code]
    assert 1 == sum("kept 1 file named like a file that live metadata needs" in text for text in report.warnings)


def test_s30_a_dry_run_says_the_same(lake: MemoryLake, services: LakeServices) -> None:
    two_tables(lake, SPELLINGS["another bucket"])
    dry = services.collect(sweep=SweepParameters(dry_run=True))
    real = services.collect()
    assert dry.may_be_lost_files == real.may_be_lost_files != []
    assert dry.outcomes[Outcome.WOULD_DELETE] == real.outcomes[Outcome.DELETED]


def test_s30_both_engines_keep_the_same(tmp_path: Path, engine: Engine) -> None:
    with lake_at(START) as lake:
        table = two_tables(lake, SPELLINGS["another bucket"])
        report = on_disk(lake, tmp_path, engine).collect()
    stored = {f"memory://{path.relative_to(tmp_path)}" for path in tmp_path.rglob("wh/**/*") if path.is_file()}
    assert table.needed <= stored
    assert not {path for path in stored if path.endswith("nobody.parquet")}
    assert [f"file://{tmp_path}/{STORED.removeprefix('memory://')}"] == [each.path for each in report.spared_files]
    assert f"it may be the lost file file://{tmp_path}/gateway/x/db/t/data/{NAME}" == report.spared_files[0].reason


def test_s30_a_file_of_one_table_stays_for_the_sake_of_another(lake: MemoryLake, services: LakeServices) -> None:
    """As after `add_files`: the table that owned it does not need it any more."""
    owner = lake.table("db.owner", location="memory://wh/db/owner").append("adopted.parquet")
    commit_and_let_age(lake, owner, owner.overwrite("new.parquet"), adopted(lake, owner))
    services.collect("1")
    assert "memory://wh/db/owner/data/adopted.parquet" in lake.paths()


@pytest.mark.parametrize("late", [False, True], ids=["deletion", "deferred deletion"])
def test_s30_what_becomes_live_after_the_mark_keeps_its_file(
    lake: MemoryLake, services: LakeServices, *, late: bool
) -> None:
    table = two_tables(lake, SPELLINGS["another folder"])
    lake.branch("later", "main")
    lake.commit("main", put(table.overwrite("new.parquet").version))
    later = lake.drop("later").commit_id
    assert later is not None
    lake.advance(timedelta(days=3))
    if late:
        live_set = services.mark()
        services.sweep(live_set, SweepParameters(defer_deletes=True))
        lake.branch("again", later)
        services.delete_deferred(live_set)
    else:
        services.collect(between=lambda: lake.branch("again", later))
    assert table.needed <= lake.paths()
    assert "memory://wh/db/u/data/nobody.parquet" not in lake.paths()


def test_s30_a_plan_that_was_made_before_takes_no_such_file(
    lake: MemoryLake, services: LakeServices, tmp_path: Path
) -> None:
    """When the plan was made, nothing was lost."""
    table = two_tables(lake, lambda path: path.replace(NAME, "other.parquet"))
    plan = str(tmp_path / "plan.jsonl")
    dry = services.collect(sweep=SweepParameters(dry_run=True, plan=plan))
    for manifest in table.manifests[1]:
        respell(lake, manifest, lambda path: f"memory://wh/db/t/files/{NAME}")
    report = services.sweep(UUID(dry.live_set_id), SweepParameters(apply=plan))
    assert STORED in {file.path for file in report.spared_files} & lake.paths()
    assert "memory://wh/db/u/data/nobody.parquet" not in lake.paths()


def test_s30_the_orphan_files_of_one_table_are_no_exception(lake: MemoryLake, services: LakeServices) -> None:
    table = two_tables(lake, SPELLINGS["another folder"])
    lake.advance(timedelta(days=30))
    parameters = RemoveOrphanFilesParameters(table="db.t", dry_run=False)
    RemoveOrphanFilesService(parameters).run(services.run())
    assert table.needed <= lake.paths()
    assert "memory://wh/db/t/data/nobody.parquet" not in lake.paths()


def adopted(lake: MemoryLake, owner: TableState) -> TableState:
    """A table that takes over the file of another one, and spells its place in its own way."""
    taker = lake.table("db.taker", location="memory://wh/db/taker").append("a.parquet")
    (path,) = owner.files[owner.manifests[1][0]]
    respell(lake, taker.manifests[1][0], lambda _: path.replace("memory://wh", "memory://elsewhere/wh"))
    return taker


@pytest.mark.parametrize("tagged", [False, True], ids=["moved", "tagged"])
def test_s30_what_is_in_quarantine_and_may_be_lost_is_not_purged(
    lake: MemoryLake, services: LakeServices, *, tagged: bool
) -> None:
    owner = lake.table("db.owner", location="memory://wh/db/owner").append("adopted.parquet")
    commit_and_let_age(lake, owner, owner.overwrite("new.parquet"))
    place = "tags:memory://wh" if tagged else "memory://wh/.quarantine/"
    hold = SweepParameters(quarantine=[place], quarantine_for=timedelta(days=5))
    services.collect("1", sweep=hold)
    (before,) = (file.until for file in held(services) if file.path == "data/adopted.parquet")
    lake.commit("main", put(adopted(lake, owner).version))
    lake.advance(timedelta(days=4))
    report = services.collect("1", sweep=hold)
    (after,) = (file.until for file in held(services) if file.path == "data/adopted.parquet")
    assert (timedelta(days=4), 1) == (after - before, sum("in quarantine" in text for text in report.warnings))
    lake.advance(timedelta(days=2))
    purge(services)
    assert "data/adopted.parquet" in {file.path for file in held(services)}


@pytest.mark.parametrize("name", ["db.t", "db.u"])
def test_s30_a_file_in_a_known_place_that_is_not_swept_keeps_no_garbage(
    lake: MemoryLake, services: LakeServices, name: str
) -> None:
    """Nobody looked for it, but it is where it should be."""
    for key in ("db.t", "db.u"):
        location = f"memory://wh/{key.replace('.', '/')}"
        lake.commit("main", put(lake.table(key, location=location).append(f"{key}.parquet").version))
    other = "db.u" if name == "db.t" else "db.t"
    dead = lake.put(f"memory://wh/{name.replace('.', '/')}/data/{other}.parquet")
    lake.advance(timedelta(days=3))
    report = services.collect(sweep=SweepParameters(include=[name.replace(".", "[.]")]))
    assert dead not in lake.paths()
    assert 0 == report.may_be_lost.files


def test_s30_metadata_that_we_deleted_is_not_lost(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    newer = table.overwrite("b.parquet")
    commit_and_let_age(lake, table, newer)
    services.collect("1")
    assert table.metadata_location not in lake.paths()
    dead = lake.put("memory://wh/db/t/copies/" + table.metadata_location.rpartition("/")[2])
    lake.advance(timedelta(days=3))
    report = services.collect("5")
    assert dead not in lake.paths()
    assert [1, 0] == [report.tolerated_missing, report.may_be_lost.files]


def test_s30_of_many_files_with_one_name_the_report_names_some(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("v1.json", "a.parquet")
    lake.commit("main", put(table.version))
    lake.objects.delete("memory://wh/db/t/data/v1.json")
    copies = {lake.put(f"memory://wh/db/t/copy-{number}/v1.json") for number in range(MAX_NAMES + 20)}
    lake.advance(timedelta(days=3))
    report = services.collect()
    assert copies <= lake.paths()
    assert [len(copies), MAX_NAMES] == [report.may_be_lost.files, len(report.may_be_lost_files)]
    assert 1 == sum(f"kept {len(copies)} files named like" in text for text in report.warnings)


def test_s30_a_folder_that_another_table_reaches_is_no_lost_file(lake: MemoryLake, services: LakeServices) -> None:
    table = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    clone = lake.table("db.u", location="memory://wh/db/u").append("b.parquet", "c.parquet")
    lake.commit("main", put(table.version), put(clone.version))
    for manifest in clone.manifests[1]:
        respell(lake, manifest, lambda path: path.replace("wh/db/u/data/b", "wh/db/t/data/a"))
    dead = lake.put("memory://wh/db/u/data/t")
    lake.advance(timedelta(days=3))
    report = services.collect()
    assert dead not in lake.paths()
    assert (0, 0) == (report.may_be_lost.files, report.exit_code)
