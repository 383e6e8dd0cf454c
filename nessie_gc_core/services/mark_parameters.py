"""The typed parameters of a mark, and of what walks references as a mark does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from nessie_gc_core.config.connectors import ConnectorChoice
from nessie_gc_core.connectors import VisitedDeduplicator
from nessie_gc_core.model.options import ConnectorOptions, option, options
from nessie_gc_core.model.policies import ReferencePolicies

MARK = "Mark"
"""The heading of these parameters in the help."""


@options
class WalkParameters(ConnectorOptions):
    """How references are walked, by a mark and by a re-check."""

    identify_parallelism: int = option(
        4, section=MARK, minimum=1, help="How many references to walk at once, on both engines.", per_machine=True
    )
    visited: str = option(
        "exact", section=MARK, metavar="NAME", help="How to remember which commits were walked: exact or none."
    )

    def check(self, choice: ConnectorChoice) -> None:
        """Rejects invalid parameters before anything is opened.

        Raises:
            ConfigurationError: the message names the parameter.
        """
        self.typed({field.name: getattr(self, field.name) for field in fields(self)})
        choice.registry().connector_class(VisitedDeduplicator, self.visited)


# ---- what a mark alone and a collection both take -----------------------------------------------------
def default_cutoff_option(default: str = "NONE") -> str:
    """Declares the policy of references that no pattern matches."""
    return option(
        default,
        section=MARK,
        flag="-c",
        metavar="POLICY",
        help="How far back commits stay live: NONE (all), a number of commits, an ISO duration (P30D), or an instant.",
    )


def cutoff_option() -> Sequence[str]:
    """Declares the policies of references by patterns of their names."""
    return option(
        (),
        section=MARK,
        flag="-C",
        metavar="PATTERN=POLICY,...",
        whole=True,
        help="The policy of references whose whole name matches a regular expression; the first match wins.",
    )


def cutoff_ref_time_option() -> datetime | None:
    """Declares the instant from which durations count back."""
    return option(
        None,
        section=MARK,
        flag="-R",
        metavar="INSTANT",
        help="The time from which durations count back (default: now).",
    )


def write_live_set_id_to_option() -> str | None:
    """Declares the file for the id of the live set."""
    return option(
        None,
        section=MARK,
        metavar="FILE",
        help="Write the live set's id to this file, created at start with its parent folders.",
        per_machine=True,
    )


@options
class MarkParameters(WalkParameters):
    """What a mark keeps."""

    default_cutoff: str = default_cutoff_option()
    cutoff: Sequence[str] = cutoff_option()
    cutoff_ref_time: datetime | None = cutoff_ref_time_option()
    write_live_set_id_to: str | None = write_live_set_id_to_option()

    def policies(self, now: datetime) -> ReferencePolicies:
        """The cut-off policies; durations count back from ``cutoff_ref_time``, or from now.

        Raises:
            ConfigurationError: a policy or a pattern is invalid.
        """
        return ReferencePolicies.parse(self.default_cutoff, self.cutoff, reference_time=self.cutoff_ref_time or now)
