"""The tables of Nessie's Java tool, as it creates them, with rows."""

from __future__ import annotations

from dataclasses import asdict

import sqlalchemy

TABLES = {
    "gc_live_sets": (
        "live_set_id VARCHAR(40), set_status VARCHAR(40), identify_started TIMESTAMP, identify_finished TIMESTAMP, "
        "expire_started TIMESTAMP, expire_finished TIMESTAMP, error_message VARCHAR(2000), PRIMARY KEY (live_set_id)"
    ),
    "gc_live_set_contents": (
        "live_set_id VARCHAR(40), content_id VARCHAR(200), commit_id VARCHAR(100), content_key VARCHAR(500), "
        "content_type VARCHAR(40), metadata_location VARCHAR(1000), snapshot_id BIGINT, "
        "PRIMARY KEY(live_set_id, content_id, commit_id)"
    ),
    "gc_live_set_content_locations": (
        "live_set_id VARCHAR(40), content_id VARCHAR(200), base_location VARCHAR(500), "
        "PRIMARY KEY (live_set_id, content_id, base_location)"
    ),
    "gc_file_deletions": (
        "live_set_id VARCHAR(40), base_uri VARCHAR(250), path_uri VARCHAR(250), modification_timestamp BIGINT, "
        "PRIMARY KEY (live_set_id, base_uri, path_uri)"
    ),
}
"""Columns and keys of each."""


def create_tables(engine):
    charset = " CHARACTER SET utf8mb4" if engine.dialect.name in ("mysql", "mariadb") else ""
    with engine.begin() as connection:
        for name, columns in TABLES.items():
            connection.execute(sqlalchemy.text(f"CREATE TABLE {name} ({columns}){charset}"))


def put_rows(engine, rows):
    """Creates the tables, and fills them."""
    create_tables(engine)
    with engine.begin() as connection:
        for live_set in rows.live_sets:
            values = asdict(live_set)
            put(connection, "gc_live_sets", {"set_status": values.pop("status"), **values})
        for name, of_sets in (
            ("gc_live_set_contents", rows.content_versions),
            ("gc_live_set_content_locations", rows.base_locations),
            ("gc_file_deletions", rows.file_deletions),
        ):
            for live_set_id, some in of_sets.items():
                for row in some:
                    put(connection, name, {"live_set_id": live_set_id, **asdict(row)})


def put(connection, name, values):
    """Inserts a row; times go in as text, as SQLite keeps them."""
    if connection.dialect.name == "sqlite":
        values = {
            key: value.isoformat(sep=" ") if hasattr(value, "isoformat") else value for key, value in values.items()
        }
    marks = ", ".join(f":{key}" for key in values)
    connection.execute(sqlalchemy.text(f"INSERT INTO {name} ({', '.join(values)}) VALUES ({marks})"), values)


def all_rows(engine):
    """Of each table its rows, to compare."""
    with engine.connect() as connection:
        return {name: connection.execute(sqlalchemy.text(f"SELECT * FROM {name}")).all() for name in TABLES}
