"""The commands that show live sets and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import click
from rich.table import Table
from rich.text import Text

from nessie_gc_core.cli import options
from nessie_gc_core.cli.command import Call, GcCommand, GcOption
from nessie_gc_core.cli.declared import options_of
from nessie_gc_core.cli.output import print_json, print_json_stream, say
from nessie_gc_core.cli.screen import plain_table, print_table
from nessie_gc_core.cli.stores import chosen_id, open_store
from nessie_gc_core.config.settings import PruneSettings
from nessie_gc_core.model.live_sets import FileDeletion, LiveSet, LiveSetStatus
from nessie_gc_core.model.next_steps import next_call
from nessie_gc_core.model.repository import ContentVersion
from nessie_gc_core.model.text import duration_text, json_time, plural, shown, size_text, time_text
from nessie_gc_core.services.pruning import PruneParameters, PruneReport, prune
from nessie_gc_core.services.stored_live_sets import (
    LiveSetDetails,
    LiveSetService,
    as_plain,
    mark_time,
    sweep_time,
)

_ID_WIDTH = 36
"""How long an id is, which is never broken."""
_SHORTEST = 8
"""So many digits of an id are enough, without an option, for what deletes nothing."""
_TIMES = ("created", "identify_completed", "expiry_started", "expiry_completed")


def list_(call: Call) -> int:
    """List the live sets, newest first."""
    status, limit = call.texts("status"), call.number("limit")
    with open_store(call) as store:
        service = LiveSetService(store)
        live_sets = service.all(status=status, limit=limit)
        failed = {live_set.id: service.failed(live_set) for live_set in live_sets}
    if call.session.as_json:
        listed = [{**as_plain(live_set), "failed_files": failed[live_set.id]} for live_set in live_sets]
        print_json({"live_sets": listed})
        return 0
    if not live_sets:
        say("no live sets have this status" if status else f"there are no live sets; {next_call('mark')} creates one")
        return 0
    print_table(_table(live_sets, failed))
    return 0


def _table(live_sets: Iterable[LiveSet], failed: Mapping[UUID, int]) -> Table:
    table = plain_table("live set", "repository", "status", "created", "mark", "sweep begun", "sweep", "error")
    table.columns[0].no_wrap, table.columns[0].min_width = True, _ID_WIDTH
    for live_set in live_sets:
        table.add_row(
            str(live_set.id),
            Text(shown(live_set.repository)),
            _status(live_set, failed[live_set.id]),
            time_text(live_set.created),
            duration_text(mark_time(live_set)),
            time_text(live_set.expiry_started),
            duration_text(sweep_time(live_set)),
            Text(shown(live_set.error_message or "")),
        )
    return table


def show(call: Call) -> int:
    """Show one live set."""
    named = chosen_id(call)
    with open_store(call) as store:
        service = LiveSetService(store)
        details = service.details(named)
        id_ = details.live_set.id
        parts: dict[str, Iterable[dict[str, Any]]] = {}
        if call.flag("with_content_references"):
            parts["content_versions"] = map(_version, service.content_versions(id_))
        if call.flag("with_base_locations"):
            pairs = service.base_locations(id_)
            parts["base_locations"] = ({"content_id": id_, "location": location} for id_, location in pairs)
        if call.flag("with_deferred_deletes"):
            parts["deferred_deletes"] = map(_deletion, store.file_deletions(id_))
        if call.session.as_json:
            print_json_stream(_plain_details(details), parts)
        else:
            _print_details(details)
            _print_parts(parts)
    return 0


def delete(call: Call) -> int:
    """Delete one live set from the store.

    This deletes no file: 'sweep', 'gc' and 'deferred-deletes' delete files. A live set is not deleted while its
    repository is being collected, or while it has deferred deletions.
    """
    id_ = chosen_id(call)
    with open_store(call) as store:
        live_set = LiveSetService(store).delete(id_, discard_deferred=call.flag("discard_deferred"))
    if call.session.as_json:
        print_json({"deleted_live_set": as_plain(live_set)})
    else:
        said = f"live set {live_set.id} ({live_set.status}) of {live_set.repository}"
        say(f"{said} is deleted from the store; no file was touched")
    return 0


def prune_(call: Call) -> int:
    """Remove old live sets from the store.

    This deletes no file. A live set stays while it is in progress, while its repository is being collected, while it
    has deferred deletions, and while a later run needs it: the newest of each repository always stays.

    In the configuration file and the environment, --older-than is 'prune-older-than' and NESSIE_GC_PRUNE_OLDER_THAN.
    """
    parameters = call.given().settings(PruneParameters)
    rule = parameters.rule()
    with open_store(call) as store:
        report = prune(store, rule, dry_run=parameters.dry_run)
    if call.session.as_json:
        print_json(report.to_dict())
    else:
        _print_pruned(report)
    return 0


def _print_pruned(report: PruneReport) -> None:
    count = f"{len(report.pruned):,} live set{'' if len(report.pruned) == 1 else 's'}"
    say(f"{'would remove' if report.dry_run else 'removed'} {count}; no file was touched")
    for live_set in report.pruned:
        created = time_text(live_set.created)
        say(f"  {live_set.id}  {live_set.status} of {live_set.repository}, created {created}")
    asked = [kept for kept in report.kept if kept.asked]
    if asked:
        say(f"{len(asked):,} stay{'s' if len(asked) == 1 else ''} for reasons other than age and status:")
    for kept in asked:
        say(f"  {kept.live_set.id}  {kept.live_set.status} of {kept.live_set.repository}: {kept.reason}")
    others = len(report.kept) - len(asked)
    if others:
        say(f"{others:,} stay{'s' if others == 1 else ''} because of age or status")


def list_deferred(call: Call) -> int:
    """List the files whose deletion was deferred, with their modification time, location and path."""
    named = chosen_id(call)
    with open_store(call) as store:
        service = LiveSetService(store)
        id_ = service.find(named)
        deletions = service.deferred(id_)
        if call.session.as_json:
            print_json_stream({"live_set_id": str(id_)}, {"files": map(_deletion, deletions)})
            return 0
        count = 0
        for deletion in deletions:
            count += 1
            say(f"{time_text(deletion.modified):25}  {deletion.location}  {deletion.path}")
    click.echo(plural(count, "file"), err=True)
    return 0


# ---- as text and as JSON ------------------------------------------------------------------------------
def _plain_details(details: LiveSetDetails) -> dict[str, Any]:
    return {
        **as_plain(details.live_set),
        "references": [
            {"name": head.name, "commit_id": head.commit_id, "policy": head.policy} for head in details.live_set.heads
        ],
        "counts": {
            "contents": details.contents,
            "content_versions": details.content_versions,
            "base_locations": details.base_locations,
            "deferred_files": details.deferred_files,
            "deferred_bytes": details.deferred_bytes,
            "failed_files": details.failed_files,
        },
    }


def _status(live_set: LiveSet, failed: int) -> str:
    """The status, with the number of failed deletions, if there are any."""
    return live_set.status.value + (f", {failed:,} failed" if failed else "")


def _print_details(details: LiveSetDetails) -> None:
    for name, value in _detail_lines(details):
        say(f"{name:20}{value}")
    say(f"{'content versions':20}{details.content_versions:,} of {details.contents:,} contents")
    say(f"{'base locations':20}{details.base_locations:,}")
    say(f"{'deferred deletes':20}{plural(details.deferred_files, 'file')}, {size_text(details.deferred_bytes)}")
    for head in details.live_set.heads:
        say(f"{'reference':20}{head.name} at {head.commit_id}, cut-off policy {head.policy}")


def _detail_lines(details: LiveSetDetails) -> Iterator[tuple[str, str]]:
    live_set = details.live_set
    yield "live set", str(live_set.id)
    yield "status", _status(live_set, details.failed_files)
    yield "repository", live_set.repository
    for name in _TIMES:
        time: datetime | None = getattr(live_set, name)
        if time is not None:
            yield name.replace("_", " "), time_text(time)
    for name, took in (("mark took", mark_time(live_set)), ("sweep took", sweep_time(live_set))):
        if took is not None:
            yield name, duration_text(took)
    if live_set.policies:
        yield "cut-off policies", ", ".join(live_set.policies)
    if live_set.error_message:
        yield "error", live_set.error_message


def _print_parts(parts: dict[str, Iterable[dict[str, Any]]]) -> None:
    for name, rows in parts.items():
        say("")
        say(f"{name.replace('_', ' ')}:")
        for row in rows:
            say("  " + "  ".join("-" if value is None else str(value) for value in row.values()))


def _version(version: ContentVersion) -> dict[str, Any]:
    return {
        "content_key": version.content_key,
        "content_id": version.content_id,
        "content_type": version.content_type,
        "metadata_location": version.metadata_location,
        "snapshot_id": version.snapshot_id,
        "commit_id": version.commit_id,
    }


def _deletion(deletion: FileDeletion) -> dict[str, Any]:
    return {
        "modified": json_time(deletion.modified),
        "size": deletion.size,
        "location": deletion.location,
        "path": deletion.path,
    }


STATUS = GcOption(
    "--status",
    section="Live set",
    type=click.Choice([status.value for status in LiveSetStatus], case_sensitive=False),
    multiple=True,
    help="Only live sets with this status (repeatable).",
)
_LIST = (
    STATUS,
    GcOption(
        "--limit", section="Live set", type=click.IntRange(min=1), metavar="N", help="Only the newest N live sets."
    ),
)
_SHOW = (
    GcOption("--with-deferred-deletes", "-D", section="Live set", is_flag=True, help="Show its deferred deletes too."),
    GcOption(
        "--with-content-references", "-C", section="Live set", is_flag=True, help="Show its content versions too."
    ),
    GcOption("--with-base-locations", "-B", section="Live set", is_flag=True, help="Show its base locations too."),
)

_DELETE = (
    GcOption(
        "--discard-deferred",
        section="Live set",
        is_flag=True,
        help="Delete it even if it has deferred deletions; they are then never run.",
    ),
)

_PRUNE = (
    *options_of(PruneSettings),
    GcOption(
        "--keep",
        section="Live set",
        type=click.IntRange(min=0),
        metavar="N",
        help="Keep the newest N of each repository, whatever their age.",
    ),
    STATUS,
    *_DELETE,
)

LIVE_SET_COMMANDS = (
    GcCommand("list", list_, (*_LIST, *options.STORE, *options.REPORT)),
    GcCommand("show", show, (*options.LIVE_SET, *_SHOW, *options.STORE, *options.REPORT), shortest_id=_SHORTEST),
    GcCommand("delete", delete, (*options.LIVE_SET, *_DELETE, *options.STORE, *options.REPORT)),
    GcCommand("prune", prune_, (*_PRUNE, *options.DRY_RUN, *options.STORE, *options.REPORT)),
    GcCommand(
        "list-deferred", list_deferred, (*options.LIVE_SET, *options.STORE, *options.REPORT), shortest_id=_SHORTEST
    ),
)
