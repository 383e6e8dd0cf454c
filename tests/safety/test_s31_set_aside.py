"""S31: contents that a person sets aside by name freeze only the places where they are."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, TableState, content, delete, put

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model import UNKNOWN_CONTENT
from nessie_gc_core.services.parameters import SweepParameters
from nessie_gc_core.services.report import GcReport

DAYS = timedelta(days=3)


class Ghost:
    """A table whose files are gone, and one that is well; both have garbage."""

    def __init__(self, lake: MemoryLake, name: str = "db.ghost") -> None:
        self.lake = lake
        self.ghost = lake.table(name, location="memory://wh/db/ghost").append("a.parquet")
        self.fine = lake.table("db.fine", location="memory://wh/db/fine").append("a.parquet")
        lake.commit("main", put(self.ghost.version), put(self.fine.version))
        for path in self.ghost.needed:
            lake.objects.delete(path)
        self.own = lake.put("memory://wh/db/ghost/data/nobody.parquet")
        self.garbage = lake.put("memory://wh/db/fine/data/nobody.parquet")
        lake.advance(DAYS)

    @property
    def left(self) -> tuple[bool, bool]:
        """Whether the garbage of the ghost is there, and that of the other table."""
        return self.own in self.lake.paths(), self.garbage in self.lake.paths()


@pytest.fixture
def ghost(lake: MemoryLake) -> Ghost:
    return Ghost(lake)


def aside(*patterns: str, dry_run: bool = False) -> SweepParameters:
    return SweepParameters(set_aside=patterns, dry_run=dry_run)


def never_read(report: GcReport) -> bool:
    return any("never could" in warning for warning in report.warnings)


def test_s31_a_table_whose_files_are_gone_stops_nothing_once_it_is_set_aside(
    lake: MemoryLake, tmp_path: Path, engine: Engine
) -> None:
    ghost = Ghost(lake)
    services = on_disk(lake, tmp_path, engine)
    own, garbage = (tmp_path / path.removeprefix("memory://") for path in (ghost.own, ghost.garbage))
    assert never_read(services.collect("1"))
    assert (True, True) == (own.exists(), garbage.exists())
    report = services.collect("1", sweep=aside(r"db\.ghost"))
    assert (True, False) == (own.exists(), garbage.exists())
    assert (0, {}, {}) == (report.exit_code, report.unknown, report.unreadable)


def test_s31_the_report_names_what_is_set_aside_and_where_its_files_stay(ghost: Ghost, services: LakeServices) -> None:
    report = services.collect("1", sweep=aside("db.*host"))
    assert {"db.ghost": "its files stay in memory://wh/db/ghost/"} == report.set_aside
    said = report.to_dict()
    assert [{"content": "db.ghost", "reason": "its files stay in memory://wh/db/ghost/"}] == said["set_aside"]
    assert 1 == said["counts"]["set_aside"]


@pytest.mark.parametrize("pattern", ["ghost", "db[.]ghos", r"db\.ghost.+"])
def test_s31_a_pattern_matches_the_whole_name_and_one_that_matches_nothing_is_a_warning(
    ghost: Ghost, services: LakeServices, pattern: str
) -> None:
    report = services.collect("1", sweep=aside(pattern))
    assert (True, True) == ghost.left
    assert f"`set_aside` {pattern!r} matches no live content" in report.warnings


def test_s31_the_pattern_that_the_warning_gives_sets_that_content_aside(
    lake: MemoryLake, services: LakeServices
) -> None:
    ghost = Ghost(lake, "db.a+b (old)")
    [said] = [warning for warning in services.collect("1").warnings if "never could" in warning]
    pattern = said.rpartition("`set_aside` '")[2].rstrip("'")
    services.collect("1", sweep=aside(pattern))
    assert (True, False) == ghost.left


def test_s31_a_content_with_another_name_is_not_set_aside(ghost: Ghost, services: LakeServices) -> None:
    lake = ghost.lake
    later = ghost.ghost.renamed("db.renamed").append("b.parquet")
    lake.commit("main", delete("db.ghost"), put(later.version))
    lake.advance(DAYS)
    lake.objects.delete(later.metadata_location)
    report = services.collect("NONE", sweep=aside("db[.]ghost"))
    assert (True, True) == ghost.left
    assert any("db.renamed too: name both in `set_aside`" in warning for warning in report.warnings)
    services.collect("NONE", sweep=aside("db[.](ghost|renamed)"))
    assert (True, False) == ghost.left


def test_s31_it_is_set_aside_at_every_commit_that_is_live(ghost: Ghost, services: LakeServices) -> None:
    ghost.lake.commit("main", delete("db.ghost"))
    again = ghost.lake.table("db.ghost", location="memory://wh/db/again", content_id="again").append("b.parquet")
    ghost.lake.commit("main", put(again.version))
    assert never_read(services.collect("NONE"))
    services.collect("NONE", sweep=aside("db[.]ghost"))
    assert (True, False) == ghost.left


def test_s31_what_can_be_read_of_a_content_that_is_set_aside_is_protected(ghost: Ghost, services: LakeServices) -> None:
    """A table that was made again under the same name took over a file of another one."""
    lake = ghost.lake
    taken = lake.put("memory://wh/db/fine/data/taken.parquet")
    again = lake.table("db.ghost", location="memory://wh/db/again", content_id="again").append(taken)
    lake.commit("main", put(again.version))
    lake.advance(DAYS)
    services.collect("NONE", sweep=aside("db[.]ghost"))
    assert (True, False) == ghost.left
    assert again.needed <= lake.paths()


@pytest.mark.parametrize("level", [1, 2])
def test_s31_a_part_that_is_gone_is_no_problem_either(lake: MemoryLake, services: LakeServices, level: int) -> None:
    broken = lake.table("db.broken", location="memory://wh/db/broken").append("a.parquet")
    fine = lake.table("db.fine", location="memory://wh/db/fine").append("a.parquet")
    lake.commit("main", put(broken.version), put(fine.version))
    lake.objects.delete(broken.snapshots[1] if level == 1 else broken.manifests[1][0])
    garbage = lake.put("memory://wh/db/fine/data/nobody.parquet")
    lake.advance(DAYS)
    report = services.collect("1", sweep=aside("db[.]broken"))
    assert garbage not in lake.paths()
    assert (0, {}) == (report.exit_code, report.unreadable)
    read = {each.content_id for each in services.store.reached(services.repository.identity())}
    assert {"db.fine"} == read


def test_s31_a_file_that_another_content_needs_as_well_stays_a_problem(
    lake: MemoryLake, services: LakeServices
) -> None:
    one = lake.table("db.one", location="memory://wh/db/one").append("a.parquet")
    other = lake.table("db.other", location="memory://wh/db/other", content_id="other")
    shared = content(
        "db.other", content_id="other", content_type="MEMORY_TABLE", metadata_location=one.metadata_location
    )
    lake.commit("main", put(one.version), put(shared))
    lake.objects.delete(one.manifests[1][0])
    lake.advance(DAYS)
    before = lake.paths()
    report = services.collect("1", sweep=aside("db[.]one"))
    assert (before, 1) == (lake.paths(), report.exit_code)
    assert other.metadata_location in before


def test_s31_what_a_repository_could_not_read_is_set_aside_by_its_name(ghost: Ghost, services: LakeServices) -> None:
    for name, location in (("nowhere", None), ("odd", "warp://wh/db/odd")):
        unknown = content(f"db.{name}", metadata_location=None, content_type=UNKNOWN_CONTENT, location=location)
        ghost.lake.commit("main", put(unknown))
    report = services.collect("NONE", sweep=aside("db[.](ghost|nowhere|odd)"))
    assert (True, False) == ghost.left
    assert (0, "nobody knows where its files were") == (report.exit_code, report.set_aside["db.nowhere"])


def test_s31_the_same_is_set_aside_just_before_the_deletion(ghost: Ghost, services: LakeServices) -> None:
    lake = ghost.lake
    for name in ("late", "other"):
        live_set = services.mark("NONE")
        late = lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("a.parquet")
        lake.commit("main", put(late.version))
        lake.objects.delete(late.metadata_location)
        services.sweep(live_set, aside("db[.](ghost|late)"))
        assert (True, name == "other") == ghost.left
        lake.put(ghost.garbage, modified=lake.time - DAYS)


def test_s31_a_content_that_gets_another_name_before_the_deletion_is_live_under_it(
    ghost: Ghost, services: LakeServices
) -> None:
    live_set = services.mark("NONE")
    ghost.lake.commit("main", put(ghost.ghost.renamed("db.renamed").version))
    report = services.sweep(live_set, aside("db[.]ghost"))
    assert (True, True) == ghost.left
    assert never_read(report)


def test_s31_a_content_that_was_renamed_before_the_mark_is_live_under_its_new_name(
    lake: MemoryLake, services: LakeServices
) -> None:
    state = lake.table("db.t", location="memory://wh/db/t").append("a.parquet")
    first = lake.commit("main", put(state.version))
    lake.commit("main", delete("db.t"), put(state.renamed("db.kept").version))
    garbage = lake.put("memory://wh/db/t/data/nobody.parquet")
    lake.advance(DAYS)
    live_set = services.mark("NONE")
    lake.branch("audit", first)
    broken = state.append("b.parquet")
    lake.commit("audit", put(broken.version))
    lake.objects.delete(broken.metadata_location)
    report = services.sweep(live_set, aside("db[.]t"))
    assert garbage in lake.paths()
    assert ({"memory://wh/db/t/"}, {}) == (report.unknown.keys(), report.set_aside)


def test_s31_the_place_of_what_is_set_aside_just_before_the_deletion_is_left_alone(
    ghost: Ghost, services: LakeServices
) -> None:
    lake = ghost.lake
    live_set = services.mark("NONE")
    late = lake.table("db.late", location="memory://wh/db/fine/data").append("a.parquet")
    lake.commit("main", put(late.version))
    lake.objects.delete(late.metadata_location)
    report = services.sweep(live_set, aside("db[.](ghost|late)"))
    assert (True, True) == ghost.left
    assert "its files stay in memory://wh/db/fine/data/" == report.set_aside["db.late"]


def test_s31_a_deferred_deletion_knows_it_too(ghost: Ghost, services: LakeServices) -> None:
    live_set = services.mark("NONE")
    services.sweep(live_set, SweepParameters(set_aside=["db[.]ghost"], defer_deletes=True))
    broken = ghost.ghost.append("b.parquet")
    ghost.lake.commit("main", put(broken.version))
    ghost.lake.objects.delete(broken.metadata_location)
    assert never_read(services.delete_deferred(live_set))
    assert (True, True) == ghost.left
    services.delete_deferred(live_set, aside("db[.]ghost"))
    assert (True, False) == ghost.left


def test_s31_what_was_seen_of_it_in_earlier_runs_stays_too(lake: MemoryLake, services: LakeServices) -> None:
    first = lake.table("db.t", location="memory://wh/db/first").append("a.parquet")
    other = lake.table("db.other", location="memory://wh/db/first").append("b.parquet")
    lake.commit("main", put(first.version), put(other.version))
    lake.advance(DAYS)
    services.collect("1")
    second = moved(first)
    lake.commit("main", put(second.version))
    lake.put(second.metadata_location, b"broken")
    garbage = lake.put("memory://wh/db/first/data/nobody.parquet")
    lake.advance(DAYS)
    report = services.collect("1", sweep=aside("db[.]t"))
    assert garbage in lake.paths()
    assert {"memory://wh/db/first/": "db.t is set aside"} == report.left_out


def moved(table: TableState) -> TableState:
    return table.move_to("memory://wh/db/second").append("c.parquet")


def test_s31_a_pattern_that_is_none_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="set_aside"):
        _ = aside("(").contents_set_aside


@pytest.mark.parametrize("shared", [False, True])
def test_s31_a_location_that_cannot_be_compared_is_no_problem_if_only_a_content_that_is_set_aside_has_it(
    lake: MemoryLake, services: LakeServices, shared: bool
) -> None:
    for name in ("odd", "other") if shared else ("odd",):
        odd = lake.table(f"db.{name}", location=f"memory://wh/db/{name}").append("a.parquet")
        found = lake.objects.get(odd.metadata_location)
        assert found is not None
        assert found.data is not None
        moved = found.data.replace(f'"memory://wh/db/{name}"'.encode(), b'"floppy://a/b/c"')
        lake.objects.put(odd.metadata_location, moved, modified=found.modified)
        lake.commit("main", put(odd.version))
    fine = lake.table("db.fine", location="memory://wh/db/fine").append("a.parquet")
    lake.commit("main", put(fine.version))
    garbage = lake.put("memory://wh/db/fine/data/nobody.parquet")
    lake.advance(DAYS)
    report = services.collect("1", sweep=aside("db[.]odd"))
    assert (["floppy://a/b/c"] if shared else [], int(shared)) == (list(report.unknown), report.exit_code)
    assert garbage not in lake.paths()
