"""The picture of the rooms, and the table on its page, against the imports of the code."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree

import grimp
import pytest
from docs.pages import DOCS, ROOT

sys.path.insert(0, str(DOCS))
from generating import architecture, rooms

sys.path.remove(str(DOCS))

SVG = "{http://www.w3.org/2000/svg}"
PICTURE = ElementTree.parse(DOCS / "images" / "architecture.svg")
DRAWN = {
    (path.attrib["data-from"], path.attrib["data-to"])
    for path in PICTURE.iter(f"{SVG}path")
    if "data-to" in path.attrib
}
NAMES = [
    path.stem for path in (ROOT / "nessie_gc_core").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
]


def reached(arrows: set[tuple[str, str]], room: str) -> set[str]:
    """The rooms to which chains of arrows lead."""
    below = {target for source, target in arrows if source == room}
    return below.union(*(reached(arrows, target) for target in below))


def imported(room: str) -> set[str]:
    """The rooms that lie anywhere behind the imports of a room, each module by each."""
    graph = grimp.build_graph("nessie_gc_core", cache_dir=None)
    modules = {f"nessie_gc_core.{room}"} | graph.find_descendants(f"nessie_gc_core.{room}")
    targets = {target for module in modules for target in graph.find_modules_directly_imported_by(module)}
    return {target.split(".")[1] for target in targets if "." in target} - {room}


def test_every_room_is_in_the_picture_and_in_the_table() -> None:
    drawn = {group.attrib["id"] for group in PICTURE.iter(f"{SVG}g")} - {"outside"}
    assert sorted(name for name in NAMES if not name.startswith("_")) == sorted(drawn)
    assert [] == [name for name in drawn if f"| `{name}` | " not in architecture.PAGE.read_text(encoding="utf-8")]


@pytest.mark.parametrize("room", sorted(architecture.ROOMS))
def test_a_chain_of_arrows_leads_to_all_that_a_room_imports(room: str) -> None:
    assert set() == imported(room) - reached(DRAWN, room)


@pytest.mark.parametrize(("room", "target"), sorted(pair for pair in DRAWN if "outside" not in pair))
def test_an_arrow_of_the_picture_is_an_import(room: str, target: str) -> None:
    assert target in imported(room)


def test_no_arrow_points_up() -> None:
    tops = {group.attrib["id"]: float(group[0].attrib["y"]) for group in PICTURE.iter(f"{SVG}g")}
    assert [] == [pair for pair in DRAWN if "outside" not in pair and tops[pair[0]] >= tops[pair[1]]]


def test_plugins_import_no_room_but_those_of_the_picture() -> None:
    used = set().union(*rooms.plugin_imports().values()) - {""}
    assert set() == used - reached(DRAWN - {("outside", "testing")}, "outside")


def test_a_room_that_is_not_described_fails_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(architecture, "arrows", lambda: {**rooms.arrows(), "attic": frozenset()})
    with pytest.raises(AssertionError, match="attic"):
        architecture.picture()


def test_a_new_arrow_changes_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    more = {**rooms.arrows(), "dataset": rooms.arrows()["dataset"] | {"connectors"}}
    monkeypatch.setattr(architecture, "arrows", lambda: more)
    assert architecture.PICTURE.read_text(encoding="utf-8") != architecture.picture()


def test_the_picture_needs_nothing_from_elsewhere() -> None:
    text = architecture.PICTURE.read_text(encoding="utf-8")
    assert [] == [word for word in ("href", "@import", "<script", "url(h") if word in text]
