"""The command ``move-records``."""

from __future__ import annotations

from dataclasses import asdict

import click

from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import Call, GcCommand, GcOption
from nessie_gc_core.cli.output import print_json
from nessie_gc_core.cli.stores import open_store
from nessie_gc_core.cli.values import Text
from nessie_gc_core.services.records import RecordsService


def move_records(call: Call) -> int:
    """Move the records of a repository in the live-set store to another identity.

    This moves live sets, tombstones, the registers of contents and the records of tags. It deletes no file.
    """
    source, target = call.text("from"), call.text("to")
    if not source or not target:
        raise click.UsageError("give both identities: --from and --to")
    dry_run = call.flag("dry_run")
    with open_store(call) as store:
        moved = RecordsService(store).move(source, target, dry_run=dry_run)
    counts = asdict(moved)
    if call.session.as_json:
        print_json({"from": source, "to": target, "dry_run": dry_run, **counts})
        return 0
    said = "would move" if dry_run else "moved"
    live_sets, tombstones = _number(moved.live_sets, "live set"), _number(moved.tombstones, "tombstone")
    contents, tags = _number(moved.seen_contents, "content"), _number(moved.tags, "tag")
    click.echo(f"{said} {live_sets}, {tombstones}, {contents} and {tags} from {source!r} to {target!r}")
    return 0


def _number(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


_IDENTITIES = (
    GcOption("--from", section="Records", type=Text(), metavar="IDENTITY", help="Current identity of the records."),
    GcOption("--to", section="Records", type=Text(), metavar="IDENTITY", help="New identity of the records."),
)

RECORD_COMMANDS = (
    GcCommand(
        "move-records",
        move_records,
        (*_IDENTITIES, *options.DRY_RUN, *options.STORE, options.REPORT[-1]),
    ),
)
