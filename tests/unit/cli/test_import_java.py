from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli_runs import Run, one_line
from nessie_gc_memory import MemoryLake

ID = "4f2f2ea6-63c4-4a5a-9d0f-52f6a3a8b5c1"
TABLES = """
CREATE TABLE gc_live_sets (live_set_id, set_status, identify_started, identify_finished, expire_started,
    expire_finished, error_message);
CREATE TABLE gc_live_set_contents (live_set_id, content_id, commit_id, content_key, content_type, metadata_location,
    snapshot_id);
CREATE TABLE gc_live_set_content_locations (live_set_id, content_id, base_location);
CREATE TABLE gc_file_deletions (live_set_id, base_uri, path_uri, modification_timestamp);
INSERT INTO gc_live_sets VALUES ('{id}', 'EXPIRY_SUCCESS', '2026-01-02 03:04:05', NULL, NULL, NULL, NULL);
INSERT INTO gc_live_set_contents VALUES ('{id}', 'c', '{commit}', 'db.t', 'ICEBERG_TABLE', 's3://b/db/t/m.json', 7);
INSERT INTO gc_file_deletions VALUES ('{id}', 's3://b/db/t/', 'data/x.parquet', 1700000000000);
INSERT INTO gc_file_deletions VALUES ('{id}', 's3://b/db/t/', 'data/y.parquet', -1);
"""
IMPORT = ("import-java", "--repository", "memory", "--java-time-zone", "UTC")


def tables_of(lake: MemoryLake) -> str:
    """Tables of a live set that was marked from the lake."""
    commit = next(reference.commit_id for reference in lake.history.references())
    return TABLES.format(id=ID, commit=commit)


@pytest.fixture
def java(tmp_path: Path, lake: MemoryLake) -> Iterator[Path]:
    """A database of the Java tool, which stays as it is."""
    file = tmp_path / "java.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(tables_of(lake))
        before = list(connection.iterdump())
    yield file
    with closing(sqlite3.connect(file)) as connection:
        assert before == list(connection.iterdump())


def test_a_live_set_is_imported_from_another_database(run: Run, java: Path) -> None:
    looked = run(*IMPORT, "--java-url", f"jdbc:sqlite:{java}", "--dry-run")
    assert 0 == looked.exit_code, looked.stderr
    assert looked.stdout.startswith("would import 1 of 1 live set of memory:")
    assert "left out: 1 deferred deletion, its modification time is unknown" in looked.stdout
    assert [] == json.loads(run("list", "--json").stdout)["live_sets"]

    result = run(*IMPORT, "--java-url", f"jdbc:sqlite:{java}")
    assert 0 == result.exit_code, result.stderr
    assert f"{ID}  EXPIRY_SUCCESS -> EXPIRY_SUCCESS" in result.stdout
    (listed,) = json.loads(run("list", "--json").stdout)["live_sets"]
    assert (ID, "EXPIRY_SUCCESS", "2026-01-02T03:04:05Z") == (listed["id"], listed["status"], listed["created"])
    (file,) = json.loads(run("list-deferred", "-l", ID, "--json").stdout)["files"]
    assert ("s3://b/db/t/", "data/x.parquet") == (file["location"], file["path"])


def test_a_second_import_says_that_all_is_there(run: Run, java: Path) -> None:
    run(*IMPORT, "--java-url", f"jdbc:sqlite:{java}")
    again = json.loads(run(*IMPORT, "--java-url", f"jdbc:sqlite:{java}", "--json").stdout)
    assert [(ID, "EXPIRY_SUCCESS", False)] == [
        (each["live_set_id"], each["status"], each["new"]) for each in again["live_sets"]
    ]


def test_the_tables_may_be_in_the_database_of_the_live_sets(run: Run, lake: MemoryLake, tmp_path: Path) -> None:
    file = tmp_path / "both.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(tables_of(lake))
    store = ("--jdbc-url", f"jdbc:sqlite:{file}")
    assert 0 == run(*IMPORT, *store).exit_code
    assert [ID] == [each["id"] for each in json.loads(run("list", *store, "--json").stdout)["live_sets"]]


def test_a_database_without_such_tables_is_named(run: Run, lake: MemoryLake) -> None:
    assert "has no table gc_" in one_line(run(*IMPORT))


def test_a_file_that_does_not_exist_is_not_made(run: Run, lake: MemoryLake, tmp_path: Path) -> None:
    assert "does not exist" in one_line(run(*IMPORT, "--java-url", f"jdbc:sqlite:{tmp_path}/no.db"))
    assert not (tmp_path / "no.db").exists()


def test_the_time_zone_is_required(run: Run, java: Path) -> None:
    result = run("import-java", "--repository", "memory", "--java-url", f"jdbc:sqlite:{java}")
    assert "--java-time-zone is missing" in one_line(result)
