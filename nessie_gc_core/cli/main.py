"""The program ``nessie-gc``."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import click

from nessie_gc_core.cli.command import COMPLETE_VARIABLE, SETTINGS, GcCommand, Session, standard_options
from nessie_gc_core.cli.configuration import CONFIGURATION_COMMANDS
from nessie_gc_core.cli.errors import fail
from nessie_gc_core.cli.installation import INSTALLATION_COMMANDS
from nessie_gc_core.cli.live_set_commands import LIVE_SET_COMMANDS
from nessie_gc_core.cli.new_plugin import PLUGIN_COMMANDS
from nessie_gc_core.cli.output import result_alone
from nessie_gc_core.cli.plan_commands import PLAN_COMMANDS
from nessie_gc_core.cli.quarantine_commands import QUARANTINE_COMMANDS
from nessie_gc_core.cli.records import RECORD_COMMANDS
from nessie_gc_core.cli.schedule_group import SCHEDULE_COMMANDS
from nessie_gc_core.cli.scheduled import end_with_scheduler
from nessie_gc_core.cli.schema import SCHEMA_COMMANDS
from nessie_gc_core.cli.service_commands import service_commands
from nessie_gc_core.config.flags import completing
from nessie_gc_core.model.next_steps import PROGRAM
from nessie_gc_core.plugins import installed
from nessie_gc_core.plugins.known import KNOWN_SERVICES
from nessie_gc_core.services.ending import leaves_engine, terminate

log = logging.getLogger(__name__)


_SERVICES = "Services"
_SENTENCE = 500
"""Characters of the longest first sentence of a command's help."""


class Program(click.Group):
    """All commands, and the one place that reports errors."""

    def __init__(self, sections: Mapping[str, Sequence[click.Command]]) -> None:
        """Takes the commands of the program itself, by the heading under which the help lists them."""
        self._own = {command.name or "": command for commands in sections.values() for command in commands}
        self._sections = {command.name: heading for heading, commands in sections.items() for command in commands}
        self._all: dict[str, click.Command] | None = None
        super().__init__(
            PROGRAM,
            help="Find and remove the files of an Iceberg lake that no live branch, tag or snapshot needs.",
            context_settings=dict(SETTINGS),
            params=[option for option in standard_options() if option.name != "config"],
        )

    @property
    def commands(self) -> MutableMapping[str, click.Command]:
        """The installed services, which are loaded on first use, and the commands of the program itself."""
        if self._all is None:
            services = service_commands(installed().services.by_name().values())
            self._all = {**{command.name or "": command for command in services}, **self._own}
            for name in sorted({command.name or "" for command in services} & set(self._own)):
                log.warning("the service %r has the same name as a command, which hides it; run it from Python", name)
        return self._all

    @commands.setter
    def commands(self, commands: MutableMapping[str, click.Command]) -> None:
        """Click sets what it is made with, which is nothing."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """A command by its name or one of its aliases."""
        found = super().get_command(ctx, cmd_name) or _by_alias(self.commands.values(), cmd_name)
        if found is None and cmd_name in {*installed().services.names, *KNOWN_SERVICES}:
            installed().services.named(cmd_name)  # says who claims it, or what to install
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the services, and then the commands of the program by section, each with its whole first sentence."""
        rows: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (_SERVICES, *self._sections.values())}
        for name, command in sorted(self.commands.items()):
            if not command.hidden:
                rows[self._sections.get(name, _SERVICES)].append((name, command.get_short_help_str(limit=_SENTENCE)))
        for heading, records in rows.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002 - click's
        windows_expand_args: bool = True,  # noqa: FBT001, FBT002 - click's
        **extra: Any,
    ) -> Any:
        """Runs a command, and ends with its exit code."""
        arguments = list(sys.argv[1:] if args is None else args)
        session = Session(
            as_json=_wants_json(arguments), verbosity=_verbosity(arguments), log_format=_log_format(arguments)
        )
        with completing(session.more):
            code = self._run(arguments, session, extra)
        if not standalone_mode:
            return code
        sys.exit(code if isinstance(code, int) else 0)

    def _run(self, arguments: Sequence[str], session: Session, extra: Mapping[str, Any]) -> Any:
        """Runs a command, and gives its exit code."""
        try:
            with result_alone() if session.as_json else nullcontext():  # plugins may print while they are loaded
                return super().main(arguments, PROGRAM, COMPLETE_VARIABLE, standalone_mode=False, obj=session, **extra)
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            return error.exit_code
        except BaseException as error:
            if isinstance(error, SystemExit) and COMPLETE_VARIABLE in os.environ:  # click's completion has ended
                raise
            return fail(error, session)


def _by_alias(commands: Iterable[click.Command], name: str) -> click.Command | None:
    return next((command for command in commands if isinstance(command, GcCommand) and name in command.aliases), None)


def _wants_json(arguments: Sequence[str]) -> bool:
    """Whether errors go out as JSON; said before anything is parsed, for parsing may be what fails."""
    return "--json" in arguments or os.environ.get("NESSIE_GC_JSON", "").lower() in {"1", "true", "yes", "on", "t", "y"}


def _verbosity(arguments: Sequence[str]) -> int:
    flags = (argument for argument in arguments if argument.startswith("-v") and set(argument[1:]) == {"v"})
    return sum(len(flag) - 1 for flag in flags) + arguments.count("--verbose")


def _log_format(arguments: Sequence[str]) -> str:
    """The format of log lines, for errors of parsing; empty if it is neither here nor in the environment."""
    given = os.environ.get("NESSIE_GC_LOG_FORMAT", "")
    for argument, after in zip(arguments, [*arguments, ""][1:], strict=True):
        name, equals, value = argument.partition("=")
        if name == "--log-format":
            given = value if equals else after
    return given.lower()


cli = Program(
    {
        "Live sets": (*LIVE_SET_COMMANDS, *PLAN_COMMANDS, *QUARANTINE_COMMANDS),
        "Schedule": SCHEDULE_COMMANDS,
        "Live-set store": (*RECORD_COMMANDS, *SCHEMA_COMMANDS),
        "Installation": (*CONFIGURATION_COMMANDS, *PLUGIN_COMMANDS, *INSTALLATION_COMMANDS),
    }
)
"""The program as a click command."""


def run() -> None:
    """Runs the program: the entry point ``nessie-gc``."""
    signal.signal(signal.SIGTERM, terminate)
    end_with_scheduler()
    try:
        cli()
    finally:
        _leave_threads()


def _leave_threads() -> None:
    """Ends the process at once if an engine that was still starting is left behind.

    Python would end its thread in the middle of a library that is being imported, which aborts the process.
    """
    error = sys.exception()
    if isinstance(error, SystemExit) and leaves_engine():
        logging.shutdown()
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # the reader of a pipe may be gone
                stream.flush()
        os._exit(error.code if isinstance(error.code, int) else 1)
