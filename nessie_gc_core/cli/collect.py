"""The commands that collect: ``mark``, ``sweep``, ``gc``."""

from __future__ import annotations

from contextlib import ExitStack
from uuid import UUID

from nessie_gc_core.cli import collect_options, options
from nessie_gc_core.cli.command import GcCommand, Given
from nessie_gc_core.cli.connections import open_engine, open_repository, open_store
from nessie_gc_core.cli.progress import show_progress
from nessie_gc_core.cli.screen import show_report
from nessie_gc_core.cli.settings import live_set_id, mark_settings, prepare_id_file, sweep_settings
from nessie_gc_core.model.times import utc_now
from nessie_gc_core.services.gc import GcService
from nessie_gc_core.services.mark import MarkService
from nessie_gc_core.services.sweep import SweepService


def mark(given: Given) -> int:
    """Find out what is live: walk all references and store a live set.

    Prints the live set's id, which 'sweep' takes.
    """
    settings = mark_settings(given)
    session = given.session
    with ExitStack() as stack:
        repository = stack.enter_context(open_repository(given))
        store = stack.enter_context(open_store(given))
        file = prepare_id_file(given)
        progress = stack.enter_context(show_progress(session.console, quiet=session.quiet))
        service = MarkService(repository=repository, store=store, settings=settings, clock=utc_now, progress=progress)
        id_ = service.run(session.report)
        if file is not None:
            file.write_text(f"{id_}\n", encoding="utf-8")
    return show_report("mark", session.report, as_json=session.as_json, zone=given.zone())


def sweep(given: Given) -> int:
    """Delete what a live set does not need: expand it, list its locations, subtract, check again, delete."""
    settings = sweep_settings(given)
    id_ = live_set_id(given)
    session = given.session
    with ExitStack() as stack:
        repository = stack.enter_context(open_repository(given))
        store = stack.enter_context(open_store(given))
        engine = stack.enter_context(open_engine(given))
        progress = stack.enter_context(show_progress(session.console, quiet=session.quiet))
        SweepService(
            repository=repository, store=store, engine=engine, settings=settings, clock=utc_now, progress=progress
        ).run(id_, session.report)
    return show_report("sweep", session.report, as_json=session.as_json, zone=given.zone())


def gc(given: Given) -> int:
    """Mark and sweep in one go."""
    marking, sweeping = mark_settings(given), sweep_settings(given)
    session = given.session
    with ExitStack() as stack:
        repository = stack.enter_context(open_repository(given))
        store = stack.enter_context(open_store(given, in_memory_allowed=True))
        file = prepare_id_file(given)
        engine = stack.enter_context(open_engine(given))

        session.in_memory = store.name == "memory"

        def marked(id_: UUID) -> None:
            session.marked = True
            if file is not None:
                file.write_text(f"{id_}\n", encoding="utf-8")

        progress = stack.enter_context(show_progress(session.console, quiet=session.quiet))
        GcService(
            repository=repository,
            store=store,
            engine=engine,
            mark=marking,
            sweep=sweeping,
            progress=progress,
            on_marked=marked,
        ).run(session.report)
    return show_report("gc", session.report, as_json=session.as_json, zone=given.zone())


_SWEEPING = (
    *collect_options.SWEEP,
    *collect_options.AGE,
    *collect_options.AGE_OF_LIVE_SET,
    *collect_options.ALLOWED,
    *collect_options.CAPS,
    *collect_options.UNKNOWN,
    *options.FILES,
    *options.PLUGINS,
    *options.ENGINE,
)
_MARKING = (*collect_options.MARK, *collect_options.WRITE_LIVE_SET_ID)
_BOTH = (*options.REPOSITORY, *options.STORE)

COLLECT_COMMANDS = (
    GcCommand("gc", gc, (*_BOTH, *_MARKING, *_SWEEPING, *options.REPORT)),
    GcCommand("mark", mark, (*_BOTH, *_MARKING, *options.PLUGINS, *options.REPORT), aliases=("mark-live", "identify")),
    GcCommand(
        "sweep",
        sweep,
        (*options.LIVE_SET, *_BOTH, *collect_options.RECHECK, *_SWEEPING, *collect_options.RESUME, *options.REPORT),
        aliases=("expire",),
    ),
)
