"""Commits to a Nessie server by plain REST v2, over one connection."""

from __future__ import annotations

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import requests


class NessieCommits:
    """Makes branches and commits, and remembers every head."""

    def __init__(self, uri: str) -> None:
        base = uri.rstrip("/")
        self._trees = f"{base if base.endswith('/api/v2') else base + '/api/v2'}/trees"
        self._session = requests.Session()
        self._heads: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._session.close()

    def head(self, branch: str) -> str:
        """The head of a branch."""
        if branch not in self._heads:
            answer = self._call("GET", f"{self._trees}/{quote(branch, safe='')}")
            self._heads[branch] = answer["reference"]["hash"]
        return self._heads[branch]

    def create_branch(self, name: str, *, source: str) -> None:
        """Creates a branch at the head of another."""
        self.create("BRANCH", name, source=source)

    def create(self, kind: str, name: str, *, source: str) -> None:
        """Creates a branch (``BRANCH``) or a tag (``TAG``) at the head of a branch."""
        body = {"type": "BRANCH", "name": source, "hash": self.head(source)}
        answer = self._call("POST", f"{self._trees}?name={quote(name, safe='')}&type={kind}", body)
        self._heads[name] = answer["reference"]["hash"]

    def delete(self, branch: str) -> None:
        """Deletes a branch, wherever its head is by now."""
        self._heads.pop(branch, None)
        self._call("DELETE", f"{self._trees}/{quote(branch, safe='')}@{self.head(branch)}")

    def put(
        self, branch: str, contents: Mapping[tuple[str, ...], dict[str, Any]], *, message: str
    ) -> tuple[str, dict[tuple[str, ...], str]]:
        """Commits contents by their keys; the new head, and the ids of the contents that are new."""
        operations = [
            {"type": "PUT", "key": {"elements": list(key)}, "content": content} for key, content in contents.items()
        ]
        body = {"commitMeta": {"message": message}, "operations": operations}
        url = f"{self._trees}/{quote(branch, safe='')}@{self.head(branch)}/history/commit"
        answer = self._call("POST", url, body)
        self._heads[branch] = answer["targetBranch"]["hash"]
        added = answer.get("addedContents") or ()
        return self._heads[branch], {tuple(each["key"]["elements"]): each["contentId"] for each in added}

    def _call(self, method: str, url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        response = self._session.request(method, url, json=body, timeout=30)
        if not response.ok:
            raise RuntimeError(f"{method} {url}: {response.status_code} {response.text}")
        answer: dict[str, Any] = response.json()
        return answer
