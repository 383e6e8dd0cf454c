"""Random histories: branches list what live commits have and no more, and a sweep afterwards takes none of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from branch_lakes import AT_ONCE, MemoryBranchLake, file_of
from nessie_gc_memory import delete
from thoroughness import examples

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model import ContentVersion, ReferenceKind

HISTORIES = examples(8)
TABLES = ("db.a", "db.b")
BRANCHES = ("main", "dev", "test")
Live = Mapping[str, set[int | None]]


def write(lake: MemoryBranchLake, chance: random.Random) -> None:
    lake.write(chance.choice(TABLES), chance.choice(branches(lake)))


def make_branch(lake: MemoryBranchLake, chance: random.Random) -> None:
    missing = set(BRANCHES) - set(branches(lake))
    if missing:
        lake.lake.branch(chance.choice(sorted(missing)), any_commit(lake, chance))


def make_tag(lake: MemoryBranchLake, chance: random.Random) -> None:
    lake.lake.tag(f"v{lake.lake.next_number()}", any_commit(lake, chance))


def merge(lake: MemoryBranchLake, chance: random.Random) -> None:
    source, target = chance.choice(branches(lake)), chance.choice(branches(lake))
    if source != target:
        lake.lake.advance(timedelta(seconds=1))
        lake.lake.merge(source, into=target)


def drop(lake: MemoryBranchLake, chance: random.Random) -> None:
    branch, key = chance.choice(branches(lake)), chance.choice(TABLES)
    if key in visible(lake, branch):
        lake.lake.advance(timedelta(seconds=1))
        lake.lake.commit(branch, delete(key))


def roll_back(lake: MemoryBranchLake, chance: random.Random) -> None:
    branch, key = chance.choice(branches(lake)), chance.choice(TABLES)
    if (version := visible(lake, branch).get(key)) is not None:
        lake.lake.advance(timedelta(seconds=1))
        current = chance.choice(lake.listed(key, branch))
        fields = {**lake.fields(key, branch), "current-snapshot-id": current}
        lake.put(key, fields, branch, content_id=version.content_id)


def give_a_name(lake: MemoryBranchLake, chance: random.Random) -> None:
    branch, key = chance.choice(branches(lake)), chance.choice(TABLES)
    if (version := visible(lake, branch).get(key)) is not None:
        lake.lake.advance(timedelta(seconds=1))
        fields = lake.fields(key, branch)
        tagged = {"snapshot-id": chance.choice(lake.listed(key, branch)), "type": "tag"}
        fields["refs"] = {**fields.get("refs", {}), f"t{lake.lake.next_number()}": tagged}
        lake.put(key, fields, branch, content_id=version.content_id)


STEPS: list[Callable[[MemoryBranchLake, random.Random], None]] = [
    *[write] * 8,
    make_branch,
    make_tag,
    merge,
    drop,
    roll_back,
    give_a_name,
]


def branches(lake: MemoryBranchLake) -> list[str]:
    found = lake.lake.history.references()
    return sorted(each.name for each in found if each.kind is ReferenceKind.BRANCH)


def any_commit(lake: MemoryBranchLake, chance: random.Random) -> str:
    return chance.choice([commit.commit_id for commit in lake.lake.history.commits()])


def visible(lake: MemoryBranchLake, reference: str) -> Mapping[str, ContentVersion]:
    return lake.lake.history.state_at(lake.lake.history.reference(reference).commit_id)


def live_states(lake: MemoryBranchLake, since: datetime) -> Iterator[ContentVersion]:
    """What is visible at heads, and at commits before them that are not older than an instant."""
    for reference in lake.lake.history.references():
        for number, commit in enumerate(lake.lake.history.log(reference.commit_id)):
            if number and commit.commit_time < since:
                break
            yield from lake.lake.history.state_at(commit.commit_id).values()


def live_snapshots(lake: MemoryBranchLake, since: datetime) -> Live:
    found: dict[str, set[int | None]] = {}
    for version in live_states(lake, since):
        found.setdefault(version.content_id, set()).add(version.snapshot_id)
    return found


def names(fields: Mapping[str, object]) -> set[int]:
    refs = fields.get("refs", {})
    assert isinstance(refs, dict)
    return {ref["snapshot-id"] for ref in refs.values()}


def stored(lake: MemoryBranchLake, snapshot_id: int, version: ContentVersion) -> bool:
    """Whether the manifest list of a snapshot is there."""
    return file_of(version).with_name(f"snap-{snapshot_id}.avro").exists()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[MemoryBranchLake]:
    with LocalEngine(workers=1) as engine:
        lake = MemoryBranchLake(tmp_path / "wh" / "lake", engine)
        yield lake
        lake.close()


def grow(lake: MemoryBranchLake, chance: random.Random) -> datetime:
    """Some random steps; gives the time of some commit."""
    for _ in range(chance.randrange(5, 40)):
        chance.choice(STEPS)(lake, chance)
    return chance.choice(lake.lake.history.commits()).commit_time


def sweep(lake: MemoryBranchLake, since: datetime) -> None:
    """Deletes what no live commit needs; all that live commits need is there."""
    swept = lake.services.collect(since.isoformat(), sweep=AT_ONCE)
    assert (0, 0) == (swept.exit_code, swept.lost.files)
    for version in live_states(lake, since):
        assert file_of(version).exists()
        assert version.snapshot_id is not None
        assert stored(lake, version.snapshot_id, version)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_branch_lists_exactly_what_live_commits_have_and_all_of_it_is_there_after_a_sweep(
    lake: MemoryBranchLake, seed: int
) -> None:
    chance = random.Random(seed)
    since, chosen = grow(lake, chance), chance.sample(BRANCHES, 2)
    live = live_snapshots(lake, since)
    before = {name: dict(visible(lake, name)) for name in branches(lake)}
    old = {name: {key: lake.fields_of(each) for key, each in found.items()} for name, found in before.items()}

    report = lake.expire(commit_to=chosen, default_cutoff=since.isoformat())
    sweep(lake, since)

    assert 0 == report.exit_code
    for name in branches(lake):
        for key, version in visible(lake, name).items():
            was = old[name][key]
            kept = live[version.content_id] | names(was) | {was["current-snapshot-id"]}
            listed = [each["snapshot-id"] for each in was["snapshots"]]
            expected = [id_ for id_ in listed if id_ in kept] if name in chosen else listed
            assert expected == lake.listed(key, name)
            assert before[name][key].snapshot_id == version.snapshot_id
            assert name not in chosen or all(stored(lake, id_, version) for id_ in expected)


@pytest.mark.parametrize("seed", range(HISTORIES))
def test_a_branch_lists_what_live_commits_have_whoever_writes_meanwhile(lake: MemoryBranchLake, seed: int) -> None:
    chance = random.Random(seed)
    since, chosen = grow(lake, chance), chance.sample(BRANCHES, 2)
    writes = [write, write, roll_back]
    lake.repository.before_commit = lambda: writes.pop()(lake, chance) if writes else None
    listed = {(name, key): set(lake.listed(key, name)) for name in branches(lake) for key in visible(lake, name)}

    report = lake.expire(commit_to=chosen, default_cutoff=since.isoformat())

    assert 0 == report.exit_code
    for (name, key), before in listed.items():
        version = visible(lake, name)[key]
        assert lake.fields(key, name)["current-snapshot-id"] == version.snapshot_id
        now = set(lake.listed(key, name))
        assert before & own(lake, name, version.content_id, since) <= now
        assert names(lake.fields(key, name)) <= now
        assert name in chosen or before <= now
    sweep(lake, since)


def own(lake: MemoryBranchLake, name: str, content_id: str, since: datetime) -> set[int | None]:
    """The snapshots that live commits of a branch have of a content."""
    reference = lake.lake.history.reference(name)
    found: set[int | None] = set()
    for number, commit in enumerate(lake.lake.history.log(reference.commit_id)):
        if number and commit.commit_time < since:
            break
        states = lake.lake.history.state_at(commit.commit_id).values()
        found.update(each.snapshot_id for each in states if each.content_id == content_id)
    return found
