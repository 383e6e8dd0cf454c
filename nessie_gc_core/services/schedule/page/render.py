"""Renders the figures of a schedule as one HTML page that needs nothing else."""

from __future__ import annotations

from datetime import UTC, tzinfo
from functools import cache
from typing import TYPE_CHECKING

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.schedule import WENT_WRONG
from nessie_gc_core.model.text import duration_text, plural, time_text
from nessie_gc_core.services.pages import page_environment
from nessie_gc_core.services.schedule import tables
from nessie_gc_core.services.schedule.history import state_of
from nessie_gc_core.services.schedule.page import multiples
from nessie_gc_core.services.schedule.page.figures import FIRST_RUNS, MOST_RUNS, ScheduleFigures

if TYPE_CHECKING:
    from jinja2 import Environment


def render_schedule(figures: ScheduleFigures, zone: tzinfo = UTC) -> str:
    """The page, with times of a zone: the same text for the same figures.

    Raises:
        ConfigurationError: the library is missing.
    """
    page = page_templates().get_template("schedule.html")
    return page.render(
        figures=figures,
        time=lambda at: time_text(at, zone),
        state=lambda job: state_of(job, figures.now, figures.lost),
        days=figures.days,
        most=MOST_RUNS,
        first=FIRST_RUNS,
        named=multiples.MOST_TABLES,
        kept=tables.MOST_TABLES,
        width=multiples.WIDTH,
        height=multiples.HEIGHT,
        went_wrong=WENT_WRONG,
        zone=str(zone),
    )


@cache
def page_templates() -> Environment:
    """What the page is made of, compiled once.

    Raises:
        ConfigurationError: the library is missing.
    """
    try:
        environment = page_environment(__package__, "nessie_gc_core.services.assets.page")
    except ImportError as error:
        raise ConfigurationError("pages need Jinja: pip install 'nessie-gc-core[report]'") from error
    environment.filters["took"] = duration_text
    environment.filters["plural"] = plural
    return environment
