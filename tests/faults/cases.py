"""What goes wrong, and how a collection has to end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nessie_gc_core.testing.servers import Faults, S3Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A store on a bad day, or settings that are wrong."""

    name: str
    faults: Faults | None = None
    """What a proxy before the store does; ``None``: there is none."""
    properties: Mapping[str, str] = field(default_factory=dict)
    """What differs from the right properties."""
    is_told: bool = False
    """Whether the first run has to fail, and name no file as deleted that is there."""
    deletes_nothing: bool = False
    """Whether the first run has to leave everything where it is."""
    engine: str = "local"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """A command that ends in the middle."""

    name: str
    command: str
    """``mark``, ``sweep``, ``deferred-deletes``, ``quarantine``, ``restore`` or ``purge``."""
    signal: str
    share: float = 0.0
    """After which share of its requests; 0: after a bulk deletion."""
    deletes: int = 0
    """After how many bulk deletions have been done, the last one without an answer."""
    kind: str = "moved"
    """What a quarantine does with files: they are ``moved``, ``hidden`` as versions, or ``tagged``."""


def faults() -> list[Fault]:
    """The faults, in the order of the table."""
    reader = {"s3.access-key-id": S3Server.read_only_access_key, "s3.secret-access-key": S3Server.read_only_secret_key}
    return [
        Fault(name="none"),
        Fault(name="503 SlowDown, 20 % of the answers", faults=Faults(unavailable=0.2, seed=1)),
        Fault(name="503 SlowDown, 50 % of the answers", faults=Faults(unavailable=0.5, seed=2)),
        Fault(name="503 SlowDown, 20 %, on Spark", faults=Faults(unavailable=0.2, seed=3), engine="spark"),
        Fault(name="SlowDown for 10 % of the keys", faults=Faults(key_errors=0.1, seed=4)),
        Fault(
            name="InternalError for 10 % of the keys",
            faults=Faults(key_errors=0.1, key_error="InternalError", seed=5),
        ),
        Fault(
            name="AccessDenied for 10 % of the keys",
            faults=Faults(key_errors=0.1, key_error="AccessDenied", seed=6),
            is_told=True,
        ),
        Fault(name="connections reset, 10 %", faults=Faults(resets=0.1, seed=7)),
        Fault(name="answers half a second late, 30 %", faults=Faults(slow=0.3, seed=8)),
        Fault(name="token expired, every answer", faults=Faults(expired=1.0), is_told=True, deletes_nothing=True),
        Fault(
            name="wrong secret",
            properties={"s3.secret-access-key": "wrong"},
            is_told=True,
            deletes_nothing=True,
        ),
        Fault(name="key that may only read", properties=reader, is_told=True, deletes_nothing=True),
        Fault(
            name="server not there",
            properties={"s3.endpoint": "http://127.0.0.1:9", "s3.retry.num-retries": "0"},
            is_told=True,
            deletes_nothing=True,
        ),
    ]


def kills_in_quarantine() -> list[Kill]:
    """Where commands of a quarantine are killed, each in both ways; the share is that of the copies."""
    return [
        Kill(name=f"{how} of {command} {where}", command=command, signal=how, share=share, deletes=deletes)
        for command, where, share, deletes in (
            ("quarantine", "while it copies", 0.4, 0),
            ("quarantine", "after a bulk deletion", 0, 1),
            ("restore", "while it copies", 0.4, 0),
            ("restore", "after a bulk deletion", 0, 1),
        )
        for how in ("SIGKILL", "SIGTERM")
    ]


def kills_of_hidden_files() -> list[Kill]:
    """The same of files that are hidden by delete markers; the share is that of the keys that are looked at."""
    return [
        Kill(name=f"{how} of {name} {where}", command=command, signal=how, share=share, deletes=deletes, kind="hidden")
        for name, command, where, share, deletes in (
            ("hiding", "quarantine", "while it looks at versions", 0.4, 0),
            ("hiding", "quarantine", "after a bulk deletion", 0, 1),
            ("showing", "restore", "while it looks at versions", 0.4, 0),
            ("showing", "restore", "after a bulk deletion", 0, 1),
            ("purging", "purge", "between versions and markers", 0, 1),
            ("purging", "purge", "after versions and markers", 0, 2),
        )
        for how in ("SIGKILL", "SIGTERM")
    ]


def kills_of_tagged_files() -> list[Kill]:
    """The same of files that get a tag; the share is that of the requests for single files."""
    return [
        Kill(name=f"{how} of {name} {where}", command=command, signal=how, share=share, deletes=deletes, kind="tagged")
        for name, command, where, share, deletes in (
            ("tagging", "quarantine", "halfway", 0.5, 0),
            ("untagging", "restore", "on its way", 0.3, 0),
            ("purging tagged files", "purge", "after a bulk deletion", 0, 1),
        )
        for how in ("SIGKILL", "SIGTERM")
    ]


def kills() -> list[Kill]:
    """Where commands are killed, each in both ways."""
    return [
        Kill(name=f"{how} of {command} {where}", command=command, signal=how, share=share, deletes=deletes)
        for command, where, share, deletes in (
            ("mark", "while it reads", 0.5, 0),
            ("sweep", "at its first request", 0.01, 0),
            ("sweep", "halfway to the deletion", 0.5, 0),
            ("sweep", "after a bulk deletion", 0, 1),
            ("sweep", "after two bulk deletions", 0, 2),
            ("deferred-deletes", "before the deletion", 0.5, 0),
            ("deferred-deletes", "after a bulk deletion", 0, 1),
        )
        for how in ("SIGKILL", "SIGTERM")
    ]
