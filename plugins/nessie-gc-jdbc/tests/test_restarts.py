"""A database that goes away, and comes back: it costs time, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime

import pytest
from each_database import engine_of
from nessie_gc_jdbc import JdbcLiveSetStore

from nessie_gc_core.errors import ConfigurationError, StoreError
from nessie_gc_core.testing.live_set_samples import start, version
from nessie_gc_core.testing.servers import MariaDbServer, PostgresServer, running

SERVERS = {"postgres": PostgresServer, "mariadb": MariaDbServer}
_END_A_SESSION = {"postgresql": "SELECT pg_terminate_backend({})", "mariadb": "KILL CONNECTION {}"}
_OWN_SESSION = {"postgresql": "SELECT pg_backend_pid()", "mariadb": "SELECT CONNECTION_ID()"}
AT = datetime(2026, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.server


@pytest.fixture(scope="module", params=sorted(SERVERS))
def server(request: pytest.FixtureRequest) -> Iterator[PostgresServer | MariaDbServer]:
    """A server of its own: others would lose their connections as well."""
    with running(SERVERS[request.param]) as started:
        url = started.uri(started.create_database("live_sets"))
        with JdbcLiveSetStore.from_options({"url": url}) as store:
            store.create_schema("CREATE_IF_NOT_EXISTS")
        yield started


@pytest.fixture
def open_store(server) -> Iterator[Callable[..., JdbcLiveSetStore]]:
    opened: list[JdbcLiveSetStore] = []

    def open_one(**more: float) -> JdbcLiveSetStore:
        opened.append(JdbcLiveSetStore.from_options({"url": server.uri("live_sets"), **more}))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


def end_session(store, connection):
    """Ends the session of a connection from another one, as a restart does."""
    kind = connection.dialect.name
    number = int(connection.exec_driver_sql(_OWN_SESSION[kind]).scalar_one())
    other = engine_of(store.database.url.render_as_string(hide_password=False))
    with other.connect() as beside:
        beside.exec_driver_sql(_END_A_SESSION[kind].format(number))
    other.dispose()


def test_a_restart_between_two_pages_loses_no_row(server, open_store):
    store = open_store(fetch_size=10)
    found = start(store, "r")
    store.add_content_versions(found, [version(n) for n in range(50)])
    rows = store.content_versions(found)
    read = [next(rows) for _ in range(5)]
    server.restart()
    read += rows
    assert {version(n).identity for n in range(50)} == {row.identity for row in read}
    assert 50 == len(read)


def test_what_comes_while_the_server_is_away_waits_for_it(server, open_store, caplog):
    store = open_store()
    found = start(store, "r")
    restarting = threading.Thread(target=server.restart)
    restarting.start()
    for step in range(20):
        try:
            assert 1 == store.add_content_versions(found, [version(step)])
        except StoreError as unanswered:  # the server went while it committed: nobody knows whether it did
            assert "server closed the connection" in str(unanswered) or "Lost connection" in str(unanswered)
            assert store.add_content_versions(found, [version(step)]) in {0, 1}
    restarting.join(timeout=60)
    assert (20, 20) == store.count_content_versions(found)
    said = [record.getMessage() for record in caplog.records if "waiting for it, up to 1 min" in record.message]
    assert all(server.password not in line for line in said)


def test_a_transaction_whose_session_ends_is_run_again(open_store):
    store = open_store()
    tries = []

    def work(connection):
        tries.append(1)
        if len(tries) == 1:
            end_session(store, connection)
        return connection.exec_driver_sql("SELECT 7").scalar_one()

    assert 7 == store.database.write(work)
    assert 2 == len(tries)
    tries.clear()
    assert 7 == store.database.read(work)
    assert 2 == len(tries)


def test_a_session_that_ends_below_sqlalchemy_is_no_different(open_store):
    """Rows in bulk go to the driver's own cursor, whose errors nobody wraps."""
    store = open_store()
    tries = []

    def work(connection):
        tries.append(1)
        if len(tries) == 1:
            end_session(store, connection)
        with closing(connection.connection.cursor()) as cursor:
            cursor.execute("SELECT 7")
            return cursor.fetchone()[0]

    assert 7 == store.database.write(work)
    assert 2 == len(tries)


def test_a_commit_without_an_answer_is_an_error_and_is_not_made_twice(open_store):
    store = open_store()
    tries = []

    def work(connection):
        tries.append(1)
        end_session(store, connection)

    with pytest.raises(StoreError, match=r"the live-set store .* failed: "):
        store.database.write(work)
    assert 1 == len(tries)
    start(store, "r")  # the next one gets another session


def test_errors_of_the_work_itself_are_raised_at_once(open_store):
    store = open_store()
    tries = []

    def work(connection):
        tries.append(1)
        connection.exec_driver_sql("SELECT nothing FROM nowhere")

    with pytest.raises(StoreError, match="nowhere"):
        store.database.write(work)
    assert 1 == len(tries)


def test_a_database_that_stays_away_is_an_error_when_the_time_is_over(server):
    with running(type(server)) as other:
        url = other.uri(other.create_database("live_sets"))
        with JdbcLiveSetStore.from_options({"url": url, "reconnect_seconds": 0.5}) as store:
            store.create_schema("CREATE")
            store.add_tombstones("r", ["a"], at=AT)
            other.stop()
            with pytest.raises(StoreError, match="check that the database is running"):
                store.tombstones("r", ["a"])


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds):
    with pytest.raises(ConfigurationError, match="reconnect_seconds"):
        JdbcLiveSetStore.from_options({"url": "jdbc:sqlite:x.db", "reconnect_seconds": seconds})
