"""A command for every service that is installed, made from its name, its docstring and its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable

from nessie_gc_core.api import Collector
from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import Call, GcCommand
from nessie_gc_core.cli.declared import arguments_of, options_of
from nessie_gc_core.cli.errors import tell_incomplete
from nessie_gc_core.cli.progress import show_progress
from nessie_gc_core.cli.screen import show_result
from nessie_gc_core.cli.stores import check_store_lasts, is_in_memory
from nessie_gc_core.connectors import AnyService, Report
from nessie_gc_core.plugins import installed


def service_commands(services: Iterable[AnyService]) -> list[GcCommand]:
    """Their commands."""
    return [_command(service) for service in services]


def _command(service: AnyService) -> GcCommand:
    parameters = options_of(service.Parameters)
    lake, store = (options.REPOSITORY, options.STORE) if service.uses_repository else ((), ())
    engine = options.ENGINE if service.uses_engine else ()
    files = (*options.FILES, *engine) if service.uses_files and service.uses_repository else ()
    return GcCommand(
        service.name,
        _runner(service),
        (*lake, *parameters, *store, *files, *options.PLUGINS, *options.REPORT),  # what most need comes first
        help=_help_of(service),
        arguments=arguments_of(service.Parameters),
        aliases=service.aliases,
        examples=service.examples,
    )


def _help_of(service: AnyService) -> str:
    """The paragraphs of its docstring before any section of it, such as ``Args:``."""
    text = inspect.cleandoc(service.__doc__ or "")
    paragraphs = text.split("\n\n")
    wanted = next((number for number, part in enumerate(paragraphs) if part.split("\n")[0].endswith(":")), None)
    return "\n\n".join(paragraphs[:wanted]).replace("``", "'")


def _runner(service: AnyService) -> Callable[[Call], int]:
    def run(call: Call) -> int:
        report, session = _run(service, call), call.session
        verbose = session.verbosity > 0
        code = show_result(service.name, report, as_json=session.as_json, verbose=verbose)
        if code and session.quiet:  # nobody may read the report; cron mails what goes to standard error
            tell_incomplete(service.name, report, session)
        return code

    return run


def _run(service: AnyService, call: Call) -> Report:
    session, given = call.session, call.given()
    parameters = given.settings(service.Parameters)
    if service.uses_repository:
        check_store_lasts(call, needed=service.lasting_store)
        session.in_memory = is_in_memory(call)
    with (
        show_progress(session.console, quiet=session.quiet) as progress,
        Collector.from_given(given, plugins=installed(), progress=progress, ends_process=True) as collector,
    ):
        return service(parameters).run(collector.new_run(session.report))  # type: ignore[arg-type]  # see AnyService
