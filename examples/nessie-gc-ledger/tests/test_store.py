from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
from nessie_gc_ledger import LedgerStore

from nessie_gc_core.testing.live_set_store import LiveSetStoreContract


class TestLedgerStore(LiveSetStoreContract):
    connector = LedgerStore

    def at(self, file: Path) -> Callable[[], LedgerStore]:
        return partial(self.connector.from_options, {"file": str(file)})

    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], LedgerStore]:
        return self.at(tmp_path / "live-sets.db")

    @pytest.fixture
    def unusable(self, tmp_path: Path) -> Sequence[Callable[[], LedgerStore]]:
        (tmp_path / "text.db").write_text("this is text, not a database, and it is long enough to be sure" * 20)
        return [self.at(tmp_path / file) for file in ("no/folder.db", "text.db", ".")]
