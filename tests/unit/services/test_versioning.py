"""The report says where deleted files stay behind as noncurrent versions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NoReturn

import pytest

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.units import SweepUnit
from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import FileLister, SupportsVersioning
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.plugins import PluginRegistry
from nessie_gc_core.services.report import GcReport
from nessie_gc_core.services.resources import Resources
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.versioning import warn_of_versions


class ShelfLister(FileLister):
    name = "shelf"
    schemes = frozenset({"shelf"})
    asked: ClassVar[list[str]] = []

    def list_files(self, location: str) -> Iterator[FileReference]:
        yield from ()

    def keeps_versions(self, location: str) -> bool | None:
        self.asked.append(location)
        if "broken" in location:
            raise OSError("no answer")
        return {"shelf://old/a/": True, "shelf://new/a/": False}.get(location)


class SlateLister(FileLister):
    name = "slate"
    schemes = frozenset({"slate"})

    def list_files(self, location: str) -> Iterator[FileReference]:
        yield from ()


class Plugin:
    @hookimpl
    def nessie_gc_register_file_lister(self) -> list[type[FileLister]]:
        return [ShelfLister, SlateLister]


@pytest.fixture
def plugins() -> Iterator[PluginRegistry]:
    registry = PluginRegistry()
    registry.register(Plugin(), name="shelf")
    yield registry
    ShelfLister.asked.clear()


def _none() -> NoReturn:
    raise AssertionError("nobody needs it")


def unit(location: str) -> SweepUnit:
    return SweepUnit(root=location, locations=(location,))


def test_each_bucket_is_asked_once_and_those_that_keep_versions_are_named(plugins: PluginRegistry) -> None:
    report = GcReport()
    names = (
        "shelf://old/a/",
        "shelf://old/b/",
        "shelf://new/a/",
        "shelf://silent/a/",
        "shelf://broken/a/",
        "slate://x/a/",
    )
    resources = Resources(repository=_none, store=_none, engine=_none)
    warn_of_versions(map(unit, names), Run(resources=resources, choice=ConnectorChoice(plugins=plugins), report=report))
    assert [name for name in names[:-1] if name != "shelf://old/b/"] == ShelfLister.asked
    (warning,) = report.warnings
    assert warning.startswith("shelf://old keeps noncurrent versions")
    assert "lifecycle rule" in warning
    assert "multipart uploads" in warning
    assert 0 == report.exit_code


def test_the_ability_is_a_choice_of_the_lister() -> None:
    assert isinstance(ShelfLister.from_options({}), SupportsVersioning)
    assert not isinstance(SlateLister.from_options({}), SupportsVersioning)
