"""What a GCS bucket itself does with noncurrent versions before their time in quarantine is over, and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from nessie_gc_core.model.text import duration_text


def warnings_of(said: Mapping[str, Any], bucket: str, prefixes: Sequence[str], duration: timedelta) -> Sequence[str]:
    """One line for each lifecycle rule that may delete hidden files below some prefixes too early, and for retention.

    Args:
        said: ``lifecycle`` and ``retentionPolicy`` of the bucket.
        bucket: its name.
        prefixes: what the keys of hidden files begin with.
        duration: how long they stay.
    """
    rules = (said.get("lifecycle") or {}).get("rule", ())
    return [*_of_rules(rules, bucket, prefixes, duration), *_of_retention(said, bucket, duration)]


def _of_rules(
    rules: Sequence[Mapping[str, Any]], bucket: str, prefixes: Sequence[str], duration: timedelta
) -> Iterator[str]:
    for number, rule in enumerate(rules, start=1):
        condition = rule.get("condition") or {}
        if (rule.get("action") or {}).get("type") != "Delete" or not _touches(condition, prefixes):
            continue
        name = f"the lifecycle rule number {number} of gs://{bucket}/"
        days = condition.get("daysSinceNoncurrentTime")
        if days is None:
            yield f"{name} may delete hidden files at any time: it has no `daysSinceNoncurrentTime`"
        elif timedelta(days=int(days)) < duration:
            after = duration_text(timedelta(days=int(days)))
            yield f"{name} deletes hidden files after {after}, which is earlier than `quarantine_for`"


def _touches(condition: Mapping[str, Any], prefixes: Sequence[str]) -> bool:
    """Whether a rule may be about hidden files; what else it asks of objects may be so.

    A hidden file is noncurrent, and has no newer versions.
    """
    if condition.get("isLive") is True or int(condition.get("numNewerVersions") or 0) > 0:
        return False
    begins = condition.get("matchesPrefix") or [""]
    return any(prefix.startswith(begin) or begin.startswith(prefix) for prefix in prefixes for begin in begins)


def _of_retention(said: Mapping[str, Any], bucket: str, duration: timedelta) -> Iterator[str]:
    period = timedelta(seconds=int((said.get("retentionPolicy") or {}).get("retentionPeriod") or 0))
    if period > duration:
        keeps = f"the retention policy of gs://{bucket}/ keeps each version for {duration_text(period)}"
        yield f"{keeps}, which is longer than `quarantine_for`: until then, a purge of it fails"
