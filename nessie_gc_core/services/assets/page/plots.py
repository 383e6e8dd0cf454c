"""Draws the plots of the page: as SVG that takes its colours from the page, and as PNG."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from nessie_gc_core.model.asset_runs import AssetRun
from nessie_gc_core.model.text import shown, size_unit
from nessie_gc_core.services.assets.page.figures import AssetFigures, Group, Grouping
from nessie_gc_core.services.assets.page.words import AGE, REASON, TABLE, TIMES, TYPE, Naming

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _ROW = 4.6, 0.24
"""Inches."""
_PNG_DOTS = 200
"""Per inch."""
_LABEL = 24
"""The most characters of a label; the table beside the plot has the whole name."""
_MARKED = 60
"""Of how many runs at most each has its own dot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Colours:
    """The colours of a plot."""

    ink: str
    line: str
    bar: str
    strong: str
    """Of what a deletion would take."""


_LIGHT = Colours(ink="#1f2328", line="#d0d7de", bar="#4878a8", strong="#b45309")
_STAND_INS = Colours(ink="#010101", line="#020202", bar="#030303", strong="#040404")
_OF_THE_PAGE = {
    _STAND_INS.ink: "var(--ink)",
    _STAND_INS.line: "var(--line)",
    _STAND_INS.bar: "var(--bar)",
    _STAND_INS.strong: "var(--strong)",
}

_TITLES = {
    "trend": "Unreferenced assets, run by run",
    "sightings": "Unreferenced assets by runs that saw them",
    "by-table": "Unreferenced assets by table",
    "by-type": "Unreferenced assets by type",
    "by-reason": "Unreferenced assets by reason",
    "by-age": "Unreferenced assets by age",
}

Draw = Callable[["Figure", Colours], None]


def plots_of(figures: AssetFigures) -> dict[str, Draw]:
    """The plots that there is something to draw for, by their names."""
    found: dict[str, Draw] = {}
    if figures.trend:
        found["trend"] = lambda figure, colours: _trend(figure, figures.trend, colours)
    if figures.latest is None or not figures.latest.files:
        return found
    latest, wanted = figures.latest, figures.threshold.seen_count
    found["sightings"] = _bars(latest.sightings, TIMES, strong=f"{wanted} or more")
    groupings = {"table": latest.by_table, "type": latest.by_type, "reason": latest.by_reason, "age": latest.by_age}
    namings = {"table": TABLE, "type": TYPE, "reason": REASON, "age": AGE}
    return {**found, **{f"by-{name}": _bars(grouping, namings[name]) for name, grouping in groupings.items()}}


def svg_plots(figures: AssetFigures) -> dict[str, str]:
    """Each plot as an element ``svg``: the same text for the same figures, without references to anything outside."""
    return {name: _svg(name, draw) for name, draw in plots_of(figures).items()}


def png_plots(figures: AssetFigures) -> Iterator[tuple[str, bytes]]:
    """Each plot as a PNG file, one at a time."""
    for name, draw in plots_of(figures).items():
        yield name, _saved(draw, _LIGHT, "png", name, {"Software": None})


def _svg(name: str, draw: Draw) -> str:
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    text = _saved(draw, _STAND_INS, "svg", name, nothing).decode()
    text = re.sub(r'<g id="[^"]*">', "<g>", text[text.index("<svg") :])  # the names of groups are those of any plot
    text = re.sub(r'(<svg [^>]*?) width="[^"]*"', r"\1", re.sub(r'(<svg [^>]*?) height="[^"]*"', r"\1", text, count=1))
    for stand_in, colour in _OF_THE_PAGE.items():
        text = text.replace(stand_in, colour)
    return text.replace("<svg ", '<svg aria-hidden="true" ', 1).strip()


def _saved(draw: Draw, colours: Colours, form: str, name: str, metadata: Mapping[str, str | None]) -> bytes:
    from matplotlib.figure import Figure

    with _settings(colours, name):
        figure = Figure(figsize=(_WIDTH, 2.6), layout="constrained")
        draw(figure, colours)
        if form == "png":  # it may be looked at without the page
            figure.suptitle(_TITLES[name], fontsize="medium")
        out = io.BytesIO()
        figure.savefig(out, format=form, dpi=_PNG_DOTS if form == "png" else 72, metadata=dict(metadata))
        return out.getvalue()


@contextmanager
def _settings(colours: Colours, name: str) -> Iterator[None]:
    """Those of matplotlib, whatever a user has configured, and ours; they end with the block."""
    import matplotlib
    import matplotlib.style

    own: Any = {
        **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), colours.ink),
        **dict.fromkeys(("axes.edgecolor", "grid.color"), colours.line),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
        **dict.fromkeys(("xtick.major.size", "ytick.major.size"), 0),
        "figure.facecolor": "white" if colours is _LIGHT else "none",
        "axes.facecolor": "none",
        "axes.axisbelow": True,
        "font.size": 10,
        "svg.fonttype": "none",
        "svg.hashsalt": f"nessie-gc {name}",
        "text.parse_math": False,  # names may hold dollar signs
        "timezone": "UTC",
    }
    with matplotlib.style.context("default"), matplotlib.rc_context(own), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the page's own font may have it
        yield


# ---- what is drawn ------------------------------------------------------------------------------------
def _bars(grouping: Grouping, naming: Naming, strong: str = "") -> Draw:
    """Bytes and files of each group, side by side; one group may be highlighted."""
    rows = list(grouping.rows)
    if grouping.others:
        rows.append(Group(name=naming.other(grouping.others), files=grouping.other_files, bytes=grouping.other_bytes))
    names = [_label(naming.of(row.name)) for row in rows]

    def draw(figure: Figure, colours: Colours) -> None:
        figure.set_figheight(0.75 + _ROW * len(rows))
        sizes, files = figure.subplots(1, 2, sharey=True)
        places = range(len(rows))
        factor, unit = size_unit(max((row.bytes for row in rows), default=0))
        colour = [colours.strong if name == strong else colours.bar for name in names]
        sizes.barh(places, [row.bytes / factor for row in rows], color=colour, height=0.66)
        files.barh(places, [row.files for row in rows], color=colour, height=0.66)
        sizes.set_yticks(places, labels=names)
        sizes.set_ylim(len(rows) - 0.5, -0.5)
        for axes, label in ((sizes, unit), (files, "files")):
            axes.set_xlabel(label)
            axes.grid(axis="x")
            axes.spines["bottom"].set_visible(False)
            _from_zero(axes, "x", whole=axes is files)

    return draw


def _trend(figure: Figure, runs: Sequence[AssetRun], colours: Colours) -> None:
    """Bytes and files of each run, one above the other."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    sizes, files = figure.subplots(2, 1, sharex=True)
    times = [run.timestamp for run in runs]
    factor, unit = size_unit(max(run.size_bytes for run in runs))
    marker = "o" if len(runs) <= _MARKED else ""
    for axes, label, values in (
        (sizes, unit, [run.size_bytes / factor for run in runs]),
        (files, "files", [float(run.assets) for run in runs]),
    ):
        axes.plot(times, values, color=colours.bar, marker=marker, markersize=3.5, linewidth=1.5)
        axes.set_ylabel(label)
        axes.grid(axis="y")
        axes.spines["left"].set_visible(False)
        _from_zero(axes, "y", whole=axes is files)
    if times[0] == times[-1]:
        files.set_xlim(times[0] - timedelta(days=1), times[0] + timedelta(days=1))
    locator = AutoDateLocator(minticks=2, maxticks=5)  # type: ignore[no-untyped-call]  # it has no types
    files.xaxis.set_major_locator(locator)
    files.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]  # nor has it


def _from_zero(axes: Axes, direction: str, *, whole: bool) -> None:
    """An axis that begins at zero, with few ticks; large numbers of files as 20k or 3M."""
    from matplotlib.ticker import EngFormatter, MaxNLocator

    axis, limit = (axes.xaxis, axes.set_xlim) if direction == "x" else (axes.yaxis, axes.set_ylim)
    most = axes.dataLim.x1 if direction == "x" else axes.dataLim.y1
    limit(0, most * 1.05 if most > 0 else 1)
    axis.set_major_locator(MaxNLocator(nbins=3, integer=whole, min_n_ticks=1))
    if whole:
        axis.set_major_formatter(EngFormatter(sep=""))


def _label(name: str) -> str:
    text = shown(name)
    half = _LABEL // 2
    return text if len(text) <= _LABEL else f"{text[: half - 1]}…{text[-half:]}"
