"""Lifecycle rules of a bucket that touch noncurrent versions before their time in quarantine is over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from nessie_gc_core.model.text import duration_text
from nessie_gc_iceberg_files.s3_rights import said_of

_ARCHIVES = frozenset({"GLACIER", "DEEP_ARCHIVE"})
"""Classes from which an object has to be restored before it can be read."""
_NONE = "NoSuchLifecycleConfiguration"


def warnings_of(client: Any, bucket: str, prefixes: Sequence[str], duration: timedelta) -> Sequence[str]:
    """One line for each rule that may touch keys below some prefixes.

    Args:
        client: of boto3.
        bucket: its name.
        prefixes: what the keys of hidden files begin with.
        duration: how long they stay.
    """
    try:
        rules = client.get_bucket_lifecycle_configuration(Bucket=bucket).get("Rules", ())
    except (ClientError, BotoCoreError) as error:
        if isinstance(error, ClientError) and error.response.get("Error", {}).get("Code") == _NONE:
            return ()
        why = said_of(error)
        return (f"the lifecycle rules of s3://{bucket}/ are unknown: they may delete hidden files earlier ({why})",)
    meant = [rule for rule in rules if rule.get("Status") == "Enabled" and _touches(rule, prefixes)]
    return [said for rule in meant for said in _said(rule, bucket, duration)]


def _touches(rule: Mapping[str, Any], prefixes: Sequence[str]) -> bool:
    """Whether a rule may be about some of the keys; what else it asks of objects may be so."""
    told = rule.get("Filter") or {}
    begin = told.get("Prefix") or told.get("And", {}).get("Prefix") or rule.get("Prefix") or ""
    return any(prefix.startswith(begin) or begin.startswith(prefix) for prefix in prefixes)


def _said(rule: Mapping[str, Any], bucket: str, duration: timedelta) -> Iterator[str]:
    name = f"the lifecycle rule {rule.get('ID', '')!r} of s3://{bucket}/"
    days = rule.get("NoncurrentVersionExpiration", {}).get("NoncurrentDays")
    if days is not None and timedelta(days=days) < duration:
        after = duration_text(timedelta(days=days))
        yield f"{name} deletes hidden files after {after}, which is earlier than `quarantine_for`"
    for each in rule.get("NoncurrentVersionTransitions", ()):
        days, kind = each.get("NoncurrentDays", 0), each.get("StorageClass")
        if kind in _ARCHIVES and timedelta(days=days) < duration:
            after = duration_text(timedelta(days=days))
            yield f"{name} moves hidden files to {kind} after {after}: restored files cannot be read at once"
