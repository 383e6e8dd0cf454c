"""Why single files are kept or deleted: who needs a live one, and what keeps or takes another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from collecting import LakeServices, on_disk
from nessie_gc_memory import MemoryLake, TableState, delete, put

from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.hookspecs import hookimpl
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.verdicts import Outcome
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.explain.parameters import ExplainParameters
from nessie_gc_core.services.explain.report import ExplainedFile, Standing
from nessie_gc_core.services.explain.service import ExplainService
from nessie_gc_core.services.parameters import SweepParameters

AGE = timedelta(days=3)
HOME = "memory://wh/db/t"
RESTORE = re.escape(f"`restore(matching='{HOME}/data/nobody[.]parquet')`")


def table(lake: MemoryLake, name: str = "db.t", *files: str, location: str = HOME) -> TableState:
    state = lake.table(name, location=location).append(*files or (f"{location}/data/a.parquet",))
    lake.commit("main", put(state.version))
    return state


def explained(services: LakeServices, path: str, **given: Any) -> ExplainedFile:
    report = ExplainService(ExplainParameters(file=[path], **given)).run(services.run())
    (file,) = report.files
    return file


def standing(services: LakeServices, path: str, **given: object) -> tuple[Standing, str | None]:
    file = explained(services, path, **given)
    return file.standing, file.reason


# ---- live -----------------------------------------------------------------------------------------------
def test_a_live_file_names_the_versions_and_references_that_need_it(lake: MemoryLake, services: LakeServices) -> None:
    state = table(lake)
    lake.branch("dev", lake.commit("main"))
    later = state.append(f"{HOME}/data/b.parquet")
    lake.commit("main", put(later.version))
    lake.advance(AGE)
    first = explained(services, f"{HOME}/data/a.parquet")
    assert (Standing.LIVE, 2) == (first.standing, first.versions)
    found = {version.metadata_location: version.references for version in first.needed_by}
    assert {state.metadata_location: ["dev", "main"], later.metadata_location: ["main"]} == found
    second = explained(services, f"{HOME}/data/b.parquet")
    assert ["db.t"] == [version.content_key for version in second.needed_by]
    assert [["main"]] == [version.references for version in second.needed_by]


def test_a_live_file_names_what_names_it(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    (manifest,) = explained(services, f"{HOME}/data/a.parquet").named_by
    assert manifest in lake.paths()
    (manifest_list,) = explained(services, manifest).named_by
    assert manifest_list != manifest
    metadata = explained(services, next(path for path in lake.paths() if path.endswith("metadata.json")))
    assert () == tuple(metadata.named_by)


def test_references_beyond_their_cut_off_need_nothing(lake: MemoryLake, services: LakeServices) -> None:
    state = table(lake)
    lake.tag("old", lake.commit("main"))
    lake.commit("main", put(state.overwrite(f"{HOME}/data/b.parquet").version))
    lake.advance(AGE)
    (version,) = explained(services, f"{HOME}/data/a.parquet", default_cutoff="1").needed_by
    assert ["old"] == version.references


@pytest.mark.parametrize(
    "spelling", [f"{HOME}/data//a.parquet", f"{HOME}/data/./a.parquet", "memory://wh//db/t/data/a.parquet"]
)
def test_another_spelling_of_a_live_file_is_live(lake: MemoryLake, services: LakeServices, spelling: str) -> None:
    table(lake)
    assert (Standing.LIVE, None) == standing(services, spelling)


def test_a_live_file_that_is_not_stored_is_lost(lake: MemoryLake, services: LakeServices) -> None:
    table(lake, "db.t", f"{HOME}/data/a.parquet", f"{HOME}/data/b.parquet")
    lake.objects.delete(f"{HOME}/data/a.parquet")
    assert (Standing.LOST, None) == standing(services, f"{HOME}/data/a.parquet")


def test_a_live_file_outside_all_locations_is_live(lake: MemoryLake, services: LakeServices) -> None:
    added = lake.put("memory://elsewhere/x/y/a.parquet")
    table(lake, "db.t", added)
    file = explained(services, added)
    assert (Standing.LIVE, None, 1) == (file.standing, file.location, file.versions)


def test_a_file_in_quarantine_says_where_it_is(lake: MemoryLake, services: LakeServices) -> None:
    state = table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.put(f"{HOME}/data/other.parquet")
    lake.advance(AGE)
    services.sweep(services.mark(), SweepParameters(quarantine=["memory://wh/.held/"]))
    found, reason = standing(services, nobody)
    assert Standing.NOT_STORED is found
    moved = r"it was moved to memory://wh/\.held/\S+/db/t/data/nobody\.parquet in quarantine; "
    assert re.fullmatch(
        moved + RESTORE + r" brings it back until 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d", str(reason)
    )
    assert (Standing.NOT_STORED, None) == standing(services, f"{HOME}/data/never.parquet")
    lake.commit("main", put(state.append(nobody).version))
    lake.objects.delete(nobody)
    assert (Standing.IN_QUARANTINE, reason) == standing(services, nobody)
    assert Standing.FROZEN is standing(services, f"{HOME}/data/never.parquet")[0]


def test_a_tagged_file_says_that_it_is_in_quarantine_whether_it_is_needed_or_not(
    lake: MemoryLake, services: LakeServices
) -> None:
    state = table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)
    live_set = services.mark()
    services.sweep(live_set, SweepParameters(quarantine=["tags:memory://wh/"]))
    found, reason = standing(services, nobody)
    assert Standing.SPARED is found
    tagged = f"it is in quarantine at its path, with the tag nessie-gc-quarantine={live_set}; "
    assert re.fullmatch(
        re.escape(tagged) + RESTORE + r" takes it off until 20\d\d-\d\d-\d\d \S+[+-]\d\d:\d\d", str(reason)
    )
    lake.commit("main", put(state.append(nobody).version))
    assert (Standing.LIVE, reason) == standing(services, nobody)


# ---- not live -------------------------------------------------------------------------------------------
def test_what_nothing_needs_is_unreferenced_once_it_is_old_enough(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet", 123)
    found, reason = standing(services, nobody)
    assert (Standing.TOO_YOUNG, True) == (found, "min_age" in str(reason))
    lake.advance(AGE)
    file = explained(services, nobody)
    assert (Standing.UNREFERENCED, None, 123, f"{HOME}/") == (file.standing, file.reason, file.size, file.location)
    assert nobody in lake.paths()


def test_what_the_configuration_keeps_says_so(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)
    assert (Standing.LEFT_OUT, "db.t is left out") == standing(services, nobody, exclude=["db[.]t"])
    found, reason = standing(services, nobody, allow=["memory://wh/other/"])
    assert (Standing.REFUSED, True) == (found, "allowed locations" in str(reason))


def test_what_could_not_be_read_freezes_a_file(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)
    lake.objects.delete(next(path for path in lake.paths() if "manifest" in path))
    found, reason = standing(services, nobody)
    assert (Standing.FROZEN, True) == (found, "cannot read" in str(reason))


class LegalHold:
    """Holds everything."""

    @hookimpl
    def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
        return {file.path: "legal hold" for file in files}


def test_a_veto_spares_a_file(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)
    plugins = PluginRegistry.discover()
    plugins.register(LegalHold(), name="legal-hold")
    found, reason = standing(services.choosing(plugins=plugins), nobody)
    assert (Standing.SPARED, True) == (found, "legal hold" in str(reason))


def test_what_lies_nowhere_or_is_not_there_says_so(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    outside = lake.put("memory://wh/elsewhere/a.parquet")
    assert (Standing.OUTSIDE, None) == standing(services, outside)
    assert (Standing.NOT_STORED, None) == standing(services, f"{HOME}/data/never.parquet")


# ---- limits on deletions --------------------------------------------------------------------------------
def test_a_limit_that_its_own_location_reaches_spares_a_file(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody, _, _ = (lake.put(f"{HOME}/data/{name}.parquet") for name in ("nobody", "b", "c"))
    lake.advance(AGE)
    for given in ({"max_deletes": 2}, {"max_deletes_per_location": 2}, {"max_delete_percent": 10}):
        found, reason = standing(services, nobody, **given)
        assert (Standing.SPARED, True) == (found, next(iter(given)) in str(reason)), given


def test_a_limit_that_is_not_reached_spares_nothing(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)
    parameters = ExplainParameters(file=[nobody], max_deletes_per_location=5, max_delete_percent=90)
    report = ExplainService(parameters).run(services.run())
    assert (Standing.UNREFERENCED, ()) == (report.files[0].standing, tuple(report.notes))


def test_a_limit_of_the_whole_run_that_may_be_reached_elsewhere_is_noted(
    lake: MemoryLake, services: LakeServices
) -> None:
    table(lake)
    table(lake, "db.other", location="memory://wh/db/other")
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    for number in range(9):
        lake.put(f"memory://wh/db/other/data/{number}.parquet")
    lake.advance(AGE)
    report = ExplainService(ExplainParameters(file=[nobody], max_deletes=5)).run(services.run())
    assert Standing.UNREFERENCED is report.files[0].standing
    (note,) = report.notes
    assert note.startswith("a run may delete fewer files: `max_deletes` is 5")


def test_explanation_and_run_agree_on_limits(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.put(f"{HOME}/data/b.parquet")
    lake.advance(AGE)
    said, done = list[bool](), list[bool]()
    for most in range(6):
        said.append(explained(services, nobody, max_deletes=most).standing is Standing.SPARED)
        report = services.collect(sweep=SweepParameters(max_deletes=most, dry_run=True))
        done.append(not report.outcomes[Outcome.WOULD_DELETE].files)
    assert said == done
    assert {True, False} == set(said)


# ---- file lists -----------------------------------------------------------------------------------------
def file_list(folder: Path, lake: MemoryLake, *paths: str) -> str:
    file = folder / "files.csv"
    rows = (f"{path},{lake.time.isoformat()}" for path in paths)
    file.write_text("\n".join(["file_path,last_modified", *rows, ""]))
    return str(file)


def test_a_file_list_takes_the_place_of_a_listing(lake: MemoryLake, services: LakeServices, tmp_path: Path) -> None:
    table(lake)
    live, nobody, unlisted, gone = (f"{HOME}/data/{name}.parquet" for name in ("a", "nobody", "unlisted", "gone"))
    for path in (nobody, unlisted, gone):
        lake.put(path)
    names = file_list(tmp_path, lake, *(path for path in lake.paths() if path not in (live, unlisted)))
    lake.objects.delete(gone)
    lake.advance(AGE)
    parameters = ExplainParameters(file=[live, nobody, unlisted, gone], file_list=[names])
    found = ExplainService(parameters).run(services.run()).files
    expected = [Standing.LIVE, Standing.UNREFERENCED, Standing.NOT_LISTED, Standing.NOT_STORED]
    assert expected == [file.standing for file in found]
    assert "the file list does not have it; it may be newer than the list" == found[0].reason
    assert "the file list has it, but it no longer exists" == found[3].reason


# ---- beside another run ---------------------------------------------------------------------------------
def test_an_explanation_works_beside_another_run_and_says_so(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    identity = services.repository.identity()
    services.store.acquire_lease(identity, "other", host="elsewhere", process=7, duration=timedelta(minutes=2))
    before = services.store.lease(identity)
    report = ExplainService(ExplainParameters(file=[f"{HOME}/data/a.parquet"])).run(services.run())
    assert Standing.LIVE is report.files[0].standing
    (note,) = report.notes
    assert f"another run works on {identity} (elsewhere, process 7" in note
    assert f"note: {note}" in str(report)
    assert before == services.store.lease(identity)


def test_another_run_may_begin_and_end_during_an_explanation(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)
    seen: list[str] = []

    def work(phase: str, done: int, total: int | None) -> None:
        if phase not in seen:
            seen.append(phase)
            services.collect()

    report = ExplainService(ExplainParameters(file=[nobody])).run(services.run(progress=work))
    assert {"mark", "expand", "list"} <= set(seen)
    assert report.files[0].standing in (Standing.UNREFERENCED, Standing.NOT_STORED)
    assert nobody not in lake.paths()


def test_a_run_that_began_and_ended_meanwhile_is_noted(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)

    def collect(phase: str, done: int, total: int | None) -> None:
        if phase == "subtract" and nobody in lake.paths():
            services.collect()

    report = ExplainService(ExplainParameters(file=[nobody])).run(services.run(progress=collect))
    assert nobody not in lake.paths()
    identity = services.repository.identity()
    assert [f"another run worked on {identity} meanwhile, so this answer may already be out of date"] == report.notes


def test_an_explanation_has_no_lease_to_lose(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)

    def sleep(phase: str, done: int, total: int | None) -> None:
        lake.advance(timedelta(hours=1))

    report = ExplainService(ExplainParameters(file=[nobody])).run(services.run(progress=sleep))
    assert Standing.UNREFERENCED is report.files[0].standing


def test_no_other_run_sees_what_an_explanation_marks(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    kept = services.mark()
    seen: set[tuple[object, ...]] = set()

    def look(phase: str, done: int, total: int | None) -> None:
        seen.add(tuple(live_set.id for live_set in services.store.live_sets()))
        seen.add((kept,) if services.store.lease(services.repository.identity()) is None else ("leased",))

    ExplainService(ExplainParameters(file=[f"{HOME}/data/a.parquet"])).run(services.run(progress=look))
    assert {(kept,)} == seen


# ---- exit codes -----------------------------------------------------------------------------------------
def test_the_exit_code_says_whether_every_file_is_explained(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    table(lake, "db.other", location="memory://wh/db/other")
    nobody, outside = lake.put(f"{HOME}/data/nobody.parquet"), lake.put("memory://wh/elsewhere/a.parquet")
    elsewhere = lake.put("memory://wh/db/other/data/nobody.parquet")

    def exit_code(*paths: str) -> int:
        return ExplainService(ExplainParameters(file=paths)).run(services.run()).exit_code

    assert 0 == exit_code(nobody, outside, elsewhere, f"{HOME}/data/a.parquet")
    services.read_before()
    lake.objects.delete(next(path for path in lake.paths() if path.startswith(HOME) and "manifest" in path))
    assert [1, 1, 0] == [exit_code(nobody), exit_code(outside), exit_code(elsewhere)]


# ---- as a whole -----------------------------------------------------------------------------------------
def test_several_files_are_explained_in_their_order(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet")
    lake.advance(AGE)
    paths = [nobody, f"{HOME}/data/a.parquet", nobody]
    report = ExplainService(ExplainParameters(file=paths)).run(services.run())
    assert paths == [file.path for file in report.files]
    assert [Standing.UNREFERENCED, Standing.LIVE, Standing.UNREFERENCED] == [file.standing for file in report.files]
    assert [file.to_dict()["standing"] for file in report.files] == ["unreferenced", "live", "unreferenced"]


def test_an_explanation_leaves_no_trace(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    before = lake.paths()
    explained(services, f"{HOME}/data/a.parquet")
    assert [] == list(services.store.live_sets())
    assert [] == list(services.store.repositories())
    assert before == lake.paths()


def test_a_dropped_table_is_explained_as_a_run_would_see_it(lake: MemoryLake, services: LakeServices) -> None:
    state = table(lake)
    lake.commit("main", delete(state.key))
    lake.advance(AGE)
    assert Standing.LIVE is explained(services, f"{HOME}/data/a.parquet").standing
    assert Standing.OUTSIDE is explained(services, f"{HOME}/data/a.parquet", default_cutoff="1").standing


@pytest.mark.parametrize(
    ("paths", "said"), [([], "is missing"), (["data/a.parquet"], "full path"), ([f"{HOME}/data/"], "is a folder")]
)
def test_what_is_no_path_of_a_file_is_refused(services: LakeServices, paths: list[str], said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"`file`.*{said}"):
        ExplainService(ExplainParameters(file=paths)).run(services.run())


def test_a_file_that_another_repository_needs_says_which(
    lake: MemoryLake, services: LakeServices, beside: MemoryLake
) -> None:
    table(lake)
    theirs = f"{HOME}/data/theirs.parquet"
    table(beside, "db.theirs", theirs, location="memory://wh/db/theirs")
    file = explained(services.together_with(beside), theirs)
    (version,) = file.needed_by
    assert (Standing.LIVE, f"memory:{beside.name}") == (file.standing, version.repository)
    assert (("db.theirs", ["main"])) == (version.content_key, version.references)


def test_every_spelling_of_a_file_is_explained_alike(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    nobody = lake.put(f"{HOME}/data/nobody.parquet", 7)
    lake.advance(AGE)
    for path in (nobody, "memory://wh/db/x/../t/data/nobody.parquet", "memory://wh//db/t/data/nobody.parquet"):
        file = explained(services, path)
        assert (Standing.UNREFERENCED, 7) == (file.standing, file.size), path
        assert Standing.LEFT_OUT is explained(services, path, exclude=["db[.]t"]).standing, path


def test_links_on_a_disk_are_followed(lake: MemoryLake, tmp_path: Path) -> None:
    table(lake)
    lake.put(f"{HOME}/data/nobody.parquet", 7)
    lake.advance(AGE)
    with on_disk(lake, tmp_path, LocalEngine(workers=2)) as services:
        (tmp_path / "link").symlink_to(tmp_path / "wh" / "db")
        given = {"min_age": timedelta(0), "no_age_floor": True}
        by_link = f"file://{tmp_path}/link/t/data/nobody.parquet"
        assert Standing.UNREFERENCED is explained(services, by_link, **given).standing
        assert Standing.LEFT_OUT is explained(services, by_link, exclude=["db[.]t"], **given).standing


def test_what_failed_is_told_and_not_what_the_failure_left(lake: MemoryLake, services: LakeServices) -> None:
    table(lake)
    services.store.lease = full  # type: ignore[method-assign]
    with pytest.raises(NessieGcError, match="the disk is full"):
        explained(services, f"{HOME}/data/a.parquet")


def full(*args: object, **more: object) -> None:
    raise NessieGcError("the disk is full")


@pytest.mark.parametrize("given", [{"exclude": ["db[.]t"]}, {"allow": ["memory://wh/elsewhere/"]}])
def test_the_answer_is_open_in_a_place_that_is_not_swept_if_something_could_not_be_read(
    given: dict[str, Any], lake: MemoryLake, services: LakeServices
) -> None:
    table(lake)
    lake.advance(AGE)
    parameters = ExplainParameters(file=[f"{HOME}/data/a.parquet"], **given)
    assert 0 == ExplainService(parameters).run(services.run()).exit_code
    lake.objects.delete(next(path for path in lake.paths() if "manifest" in path))
    assert 1 == ExplainService(parameters).run(services.run()).exit_code
