"""A small REST catalog over the lake of a test: pages, nested namespaces, and answers that a test can spoil."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from pyiceberg.catalog import Catalog

SEPARATOR = "\x1f"
PAGE = 2


class RestServer:
    """Serves what a catalog has, read only."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.spoiled: dict[str, tuple[int, str]] = {}
        """Path after ``/v1/`` to the status and error type that it answers with."""
        self.views: dict[str, dict[str, object]] = {}
        """Name of a view in namespace ``sales`` to its metadata."""
        self.vanishing: list[str] = []
        """Names of tables of namespace ``sales`` that are listed once and then gone."""
        self.config: dict[str, str] = {}
        """What the answer for a table says of its storage."""
        self.properties: dict[str, str] = {}
        """What some committer wrote into the properties of every table."""
        self.more: dict[str, object] = {}
        """What else the answer for a table has."""
        self.endpoints = list(ENDPOINTS)
        self.credentials: dict[str, object] = {}
        """The answer to who asks for the credentials of a table alone."""
        self.asked: list[tuple[str | None, list[str] | None]] = []
        """The delegation and the snapshots that were asked for with each table."""
        self.uri = ""

    @contextmanager
    def running(self) -> Iterator[RestServer]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                query = parse_qs(urlsplit(self.path).query)
                server.asked.append((self.headers.get("X-Iceberg-Access-Delegation"), query.get("snapshots")))
                status, body = server.answer(self.path)
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: object) -> None:
                pass

        with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
            thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
            thread.start()
            self.uri = f"http://127.0.0.1:{http.server_port}"
            yield self
            http.shutdown()
            thread.join()

    def answer(self, raw: str) -> tuple[int, dict[str, object]]:
        parts = urlsplit(raw)
        path = unquote(parts.path).removeprefix("/v1/")
        query = parse_qs(parts.query)
        if path in self.spoiled:
            status, kind = self.spoiled[path]
            return status, {"error": {"message": "spoiled", "type": kind, "code": status}}
        match path.split("/"):
            case ["config"]:
                return 200, {"defaults": {}, "overrides": {}, "endpoints": self.endpoints}
            case ["namespaces"]:
                parent = tuple(query["parent"][0].split(SEPARATOR)) if "parent" in query else ()
                found = sorted(self.catalog.list_namespaces(parent))
                return 200, page("namespaces", [list(namespace) for namespace in found], query)
            case ["namespaces", namespace, "tables"]:
                names = [table[-1] for table in sorted(self.catalog.list_tables(tuple(namespace.split(SEPARATOR))))]
                extra, self.vanishing = (self.vanishing, []) if namespace == "sales" else ([], self.vanishing)
                return 200, page("identifiers", identifiers(namespace, [*names, *extra]), query)
            case ["namespaces", namespace, "tables", name, *alone]:
                return (200, self.credentials) if alone else self.table((*namespace.split(SEPARATOR), name))
            case ["namespaces", namespace, "views"]:
                views = sorted(self.views) if namespace == "sales" else []
                return 200, page("identifiers", identifiers(namespace, views), query)
            case ["namespaces", _, "views", name]:
                return 200, {"metadata-location": "hidden", "metadata": self.views[name], "config": {}}
        return 404, {"error": {"message": path, "type": "NotFound", "code": 404}}

    def table(self, identifier: tuple[str, ...]) -> tuple[int, dict[str, object]]:
        if not self.catalog.table_exists(identifier):
            return 404, {"error": {"message": "gone", "type": "NoSuchTableException", "code": 404}}
        table = self.catalog.load_table(identifier)
        metadata = json.loads(table.metadata.model_dump_json())
        metadata["properties"] |= self.properties
        answer = {"metadata-location": table.metadata_location, "metadata": metadata, "config": self.config}
        return 200, {**answer, **self.more}


ENDPOINTS = [
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "GET /v1/{prefix}/namespaces/{namespace}/views",
    "GET /v1/{prefix}/namespaces/{namespace}/views/{view}",
]


def identifiers(namespace: str, names: list[str]) -> list[object]:
    return [{"namespace": namespace.split(SEPARATOR), "name": name} for name in names]


def page(key: str, items: list[object], query: dict[str, list[str]]) -> dict[str, object]:
    start = int(query.get("pageToken", ["0"])[0])
    rest = {"next-page-token": str(start + PAGE)} if start + PAGE < len(items) else {}
    return {key: items[start : start + PAGE], **rest}
