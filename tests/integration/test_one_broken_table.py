"""S18: one broken table of many keeps its own files, and not the garbage of the others.

A page of the documentation tells what happens. `nox -s thorough` tries each way in every kind of catalog; without it,
each is tried in one of them.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from broken_lakes import LAKES, BrokenLake, opened_lake
from cli_runs import go_home
from thoroughness import THOROUGH
from ways_to_break import FIRST, LATER, ODD_PLACE, WAYS, Expected, Way

pytestmark = pytest.mark.server
_OTHERS = 4
_ASIDE = ("--set-aside", "db[.]broken")
_QUICK = ("SQL", "REST", "Nessie")
_IN_ALL = ("its metadata file is gone", "a manifest is gone")


def chosen() -> Iterator[tuple[Way, str]]:
    """Each way with each catalog to try it in."""
    for way in WAYS:
        all_ = [catalog for catalog in LAKES if way.can_happen_in(catalog)]
        quick = [catalog for catalog in _QUICK if catalog in all_][:1]
        yield from ((way, catalog) for catalog in (all_ if THOROUGH or way.title in _IN_ALL else quick))


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A lake that is whole, and the live-set store of a run that has read all of it."""

    lake: BrokenLake
    read: Path

    @classmethod
    def of(cls, lake: BrokenLake, others: int) -> Stage:
        """Makes the tables, and has them read."""
        lake.write(others)
        stage = cls(lake=lake, read=lake.folder / "read.db")
        report = lake.gc(*stage._known(stage.read))
        assert 0 == report["exit"], report["output"]
        lake.remember()
        return stage

    def run(self, *options: str, store: Path | None = None) -> tuple[Expected, dict[str, Any]]:
        """What a run deletes of new garbage, of which all or nothing may go, and nothing else; and its report."""
        own, others = self.lake.put_garbage()
        before = self.lake.kind.files()
        report = self.lake.gc(*self._known(store), *options)
        gone = before - self.lake.kind.files()
        goes = {part: part <= gone for part in (frozenset(own), frozenset(others))}
        assert gone == set().union(*(part for part, all_ in goes.items() if all_)), report["output"]
        own_goes, others_go = goes.values()
        return Expected(own=own_goes, others=others_go, exit_code=report["exit"]), report

    @staticmethod
    def _known(store: Path | None) -> tuple[str, ...]:
        return ("--inmemory",) if store is None else ("--jdbc-url", f"jdbc:sqlite:{store}")


class Stages:
    """Those that were needed so far, by catalog."""

    def __init__(self, folder: Path, opened: ExitStack) -> None:
        self._folder = folder
        self._opened = opened
        self._found: dict[str, Stage] = {}

    def of(self, catalog: str) -> Stage:
        """The one with this catalog."""
        if catalog not in self._found:
            folder = self._folder / catalog
            (folder / "warehouse").mkdir(parents=True)
            self._found[catalog] = Stage.of(self._opened.enter_context(opened_lake(catalog, folder)), _OTHERS)
        return self._found[catalog]


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stages]:
    folder = tmp_path_factory.mktemp("broken")
    with pytest.MonkeyPatch.context() as patch, ExitStack() as opened:
        go_home(folder, patch)
        yield Stages(folder, opened)


@pytest.mark.parametrize(
    ("way", "catalog"), list(chosen()), ids=lambda each: each if isinstance(each, str) else each.title
)
def test_s18_what_is_frozen_and_what_still_goes(way: Way, catalog: str, stages: Stages, tmp_path: Path) -> None:
    stage, effect, store = stages.of(catalog), way.effect_in(catalog), tmp_path / "store.db"
    shutil.copy(stage.read, store)
    try:
        if way.before is not None:
            way.before(stage.lake)
            stage.lake.gc("--jdbc-url", f"jdbc:sqlite:{store}", "--dry-run")
        way.breaks(stage.lake)
        first, told = stage.run()
        later, told_later = stage.run(store=store)
        aside, _ = stage.run(*_ASIDE)
        aside_later, _ = stage.run(*_ASIDE, store=store)
    finally:
        stage.lake.mend()

    assert (FIRST[effect], LATER[effect]) == (first, later), [told, told_later]
    assert (way.set_aside, way.set_aside) == (aside, aside_later)
    for expected, report in ((first, told), (later, told_later)):
        assert bool(expected.exit_code) == names_it(report)
        assert (0 if expected.others else 1) == len([each for each in report["warnings"] if asks_to_set_aside(each)])


def names_it(report: dict[str, Any]) -> bool:
    """Whether it is said that the broken table is unknown."""
    told = json.dumps([report["unknown"], report["unreadable"]])
    return "broken" in told or ODD_PLACE in told


def asks_to_set_aside(warning: str) -> bool:
    """Whether a warning says how to go on without the broken table."""
    return "nothing is deleted: " in warning and warning.endswith("set them aside with `set_aside` 'db[.]broken'")


def test_s18_one_broken_table_of_a_hundred_keeps_no_garbage_of_the_other_99(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_home(tmp_path, monkeypatch)
    (tmp_path / "warehouse").mkdir()
    with opened_lake("SQL", tmp_path) as lake:
        stage = Stage.of(lake, 99)
        lake.kind.remove(lake.broken.metadata)
        first, _ = stage.run()
        aside, _ = stage.run(*_ASIDE)
        later, _ = stage.run(store=stage.read)

    assert Expected(own=False, others=False, exit_code=1) == first
    assert Expected(own=False, others=True, exit_code=0) == aside
    assert Expected(own=False, others=True, exit_code=1) == later
