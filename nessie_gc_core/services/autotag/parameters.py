"""The typed parameters of auto-tagging."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.table_patterns import TablePatterns
from nessie_gc_core.services.autotag.policies import DEFAULT_POLICIES, DEFAULT_PREFIX, TagPolicy, parse_policies
from nessie_gc_core.services.finding_parameters import commit_retries_option, exclude_option, include_option

TAGS = "Tags"


@options
class AutotagParameters(ConnectorOptions):
    """Which tags to create, of what, and how long to keep them."""

    tag_branch: str | None = option(
        None,
        section=TAGS,
        flag="--branch",
        metavar="NAME",
        help="Tag this branch (default: the default branch; main in tables).",
    )
    at: datetime | None = option(
        None,
        section=TAGS,
        metavar="INSTANT",
        help="Act as if it were this time (default: now). Only a dry run may look ahead.",
    )
    tag_policy: Sequence[str] = option(
        DEFAULT_POLICIES,
        section=TAGS,
        metavar="PERIOD=KEEP",
        whole=True,
        help="How often to tag and how many tags to keep, e.g. "
        "'daily=8;prefix=eod/;time-zone=Europe/Berlin;delay=PT2H;branch=dev.*'.",
    )
    tag_prefix: str = option(
        DEFAULT_PREFIX, section=TAGS, metavar="PREFIX", help="Prefix of tag names, unless the policy sets one."
    )
    tag_time_zone: str = option(
        "UTC", section=TAGS, metavar="ZONE", help="Time zone in which days begin and end, unless the policy sets one."
    )
    tag_delay: timedelta = option(
        timedelta(0), section=TAGS, minimum=0, help="Tag the state this long after the end of each period."
    )
    include: Sequence[str] = include_option()
    exclude: Sequence[str] = exclude_option()
    adopt: bool = option(
        False,
        section=TAGS,
        help="Treat doubtful tags as created by autotag, so that they are deleted when no policy keeps them.",
    )
    commit_retries: int = commit_retries_option()
    dry_run: bool = option(False, section=TAGS, help="Report what would be done; create and delete no tags.")

    @property
    def policies(self) -> tuple[TagPolicy, ...]:
        """The policies.

        Raises:
            ConfigurationError: one is invalid, or two use the same name.
        """
        return parse_policies(self.tag_policy, prefix=self.tag_prefix, zone=self.tag_time_zone, delay=self.tag_delay)

    @property
    def patterns(self) -> TablePatterns:
        """Which tables of a plain catalog are tagged."""
        return TablePatterns.parse(self.include, self.exclude)
