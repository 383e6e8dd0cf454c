"""The few calls to Nessie that the demo needs besides Spark's: references made and deleted, commits and contents."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from typing import Any

from nessie_gc_core.errors import ServiceUnavailableError

_TIMEOUT_SECONDS = 30


class References:
    """References of the Nessie server at a REST v2 URI."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def names(self) -> list[str]:
        """The names of all branches and tags, sorted."""
        return sorted(reference["name"] for reference in self._call("GET", "/trees")["references"])

    def create_branch(self, name: str, *, source: str = "main") -> None:
        """Creates a branch at the head of another reference."""
        self._create(name, "BRANCH", source)

    def create_tag(self, name: str, *, source: str = "main") -> None:
        """Creates a tag at the head of a reference."""
        self._create(name, "TAG", source)

    def delete(self, name: str) -> None:
        """Deletes a branch or tag."""
        head = self._get(name)
        self._call("DELETE", f"/trees/{_quoted(name)}@{head['hash']}?type={head['type']}")

    def commits(self, name: str, *, limit: int) -> list[str]:
        """The ids of the last commits, newest first."""
        entries = self._call("GET", f"/trees/{_quoted(name)}/history?max-records={limit}")["logEntries"]
        return [entry["commitMeta"]["hash"] for entry in entries[:limit]]

    def contents(self, name: str, commit: str) -> dict[str, dict[str, Any]]:
        """Dotted key to content of all tables and views that a commit sees (one page: the demo's lake is small)."""
        entries = self._call("GET", f"/trees/{_quoted(name)}@{commit}/entries?content=true")["entries"]
        return {
            ".".join(entry["name"]["elements"]): entry["content"]
            for entry in entries
            if entry["type"] in ("ICEBERG_TABLE", "ICEBERG_VIEW")
        }

    def _get(self, name: str) -> dict[str, Any]:
        return dict(self._call("GET", f"/trees/{_quoted(name)}")["reference"])

    def _create(self, name: str, kind: str, source: str) -> None:
        self._call("POST", f"/trees?name={_quoted(name)}&type={kind}", self._get(source))

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._uri + path, data=data, method=method, headers={"Content-Type": "application/json"}
        )
        try:
            with self._opener.open(request, timeout=_TIMEOUT_SECONDS) as response:
                return dict(json.load(response))
        except urllib.error.HTTPError as error:
            raise ServiceUnavailableError(f"Nessie answers {error.code} to {method} {path}: {error.reason}") from error
        except OSError as error:
            raise ServiceUnavailableError(f"Nessie at {self._uri} does not answer {method} {path}: {error}") from error


def _quoted(name: str) -> str:
    return urllib.parse.quote(name, safe="")
