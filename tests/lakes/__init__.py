"""Computed lakes on a disk or in a bucket, whose commits are in a real Nessie."""

from lakes.committed import CommittedLake, build_lake, commit_lake

__all__ = ["CommittedLake", "build_lake", "commit_lake"]
