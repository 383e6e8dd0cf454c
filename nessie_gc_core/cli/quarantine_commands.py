"""The command that shows what is in quarantine."""

from __future__ import annotations

from rich.text import Text

from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import Call, GcCommand
from nessie_gc_core.cli.output import print_json, say
from nessie_gc_core.cli.screen import plain_table, print_table
from nessie_gc_core.cli.stores import open_store
from nessie_gc_core.model.quarantine import Quarantine
from nessie_gc_core.model.text import json_time, shown, size_text, time_text
from nessie_gc_core.services.quarantine.places import held_in


def list_quarantine(call: Call) -> int:
    """List what is in quarantine: by sweep, with the time until which it can be restored."""
    with open_store(call) as store:
        found = sorted(held_in(store).quarantines(), key=lambda each: (each.until, each.place, each.state))
    if call.session.as_json:
        print_json({"quarantines": [_plain(each) for each in found]})
        return 0
    if not found:
        say("nothing is in quarantine; --quarantine of 'gc' moves files there")
        return 0
    numbers = ("files", "bytes")
    table = plain_table("live set", "repository", "place", "state", "until", *numbers, numbers=numbers)
    for each in found:
        until, size = time_text(each.until), size_text(each.bytes)
        where = Text(shown(each.repository)), Text(shown(each.place))
        table.add_row(str(each.live_set_id), *where, each.state, until, f"{each.files:,}", size)
    print_table(table)
    return 0


def _plain(found: Quarantine) -> dict[str, object]:
    return {
        "repository": found.repository,
        "live_set_id": str(found.live_set_id),
        "place": found.place,
        "state": found.state.value,
        "until": json_time(found.until),
        "files": found.files,
        "bytes": found.bytes,
    }


QUARANTINE_COMMANDS = (GcCommand("list-quarantine", list_quarantine, (*options.STORE, *options.REPORT)),)
