"""Ends a run after some of its changes to a simulated lake and to its live-set store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from collecting import LakeServices
from in_quarantine import Killed
from nessie_gc_memory import MemoryLake, MemoryLiveSetStore


class Killer:
    """Ends a run after some of its changes to the lake and to the live-set store."""

    def __init__(self, lake: MemoryLake, services: LakeServices, monkeypatch: pytest.MonkeyPatch) -> None:
        self.changes = 0
        self._left: int | None = None
        assert isinstance(services.store, MemoryLiveSetStore)
        for where, names in (
            (lake.objects, ("set_tags", "delete", "put")),
            (services.store, ("put_held_files", "forget_held_files", "record_steps", "add_tombstones")),
        ):
            for name in names:
                monkeypatch.setattr(where, name, self._counted(getattr(where, name)))

    def _counted(self, change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*given: Any, **more: Any) -> Any:
            if self._left == 0:
                raise Killed
            said = change(*given, **more)
            self.changes += 1
            self._left = None if self._left is None else self._left - 1
            return said

        return changed

    def kills(self, run: Callable[[], object], after: int) -> bool:
        """Whether a run is killed before it has made more changes than these."""
        self._left = after
        try:
            run()
        except Killed:
            return True
        finally:
            self._left = None
        return False
