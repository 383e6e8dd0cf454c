"""The options of marking and sweeping; names and defaults of the original where the meaning is the same."""

from __future__ import annotations

from datetime import timedelta

import click

from nessie_gc_core.cli.command import GcOption
from nessie_gc_core.cli.values import Duration, Instant, Text, Texts
from nessie_gc_core.model.limits import DEFAULT_MIN_AGE

_MARK = "Mark"
_SWEEP = "Sweep"
_GUARD = "What keeps files"

RECHECK = (
    GcOption(
        "--identify-parallelism",
        section=_MARK,
        type=click.IntRange(min=1),
        default=4,
        show_default=True,
        help="How many references are walked at once, on both engines.",
    ),
    GcOption(
        "--visited",
        section=_MARK,
        type=Text(),
        default="exact",
        show_default=True,
        metavar="NAME",
        help="How walked commits are remembered: exact or none.",
    ),
)

MARK = (
    GcOption(
        "--default-cutoff",
        "-c",
        section=_MARK,
        type=Text(),
        default="NONE",
        show_default=True,
        metavar="POLICY",
        help="How far back commits stay live: NONE (all), a number of commits, an ISO duration (P30D), or an instant.",
    ),
    GcOption(
        "--cutoff",
        "-C",
        section=_MARK,
        type=Text(),
        multiple=True,
        metavar="PATTERN=POLICY,...",
        help="The policy of references whose whole name matches a regular expression; the first match wins.",
    ),
    GcOption(
        "--cutoff-ref-time",
        "-R",
        section=_MARK,
        type=Instant(),
        metavar="INSTANT",
        help="The time from which durations count back; now where nothing is said.",
    ),
    *RECHECK,
)

WRITE_LIVE_SET_ID = (
    GcOption(
        "--write-live-set-id-to",
        section=_MARK,
        type=Text(),
        metavar="FILE",
        help="File that receives the live set's id; made, with its folders, before anything else.",
    ),
)

AGE_OF_LIVE_SET = (
    GcOption(
        "--max-live-set-age",
        section=_GUARD,
        type=Duration(),
        default=timedelta(days=7),
        show_default="P7D",
        help="Refuse a live set that is older.",
    ),
)

AGE = (
    GcOption(
        "--min-age",
        section=_GUARD,
        type=Duration(),
        default=DEFAULT_MIN_AGE,
        show_default="P1D",
        help="Keep files that are younger than this at the time the references were listed.",
    ),
    GcOption(
        "--no-age-floor",
        section=_GUARD,
        is_flag=True,
        help="Allow --min-age below one hour; only where nobody writes to the lake.",
    ),
    GcOption(
        "--max-file-modification",
        section=_GUARD,
        type=Instant(),
        metavar="INSTANT",
        help="Keep files that were modified later than this.",
    ),
)

ALLOWED = (
    GcOption(
        "--allow",
        section=_GUARD,
        type=Texts(),
        multiple=True,
        metavar="PREFIX",
        help="Sweep only below this location (a warehouse); may be given several times.",
    ),
    GcOption(
        "--min-depth",
        section=_GUARD,
        type=click.IntRange(min=0),
        metavar="N",
        help="Least number of path elements below the bucket; without --allow 2 (3 for local files).",
    ),
)

CAPS = (
    GcOption(
        "--max-deletes",
        section=_GUARD,
        type=click.IntRange(min=0),
        metavar="FILES",
        help="Delete nothing where the run would delete more files than this.",
    ),
    GcOption(
        "--max-deletes-per-location",
        section=_GUARD,
        type=click.IntRange(min=0),
        metavar="FILES",
        help="Delete nothing in a location where more files than this would go.",
    ),
    GcOption(
        "--max-delete-percent",
        section=_GUARD,
        type=click.FloatRange(min=0, max=100),
        metavar="PERCENT",
        help="Delete nothing in a location where more than this share of its files would go.",
    ),
)

UNKNOWN = (
    GcOption(
        "--strict-unknown", section=_GUARD, is_flag=True, help="Delete nothing at all where anything could not be read."
    ),
)

DRY_RUN = (
    GcOption("--dry-run", section=_SWEEP, is_flag=True, help="Do everything but the last call: delete nothing."),
)

OUTCOMES = (
    GcOption(
        "--outcomes-to",
        section=_SWEEP,
        type=Text(),
        metavar="FILE",
        help="Write every file with its outcome and reason (.jsonl or .parquet).",
    ),
)

SWEEP = (
    *DRY_RUN,
    GcOption(
        "--defer-deletes/--no-defer-deletes",
        section=_SWEEP,
        default=False,
        help="Record what is to be deleted, for 'deferred-deletes', instead of deleting it.",
    ),
    GcOption(
        "--membership",
        section=_SWEEP,
        type=click.Choice(["exact", "bloom"], case_sensitive=False),
        default="exact",
        show_default=True,
        help="How stored files are compared with reachable ones; a Bloom filter keeps a little garbage.",
    ),
    GcOption(
        "--expected-file-count",
        section=_SWEEP,
        type=int,
        default=1_000_000,
        show_default=True,
        help="Capacity of the Bloom filter; it is made larger where more is reachable.",
    ),
    GcOption(
        "--fpp",
        section=_SWEEP,
        type=float,
        default=1e-5,
        show_default=True,
        help="The Bloom filter's probability to take a dead file for a live one.",
    ),
    GcOption(
        "--allowed-fpp",
        section=_SWEEP,
        type=float,
        default=1e-4,
        show_default=True,
        help="Accepted for the original's sake; the filter is sized for what is there, so it is never overfull.",
    ),
    *OUTCOMES,
)

RESUME = (GcOption("--resume", section=_SWEEP, is_flag=True, help="Take up a sweep that was killed or failed."),)
