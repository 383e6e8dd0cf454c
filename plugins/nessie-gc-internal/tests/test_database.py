"""Databases that are not what they should be, and records of every kind, without a server of Nessie."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from nessie_gc_internal import InternalGc, InternalGcParameters, InternalGcReport
from nessie_gc_internal.contents import related_ids
from nessie_gc_internal.kinds import LAKEHOUSE_CONFIG, SIGNER_KEYS
from nessie_gc_internal.objects import content_of
from nessie_gc_internal.postgresql import PostgresqlStore
from nessie_gc_internal.service import clean_store
from nessie_gc_internal.store import Deleted, Deletion, ObjectRow
from records import NO_COMMIT, OLD, TABLES, Records, message

from nessie_gc_core.errors import (
    AccessDeniedError,
    ConfigurationError,
    IncompleteError,
    NessieGcError,
    RepositoryError,
    ServiceUnavailableError,
)

pytestmark = pytest.mark.server
Write = Callable[[Records], str]
NOW = 4_000_000_000_000_000
"""A stamp that no clock has reached."""
ROLES = Path(__file__).parents[3] / "examples" / "rights" / "postgresql" / "internal-gc.sql"


def _repository() -> tuple[Records, bytes]:
    """A repository of one live commit with one table, and an unreferenced commit with another."""
    records = Records()
    live = records.commit({"a": records.value("s3://live")})
    dead = records.commit({"b": records.value("s3://dead")}, parents=(live, NO_COMMIT))
    records.reference("refs/heads/main", live)
    return records, dead


def _apply(url: str, **parameters: Any) -> InternalGcReport:
    return InternalGc(nessie_jdbc_url=url, **parameters).plan().apply()


def _rows(url: str, table: str = "objs2") -> set[tuple[Any, ...]]:
    with psycopg.connect(url) as connection:
        return set(connection.execute(f"SELECT * FROM {table}").fetchall())


def _counts(report: InternalGcReport, name: str) -> Mapping[str, int]:
    counts = {kind: getattr(tally, name).records for kind, tally in report.kinds.items()}
    return {kind: count for kind, count in counts.items() if count}


def _do(url: str, statement: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(statement)


# ---- what goes and what stays -------------------------------------------------------------------------
def test_what_nothing_reaches_goes_with_its_bytes(written: Write) -> None:
    records, dead = _repository()
    url = written(records)
    report = _apply(url)
    assert {"commits": 1, "contents": 1, "unique ids": 1} == _counts(report, "purged")
    sizes = {kind: tally.purged.bytes for kind, tally in report.kinds.items()}
    assert len(records.rows[dead][2]) == sizes["commits"]
    assert records.rows.keys() - {row[1] for row in _rows(url)} >= {dead}


def test_the_second_run_finds_nothing(written: Write) -> None:
    url = written(_repository()[0])
    _apply(url)
    assert 0 == InternalGc(nessie_jdbc_url=url).plan().would_purge.records


def test_merged_commits_and_indexes_in_any_depth_stay(written: Write) -> None:
    records = Records()
    merged = records.commit({"m": records.value("s3://merged")})
    indexes = [records.index([(f"k{number}".encode(), "N", records.value(f"s3://{number}"))]) for number in range(4)]
    segments = records.add(
        "I",
        message(
            (
                5,
                message(
                    *(
                        (
                            1,
                            message((3, each)),
                        )
                        for each in indexes[:2]
                    )
                ),
            )
        ),
    )
    head = records.commit(merged=[merged], stripes=[indexes[2]], more=[(7, segments)])
    records.reference("refs/heads/main", head)
    report = _apply(written(records))
    assert {"indexes": 1, "contents": 1, "unique ids": 1} == _counts(report, "purged")


def test_a_reference_that_is_being_created_keeps_its_commit(written: Write) -> None:
    records, dead = _repository()
    records.new_reference("refs/heads/new", dead)
    assert {} == _counts(_apply(written(records)), "purged")


def test_a_reference_that_is_being_deleted_keeps_its_commit(written: Write) -> None:
    records, dead = _repository()
    records.reference("refs/heads/gone", dead, deleted=True)
    assert {} == _counts(_apply(written(records)), "purged")


def test_where_a_reference_pointed_stays_for_the_grace_period_only(written: Write) -> None:
    records, dead = _repository()
    records.reference("refs/heads/main", next(iter(records.references.values()))[0], previous=[(dead, NOW)])
    url = written(records)
    assert {} == _counts(_apply(url), "purged")
    _do(url, "UPDATE refs2 SET prev_ptr = NULL")
    assert {"commits": 1, "contents": 1, "unique ids": 1} == _counts(_apply(url), "purged")


def test_s08_where_a_deleted_reference_pointed_stays_for_the_grace_period_only(written: Write) -> None:
    records, dead = _repository()
    records.drop_reference("refs/heads/dead", dead, OLD)
    gone = records.commit({"c": records.value("s3://gone")})
    records.drop_reference("refs/heads/gone", gone, NOW)
    records.drop_reference("refs/heads/older", NO_COMMIT, OLD)  # of a server whose clock went back
    url = written(records)
    report = _apply(url)
    assert {"commits": 1, "contents": 1, "unique ids": 1} == _counts(report, "purged") == _counts(report, "too_young")
    assert gone in {row[1] for row in _rows(url)}


def test_s08_a_deletion_without_a_time_counts_as_one_of_now(written: Write) -> None:
    records, dead = _repository()
    records.drop_reference("refs/heads/dead", dead, OLD, **{"timestamp.millis": ""})
    assert {} == _counts(_apply(written(records)), "purged")


def test_s08_records_without_a_stamp_go_on_request_only(written: Write) -> None:
    records, _ = _repository()
    url = written(records)
    _do(url, "UPDATE objs2 SET obj_ref = NULL WHERE obj_type = 'v'")
    _do(url, "UPDATE objs2 SET obj_ref = 0 WHERE obj_type = 'u'")
    assert {"contents": 1, "unique ids": 1} == _counts(InternalGc(nessie_jdbc_url=url).plan().report, "unstamped")
    assert {"commits": 1, "contents": 1, "unique ids": 1} == _counts(_apply(url, purge_unstamped=True), "purged")


def test_s23_records_of_unknown_kinds_that_nothing_reaches_stay_and_are_counted(written: Write) -> None:
    records, _ = _repository()
    odd = records.add("x-y", message((9, message((1, "x-y")))))
    space = records.unique_id("6a36e2a4-0e0c-4d45-9a4a-5c6a3b8f8d2e", space="another-space")
    url = written(records)
    report = _apply(url)
    assert {"unknown kind 'x-y'": 1, "unique ids": 1} == _counts(report, "unknown")
    assert {odd, space} <= {row[1] for row in _rows(url)}


def test_records_of_the_whole_repository_stay(written: Write) -> None:
    records, _ = _repository()
    for id_, kind in ((LAKEHOUSE_CONFIG, "lh-cfg"), (SIGNER_KEYS, "sig-keys")):
        records.add(kind, message((9, message((1, kind)))), id_=id_, version="1")
    url = written(records)
    _apply(url)
    assert {LAKEHOUSE_CONFIG, SIGNER_KEYS} <= {row[1] for row in _rows(url)}


def test_snapshots_of_the_catalog_go_with_the_contents_that_they_are_of(written: Write) -> None:
    records, _ = _repository()
    for data in [row[2] for row in records.rows.values() if row[0] == "v"]:
        _, entity, snapshot = related_ids(content_of(data))
        records.add("c-e", message((9, message((1, "c-e")))), id_=entity, version="1")
        records.add("c-s", message((9, message((1, "c-s")))), id_=snapshot, version="2")
    purged = _counts(_apply(written(records)), "purged")
    assert (1, 1) == (purged["catalog entities"], purged["catalog snapshots"])


def test_other_repositories_of_the_database_are_not_touched(written: Write) -> None:
    records, _ = _repository()
    url = written(records)
    records.write(url, repository="other", tables=False)
    _apply(url, nessie_repository_id="other")
    left = _rows(url)
    assert len(records.rows) == len([row for row in left if row[0] == ""])
    assert len(records.rows) - 3 == len([row for row in left if row[0] == "other"])


def test_s21_a_plan_deletes_nothing_that_it_did_not_show(written: Write) -> None:
    records, _ = _repository()
    url = written(records)
    plan = InternalGc(nessie_jdbc_url=url).plan()
    more = Records()
    late = more.commit({"late": more.value("s3://late")})
    more.write(url, tables=False)
    report = plan.apply()
    assert 3 == report.total("purged").records == report.total("not_planned").records
    assert late in {row[1] for row in _rows(url)}


def test_a_rate_holds_the_purge_back(written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("nessie_gc_internal.purge.time.sleep", waited.append)
    _apply(written(_repository()[0]), purge_rate=2, purge_batch_size=2)
    assert 2 == len(waited)
    assert pytest.approx([1.0, 0.5], abs=0.3) == waited


# ---- what stops it ------------------------------------------------------------------------------------
def _broken_kind(records: Records) -> None:
    odd = records.add("x-y", b"")
    records.reference("refs/heads/odd", records.commit({"a": odd}))


def _broken_value(records: Records) -> None:
    records.reference("refs/heads/odd", records.commit({"a": b"\7" * 32}))


def _broken_pointer(records: Records) -> None:
    records.reference("refs/heads/odd", b"\7" * 32)


def _broken_index(records: Records) -> None:
    odd = records.add("i", message((6, message((1, b"\3abc")))))
    records.reference("refs/heads/odd", records.commit(stripes=[odd]))


def _broken_commit(records: Records) -> None:
    records.reference("refs/heads/odd", records.commit(more=[(12, b"later")]))


def _broken_import(records: Records) -> None:
    records.reference("refs/heads/odd", records.commit(more=[(10, 1)]))


def _broken_deletion(records: Records) -> None:
    records.drop_reference("refs/heads/odd", NO_COMMIT, OLD, head="elsewhere")


def _broken_previous(records: Records) -> None:
    head = records.commit()
    records.reference("refs/heads/odd", head)
    records.references["refs/heads/odd"] = (head, False, b"\x03abc")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_broken_kind, "kind 'x-y'"),
        (_broken_value, "needs the record 0707"),
        (_broken_pointer, "'refs/heads/odd' needs the record 0707"),
        (_broken_index, "version 3"),
        (_broken_commit, "field 12"),
        (_broken_import, "finish the import"),
        (_broken_deletion, "records the deletion of the reference 'refs/heads/odd' in an unknown form"),
        (_broken_previous, "'refs/heads/odd' cannot be understood"),
    ],
)
def test_what_is_live_and_not_understood_stops_everything(
    written: Write, damage: Callable[[Records], None], said: str
) -> None:
    records, _ = _repository()
    damage(records)
    url = written(records)
    rows = _rows(url)
    with pytest.raises(RepositoryError, match=said) as caught:
        _apply(url)
    assert "\n" not in str(caught.value)
    assert rows == _rows(url)


def test_what_a_young_record_names_may_be_missing(written: Write) -> None:
    records, _ = _repository()
    records.stamp = NOW
    records.commit({"a": b"\7" * 32})
    records.stamp = OLD
    assert {"commits": 1, "contents": 1, "unique ids": 1} == _counts(_apply(written(records)), "purged")


def test_s15_a_purge_that_ends_early_says_what_is_done(written: Write) -> None:
    records, _ = _repository()
    url = written(records)
    _do(
        url,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        f"IF (SELECT count(*) FROM objs2) = {len(records.rows) - 2} THEN RAISE 'disk full'; END IF; "
        "RETURN OLD; END $$; "
        "CREATE TRIGGER refuse BEFORE DELETE ON objs2 FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    report = _apply(url, purge_batch_size=1)
    assert (1, 2) == (report.exit_code, report.total("purged").records)
    with pytest.raises(IncompleteError, match=r"records were purged, then: .*disk full"):
        report.raise_for_status()


@pytest.mark.parametrize(("lost_at", "purged"), [(1, 0), (2, 1)])
def test_s15_a_deletion_that_the_database_does_not_confirm_is_reported_as_uncertain(
    written: Write, lost_at: int, purged: int
) -> None:
    class Lossy(PostgresqlStore):
        deletions = 0

        @contextmanager
        def deletion(self) -> Iterator[Deletion]:
            with super().deletion() as deletion:
                yield deletion
            self.deletions += 1
            if self.deletions == lost_at:
                raise ServiceUnavailableError("the connection is lost")

    records, _ = _repository()
    url = written(records)
    parameters = InternalGcParameters(nessie_jdbc_url=url, purge_batch_size=1)
    with Lossy(parameters.connection()) as store:
        report = clean_store(store, parameters, tell=lambda *_: None).report
    assert (purged, 1) == (report.total("purged").records, report.total("uncertain").records)
    assert purged + 1 == len(records.rows) - len(_rows(url))
    assert (1, "the connection is lost") == (report.exit_code, report.failed)


def test_s15_a_first_deletion_that_fails_is_reported(written: Write) -> None:
    url = written(_repository()[0])
    _do(
        url,
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'disk full'; END $$; "
        "CREATE TRIGGER refuse BEFORE DELETE ON objs2 FOR EACH ROW EXECUTE FUNCTION refuse()",
    )
    report = _apply(url)
    assert (0, 0, 1) == (report.total("purged").records, report.total("uncertain").records, report.exit_code)


# ---- databases ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("SELECT 1", "has no table refs2"),
        ("CREATE TABLE refs (a INT); CREATE TABLE objs (a INT)", "version store JDBC, which is not supported"),
        (TABLES + "ALTER TABLE objs2 ADD COLUMN obj_more BYTEA", "obj_more bytea, which this version does not know"),
        (TABLES + "ALTER TABLE objs2 DROP COLUMN obj_ref", "no column obj_ref"),
        (
            TABLES + "ALTER TABLE refs2 ALTER COLUMN created_at TYPE TEXT",
            "created_at text, which this version does not know",
        ),
        (TABLES + "ALTER TABLE refs2 RENAME TO r; CREATE VIEW refs2 AS SELECT * FROM r", "refs2 is not a table"),
        (TABLES, "has no repository ''; give `nessie_repository_id` one of: none"),
    ],
)
def test_a_database_of_another_form_is_refused(empty_database: str, statement: str, said: str) -> None:
    _do(empty_database, statement)
    with pytest.raises(ConfigurationError, match=said):
        InternalGc(nessie_jdbc_url=empty_database).plan()


def test_a_database_of_the_encoding_sql_ascii_is_read(empty_database: str) -> None:
    name = f"ascii_{empty_database.rpartition('/')[2]}"
    with psycopg.connect(empty_database, autocommit=True) as connection:
        connection.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        )
    records, _ = _repository()
    records.finish()
    url = f"{empty_database.rpartition('/')[0]}/{name}"
    records.write(url)
    assert 3 == InternalGc(nessie_jdbc_url=url).plan().would_purge.records


def test_a_repository_that_does_not_exist_is_refused_with_those_that_do(written: Write) -> None:
    url = written(_repository()[0])
    _repository()[0].write(url, repository="unfinished", tables=False)
    with pytest.raises(ConfigurationError, match=r"no repository 'nessie'; give .* one of: ''$"):
        InternalGc(nessie_jdbc_url=url, nessie_repository_id="nessie").plan()


def _role(url: str, rights: str = "SELECT", statement: str = "") -> str:
    """The URL with a new role that may read, and has more rights on the records."""
    name = f"reader_{url.rpartition('/')[2]}"
    _do(url, f"CREATE ROLE {name} LOGIN PASSWORD 'p@ss/word'; GRANT SELECT ON refs2, objs2 TO {name}")
    _do(url, f"GRANT {rights} ON objs2 TO {name}; {statement.format(name)}")
    return f"postgresql://{name}:p%40ss%2Fword@{url.rpartition('@')[2]}"


def _account(url: str, role: str) -> str:
    """The URL with a new account that has a role and nothing else."""
    _do(url, f"CREATE ROLE {role}_account LOGIN PASSWORD 'secret' IN ROLE {role}")
    return f"postgresql://{role}_account:secret@{url.rpartition('@')[2]}"


@pytest.fixture
def reader(written: Write) -> tuple[str, str]:
    """A database, and the same with the URL of a user that may only read."""
    url = written(_repository()[0])
    return url, _role(url)


def test_reading_rights_suffice_for_a_dry_run_and_no_purge_begins_without_the_right_to_delete(
    reader: tuple[str, str],
) -> None:
    url, readers_url = reader
    plan = InternalGc(nessie_jdbc_url=readers_url).plan()
    assert 3 == plan.would_purge.records
    with pytest.raises(AccessDeniedError, match="the right DELETE on objs2 is missing"):
        plan.apply()
    _do(url, f"GRANT DELETE ON objs2 TO {readers_url[13:].partition(':')[0]}")
    assert 3 == plan.apply().total("purged").records


def test_the_roles_of_the_examples_may_do_what_they_are_for(written: Write) -> None:
    url = written(_repository()[0])
    prefix = f"roles_{url.rpartition('/')[2]}"
    _do(url, ROLES.read_text(encoding="utf-8").replace("nessie_gc_internal", prefix))
    plan = InternalGc(nessie_jdbc_url=_account(url, f"{prefix}_read")).plan()
    assert 3 == plan.would_purge.records
    with pytest.raises(AccessDeniedError, match="the right DELETE on objs2 is missing"):
        plan.apply()
    purged = InternalGc(nessie_jdbc_url=_account(url, f"{prefix}_purge")).plan().apply()
    assert 3 == purged.total("purged").records


def test_s21_postgresql_keeps_a_dry_run_from_writing_by_its_transactions_alone(written: Write) -> None:
    store = PostgresqlStore(
        InternalGcParameters(nessie_jdbc_url=written(_repository()[0])).connection(), read_only=True
    )
    with store:
        with store._using("work") as connection, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            connection.execute("DELETE FROM objs2")
        assert ("off",) == connection.execute("SHOW default_transaction_read_only").fetchone()


def test_without_reading_rights_the_right_is_named(reader: tuple[str, str]) -> None:
    url, readers_url = reader
    _do(url, f"REVOKE SELECT ON refs2 FROM {readers_url[13:].partition(':')[0]}")
    with pytest.raises(AccessDeniedError, match="the right SELECT on refs2 is missing"):
        InternalGc(nessie_jdbc_url=readers_url).plan()


def test_a_policy_that_hides_rows_is_refused(reader: tuple[str, str]) -> None:
    url, readers_url = reader
    _do(url, "ALTER TABLE refs2 ENABLE ROW LEVEL SECURITY")
    with pytest.raises(ConfigurationError, match="a policy hides rows of refs2"):
        InternalGc(nessie_jdbc_url=readers_url).plan()


def test_s28_a_wrong_password_is_one_line_without_it(reader: tuple[str, str]) -> None:
    _, readers_url = reader
    with pytest.raises(AccessDeniedError, match=r"refused the connection: .*; check user, password") as caught:
        InternalGc(nessie_jdbc_url=readers_url, nessie_jdbc_password="secr@t").plan()
    assert "secr" not in str(caught.value)
    assert "p@ss" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_database_that_does_not_answer_is_one_line() -> None:
    with pytest.raises(ServiceUnavailableError, match=r"does not answer: .*; check that it is running"):
        InternalGc(nessie_jdbc_url="jdbc:postgresql://127.0.0.1:1/nessie").plan()


# ---- writers ------------------------------------------------------------------------------------------
def test_a_writer_between_its_two_statements_is_waited_for(written: Write) -> None:
    records, dead = _repository()
    url = written(records)
    plan, outcome = InternalGc(nessie_jdbc_url=url).plan(), []
    with psycopg.connect(url) as writer:
        writer.execute(
            "INSERT INTO objs2 (repo, obj_id, obj_type, obj_ref) VALUES ('', %s, 'c', %s) ON CONFLICT DO NOTHING",
            (dead, NOW),
        )
        purge = threading.Thread(target=lambda: outcome.append(plan.apply()))
        purge.start()
        purge.join(0.5)
        assert purge.is_alive()
        writer.execute("UPDATE objs2 SET obj_ref = %s WHERE repo = '' AND obj_id = %s", (NOW, dead))
        writer.commit()
        purge.join()
    assert {"commits": 1} == _counts(outcome[0], "referenced_again")
    assert dead in {row[1] for row in _rows(url)}


def test_s09_a_reference_that_moves_during_the_wait_for_the_lock_is_seen_despite_the_role(written: Write) -> None:
    records, dead = _repository()
    url = written(records)
    role_url = _role(url, "DELETE", "ALTER ROLE {} SET default_transaction_isolation = 'repeatable read'")
    plan, outcome = InternalGc(nessie_jdbc_url=role_url).plan(), []
    with psycopg.connect(url) as writer:
        writer.execute("LOCK TABLE objs2 IN ROW EXCLUSIVE MODE")
        purge = threading.Thread(target=lambda: outcome.append(plan.apply()))
        purge.start()
        purge.join(0.5)
        writer.execute("INSERT INTO refs2 (repo, ref_name, pointer) VALUES ('', 'refs/heads/back', %s)", (dead,))
        writer.commit()
        purge.join()
    assert {"commits": 1, "contents": 1, "unique ids": 1} == _counts(outcome[0], "referenced_again")
    assert dead in {row[1] for row in _rows(url)}


def test_a_table_that_is_never_free_is_told(written: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nessie_gc_internal.postgresql._LOCK_TIMEOUTS_SECONDS", (0.01, 0.02))
    url = written(_repository()[0])
    plan = InternalGc(nessie_jdbc_url=url).plan()
    with psycopg.connect(url) as writer:
        writer.execute("LOCK TABLE objs2 IN ROW EXCLUSIVE MODE")
        with pytest.raises(ServiceUnavailableError, match="objs2 is locked all the time"):
            plan.apply()


def _apply_meddled(url: str, statement: str) -> InternalGcReport:
    """Purges, while somebody else does something after the records were looked at."""

    class Meddled(PostgresqlStore):
        def scan(self) -> Generator[ObjectRow]:
            rows = list(super().scan())
            _do(url, statement)
            yield from rows

    parameters = InternalGcParameters(nessie_jdbc_url=url)
    with Meddled(parameters.connection()) as store:
        return clean_store(store, parameters, tell=lambda *_: None).report


def test_what_is_written_again_after_it_was_looked_at_stays(written: Write) -> None:
    url = written(_repository()[0])
    report = _apply_meddled(url, "UPDATE objs2 SET obj_ref = obj_ref + 1 WHERE obj_type = 'v'")
    assert {"contents": 1} == _counts(report, "referenced_again")
    assert {"commits": 1, "unique ids": 1} == _counts(report, "purged")


def test_s09_what_a_moved_reference_reaches_by_then_stays(written: Write) -> None:
    records, dead = _repository()
    url = written(records)
    report = _apply_meddled(url, f"UPDATE refs2 SET pointer = '\\x{dead.hex()}' WHERE ref_name = 'refs/heads/main'")
    assert {"commits": 1, "contents": 1, "unique ids": 1} == _counts(report, "referenced_again")
    assert {} == _counts(report, "purged")


def test_references_that_move_without_a_pause_stop_the_purge(written: Write) -> None:
    records, _ = _repository()
    heads = [records.commit({f"m{number}": records.value(f"s3://m{number}")}) for number in range(9)]
    url = written(records)

    class Moving(PostgresqlStore):
        @contextmanager
        def deletion(self) -> Iterator[Deletion]:
            with super().deletion() as deletion:
                yield MovingDeletion(deletion)

    class MovingDeletion(Deletion):
        def __init__(self, inner: Deletion) -> None:
            self._inner = inner

        def pointers(self) -> Mapping[str, bytes]:
            _do(url, f"UPDATE refs2 SET pointer = '\\x{heads.pop().hex()}' WHERE ref_name = 'refs/heads/main'")
            return self._inner.pointers()

        def delete(self, rows: Sequence[ObjectRow]) -> Deleted:
            return self._inner.delete(rows)

    rows, parameters = _rows(url), InternalGcParameters(nessie_jdbc_url=url)
    with (
        Moving(parameters.connection()) as store,
        pytest.raises(ServiceUnavailableError, match="keep moving; run again later"),
    ):
        clean_store(store, parameters, tell=lambda *_: None)
    assert (5, rows) == (len(heads), _rows(url))


def test_a_moved_reference_to_what_is_missing_stops_the_purge(written: Write) -> None:
    url = written(_repository()[0])
    rows = _rows(url)
    with pytest.raises(RepositoryError, match="'refs/heads/main' needs the record 0707"):
        _apply_meddled(url, f"UPDATE refs2 SET pointer = '\\x{'07' * 32}' WHERE ref_name = 'refs/heads/main'")
    assert rows == _rows(url)


def test_what_somebody_else_deletes_meanwhile_is_counted(written: Write) -> None:
    url = written(_repository()[0])
    report = _apply_meddled(url, "DELETE FROM objs2 WHERE obj_type = 'u'")
    assert {"unique ids": 1} == _counts(report, "already_gone")
    assert {"commits": 1, "contents": 1} == _counts(report, "purged")


def test_errors_are_all_of_one_root(empty_database: str) -> None:
    with pytest.raises(NessieGcError):
        InternalGc(nessie_jdbc_url=empty_database).plan()
