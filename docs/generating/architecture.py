"""The picture of the rooms, and the table of what each imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

from generating.rooms import arrows, drawn, layers, plugin_imports
from generating.text import table

ROOMS = {
    "cli": ("the command line", "The command `nessie-gc`: reads options, shows progress and reports."),
    "api": ("Python", "The public Python API: `Collector`, plans, reports."),
    "builtin": ("own services", "The core as a plugin: it registers its own services and deduplicators."),
    "services": (
        "what happens, in order",
        "One part for each task. Services hold stores, leases and reports.",
    ),
    "engines": ("Spark, local", "How rows are computed: on Spark, or with threads and DuckDB."),
    "algorithms": ("what is computed", "Mark, expand, list, subtract, guard and delete, each written once."),
    "tables": ("Iceberg tables that services write", "How a service reads and writes tables of its own."),
    "dataset": (
        "what an engine offers",
        "Between algorithms and engines: map, distinct, join, checkpoint.",
    ),
    "config": (
        "settings and opened connectors",
        "Turns files, variables and options into open connectors.",
    ),
    "plugins": ("the registry", "Finds installed plugins and says which connector serves what."),
    "demo": ("a small lake", "`nessie-gc demo`. Only the command line imports it, and only when asked."),
    "hookspecs": ("the hooks", "The functions that a plugin may implement."),
    "testing": ("the kit", "Test classes for plugins, and real servers for tests."),
    "connectors": (
        "contracts for plugins",
        "An abstract class for each kind of connector; optional abilities.",
    ),
    "model": ("data: references, files, verdicts", "Frozen data classes without behaviour of their own."),
    "errors": ("one class for each kind of cure", "All errors, grouped by what the caller should do."),
}
"""The caption of each room in the picture, and its sentence in the table."""
ASIDE = ("demo", "testing")
"""Rooms beside the stack: programs that no run needs."""
PICTURE = Path(__file__).parents[1] / "images" / "architecture.svg"
PAGE = Path(__file__).parents[1] / "explanation" / "architecture.md"

_WIDTH, _TOP, _PITCH, _HEIGHT = 400, 8, 66, 44
_LEFT, _RIGHT, _GAP = 40, 262, 10
_ASIDE_LEFT, _ASIDE_RIGHT = 300, 392
_LANE = 9
_STYLE = """
  text { font-family: ui-sans-serif, system-ui, sans-serif; font-size: 11px; fill: #26364d; text-anchor: middle }
  .name { font-size: 14px; font-weight: 600 }
  rect { rx: 6px; stroke-width: 1.2px }
  .stack { fill: #e3edfb; stroke: #4f79b8 }
  .aside { fill: #fbeed9; stroke: #b98a3c }
  .plugins { fill: #e2f3e5; stroke: #4d9a5e }
  .arrow { fill: none; stroke: #7f8fa6; stroke-width: 1.5px; marker-end: url(#tip) }
  .tests { stroke-dasharray: 4 3 }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """A rectangle of the picture, in its own units."""

    left: float
    right: float
    top: float
    bottom: float

    @property
    def middle(self) -> float:
        """Its vertical middle."""
        return (self.top + self.bottom) / 2


def picture() -> str:
    """The SVG: rooms by the layers of the contract, arrows by the imports, plugins beside them."""
    undescribed = sorted(set(arrows()) ^ set(ROOMS))
    assert not undescribed, f"docs/generating/architecture.py: describe or remove in ROOMS: {', '.join(undescribed)}"
    boxes = dict(_boxes())
    outside = Box(left=_ASIDE_LEFT, right=_ASIDE_RIGHT, top=boxes["connectors"].top, bottom=boxes["errors"].bottom)
    height = boxes["errors"].bottom + _TOP
    title = "The rooms of nessie_gc_core, from the command line to the errors; arrows are imports"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="520" role="img" '
        'aria-labelledby="title">',
        f'<title id="title">{title}</title>',
        f"<style>{_STYLE}</style>",
        '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#7f8fa6"/></marker>',
        *_lines(boxes),
        *_lines_of_plugins(boxes, outside),
        *(_room(name, box) for name, box in boxes.items()),
        *_plugins(outside),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def page() -> str:
    """The page, with its table of imports as the code has them."""
    text = PAGE.read_text(encoding="utf-8")
    rows = (
        (f"`{name}`", ROOMS[name][1], ", ".join(f"`{target}`" for row in layers() for target in row if target in used))
        for row in layers()
        for name in row
        for used in (arrows()[name],)
    )
    found = table(("room", "what is in it", "imports"), rows)
    return re.sub(r"(?s)(<!-- imports -->\n).*?(\n<!-- end of imports -->)", rf"\g<1>\n{found}\n\g<2>", text)


# ---- rooms --------------------------------------------------------------------------------------------
def _boxes() -> Iterator[tuple[str, Box]]:
    for number, row in enumerate(layers()):
        top = _TOP + number * _PITCH
        stacked = [name for name in row if name not in ASIDE]
        width = (_RIGHT - _LEFT - _GAP * (len(stacked) - 1)) / max(len(stacked), 1)
        for place, name in enumerate(stacked):
            left = _LEFT + place * (width + _GAP)
            yield name, Box(left=left, right=left + width, top=top, bottom=top + _HEIGHT)
        for name in row:
            if name in ASIDE:
                yield name, Box(left=_ASIDE_LEFT, right=_ASIDE_RIGHT, top=top, bottom=top + _HEIGHT)


def _room(name: str, box: Box) -> str:
    kind, x = "aside" if name in ASIDE else "stack", (box.left + box.right) / 2
    return (
        f'<g id="{name}">{_rectangle(box, kind)}<text class="name" x="{x:g}" y="{box.top + 19:g}">{name}</text>'
        f'<text x="{x:g}" y="{box.top + 35:g}">{escape(ROOMS[name][0])}</text></g>'
    )


def _rectangle(box: Box, kind: str) -> str:
    width, height = box.right - box.left, box.bottom - box.top
    return f'<rect class="{kind}" x="{box.left:g}" y="{box.top:g}" width="{width:g}" height="{height:g}"/>'


# ---- arrows -------------------------------------------------------------------------------------------
def _lines(boxes: dict[str, Box]) -> Iterator[str]:
    """Straight down between neighbouring rows; else through a lane beside the stack."""
    lanes: dict[str, list[list[tuple[float, float]]]] = {"left": [], "right": []}
    for source, target in sorted(drawn(arrows()), key=lambda pair: boxes[pair[1]].top - boxes[pair[0]].top):
        above, below = boxes[source], boxes[target]
        left, right = max(above.left, below.left), min(above.right, below.right)
        if below.top - above.bottom < _PITCH - _HEIGHT + 1 and left < right:
            yield _arrow(source, target, f"M{(left + right) / 2:g} {above.bottom:g} V{below.top - 1:g}")
        elif source in ASIDE or target in ASIDE:
            yield _arrow(source, target, _to_or_from_aside(above, below, aside=boxes[ASIDE[0]].left))
        else:
            side = "left" if above.left == _LEFT and (above.right < _RIGHT or len(lanes["left"]) < 2) else "right"
            lane = _free_lane(lanes[side], above.middle, below.middle)
            yield _arrow(source, target, _through_lane(above, below, side, lane))


def _through_lane(above: Box, below: Box, side: str, lane: int) -> str:
    shift, out = 5 + 5 * lane, _LANE * (lane + 1)
    begin, end = f"{above.middle + shift:g}", f"{below.middle - shift:g}"
    if side == "left":
        return f"M{above.left:g} {begin} H{_LEFT - out:g} V{end} H{below.left - 1:g}"
    return f"M{above.right:g} {begin} H{_RIGHT + out:g} V{end} H{below.right + 1:g}"


def _to_or_from_aside(above: Box, below: Box, *, aside: float) -> str:
    if above.left < aside:
        return f"M{above.right:g} {above.middle:g} H{(below.left + below.right) / 2:g} V{below.top - 1:g}"
    return f"M{above.left:g} {above.middle:g} H{above.left - 12:g} V{below.middle - 10:g} H{below.right + 1:g}"


def _free_lane(lanes: list[list[tuple[float, float]]], begin: float, end: float) -> int:
    """The lane nearest to the stack that nothing uses between two heights."""
    for number, used in enumerate(lanes):
        if all(end <= other or begin >= until for other, until in used):
            used.append((begin, end))
            return number
    lanes.append([(begin, end)])
    return len(lanes) - 1


def _arrow(source: str, target: str, path: str, *, kind: str = "") -> str:
    return f'<path class="arrow{kind}" data-from="{source}" data-to="{target}" d="{path}"/>'


# ---- plugins ------------------------------------------------------------------------------------------
def _plugins(box: Box) -> Iterator[str]:
    x, names = (box.left + box.right) / 2, [name.removeprefix("nessie-gc-") for name in plugin_imports()]
    yield f'<g id="outside">{_rectangle(box, "plugins")}'
    yield f'<text class="name" x="{x:g}" y="{box.top + 19:g}">plugins/</text>'
    for number, name in enumerate([*names, "… and yours"]):
        yield f'<text x="{x:g}" y="{box.top + 44 + 18 * number:g}">{name}</text>'
    yield "</g>"


def _lines_of_plugins(boxes: dict[str, Box], outside: Box) -> Iterator[str]:
    """What plugins import, less what a chain shows; their tests import the kit."""
    rooms = {room for imported in plugin_imports().values() for room in imported} - {""}
    for source, target in drawn({**arrows(), "outside": frozenset(rooms)}):
        if source == "outside":
            y = boxes[target].middle + 6
            yield _arrow(source, target, f"M{outside.left:g} {y:g} H{boxes[target].right + 1:g}")
    x = outside.right - 20
    yield _arrow("outside", "testing", f"M{x:g} {outside.top:g} V{boxes['testing'].bottom + 1:g}", kind=" tests")
