"""The write side of Nessie's REST API, as far as the tests need it."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote
from uuid import uuid4

import requests


def table(metadata_location: str, *, snapshot_id: int = 1, content_id: str | None = None) -> dict[str, Any]:
    content: dict[str, Any] = {"type": "ICEBERG_TABLE", "metadataLocation": metadata_location}
    content |= {"snapshotId": snapshot_id, "schemaId": 0, "specId": 0, "sortOrderId": 0}
    return content | ({"id": content_id} if content_id else {})


def put(content: dict[str, Any], *elements: str) -> dict[str, Any]:
    return {"type": "PUT", "key": {"elements": list(elements)}, "content": content}


def delete(*elements: str) -> dict[str, Any]:
    return {"type": "DELETE", "key": {"elements": list(elements)}}


def namespace(*elements: str) -> dict[str, Any]:
    return put({"type": "NAMESPACE", "elements": list(elements)}, *elements)


class NessieWriter:
    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._session = requests.Session()

    def close(self) -> None:
        self._session.close()

    def root(self) -> str:
        return str(self._ask("GET", "config")["noAncestorHash"])

    def create(self, name: str, *, kind: str = "BRANCH", at: str | None = None) -> str:
        """Makes a reference at a commit (by default an empty one), and gives its head."""
        source = {"type": "DETACHED", "hash": at or self.root()}
        answer = self._ask("POST", "trees", params={"name": name, "type": kind}, json=source)
        return str(answer["reference"]["hash"])

    def branch(self, at: str | None = None) -> str:
        name = f"branch-{uuid4().hex}"
        self.create(name, at=at)
        return name

    def commit(self, branch: str, *operations: dict[str, Any]) -> str:
        return self.commit_at(branch, self.head(branch), *operations)

    def head(self, name: str) -> str:
        return str(self._ask("GET", f"trees/{quote(name, safe='')}")["reference"]["hash"])

    def has(self, name: str) -> bool:
        return self._session.get(f"{self.uri}/trees/{quote(name, safe='')}", timeout=60).ok

    def drop(self, name: str) -> None:
        self._ask("DELETE", f"trees/{quote(name, safe='')}@{self.head(name)}")

    def entries(self, commit_id: str) -> list[dict[str, Any]]:
        return list(self._ask("GET", f"trees/@{commit_id}/entries")["entries"])

    def commit_at(self, branch: str, head: str, *operations: dict[str, Any]) -> str:
        body = {"commitMeta": {"message": "a change"}, "operations": list(operations)}
        path = f"trees/{quote(branch, safe='')}@{head}/history/commit"
        return str(self._ask("POST", path, json=body)["targetBranch"]["hash"])

    def _ask(self, method: str, path: str, **kwargs: Any) -> dict[str, Any]:
        response = self._session.request(method, f"{self.uri}/{path}", timeout=60, **kwargs)
        if not response.ok:
            raise AssertionError(f"{method} {path}: {response.status_code} {response.text}")
        answer: dict[str, Any] = response.json()
        return answer
