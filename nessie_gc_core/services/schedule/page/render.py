"""Renders the figures of a schedule as one HTML page that needs nothing else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.text import shown
from nessie_gc_core.services.schedule.page.figures import DAYS, MOST_RUNS, ScheduleFigures


def render_schedule(figures: ScheduleFigures, zone: tzinfo = UTC) -> str:
    """The page, with times of a zone: the same text for the same figures.

    Raises:
        ConfigurationError: the library is missing.
    """
    try:
        from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
        from jinja2.filters import do_filesizeformat
    except ImportError as error:
        raise ConfigurationError("pages need Jinja: pip install 'nessie-gc-core[report]'") from error
    own, frame = PackageLoader(__package__), PackageLoader("nessie_gc_core.services.assets.page")
    environment = Environment(
        loader=ChoiceLoader([own, frame]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: shown(value) if type(value) is str else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def time(at: datetime | None) -> str:
        return "" if at is None else at.astimezone(zone).strftime("%Y-%m-%d %H:%M")

    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["size"] = lambda number: do_filesizeformat(number, binary=True)
    environment.filters["time"] = time
    environment.filters["took"] = _took
    page = environment.get_template("schedule.html")
    return page.render(figures=figures, days=DAYS, most=MOST_RUNS, zone=str(zone))


def _took(time: timedelta) -> str:
    seconds = int(time.total_seconds())
    if seconds < 60:
        return f"{seconds} s"
    minutes = seconds // 60
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
