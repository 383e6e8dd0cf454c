"""Which tags are kept: policies, and what they come to for a branch at an instant."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Self
from zoneinfo import ZoneInfo

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.policies import parse_duration
from nessie_gc_core.services.autotag.periods import Period, RollOver

DEFAULT_POLICIES = ("hourly=25", "daily=8", "weekly=6", "monthly=13", "yearly=3")
"""The last 25 hours, 8 days, 6 weeks, 13 months and 3 years."""
DEFAULT_PREFIX = "date/"
_MOST = 100_000
_PREFIX = re.compile(r"[A-Za-z](?!.*(\.\.|//))[A-Za-z0-9._/-]*")
"""How names of references may begin in Nessie: https://projectnessie.org/nessie-latest/rules/"""
_FORM = "PERIOD=KEEP, or with more after it: PERIOD=KEEP;prefix=…;time-zone=…;delay=…;branch=…"


@dataclass(frozen=True, slots=True, kw_only=True)
class TagPolicy:
    """How often tags are made, how many are kept, and of what."""

    period: Period
    """How often."""
    keep: int
    """How many roll-overs keep their tag; 0: existing tags are deleted."""
    prefix: str = DEFAULT_PREFIX
    """How the names begin."""
    zone: ZoneInfo = field(default_factory=lambda: ZoneInfo("UTC"))
    """By whose wall clock the period rolls over."""
    delay: timedelta = timedelta(0)
    """How long after the roll-over the state is taken: what was loaded by then is in it."""
    branch: re.Pattern[str] | None = None
    """The branches that it is about, by their whole names; ``None``: the one that is chosen."""

    @classmethod
    def parse(cls, text: str, *, prefix: str, zone: str, delay: timedelta) -> Self:
        """Reads ``PERIOD=KEEP``, with more words after semicolons.

        Args:
            text: the policy.
            prefix: how names begin if the policy does not say.
            zone: the time zone, if the policy does not say.
            delay: how long after the roll-over the state is tagged, if the policy does not say.

        Raises:
            ConfigurationError: it is invalid; the message names what.
        """
        first, *more = (part.strip() for part in text.split(";"))
        period, _, keep = first.partition("=")
        if not re.fullmatch(r"\d{1,9}", keep.strip()) or int(keep) > _MOST:
            raise ConfigurationError(f"tag policy {text!r}: give {_FORM}; KEEP is a number up to {_MOST:,}")
        words = _words(text, more)
        return cls(
            period=Period.parse(period),
            keep=int(keep),
            prefix=_checked_prefix(words.get("prefix", prefix)),
            zone=_zone(words.get("time-zone", zone)),
            delay=_checked_delay(parse_duration(words["delay"]) if "delay" in words else delay),
            branch=_pattern(words["branch"]) if "branch" in words else None,
        )

    def window(self, at: datetime) -> Iterator[RollOver]:
        """The roll-overs whose delay has passed and whose tags are kept at an instant, latest first."""
        return islice(self.period.roll_overs(at - self.delay, self.zone), self.keep)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedTag:
    """A tag that a branch should have."""

    name: str
    """Its name."""
    prefix: str
    """What its name begins with: that of its policies, and the branch unless it is the default one."""
    branch: str
    """The branch."""
    instant: datetime
    """The roll-over, UTC."""
    state_at: datetime
    """The instant whose state it shows, UTC: the roll-over and the delay."""
    periods: tuple[str, ...]
    """The periods that keep it."""
    is_latest: tuple[str, ...]
    """The periods among them whose latest tag it is."""


def parse_policies(texts: Sequence[str], *, prefix: str, zone: str, delay: timedelta) -> tuple[TagPolicy, ...]:
    """Reads policies, and refuses those that would use one name for two states.

    Raises:
        ConfigurationError: one is invalid, or two use the same name.
    """
    policies = tuple(TagPolicy.parse(text, prefix=prefix, zone=zone, delay=delay) for text in texts)
    for number, one in enumerate(policies):
        for other in policies[:number]:
            if _pattern_text(one) == _pattern_text(other) and one.prefix == other.prefix:
                if one.period == other.period:
                    raise ConfigurationError(
                        f"two tag policies are {one.period.text} with the prefix {one.prefix!r}; keep one"
                    )
                if (one.zone.key, one.delay) != (other.zone.key, other.delay):
                    raise _fight(one, other, f"with the prefix {one.prefix!r}")
    return policies


def policies_by_branch(
    policies: Iterable[TagPolicy], branches: Collection[str], *, chosen: str, default: str
) -> dict[str, list[TagPolicy]]:
    """The policies of each branch that has some, their prefixes with the branch where it is not the default one.

    Args:
        policies: all of them.
        branches: the names of the existing branches.
        chosen: the branch of policies that name none.
        default: the branch that plays no part in names.

    Raises:
        ConfigurationError: two of them need the same name.
    """
    found: dict[str, list[TagPolicy]] = {}
    owners: dict[str, tuple[str, TagPolicy]] = {}
    for policy in policies:
        names = [chosen] if policy.branch is None else filter(policy.branch.fullmatch, sorted(branches))
        for name in names:
            named = policy if name == default else replace(policy, prefix=f"{policy.prefix}{name}/")
            if any((each.period, each.prefix) == (named.period, named.prefix) for each in found.get(name, ())):
                raise ConfigurationError(
                    f"two tag policies are {named.period.text} for the branch {name!r} with the prefix "
                    f"{named.prefix!r}; keep one"
                )
            owner, other = owners.setdefault(named.prefix, (name, named))
            same = (owner, other.zone.key, other.delay) == (name, named.zone.key, named.delay)
            if not same:
                raise _fight(named, other, f"of the branches {owner!r} and {name!r} with the prefix {named.prefix!r}")
            found.setdefault(name, []).append(named)
    return found


def wanted_tags(branch: str, policies: Iterable[TagPolicy], at: datetime) -> dict[str, WantedTag]:
    """The tags that a branch should have at an instant, by name.

    Args:
        branch: its name.
        policies: those of the branch, as :func:`policies_by_branch` gives them.
        at: the instant.
    """
    found: dict[str, WantedTag] = {}
    for policy in policies:
        for number, each in enumerate(policy.window(at)):
            name, period = policy.prefix + each.digits, policy.period.text
            known = found.get(name) or WantedTag(
                name=name,
                prefix=policy.prefix,
                branch=branch,
                instant=each.instant,
                state_at=each.instant + policy.delay,
                periods=(),
                is_latest=(),
            )
            latest = (*known.is_latest, period) if number == 0 else known.is_latest
            found[name] = replace(known, periods=(*known.periods, period), is_latest=latest)
    return found


def _words(text: str, more: Iterable[str]) -> dict[str, str]:
    words: dict[str, str] = {}
    for part in more:
        key, equals, value = (each.strip() for each in part.partition("="))
        if key not in ("prefix", "time-zone", "delay", "branch") or not equals or not value or key in words:
            raise ConfigurationError(f"tag policy {text!r}: {part!r} is not valid; give {_FORM}")
        words[key] = value
    return words


def _checked_prefix(prefix: str) -> str:
    if _PREFIX.fullmatch(prefix) is None:
        raise ConfigurationError(
            f"the tag prefix {prefix!r} is not valid: start with a letter, then use letters, digits and . _ / -"
        )
    return prefix


def _checked_delay(delay: timedelta) -> timedelta:
    if delay < timedelta(0):
        raise ConfigurationError("the delay of a tag policy is negative; give a duration such as PT2H")
    return delay


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigurationError(f"{name!r} is not a time zone; give a name such as UTC or Europe/Berlin") from error


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise ConfigurationError(
            f"the branch {text!r} of a tag policy is not a valid regular expression: {error}"
        ) from error


def _pattern_text(policy: TagPolicy) -> str | None:
    return None if policy.branch is None else policy.branch.pattern


def _fight(one: TagPolicy, other: TagPolicy, where: str) -> ConfigurationError:
    periods = f"{other.period.text} and {one.period.text}"
    return ConfigurationError(
        f"the tag policies {periods} {where} would use one name for two states; give them different prefixes, or the "
        "same time zone and delay"
    )
