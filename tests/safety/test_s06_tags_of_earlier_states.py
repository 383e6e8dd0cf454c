"""S6: a tag is a head, so it is made only where its files are: a head that cannot be read stops every sweep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from nessie_gc_memory import MemoryRepository
from tagged_lakes import BEGIN, TaggedLake, outcomes, tagged_lake

from nessie_gc_core.model.repository import Reference
from nessie_gc_core.services.autotag.report import TagOutcome
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
DAILY = {"tag_policy": ("daily=8",)}


@pytest.fixture
def lake() -> Iterator[TaggedLake]:
    """Tagged on the first day; a new state each day at six; nothing runs for four days."""
    with tagged_lake() as lake:
        lake.commit(BEGIN - DAY)
        lake.run(BEGIN, **DAILY)
        for day in range(1, 5):
            lake.commit(BEGIN.replace(hour=6) + day * DAY)
        lake.lake.now = BEGIN + 4 * DAY + HOUR
        yield lake


def catch_up(lake: TaggedLake) -> dict[str, TagOutcome]:
    return outcomes(lake.run(lake.lake.time, **DAILY))


def collect(lake: TaggedLake, policy: str, *, dry_run: bool = False) -> GcReport:
    """A collection that takes files of any age."""
    sweep = SweepParameters(min_age=timedelta(0), no_age_floor=True, dry_run=dry_run)
    return lake.services.collect(policy, sweep=sweep)


def only_first(lake: TaggedLake) -> set[str]:
    """The files that only the first state needs."""
    first = lake.lake.needed_files(lake.lake.visible([lake.commits[0][1]]))
    return first - lake.lake.needed_files(lake.lake.visible([commit for _, commit in lake.commits[1:]]))


def days(*numbers: int) -> list[str]:
    return [f"date/2026_05_{number:02}_00_00" for number in numbers]


def test_s06_states_that_nothing_collected_are_tagged_late(lake: TaggedLake) -> None:
    assert dict.fromkeys(days(5, 6, 7, 8), TagOutcome.MADE) == catch_up(lake)


def test_s06_a_state_that_a_sweep_gave_up_is_not_tagged(lake: TaggedLake) -> None:
    collect(lake, "P2D")
    found = catch_up(lake)
    assert [TagOutcome.NO_STATE] * 3 == [found[name] for name in days(5, 6, 7)]
    assert TagOutcome.MADE is found["date/2026_05_08_00_00"]


def test_s06_after_late_tags_a_collection_reads_every_head(lake: TaggedLake) -> None:
    collect(lake, "P2D")
    catch_up(lake)
    report = collect(lake, "P2D")
    assert (0, {}) == (report.exit_code, report.unknown)


def test_s06_a_sweep_that_kept_the_state_does_not_matter(lake: TaggedLake) -> None:
    collect(lake, "NONE")
    assert dict.fromkeys(days(5, 6, 7, 8), TagOutcome.MADE) == catch_up(lake)


def test_s06_a_dry_run_of_a_sweep_does_not_matter(lake: TaggedLake) -> None:
    collect(lake, "P1D", dry_run=True)
    assert dict.fromkeys(days(5, 6, 7, 8), TagOutcome.MADE) == catch_up(lake)


def test_s06_a_policy_that_counts_commits_may_have_given_up_any_state_but_the_head(lake: TaggedLake) -> None:
    collect(lake, "3")
    assert dict.fromkeys(days(5, 6, 7, 8), TagOutcome.NO_STATE) == catch_up(lake)


@pytest.mark.parametrize("suffix", [".metadata.json", "-snap-", "-manifest.json"])
def test_s06_a_state_of_which_others_deleted_metadata_is_not_tagged(lake: TaggedLake, suffix: str) -> None:
    gone = [path for path in only_first(lake) if suffix in path]
    for path in gone:
        lake.lake.objects.delete(path)
    assert gone
    found = catch_up(lake)
    assert TagOutcome.NO_STATE is found["date/2026_05_05_00_00"]
    assert [TagOutcome.MADE] * 3 == [found[name] for name in days(6, 7, 8)]


def test_s06_a_state_whose_files_come_back_is_tagged_then(lake: TaggedLake) -> None:
    (path,) = (path for path in only_first(lake) if path.endswith("3.metadata.json"))
    stored = lake.lake.objects.get(path)
    assert stored is not None
    assert stored.data is not None
    lake.lake.objects.delete(path)
    assert TagOutcome.NO_STATE is catch_up(lake)["date/2026_05_05_00_00"]
    lake.lake.put(path, stored.data)
    assert {"date/2026_05_05_00_00": TagOutcome.MADE} == catch_up(lake)


def test_s18_a_state_that_cannot_be_read_costs_its_own_tag_alone(lake: TaggedLake) -> None:
    (path,) = (path for path in only_first(lake) if path.endswith("3.metadata.json"))
    lake.lake.put(path, b"{ cut off")
    found = catch_up(lake)
    assert TagOutcome.REFUSED is found["date/2026_05_05_00_00"]
    assert [TagOutcome.MADE] * 3 == [found[name] for name in days(6, 7, 8)]


def test_s06_a_sweep_that_ends_while_tags_are_made_takes_them_back(lake: TaggedLake) -> None:
    class Slow(MemoryRepository):
        def make_tag(self, name: str, at: Reference) -> bool:
            if name not in waiting:
                return super().make_tag(name, at)
            waiting.clear()
            collect(lake, "P2D")
            return super().make_tag(name, at)

    waiting = set(days(5))
    repository = Slow.from_options({"lake": lake.lake.name})
    slow = TaggedLake(lake.lake, replace(lake.services, repository=repository))
    found = outcomes(slow.run(lake.lake.time, **DAILY))
    assert [TagOutcome.NO_STATE] * 3 == [found[name] for name in days(5, 6, 7)]
    assert {"date/2026_05_04_00_00", "date/2026_05_08_00_00"} == set(lake.tags)
    assert 0 == collect(lake, "P2D").exit_code


def test_s06_what_a_tag_shows_is_live_until_the_tag_goes(lake: TaggedLake) -> None:
    catch_up(lake)
    tagged = set(lake.lake.needed_files(lake.lake.visible([lake.commits[0][1]])))
    lake.lake.advance(4 * DAY)
    collect(lake, "P1D")
    assert tagged <= lake.lake.paths()
    lake.lake.advance(20 * DAY)
    lake.run(lake.lake.time, **DAILY)
    collect(lake, "P1D")
    kept = lake.lake.needed_files(lake.lake.visible([lake.commits[-1][1]]))
    assert tagged - kept
    assert not (tagged - kept) & lake.lake.paths()
