"""The command ``deferred-deletes``."""

from __future__ import annotations

from contextlib import ExitStack

from nessie_gc_core.cli import collect_options, options
from nessie_gc_core.cli.command import GcCommand, Given
from nessie_gc_core.cli.connections import open_engine, open_repository, open_store
from nessie_gc_core.cli.progress import show_progress
from nessie_gc_core.cli.screen import show_report
from nessie_gc_core.cli.settings import live_set_id, sweep_settings
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.deferred import DeferredDeletionService


def deferred_deletes(given: Given) -> int:
    """Delete what 'sweep --defer-deletes' recorded.

    References that are new or moved since the mark are checked first; what they reach stays, and stays recorded.
    """
    settings = sweep_settings(given)
    id_ = live_set_id(given)
    session = given.session
    with ExitStack() as stack:
        repository = stack.enter_context(open_repository(given))
        store = stack.enter_context(open_store(given))
        engine = stack.enter_context(open_engine(given))
        progress = stack.enter_context(show_progress(session.console, quiet=session.quiet))
        DeferredDeletionService(
            repository=repository, store=store, engine=engine, settings=settings, clock=utc_now, progress=progress
        ).run(id_, session.report)
    return show_report("deferred-deletes", session.report, as_json=session.as_json, zone=given.zone())


DEFERRED_COMMANDS = (
    GcCommand(
        "deferred-deletes",
        deferred_deletes,
        (
            *options.LIVE_SET,
            *options.REPOSITORY,
            *options.STORE,
            *collect_options.RECHECK,
            *collect_options.DRY_RUN,
            *collect_options.OUTCOMES,
            *collect_options.AGE_OF_LIVE_SET,
            *collect_options.ALLOWED,
            *collect_options.CAPS[:2],  # the share of a location that would go is not known without listing it
            *collect_options.UNKNOWN,
            *options.FILES,
            *options.PLUGINS,
            *options.ENGINE,
            *options.REPORT,
        ),
    ),
)
