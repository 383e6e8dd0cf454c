"""Cut-off policies: how far back the commits of a reference stay live."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self

import isodate

from nessie_gc_core.errors import ConfigurationError

SWEPT_ONLY_BY = "swept only by "
"""Begins a text that follows the policies of a live set, and ends with the service that alone may sweep it."""
_NOT_READ = re.compile(r"Y|^[^T]*M|[.,]\d+[A-RT-Z]|T$")
"""Years, months, fractions of anything but seconds, and a T with nothing after it: isodate reads some of these."""
_ACCEPTED = (
    "NONE, a number of commits, an ISO duration such as P10D or PT36H, or an instant such as 2026-01-31T00:00:00Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far a walk still reaches: the union of up to three parts, which end independently.

    A part that ends never comes back: a walk stops at the first commit that is not live, however
    young an older commit may be.
    """

    everything: bool = False
    """Whether all commits are live."""
    since: datetime | None = None
    """Commits at or after this instant (UTC) are live; ``None``: none are live by age."""
    commits: int = 0
    """This many commits, including the next one, are live."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing more is live."""
        return not self.everything and self.since is None and self.commits <= 0

    def covers(self, other: Reach) -> bool:
        """Whether this reaches everything from a commit that ``other`` reaches from it."""
        if self.everything or other.is_empty:
            return True
        since_covered = other.since is None or (self.since is not None and self.since <= other.since)
        return not other.everything and since_covered and self.commits >= other.commits

    def merge(self, other: Reach) -> Reach:
        """The reach of two walks that continue as one."""
        if other.is_empty:
            return self
        times = [since for since in (self.since, other.since) if since is not None]
        return Reach(
            everything=self.everything or other.everything,
            since=min(times) if times else None,
            commits=max(self.commits, other.commits),
        )

    def at(self, commit_time: datetime) -> Reach:
        """What is left of the reach once the next commit's time is known; empty: that commit is not live."""
        since = self.since if self.since is not None and commit_time >= self.since else None
        if since is self.since and self.commits >= 0:
            return self
        return Reach(everything=self.everything, since=since, commits=max(self.commits, 0))

    def below(self) -> Reach:
        """The reach from the parent of a live commit."""
        if self.commits == 0:
            return self
        return Reach(everything=self.everything, since=self.since, commits=max(self.commits - 1, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class CutoffPolicy:
    """Which commits of a reference are live; the head always is."""

    text: str
    """Canonical text, from which :meth:`parse` returns an equal policy."""
    reach: Reach
    """How far a walk from the HEAD goes."""

    @classmethod
    def parse(cls, text: str, *, reference_time: datetime) -> Self:
        """Reads a policy, trying in the order of the Java tool: NONE, commits, ISO duration, instant.

        Args:
            text: the policy; case does not matter.
            reference_time: the instant from which a duration counts back; aware.

        Raises:
            ConfigurationError: the text has none of the accepted forms.
        """
        upper = text.strip().upper()
        if upper == "NONE":
            return cls(text="NONE", reach=Reach(everything=True))
        if re.fullmatch(r"[-+]?\d{1,10}", upper) and -(2**31) <= int(upper) < 2**31:
            return cls(text=str(int(upper)), reach=Reach(commits=max(int(upper), 1)))
        instant = _before(upper, reference_time) or _instant(upper)
        if instant is None:
            raise ConfigurationError(f"unknown cut-off policy {text!r}; give {_ACCEPTED}")
        return cls(text=instant.isoformat(timespec="microseconds"), reach=Reach(since=instant))


def parse_instant(text: str) -> datetime:
    """Reads an ISO instant with an offset or ``Z``, as UTC.

    Raises:
        ConfigurationError: it is not an instant, or it has no offset.
    """
    instant = _instant(text.strip().upper())
    if instant is None:
        raise ConfigurationError(f"{text!r} is not an instant; give one with an offset, such as 2026-01-31T00:00:00Z")
    return instant


def time_before(text: str, now: datetime, parameter: str) -> datetime:
    """Reads an instant, or a duration that counts back from now.

    Raises:
        ConfigurationError: it is neither; the message names the parameter.
    """
    try:
        return now - parse_duration(text) if text.strip()[:1] in ("P", "p") else parse_instant(text)
    except (ConfigurationError, OverflowError) as error:
        raise ConfigurationError(
            f"`{parameter}` {text!r} is neither a duration such as P5D nor an instant such as 2026-01-31T00:00:00Z"
        ) from error


def parse_duration(text: str) -> timedelta:
    """Reads an ISO duration of weeks, days, hours, minutes and seconds, such as ``P1DT12H``.

    Seconds may have a fraction, which is read to the microsecond.

    Raises:
        ConfigurationError: it is not such a duration (months and years have no fixed length).
    """
    duration = _duration(text.strip().upper())
    if duration is None:
        raise ConfigurationError(f"{text!r} is not a duration; give an ISO duration such as P1D, PT6H or PT0S")
    return duration


def _duration(upper: str) -> timedelta | None:
    if _NOT_READ.search(upper):
        return None
    try:
        duration = isodate.parse_duration(upper)
    except (ValueError, OverflowError):
        return None
    return duration if isinstance(duration, timedelta) else None  # isodate also reads a date after a P


def _before(upper: str, reference_time: datetime) -> datetime | None:
    duration = _duration(upper)
    if duration is None:
        return None
    try:
        return (reference_time - duration).astimezone(UTC)
    except OverflowError as error:
        raise ConfigurationError(f"cut-off policy {upper!r} reaches beyond the calendar") from error


def _instant(upper: str) -> datetime | None:
    try:
        instant = datetime.fromisoformat(upper)
        return instant.astimezone(UTC) if instant.tzinfo is not None else None
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePolicies:
    """The policy of every reference: patterns in order, the first that matches the whole name wins (S12)."""

    default: CutoffPolicy
    """The policy of references that no pattern matches."""
    patterns: tuple[tuple[re.Pattern[str], CutoffPolicy], ...] = ()
    """Regular expressions of whole reference names, each with its policy, in order."""
    recorded: Mapping[str, CutoffPolicy] = field(default_factory=dict)
    """Policies that references had in an earlier run, by name; they come before the patterns."""

    @classmethod
    def parse(cls, default: str, cutoffs: Sequence[str] = (), *, reference_time: datetime) -> Self:
        """Reads the default policy and ``regex=policy`` entries, each of which may hold several, separated by commas.

        A repeated pattern keeps its first place and its last value, as in the Java tool.

        Raises:
            ConfigurationError: an entry has no ``=``, a bad pattern or a bad policy; the message names it.
        """
        entries: dict[str, CutoffPolicy] = {}
        for entry in (part for cutoff in cutoffs for part in cutoff.split(",") if part.strip()):
            pattern, equals, policy = entry.strip().partition("=")
            if not equals or not pattern:
                raise ConfigurationError(f"cut-off {entry!r} is not of the form REFERENCE-PATTERN=POLICY")
            entries[pattern] = CutoffPolicy.parse(policy, reference_time=reference_time)
        return cls(
            default=CutoffPolicy.parse(default, reference_time=reference_time),
            patterns=tuple((_compile(pattern), policy) for pattern, policy in entries.items()),
        )

    def to_texts(self) -> tuple[str, ...]:
        """The default and every ``pattern=policy``, with durations resolved to instants."""
        return (self.default.text, *(f"{pattern.pattern}={policy.text}" for pattern, policy in self.patterns))

    @classmethod
    def from_texts(cls, texts: Sequence[str], recorded: Mapping[str, str]) -> Self:
        """The policies of an earlier run, with those that its references had."""
        now = datetime.now(UTC)  # never used: a recorded policy holds no duration
        default, *cutoffs = [text for text in texts if not is_sweeper(text)] or ("NONE",)
        parsed = cls.parse(default, cutoffs, reference_time=now)
        by_name = {name: CutoffPolicy.parse(text, reference_time=now) for name, text in recorded.items()}
        return cls(default=parsed.default, patterns=parsed.patterns, recorded=by_name)

    def for_reference(self, name: str) -> CutoffPolicy:
        """The policy of the reference with this whole name."""
        if name in self.recorded:
            return self.recorded[name]
        return next((policy for pattern, policy in self.patterns if pattern.fullmatch(name)), self.default)


def is_sweeper(text: str) -> bool:
    """Whether a text among the policies of a live set names the only service that may sweep it."""
    return text.startswith(SWEPT_ONLY_BY) and "=" not in text  # a pattern has its policy after it


def _compile(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ConfigurationError(f"reference pattern {pattern!r} is not a valid regular expression: {error}") from error
