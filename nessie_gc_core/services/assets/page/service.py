"""The service that shows a table of unreferenced assets: in figures, and as a page with plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, ClassVar

from nessie_gc_core.connectors import Service, SupportsBranches
from nessie_gc_core.errors import NessieGcError
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.model.text import iso_duration
from nessie_gc_core.services.assets.identify import existing_table
from nessie_gc_core.services.assets.page.counting import latest_figures
from nessie_gc_core.services.assets.page.figures import AssetFigures, Threshold
from nessie_gc_core.services.assets.page.plots import png_plots
from nessie_gc_core.services.assets.page.render import check_libraries, render_page
from nessie_gc_core.services.assets.parameters import AssetPageParameters
from nessie_gc_core.services.assets.table import AssetTable
from nessie_gc_core.services.run import Run
from nessie_gc_core.services.shown import ShownAsText
from nessie_gc_core.services.tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class AssetPageReport(ShownAsText):
    """The figures of a table of unreferenced assets, and where they were written."""

    figures: AssetFigures
    """The figures."""
    page: Path | None = None
    """The page, if it was written."""
    plots: Sequence[Path] = ()
    """The plots that were written."""
    exit_code: int = 0
    """Always 0."""

    @property
    def html(self) -> str:
        """The page.

        Raises:
            ConfigurationError: a library is missing.
        """
        return render_page(self.figures)

    def to_dict(self) -> dict[str, Any]:
        """The report as one JSON object."""
        return {
            **self.figures.to_dict(),
            "page": None if self.page is None else str(self.page),
            "plots": [str(path) for path in self.plots],
            "exit_code": self.exit_code,
        }

    def __str__(self) -> str:
        """A few lines."""
        figures, latest = self.figures, self.figures.latest
        if latest is None:
            said = [f"no run of {figures.table} is complete yet"]
        else:
            next_delete, wanted = latest.next_delete, figures.threshold.seen_count
            said = [
                f"garbage in {figures.table}, run {latest.run.runid}: {Tally(latest.files, latest.bytes)}",
                f"next deletion (seen in {wanted} or more runs): at most {Tally(next_delete.files, next_delete.bytes)}",
                f"complete runs: {len(figures.trend):,}; unknown locations in the latest: {latest.run.unknown:,}",
            ]
        return "\n".join([*said, *(f"written: {path}" for path in self.written)])

    @property
    def written(self) -> Sequence[Path]:
        """All files that were written."""
        return [*([] if self.page is None else [self.page]), *self.plots]

    def _repr_html_(self) -> str:
        """What a notebook shows: the page in its own frame."""
        return f'<iframe srcdoc="{escape(self.html)}" sandbox style="width: 100%; height: 45em; border: 0"></iframe>'


@dataclass(frozen=True, slots=True)
class AssetPageService(Service[Run]):
    """Report on a table of unreferenced assets, as one HTML page and plots; deletes no files.

    Shows how much garbage there is, in which tables, of what type, why and how old; how it grew from run to run; and
    what the next 'delete-unreferenced' would delete.
    """

    name: ClassVar[str] = "report"
    Parameters: ClassVar[type[ConnectorOptions]] = AssetPageParameters
    lasting_store: ClassVar[bool] = False

    parameters: AssetPageParameters

    def run(self, run: Run) -> AssetPageReport:
        """Counts, and writes the requested files.

        Raises:
            ConfigurationError: a parameter is invalid, there is no such table, or a library is missing.
            TableError: the table is something else, or cannot be read.
        """
        self.parameters.check()
        if self.parameters.output is not None or self.parameters.plots is not None:
            check_libraries()
        figures = self._figures(run, existing_table(run, self.parameters))
        page = None if self.parameters.output is None else Path(self.parameters.output)
        if page is not None:
            _write(page, render_page(figures).encode())
        return AssetPageReport(figures=figures, page=page, plots=self._write_plots(figures))

    def _figures(self, run: Run, table: AssetTable) -> AssetFigures:
        given, runs = self.parameters, table.runs()
        apart = iso_duration(given.seen_apart) if given.seen_apart else None
        on_branch = given.own_branch and isinstance(run.repository, SupportsBranches)
        latest = None
        if runs:
            latest = latest_figures(
                table,
                runs,
                seen_count=given.seen_count,
                seen_apart=given.seen_apart,
                where=given.where,
                rules=run.choice.rules(),
            )
        return AssetFigures(
            table=given.table or "",
            branch=given.branch if on_branch else None,
            threshold=Threshold(seen_count=given.seen_count, seen_apart=apart, where=given.where),
            trend=sorted(runs, key=lambda each: each.timestamp),
            latest=latest,
        )

    def _write_plots(self, figures: AssetFigures) -> list[Path]:
        if self.parameters.plots is None:
            return []
        written: list[Path] = []
        for name, image in png_plots(figures):
            path = Path(self.parameters.plots, f"{name}.png")
            _write(path, image)
            written.append(path)
        return written


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise NessieGcError(f"cannot write {str(path)!r}: {error.strerror or error}") from error
