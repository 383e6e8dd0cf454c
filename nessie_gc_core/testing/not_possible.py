"""What a fixture returns if its situation cannot exist."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotPossible:
    """What a fixture returns when its situation cannot exist for a connector, with the reason.

    The tests that need the situation are then skipped, and the skip shows the reason::

        @pytest.fixture
        def put_link(self):
            return NotPossible("an object store has no links")
    """

    reason: str

    def __post_init__(self) -> None:
        if not self.reason.strip():
            raise ValueError("NotPossible needs a reason, because the report of the tests shows it")
