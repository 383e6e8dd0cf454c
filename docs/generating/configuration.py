"""The configuration file and the environment."""

from __future__ import annotations

import click

from generating.connectors import options_of
from generating.text import code, table
from nessie_gc_core.cli.command import GcOption, commands_of
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.environment import variable_of
from nessie_gc_core.config.file import DEFAULT_FILE, SECTIONS
from nessie_gc_core.config.job_digest import JobDigests
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.plugins import installed
from nessie_gc_core.services.schedule.definition import JobSettings, ScheduleSettings

_INTRO = f"""# Configuration

Every option has four sources. The first source that sets the option wins. For options that take pairs (`KEY=VALUE`),
the pairs of all sources are merged; if two sources set the same key, the first one wins.

1. the command line
2. the environment: `NESSIE_GC_` and the long name, so `--default-cutoff` is `NESSIE_GC_DEFAULT_CUTOFF`
3. a file: `--config FILE`, or `NESSIE_GC_CONFIG`, or `{DEFAULT_FILE}` in the working directory
4. the default

`nessie-gc init` writes a first file, with a comment for each setting and the values of the options that you pass.
`nessie-gc config show` shows which values are in effect and where each comes from; `--all` also shows defaults.

Before anything is read, the following are errors: an unknown `NESSIE_GC_` variable (the error suggests the nearest
known name), an unknown key, an option with an empty value, a switch that is neither true nor false. In Kubernetes, a
service named `nessie-gc` adds variables such as `NESSIE_GC_SERVICE_HOST` to other pods; set `enableServiceLinks: false`
there.

Pass secrets in environment variables, or leave them to the credential chain of the store. They are never written to a
report, a log line, an error or a live set.

## The file

The file is TOML. The top level has option names without their leading dashes. An option that can be repeated takes a
list; an option that takes pairs takes a table. An unknown key is an error that names it.

<!-- file: examples/nessie-gc.toml -->
```toml
"""
_TABLES = {
    "repository": "`name` (default: `nessie`), and the "
    "[options of that repository connector](connectors.md#repository)",
    "repositories": "several repositories instead of `[repository]`, each with a `label` (default: its `name`); "
    "see [how to collect them together](../how-to/several-repositories.md)",
    "store": "`name` (default: `jdbc`), and the [options of that live-set store](connectors.md#live-set-store)",
    "schedule": "[what runs when](#schedule); see [how to run it on a schedule](../how-to/schedule.md)",
    "connectors": "`[connectors.KIND.NAME]`: the options of a reader, lister, deleter or deduplicator",
}


def page() -> str:
    """The page."""
    from generating.connectors import ROOT

    example = (ROOT / "examples" / "nessie-gc.toml").read_text(encoding="utf-8")
    assert set(SECTIONS) == set(_TABLES)
    parts = [
        _INTRO + example + "```\n",
        "## Tables\n",
        table(
            ("table", "contents"),
            ((code(f"[[{name}]]" if name == "repositories" else f"[{name}]"), text) for name, text in _TABLES.items()),
        ),
        "\n## Keys and variables\n",
        table(("key", "variable", "value"), ((code(o.key), code(variable_of(o.key)), _value(o)) for o in _options())),
        "\nOptions of the repository and of the store have variables, too: `NESSIE_GC_REPOSITORY_TOKEN` is the option",
        "`token` of the repository connector, `NESSIE_GC_STORE_URL` the option `url` of the store. With several",
        "`[[repositories]]`, `NESSIE_GC_REPOSITORIES_LAKE_TOKEN` is the option `token` of the one labelled `lake`.",
        "\n## Schedule\n",
        "These are the keys of the table `[schedule]`:\n",
        _settings(ScheduleSettings),
        "\nThese are the keys of a table `[schedule.jobs.NAME]`, one for each job. `options` is a table of options",
        "that count for the runs of this job, instead of those at the top of the file:\n",
        _settings(JobSettings),
        "\n### What schedulers compare\n",
        "A run only starts if its job is what the store has and what its scheduler has read. This compares its table,",
        "the time zone and the quiet hours of the schedule, the options at the top of the file (or of the job",
        "instead), and the tables of repositories and other connectors. Of an address that may have a password in it,",
        "the server, the path and the parameters that choose a database or a schema are compared. It does not compare",
        "environment variables, secrets, properties of Iceberg and Spark that may be secrets, users with passwords and",
        "other parameters in addresses, the live-set store (except for `jdbc-schema`, and for what options of a",
        "job say of it), what only changes how things are shown, nor these options, which may differ by machine:",
        ", ".join(code(name.replace("_", "-")) for name in JobDigests(installed()).not_compared()) + ".",
    ]
    return "\n".join(parts)


def _settings(group: type[ConnectorOptions]) -> str:
    rows = ((name.replace("_", "-"), default, meaning) for name, default, meaning in options_of(group))
    return table(("key", "default", "meaning"), rows)


def _options() -> list[GcOption]:
    found: dict[str, GcOption] = {}
    for command in commands_of(cli).values():
        for option in command.params:
            if isinstance(option, GcOption) and not option.hidden and option.key != "config":
                found.setdefault(option.key, option)
    return [found[key] for key in sorted(found)]


def _value(option: GcOption) -> str:
    if option.is_flag:
        return "`true` or `false`"
    if option.count:
        return "a number"
    kind = option.type.name if not isinstance(option.type, click.Choice) else "one of " + ", ".join(option.type.choices)
    shape = {"key=value": "a table of texts", "integer range": "integer", "float range": "float"}.get(kind, kind)
    if option.multiple and shape != "a table of texts":
        return f"a list of {shape}"
    return shape
