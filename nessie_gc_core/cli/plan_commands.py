"""The command that shows a plan."""

from __future__ import annotations

from collections.abc import Mapping

import click
from rich.text import Text

from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import Call, GcCommand
from nessie_gc_core.cli.output import print_json, say
from nessie_gc_core.cli.screen import plain_table, print_table
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.text import plural, shown, size_text, time_text
from nessie_gc_core.services.plans.file import PlanFile
from nessie_gc_core.services.plans.summary import summed_up
from nessie_gc_core.services.tally import Tally

_SHOWN = 20
"""So many rows of one table are printed."""


def show_plan(call: Call) -> int:
    """Sum up a plan by table, kind, age and reason.

    A plan comes from '--plan' of 'gc' or 'sweep'; 'sweep --apply' deletes its files. This reads the file completely and
    compares its digest. It needs neither the lake nor the live-set store.
    """
    plan = PlanFile.open(call.text("plan_file") or "")
    summary = summed_up(plan)
    if call.session.as_json:
        print_json(summary.to_dict())
        return 0
    header = plan.header
    say(f"plan {summary.path}, made {time_text(header.time)} with engine {header.engine}")
    say(f"live set {header.live_set_id} of {', '.join(header.repositories)}")
    sidecars = f", and {plural(summary.sidecars.files, 'checksum sidecar')}" if summary.sidecars.files else ""
    verb = "move to quarantine" if header.quarantine else "delete"
    say(f"would {verb} {plural(summary.total.files, 'file')} ({size_text(summary.total.bytes)}){sidecars}")
    say(f"digest (SHA-256) {summary.sha256}")
    for name, tallies in summary.groups.items():
        _print_group(name, tallies)
    does = "moves these files to quarantine" if header.quarantine else "deletes these files"
    say(f"next: {next_call('sweep', apply=summary.path)}, which {does}")
    return 0


def _print_group(name: str, tallies: Mapping[str, Tally]) -> None:
    if not tallies:
        return
    say("")
    table = plain_table(f"by {name}", "files", "bytes", numbers=("files", "bytes"))
    for key, tally in list(tallies.items())[:_SHOWN]:
        table.add_row(Text(shown(key)), f"{tally.files:,}", size_text(tally.bytes))
    print_table(table)
    if len(tallies) > _SHOWN:
        say(f"and {len(tallies) - _SHOWN:,} more (--json has them all)")


class _PlanArgument(click.Argument):
    """The file, with a line of help."""

    section = "Arguments"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """What the help shows."""
        return "FILE", "The plan (required)."


PLAN_COMMANDS = (
    GcCommand("show-plan", show_plan, options.REPORT, arguments=(_PlanArgument(["plan_file"], metavar="FILE"),)),
)
