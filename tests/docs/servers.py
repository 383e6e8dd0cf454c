"""What pages and examples run beside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import requests
from lakes import build_lake
from nessie_gc_memory.mock import MockLakeSpec

from nessie_gc_core.testing.servers import NessieServer, PostgresServer, running

_SMALL = MockLakeSpec(
    references=2,
    branches_every=1,
    commits=6,
    table_count=2,
    files_per_commit=2,
    overwrite_every=0,
    listed_snapshots=8,
    garbage_files=2,
    file_bytes=1000,
)


@contextmanager
def small_lake(folder: Path) -> Iterator[str]:
    """A Nessie server with a small lake, whose files are old enough; gives its URI."""
    with running(lambda: NessieServer(log=folder / "nessie.log")) as server:
        build_lake(replace(_SMALL, root=f"file://{folder}/warehouse/lake"), server.uri)
        yield server.uri


@contextmanager
def nessie_database(folder: Path) -> Iterator[str]:
    """The PostgreSQL database of a Nessie, where a branch with a table was deleted a month ago; gives its URL."""
    with running(PostgresServer) as postgres:
        postgres.create_database("nessie")
        properties = {
            "nessie.version.store.type": "JDBC2",
            "nessie.version.store.persist.jdbc.datasource": "postgresql",
            "quarkus.datasource.postgresql.jdbc.url": postgres.jdbc_url("nessie"),
            "quarkus.datasource.postgresql.username": postgres.user,
            "quarkus.datasource.postgresql.password": postgres.password,
        }
        with running(lambda: NessieServer(properties=properties, log=folder / "nessie.log")) as server:
            _drop_a_table(server.uri)
        with psycopg.connect(postgres.uri("nessie")) as connection:
            connection.execute("UPDATE objs2 SET obj_ref = obj_ref - 30 * 86400000000")
        yield postgres.uri("nessie")


def _drop_a_table(uri: str) -> None:
    """Commits a table to a branch, and deletes the branch."""

    def send(method: str, path: str, body: object = None) -> dict[str, dict[str, str]]:
        answer = requests.request(method, f"{uri}/{path}", json=body, timeout=60)
        answer.raise_for_status()
        return dict(answer.json())

    state = {"snapshotId": 1, "schemaId": 0, "specId": 0, "sortOrderId": 0}
    table = {"type": "ICEBERG_TABLE", "metadataLocation": "s3://lake/dropped.metadata.json", **state}
    main = send("GET", "trees/main")["reference"]
    send("POST", "trees?name=dev&type=BRANCH", main)
    commit = {
        "commitMeta": {"message": "a table"},
        "operations": [{"type": "PUT", "key": {"elements": ["dropped"]}, "content": table}],
    }
    head = send("POST", f"trees/dev@{main['hash']}/history/commit", commit)["targetBranch"]["hash"]
    send("DELETE", f"trees/dev@{head}")
