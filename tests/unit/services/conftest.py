"""A lake in memory, and what collects it."""

from __future__ import annotations

from lakes_in_memory import beside, lake, services, together  # noqa: F401 - fixtures
