"""Simulated Iceberg lakes on a local disk, committed to a real Nessie, for tests and measurements."""

from lakes.builder import build_lake, write_lake
from lakes.facts import CommittedState, LakeFacts, TableState
from lakes.spec import LakeSpec

__all__ = ["CommittedState", "LakeFacts", "LakeSpec", "TableState", "build_lake", "write_lake"]
