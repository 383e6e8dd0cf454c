"""What a run did at its stores, counted while it runs: files, requests, bytes, and the time that requests took."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What calls of a connector asked of a store."""

    requests: int = 0
    """Objects read, pages listed, calls that delete; a disk's files and directories count as well."""
    bytes_read: int = 0
    """Of objects that were read; not of pages of listings."""
    waited_seconds: float = 0.0
    """From each request to its answer, summed; of requests that wait at the same time every one counts."""

    def __add__(self, other: Traffic) -> Traffic:
        return Traffic(
            requests=self.requests + other.requests,
            bytes_read=self.bytes_read + other.bytes_read,
            waited_seconds=self.waited_seconds + other.waited_seconds,
        )

    def __sub__(self, other: Traffic) -> Traffic:
        return Traffic(
            requests=self.requests - other.requests,
            bytes_read=self.bytes_read - other.bytes_read,
            waited_seconds=self.waited_seconds - other.waited_seconds,
        )

    def to_dict(self) -> dict[str, int | float]:
        """As JSON shows it."""
        return {
            "requests": self.requests,
            "bytes_read": self.bytes_read,
            "waited_seconds": round(self.waited_seconds, 3),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What tasks have done by some time."""

    files_expanded: int = 0
    """Content versions, manifest lists and manifests that were read."""
    files_listed: int = 0
    """Names that listings gave."""
    traffic: Traffic = Traffic()
    """What it asked of stores."""

    def __add__(self, other: Work) -> Work:
        return Work(
            files_expanded=self.files_expanded + other.files_expanded,
            files_listed=self.files_listed + other.files_listed,
            traffic=self.traffic + other.traffic,
        )

    def __sub__(self, other: Work) -> Work:
        return Work(
            files_expanded=self.files_expanded - other.files_expanded,
            files_listed=self.files_listed - other.files_listed,
            traffic=self.traffic - other.traffic,
        )
