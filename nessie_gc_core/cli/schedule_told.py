"""The commands that tell what became of a schedule: ``schedule history`` and ``schedule page``."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta, tzinfo
from pathlib import Path
from uuid import UUID

import click
from rich.table import Table
from rich.text import Text as Cell

from nessie_gc_core.api.schedule import OpenedSchedule
from nessie_gc_core.cli.command import Call
from nessie_gc_core.cli.options import SHOWN_RUNS
from nessie_gc_core.cli.output import print_json, print_json_stream, say
from nessie_gc_core.cli.schedule_opened import open_schedule, warn_if_no_scheduler_has_begun
from nessie_gc_core.cli.screen import plain_table, print_table
from nessie_gc_core.cli.stores import open_store
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.next_steps import next_command
from nessie_gc_core.model.schedule import JobRun, RunStatus
from nessie_gc_core.model.text import duration_text, shown, time_text
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.output_files import PIPE
from nessie_gc_core.services.schedule.history import plain_run, started_since
from nessie_gc_core.services.schedule.page.render import page_templates
from nessie_gc_core.services.schedule.page.serve import PageServer
from nessie_gc_core.services.schedule.scheduler import Scheduler

log = logging.getLogger(__name__)


def page(call: Call) -> int:
    """Writes the page."""
    path = call.text("output_file") or "schedule.html"
    with open_schedule(call) as opened, open_store(call) as live_sets:
        text = opened.page(live_sets, now=utc_now(), zone=call.zone(), days=call.number("days"))
    if path == PIPE:
        click.echo(text)
        return 0
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise NessieGcError(f"cannot write {path}: {error.strerror or error}") from error
    if call.session.as_json:
        print_json({"file": path})
    else:
        say(f"wrote {path}")
    return 0


# ---- history ------------------------------------------------------------------------------------------
@contextmanager
def serving_page(call: Call, opened: OpenedSchedule, scheduler: Scheduler) -> Iterator[None]:
    """Serves the page of a scheduler meanwhile, if the settings say so.

    Raises:
        ConfigurationError: it cannot be served.
    """
    settings = opened.definition.settings
    if settings.page_port is None:
        yield
        return
    page_templates()  # what is missing is said at once; the store is asked by whoever runs the jobs
    with open_store(call) as live_sets:
        zone = call.zone()

        def make() -> str:
            shown_in = zone or scheduler.definition.zone
            return opened.page(live_sets, now=utc_now(), zone=shown_in, problem=scheduler.source.problem)

        server = PageServer(make, host=settings.page_host, port=settings.page_port, names=settings.page_names)
        log.info("the page is served at %s", server.address)
        try:
            yield
        finally:
            server.close()


def history(call: Call) -> int:
    """Shows runs."""
    with open_schedule(call) as opened:
        if (named := call.text("run")) is not None:
            return _show_run(call, opened, named)
        since = call.context.params.get("since")
        runs = opened.store.runs(
            opened.name,
            jobs=call.texts("job"),
            statuses=[RunStatus(status.upper()) for status in call.texts("run_status")],
            since=None if since is None else started_since(utc_now(), since),
            limit=call.number("limit") or (None if call.session.as_json else SHOWN_RUNS),
        )
        if call.session.as_json:
            print_json_stream({"schedule": opened.name}, {"runs": map(plain_run, runs)})
            return 0
        found = list(runs)
        if not found:
            warn_if_no_scheduler_has_begun(opened)
    unknown = [name for name in call.texts("job") if name not in opened.definition.jobs]
    if found:
        print_table(runs_table(found, call.zone() or opened.definition.zone))
    elif unknown:
        listed = next_command("schedule", "list")
        say(f"there are no such runs, and the file has no job {unknown[0]!r}; {listed} has all")
    else:
        say("there are no such runs")
    return 0


def _show_run(call: Call, opened: OpenedSchedule, named: str) -> int:
    found = opened.store.run(opened.name, _id_of(named))
    if found is None:
        raise ConfigurationError(f"there is no run {named}; {next_command('schedule', 'history')} lists them")
    print_json(plain_run(found))
    return 0


def _id_of(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise ConfigurationError(f"`run` {text!r} is not the id of a run") from error


def runs_table(runs: Iterable[JobRun], zone: tzinfo) -> Table:
    """A row for each run."""
    table = plain_table("run", "job", "status", "due", "started", "took", "error")
    table.columns[0].no_wrap, table.columns[0].min_width = True, 36
    for each in runs:
        took: timedelta | None = None if each.ended is None else each.ended - each.started
        table.add_row(
            str(each.id),
            Cell(shown(each.job)),
            each.status.value,
            time_text(each.occasion.due, zone),
            time_text(each.started, zone),
            duration_text(took),
            Cell(shown(each.error or "")),
        )
    return table
