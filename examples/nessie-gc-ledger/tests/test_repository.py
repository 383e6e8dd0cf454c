from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from nessie_gc_ledger import LedgerRepository

from nessie_gc_core.model import Reference, ReferenceKind
from nessie_gc_core.testing import NotPossible
from nessie_gc_core.testing.repository import RepositoryConnectorContract

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
Open = Callable[[], LedgerRepository]


class Ledger:
    """The back door: writes what the connector reads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("references", "commits"):
            (folder / name).mkdir(parents=True)
        self.commits = 0

    def commit(self, parent: str | None, *operations: dict[str, object]) -> str:
        self.commits += 1
        commit_id = f"c{self.commits:03}"
        time = (NOON + timedelta(minutes=self.commits)).isoformat()
        text = json.dumps({"parent": parent, "time": time, "operations": operations})
        (self.folder / "commits" / f"{commit_id}.json").write_text(text)
        return commit_id

    def refer(self, name: str, head: str | None, kind: ReferenceKind = ReferenceKind.BRANCH) -> None:
        text = json.dumps({"name": name, "kind": kind, "head": head})
        (self.folder / "references" / f"{name.replace('/', '%2F')}.json").write_text(text)


def put(key: str, number: int, content_id: str | None = None) -> dict[str, object]:
    metadata = f"s3://lake/{key}/{number}.metadata.json"
    return {"key": key, "id": content_id or key, "type": "ICEBERG_TABLE", "metadata": metadata, "snapshot": number}


class TestLedgerRepository(RepositoryConnectorContract):
    connector = LedgerRepository

    def at(self, folder: Path) -> Open:
        return partial(self.connector.from_options, {"folder": str(folder)})

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Ledger:
        ledger = Ledger(tmp_path / "ledger")
        head = ledger.commit(None, put("db.a", 1))
        for number in range(2, 30):
            head = ledger.commit(head, put("db.a", number), put("db.b", number))
        ledger.refer("main", head)
        ledger.refer("v1", head, ReferenceKind.TAG)
        ledger.refer("dev/one", ledger.commit(head, {"key": "db.b", "delete": True}, put("db.c", 30, "db.b")))
        ledger.refer("empty", None)
        return ledger

    @pytest.fixture
    def open_repository(self, ledger: Ledger) -> Open:
        return self.at(ledger.folder)

    @pytest.fixture
    def expected_references(self) -> Mapping[str, ReferenceKind]:
        branches = dict.fromkeys(("main", "dev/one", "empty"), ReferenceKind.BRANCH)
        return {**branches, "v1": ReferenceKind.TAG}

    @pytest.fixture
    def commit_once(self, ledger: Ledger) -> Callable[[], str]:
        def commit() -> str:
            ledger.refer("empty", ledger.commit(None, put("db.new", 1)))
            return "empty"

        return commit

    @pytest.fixture
    def detached(self, ledger: Ledger) -> Reference:
        gone = ledger.commit("c003", {"key": "db.a", "delete": True})
        return Reference(name="gone", kind=ReferenceKind.BRANCH, commit_id=gone)

    @pytest.fixture
    def other_addresses(self, ledger: Ledger, tmp_path: Path) -> Sequence[Open]:
        (tmp_path / "link").symlink_to(ledger.folder)
        return [self.at(tmp_path / "link")]

    # ---- what can go wrong ----------------------------------------------------------------------------
    @pytest.fixture
    def unavailable(self, tmp_path: Path) -> Sequence[Open]:
        """A path that points to itself, like a mount that no longer exists: the disk does not answer."""
        (tmp_path / "loop").symlink_to("loop")
        return [self.at(tmp_path / "loop")]

    @pytest.fixture
    def refusing(self) -> NotPossible:
        return NotPossible("a folder needs no credentials, and root can read every folder")

    @pytest.fixture
    def nonsense(self, ledger: Ledger, tmp_path: Path) -> Sequence[Open]:
        def spoiled(number: int, text: str) -> Path:
            copy = tmp_path / f"spoiled-{number}"
            shutil.copytree(ledger.folder, copy)
            for path in copy.glob("*/*.json"):
                path.write_text(text)
            return copy

        texts = ("", "{", "[]", "{}", '{"name": 7}')
        return [self.at(spoiled(number, text)) for number, text in enumerate(texts)]

    @pytest.fixture
    def missing_repository(self, tmp_path: Path) -> Sequence[Open]:
        (tmp_path / "nothing in it").mkdir()
        return [self.at(tmp_path / name) for name in ("gone", "nothing in it")]

    @pytest.fixture
    def breaking_off(self, ledger: Ledger, tmp_path: Path) -> Sequence[Open]:
        copy = tmp_path / "without a commit"
        shutil.copytree(ledger.folder, copy)
        (copy / "commits" / "c005.json").unlink()
        return [self.at(copy)]

    @pytest.fixture
    def incoherent(self, ledger: Ledger, tmp_path: Path) -> Sequence[Open]:
        def changed(number: int, file: str, change: dict[str, object]) -> Path:
            copy = tmp_path / f"changed-{number}"
            shutil.copytree(ledger.folder, copy)
            path = copy / file
            fields = {**json.loads(path.read_text()), **change}
            path.write_text(json.dumps({name: value for name, value in fields.items() if value != "left out"}))
            return copy

        ways: list[tuple[str, dict[str, object]]] = [
            ("references/main.json", {"head": "left out"}),
            ("commits/c005.json", {"parent": "left out"}),
            ("commits/c005.json", {"parent": "c005"}),
            ("commits/c005.json", {"parent": "c007"}),
            ("commits/c005.json", {"operations": [None]}),
        ]
        return [self.at(changed(number, *way)) for number, way in enumerate(ways)]

    @pytest.fixture
    def break_table(self) -> NotPossible:
        return NotPossible("it reads no tables: commits name their states")
