"""Renders the figures as one HTML page that needs nothing else."""

from __future__ import annotations

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.text import time_text
from nessie_gc_core.services.assets.page import words
from nessie_gc_core.services.assets.page.figures import MOST_GROUPS, AssetFigures
from nessie_gc_core.services.assets.page.plots import svg_plots
from nessie_gc_core.services.pages import page_environment


def check_libraries() -> None:
    """Finds out whether what draws and renders is installed.

    Raises:
        ConfigurationError: it is not; the message says what to do.
    """
    try:
        import jinja2  # noqa: F401  # only whether it is there
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            f"pages and plots need {error.name}: pip install 'nessie-gc-core[report]' (or ask for the figures alone)"
        ) from error


def render_page(figures: AssetFigures) -> str:
    """The page: the same text for the same figures.

    Raises:
        ConfigurationError: a library is missing.
    """
    check_libraries()
    from markupsafe import Markup

    environment = page_environment(__package__)
    environment.filters["time"] = time_text
    environment.filters["setting"] = _setting
    plots = {name: Markup(svg) for name, svg in svg_plots(figures).items()}  # drawn here, names in them are escaped
    page = environment.get_template("page.html")
    return page.render(figures=figures, latest=figures.latest, plots=plots, words=words, most=MOST_GROUPS)


def _setting(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
