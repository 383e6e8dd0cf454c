"""S9: what became live since the mark is spared, however late the deletion."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, TableState, delete, put, save_history
from scenes import START

from nessie_gc_core.dataset import Engine
from nessie_gc_core.errors import NessieGcError, RepositoryError, ServiceUnavailableError
from nessie_gc_core.model import Outcome
from nessie_gc_core.services.parameters import SweepParameters


class Site:
    """A table with an old state that is dead at the mark: dropped from the table, and of a table that is gone."""

    def __init__(self, lake: MemoryLake) -> None:
        self.lake = lake
        self.old = lake.table("db.t", location="memory://wh/db/t").append("old.parquet")
        self.new = self.old.overwrite("new.parquet")
        self.gone = lake.table("db.gone", location="memory://wh/db/t").append("gone.parquet")
        self.first = lake.commit("main", put(self.old.version), put(self.gone.version))
        lake.commit("main", delete("db.gone"))
        lake.commit("main", put(self.new.version))
        self.dead = lake.put("memory://wh/db/t/data/nobody.parquet")
        lake.advance(timedelta(days=3))


@pytest.fixture
def site(lake: MemoryLake) -> Site:
    return Site(lake)


Change = Callable[[Site], object]
CHANGES: dict[str, tuple[Change, Callable[[Site], frozenset[str]]]] = {
    "a new branch at an old commit": (lambda s: s.lake.branch("b", s.first), lambda s: s.old.needed | s.gone.needed),
    "a new tag at an old commit": (lambda s: s.lake.tag("t", s.first), lambda s: s.old.needed | s.gone.needed),
    "a head that is moved back": (lambda s: s.lake.assign("main", s.first), lambda s: s.old.needed | s.gone.needed),
    "a rollback": (lambda s: s.lake.commit("main", put(s.old.version)), lambda s: s.old.needed),
    "a table that is registered again": (
        lambda s: s.lake.commit("main", put(s.gone.version)),
        lambda s: s.gone.needed,
    ),
    "a commit on top that hides its operations": (
        lambda s: s.lake.commit("main", put(s.gone.version), hides_operations=True),
        lambda s: s.gone.needed,
    ),
    "an old branch with a new name": (
        lambda s: s.lake.commit(s.lake.branch("b", s.first).name, put(s.old.version)),
        lambda s: s.old.needed | s.gone.needed,
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_s09_what_becomes_live_between_mark_and_sweep_is_spared(
    site: Site, services: LakeServices, change: str
) -> None:
    happen, needed = CHANGES[change]
    report = services.collect("1", between=lambda: happen(site))
    assert needed(site) <= site.lake.paths()
    assert site.new.needed <= site.lake.paths()
    assert site.dead not in site.lake.paths()
    assert report.outcomes[Outcome.SPARED].files == len(needed(site) - site.new.needed)
    assert 0 == report.lost.files


@pytest.mark.parametrize("change", CHANGES)
def test_s09_what_becomes_live_after_a_deletion_was_deferred_is_spared(
    site: Site, services: LakeServices, change: str
) -> None:
    happen, needed = CHANGES[change]
    live_set = services.mark("1")
    deferred = services.sweep(live_set, SweepParameters(defer_deletes=True))
    assert site.dead in site.lake.paths()
    site.lake.advance(timedelta(days=3))
    happen(site)
    report = services.delete_deferred(live_set)
    assert needed(site) <= site.lake.paths()
    assert site.dead not in site.lake.paths()
    assert deferred.outcomes[Outcome.DEFERRED].files == report.unreferenced.files
    assert report.outcomes[Outcome.SPARED].files == len(needed(site) - site.new.needed)


def many_tables(lake: MemoryLake) -> list[TableState]:
    """Old states of five tables, all dead."""
    old = [lake.table(f"db.t{n}", location=f"memory://wh/db/t{n}").append("old.parquet") for n in range(5)]
    lake.commit("main", *(put(state.version) for state in old))
    lake.commit("main", *(put(state.overwrite("new.parquet").version) for state in old))
    lake.advance(timedelta(days=3))
    return old


@pytest.mark.parametrize("deferred", [False, True])
@pytest.mark.parametrize("step", range(5))
def test_s09_what_becomes_live_while_files_are_deleted_is_spared_from_then_on(
    lake: MemoryLake, services: LakeServices, step: int, *, deferred: bool
) -> None:
    old = many_tables(lake)
    often = SweepParameters(recheck_interval=timedelta(0), files_per_step=1)
    left: list[set[str]] = []

    def register_again(phase: str, done: int, total: int | None) -> None:
        if (phase, done) == ("delete", step) and not left:
            lake.commit("main", *(put(state.renamed(f"{state.key}-again").version) for state in old))
            left.append(lake.paths())

    live_set = services.mark("1")
    if deferred:
        services.sweep(live_set, SweepParameters(defer_deletes=True))
        report = services.delete_deferred(live_set, often, progress=register_again)
    else:
        report = services.sweep(live_set, often, progress=register_again)
    needed = {path for state in old for path in state.needed}
    (then,) = left
    assert needed & then <= lake.paths()
    assert report.outcomes[Outcome.SPARED].files >= len(needed & then)
    assert (
        0 < report.outcomes[Outcome.SPARED].files + report.outcomes[Outcome.DELETED].files == report.unreferenced.files
    )


def test_s09_both_engines_spare_what_becomes_live_between_mark_and_sweep(engine: Engine, tmp_path: Path) -> None:
    lake = MemoryLake("s09-on-disk")
    lake.now = START
    site = Site(lake)
    services = on_disk(lake, tmp_path / "lake", engine)
    folder = (tmp_path / "lake").resolve()

    def happen() -> None:
        lake.tag("t", site.first)
        save_history(
            lake.history,
            folder / "history.json",
            rename=lambda path: path.replace("memory://", f"file://{folder}/"),
        )

    report = services.collect("1", between=happen)
    stored = {f"memory://{path.relative_to(folder)}" for path in folder.rglob("*") if path.is_file()}
    assert site.old.needed | site.gone.needed | site.new.needed <= stored
    assert site.dead not in stored
    assert report.outcomes[Outcome.SPARED].files == len((site.old.needed | site.gone.needed) - site.new.needed)


@pytest.mark.parametrize("error", [ServiceUnavailableError("no answer"), RepositoryError("nonsense")])
def test_s09_where_the_references_cannot_be_read_again_nothing_is_deleted(
    site: Site, services: LakeServices, error: NessieGcError
) -> None:
    before = site.lake.paths()

    def break_down() -> None:
        site.lake.faults.references = error

    with pytest.raises(type(error)):
        services.collect("1", between=break_down)
    assert before == site.lake.paths()


def test_s09_where_a_moved_head_cannot_be_walked_nothing_is_deleted(site: Site, services: LakeServices) -> None:
    before = site.lake.paths()

    def move() -> None:
        site.lake.tag("t", site.first)
        site.lake.faults.log[site.first] = ServiceUnavailableError("no answer")

    with pytest.raises(ServiceUnavailableError):
        services.collect("1", between=move)
    assert before == site.lake.paths()


def test_s09_what_became_live_and_cannot_be_read_freezes_its_location(site: Site, services: LakeServices) -> None:
    def move() -> None:
        site.lake.tag("t", site.first)
        site.lake.put(site.old.metadata_location, b"broken")

    before = site.lake.paths()
    report = services.collect("1", between=move)
    assert before == site.lake.paths()
    assert "memory://wh/db/t/" in report.unknown
    assert 1 == report.exit_code


def test_s09_a_content_of_a_type_nobody_reads_that_appears_freezes_its_location(
    site: Site, services: LakeServices
) -> None:
    from nessie_gc_memory import content

    strange = content("db.d", metadata_location=None, content_type="DELTA", location="memory://wh/db/t/delta")
    before = site.lake.paths()
    report = services.collect("1", between=lambda: site.lake.commit("main", put(strange)))
    assert before == site.lake.paths()
    assert "memory://wh/db/t/" in report.unread


def test_s09_a_dry_run_spares_the_same_files(site: Site, services: LakeServices) -> None:
    live_set = services.mark("1")
    site.lake.tag("t", site.first)
    dry = services.sweep(live_set, SweepParameters(dry_run=True))
    real = services.sweep(live_set)
    assert dry.outcomes[Outcome.SPARED] == real.outcomes[Outcome.SPARED]
    assert dry.outcomes[Outcome.WOULD_DELETE] == real.outcomes[Outcome.DELETED]
