"""Commands and options: where values come from, and which options all commands share."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click
from click.core import ParameterSource
from rich.console import Console

from nessie_gc_core import __version__
from nessie_gc_core.cli.arguments import ID_DIGITS, IdArgument
from nessie_gc_core.cli.logs import logging_to, standard_error
from nessie_gc_core.cli.output import result_alone
from nessie_gc_core.cli.piped import piped
from nessie_gc_core.cli.repeated import OptionsOfCall
from nessie_gc_core.cli.values import KeyValues
from nessie_gc_core.config.environment import DIGEST_VARIABLE, JOB_VARIABLE, check_settings_in, variable_of
from nessie_gc_core.config.file import DEFAULT_FILE, ConfigFile
from nessie_gc_core.config.flags import More
from nessie_gc_core.config.given import Given, Rank
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.key_values import merge
from nessie_gc_core.model.next_steps import PROGRAM
from nessie_gc_core.model.text import iso_duration, times_in
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.report import GcReport

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from click.types import OptionHelpExtra

COMPLETE_VARIABLE = "_NESSIE_GC_COMPLETE"
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 120}


@dataclass(slots=True)
class Session:
    """One call of the program, with the values of its standard options."""

    verbosity: int = 0
    quiet: bool = False
    log_format: str = ""
    """``text`` or ``json``; empty: nothing has said it yet, so that it is text."""
    as_json: bool = False
    config: ConfigFile = field(default_factory=ConfigFile)
    console: Console = field(default_factory=standard_error)
    """For everything except the result: log lines, progress, errors."""
    report: GcReport = field(default_factory=GcReport)
    """The report of the run; log lines carry its live-set id as soon as it has one (S17)."""
    command: str = ""
    """The command that runs."""
    in_memory: bool = False
    """Whether the live set is lost when the process ends."""
    defers: bool = False
    """Whether deletions are only recorded."""
    quarantines: bool = False
    """Whether files are moved to a quarantine."""
    dry_run: bool = False
    """Whether nothing is to be deleted."""
    plan: str | None = None
    """The plan that is to be written instead."""
    config_given: str | None = None
    """The configuration file, where the command line names one."""
    of_job: Collection[str] = ()
    """Keys of the file that only the job has which is called."""
    options: OptionsOfCall | None = None
    """The options of the call, as soon as they are known."""

    def more(self, words: Sequence[str]) -> More:
        """The options that a proposed command needs, whose words are given."""
        return More() if self.options is None else self.options.more(words)

    @property
    def logs_json(self) -> bool:
        """Whether log lines, and errors among them, are JSON objects."""
        return self.log_format == "json"


class GcOption(click.Option):
    """An option that can also come from the environment and the configuration file."""

    def __init__(
        self,
        *declarations: str,
        section: str = "",
        key: str | None = None,
        also_argument: bool = False,
        **attributes: Any,
    ) -> None:
        """Takes the arguments of ``click.Option``.

        Args:
            declarations: its flags, and its name.
            section: the heading under which the help shows it.
            key: its name in the configuration file and, in capitals, in the environment (default: its first long flag).
            also_argument: whether its value, an id, can be given without its name.
            attributes: more arguments of ``click.Option``.
        """
        self.key = key or next(part for part in declarations if part.startswith("--")).partition("/")[0][2:]
        attributes.setdefault("envvar", variable_of(self.key))
        super().__init__(list(declarations), **attributes)
        self.section = section
        self.also_argument = also_argument

    def get_help_extra(self, ctx: click.Context) -> OptionHelpExtra:
        """What the help shows in brackets; a duration as it is written on the command line."""
        extra = super().get_help_extra(ctx)
        if "default" in extra and isinstance(self.default, timedelta):
            extra["default"] = iso_duration(self.default)
        return extra

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """The value of the strongest source that has one; a ``k=v`` option merges the pairs of all sources."""
        value, source = super().consume_value(ctx, opts)
        if not (self.multiple and isinstance(self.type, KeyValues)) or source is ParameterSource.DEFAULT:
            return value, source
        layers = (ctx.lookup_default(self.name or ""), self.value_from_envvar(ctx), opts.get(self.name or ""))
        return [part for layer in layers if isinstance(layer, (list, tuple)) for part in layer], source


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a command: the values of its options, and its session."""

    context: click.Context

    def text(self, name: str) -> str | None:
        """The text of an option; ``None`` if it is not given."""
        return cast("str | None", self.context.params.get(name))

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts of an option that can be repeated."""
        return tuple(self.context.params.get(name) or ())

    def number(self, name: str) -> int | None:
        """The number of an option; ``None`` if it is not given."""
        return cast("int | None", self.context.params.get(name))

    def flag(self, name: str) -> bool:
        """Whether a flag is set."""
        return bool(self.context.params.get(name))

    def path(self, name: str) -> Path | None:
        """The path of an option; ``None`` if it is not given."""
        return Path(value) if (value := self.text(name)) is not None else None

    def zone(self) -> tzinfo | None:
        """The time zone for display; ``None``: that of the machine, or of the schedule."""
        return cast("tzinfo | None", self.context.params.get("time_zone"))

    def given(self) -> Given:
        """The settings and parameters that were given, from all sources."""
        ranks = {name: self._rank(name) for name in self.context.params}
        values = {name: value for name, value in self.context.params.items() if ranks[name]}
        return Given(
            values={name: _merged(value) for name, value in values.items()},
            ranks=ranks,
            file=self.session.config,
            environment=os.environ,
        )

    def is_on_command_line(self, name: str) -> bool:
        """Whether the command line has an option, also one whose value is that of the session."""
        return self._rank(name) is Rank.CALLER

    def _rank(self, name: str) -> Rank:
        source = self.context.get_parameter_source(name)
        return _RANKS.get(source, Rank.DEFAULT) if source is not None else Rank.DEFAULT

    @property
    def session(self) -> Session:
        """The standard options' values."""
        return session_of(self.context)


_RANKS = {
    ParameterSource.COMMANDLINE: Rank.CALLER,
    ParameterSource.ENVIRONMENT: Rank.ENVIRONMENT,
    ParameterSource.DEFAULT_MAP: Rank.FILE,
}


def _merged(value: Any) -> Any:
    """The value of an option; pairs of a repeated option are merged."""
    if isinstance(value, (list, tuple)) and value and all(isinstance(part, Mapping) for part in value):
        return merge(value)
    return value


def session_of(context: click.Context) -> Session:
    """The session of a context; created on first use."""
    return context.ensure_object(Session)


class GcCommand(click.Command):
    """A command with the standard options; its function takes the values and returns the exit code."""

    def __init__(
        self,
        name: str,
        function: Callable[[Call], int],
        options: Sequence[click.Option] = (),
        *,
        help: str | None = None,
        arguments: Sequence[click.Argument] = (),
        aliases: Sequence[str] = (),
        examples: Sequence[str] = (),
        lasts: bool = False,
        shortest_id: int = ID_DIGITS,
    ) -> None:
        """Takes the function; its docstring is the help unless ``help`` is given.

        Args:
            name: its name.
            function: takes the values of the options and returns the exit code.
            options: its own options.
            help: its help.
            arguments: its arguments.
            aliases: more names of it.
            examples: calls that the help shows, without the name of the program.
            lasts: whether it goes on until it is stopped, so that a warning that comes again is news.
            shortest_id: how many digits of an id it takes at least without the name of an option.
        """
        self.function = function
        self.lasts = lasts
        self.aliases = tuple(aliases)
        self.examples = tuple(examples)
        ids = (option for option in options if isinstance(option, GcOption) and option.also_argument)
        self._ids = [IdArgument(option, shortest=shortest_id) for option in ids]
        super().__init__(
            name,
            params=[*arguments, *self._ids, *options, *standard_options()],
            help=help or function.__doc__,
            context_settings=dict(SETTINGS),
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parses the command line; an id without a name is the value of its option."""
        rest = super().parse_args(ctx, args)
        for argument in self._ids:
            argument.give(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> int:
        """Applies the standard options, and calls the function."""
        session = session_of(ctx)
        session.command, session.defers = self.name or "", bool(ctx.params.get("defer_deletes"))
        session.quarantines = bool(ctx.params.get("quarantine"))
        session.plan = ctx.params.get("plan")
        session.dry_run = bool(ctx.params.get("dry_run") or session.plan)
        session.options = OptionsOfCall(
            command=session.command,
            given=Call(ctx).given(),
            options_by_command=partial(_names_by_command, ctx.find_root().command),
            config=session.config_given,
            of_job=session.of_job,
        )
        with ExitStack() as stack:
            stack.enter_context(result_alone() if session.as_json else nullcontext())
            stack.enter_context(times_in(ctx.params.get("time_zone")))
            logs = logging_to(
                session.console,
                session.verbosity,
                session.report,
                quiet=session.quiet,
                as_json=session.logs_json,
                folds=not self.lasts,
            )
            stack.enter_context(logs)
            try:
                stack.enter_context(piped(ctx, as_json=session.as_json))
                names, entries = _known_names(ctx.find_root().command), session.config.repositories
                check_settings_in(os.environ, names, installed(), repositories=entries)
                return self.function(Call(ctx))
            except click.UsageError as error:
                error.ctx = error.ctx or ctx
                raise

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes what it does, and the examples."""
        super().format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {PROGRAM} {example}\n" for example in self.examples))

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the options, grouped by section."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(_section_of(param), []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)


def _section_of(param: click.Parameter) -> str:
    return str(getattr(param, "section", "")) or (_STANDARD if param.name == "help" else "Options")


# ---- standard options ---------------------------------------------------------------------------------
_STANDARD = "Common options"


def standard_options() -> list[click.Option]:
    """The options that all commands have."""
    return [
        GcOption(
            "--config",
            section=_STANDARD,
            metavar="FILE",
            is_eager=True,
            expose_value=False,
            callback=_load_config,
            help=f"Configuration file in TOML (default: {DEFAULT_FILE} in the working directory, if it exists).",
        ),
        GcOption(
            "--verbose",
            "-v",
            section=_STANDARD,
            count=True,
            expose_value=False,
            callback=_set("verbosity"),
            help="Log more; give it twice to log everything, with tracebacks of errors.",
        ),
        GcOption(
            "--quiet",
            "-q",
            section=_STANDARD,
            is_flag=True,
            expose_value=False,
            callback=_set("quiet"),
            help="Print only the result, errors, and one line if not everything could be done.",
        ),
        GcOption(
            "--log-format",
            section=_STANDARD,
            type=click.Choice(["text", "json"], case_sensitive=False),
            expose_value=False,
            callback=_set("log_format"),
            help="Log lines as text, or each as a JSON object (default: text).",
        ),
        version_option(),
    ]


def json_option() -> GcOption:
    """``--json``."""
    return GcOption(
        "--json",
        "json",
        section=_STANDARD,
        is_flag=True,
        expose_value=False,
        callback=_set("as_json"),
        help="Print the result as one JSON object on standard output; everything else goes to standard error.",
    )


def version_option() -> click.Option:
    """``--version``."""
    option = click.Option(
        ["--version", "-V"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version.",
    )
    option.section = _STANDARD  # type: ignore[attr-defined]  # read by format_options
    return option


def _print_version(context: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click's
    if value and not context.resilient_parsing:
        click.echo(f"nessie-gc {__version__}")
        context.exit()


def _set(attribute: str) -> Callable[[click.Context, click.Parameter, Any], Any]:
    def store(context: click.Context, param: click.Parameter, value: Any) -> Any:
        if value:
            setattr(session_of(context), attribute, value)
        return value

    return store


def _load_config(context: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """Reads the configuration file before any other option is parsed."""
    if context.resilient_parsing:
        return value
    path = Path(value) if value is not None else Path(DEFAULT_FILE)
    if value is None and not path.is_file() and _scheduled_job() is None:
        return value
    known = known_options(context.find_root().command)
    config = ConfigFile.read(path, known)
    session = session_of(context)
    said_before = session.log_format
    session.log_format = said_before or _log_format_of(config)  # what comes next may fail
    if (scheduled := _scheduled_job()) is not None:
        JobDigests(installed()).check(config, *scheduled)
        session.of_job = (config.job(scheduled[0]) or {}).get("options", {})
        config = config.of_job(scheduled[0])
        session.log_format = said_before or _log_format_of(config)
    session.config = config
    is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
    session.config_given = value if is_given else None
    mine = {option.key: option for option in context.command.params if isinstance(option, GcOption)}
    defaults = {option.name or "": _fit(option, config, key) for key, option in mine.items() if key in config.options}
    context.default_map = cast("MutableMapping[str, Any]", defaults)
    logging.getLogger(__name__).debug("options are taken from %s too", path)
    return value


def _log_format_of(config: ConfigFile) -> str:
    return str(config.options.get("log-format", "")).lower()


def _scheduled_job() -> tuple[str, str] | None:
    """The job that this process runs for a scheduler, with its digest; ``None``: it runs for no scheduler."""
    job = os.environ.get(JOB_VARIABLE)
    return None if job is None else (job, os.environ.get(DIGEST_VARIABLE, ""))


def known_options(root: click.Command) -> set[str]:
    """The keys of a configuration file."""
    return {option.key for option in _all_options(root) if not option.hidden} - {"config"}


def _known_names(root: click.Command) -> set[str]:
    """The names of all options, including those that are refused with a hint."""
    return {option.key.replace("-", "_") for option in _all_options(root)}


def _names_by_command(root: click.Command) -> dict[str, set[str]]:
    """The names of the options and arguments of each command, by its words."""
    found = commands_of(root).items()
    return {words: {param.name or "" for param in command.params} for words, command in found}


def _all_options(root: click.Command) -> Iterator[GcOption]:
    commands = [root, *commands_of(root).values()]
    yield from (option for command in commands for option in command.params if isinstance(option, GcOption))


def commands_of(root: click.Command, words: str = "") -> dict[str, GcCommand]:
    """The commands of a group and of the groups in it, by their words: ``gc``, ``config show``."""
    found: dict[str, GcCommand] = {}
    for name, command in root.commands.items() if isinstance(root, click.Group) else ():
        if isinstance(command, GcCommand):
            found[words + name] = command
        found.update(commands_of(command, f"{words}{name} "))
    return found


def _fit(option: GcOption, config: ConfigFile, key: str) -> Any:
    """A value of the file, in the form that click expects."""
    value = config.options[key]
    if isinstance(value, str) and not value.strip():
        raise ConfigurationError(f"{config.name}: {key!r} is empty; remove it, or give a value")
    is_pairs = isinstance(option.type, KeyValues)
    if isinstance(value, dict) and not is_pairs:
        raise ConfigurationError(f"{config.name}: {key!r} takes one value, not a table")
    if option.multiple:
        return list(value) if isinstance(value, list) else [value]
    if isinstance(value, list):
        raise ConfigurationError(f"{config.name}: {key!r} takes one value, not a list")
    return value
