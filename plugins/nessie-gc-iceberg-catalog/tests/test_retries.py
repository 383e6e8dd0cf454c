"""A call is made again while it gets no answer, and for longer while its store says that requests are too many."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pytest
import requests
from conftest import Lake, Open
from nessie_gc_iceberg_catalog import retries
from nessie_gc_iceberg_catalog.content_types import UNREADABLE_TABLE
from nessie_gc_iceberg_catalog.errors import Redactor, is_busy, translated
from nessie_gc_iceberg_catalog.guarded_io import GuardedFileIO
from nessie_gc_iceberg_catalog.listing import Listed
from nessie_gc_iceberg_catalog.retries import ReadRetries, Retries, until
from pyiceberg.io import InputFile
from reading import put, reference

from nessie_gc_core.errors import AccessDeniedError, RepositoryError, ServiceUnavailableError, UnreadableFileError
from nessie_gc_core.model import ICEBERG_TABLE, UNKNOWN_CONTENT

BUSY = OSError("AWS Error UNKNOWN (HTTP status 503) during HeadObject operation: No response body.")


def answer(status: int) -> requests.Response:
    """What an HTTP server says."""
    response = requests.Response()
    response.status_code = status
    return response


class Waited(list[float]):
    """How long was waited each time, in no time."""

    def __call__(self, seconds: float) -> bool:
        self.append(seconds)
        return False

    def retries(self, retries: int, *, refilled: bool = True) -> Retries:
        """Of one store, which wait so, with a clock that shows how long they waited."""
        return Retries(Redactor(()), retries, refilled=refilled, wait=self, clock=lambda: sum(self))


def failing(times: int, error: Exception) -> Callable[[], str]:
    """A call that fails so many times."""
    errors = [error] * times

    def call() -> str:
        if errors:
            raise errors.pop()
        return "the answer"

    return call


@pytest.mark.parametrize(
    "error",
    [
        BUSY,
        OSError("AWS Error SLOW_DOWN during GetObject operation: Please reduce your request rate."),
        OSError(errno.EBUSY, "Service Unavailable"),
        OSError("When reading information for key 'a/1.json' in bucket 'wh': AWS Error SLOW_DOWN (HTTP status 503)"),
        requests.HTTPError("Too Many Requests", response=answer(429)),
        OSError("google::cloud::Status(RESOURCE_EXHAUSTED: Rate limit exceeded)"),
        type("HttpError", (Exception,), {})("Too Many Requests, 429"),
        type("ThrottlingException", (Exception,), {})("Rate exceeded"),
    ],
)
def test_a_busy_store_is_waited_for_longer_than_the_retries_of_one_that_does_not_answer(error: Exception) -> None:
    waited = Waited()
    assert "the answer" == waited.retries(2)(failing(10, error), "reading")
    assert (10, True) == (len(waited), waited[0] < waited[-1])


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError("s3://lake/throttled/503.json"),
        PermissionError("s3://lake/too many requests"),
        OSError("AWS Error UNKNOWN (HTTP status 400) during HeadObject operation of 'status-503/slow.json'"),
        OSError("When reading information for key 'throttling/1.json' in bucket 'wh': AWS Error (HTTP status 400)"),
        requests.ConnectionError("Max retries exceeded with url: /v1/namespaces/sales/tables/throttling_events"),
        requests.HTTPError("400 Client Error for url: http://host/tables/too many requests"),
        ValueError("throttled"),
    ],
)
def test_other_errors_are_not_taken_for_a_busy_store(error: Exception) -> None:
    assert not is_busy(error)


def test_a_busy_store_is_given_up_after_a_minute() -> None:
    waited = Waited()
    with pytest.raises(ServiceUnavailableError, match="reading: too many requests"):
        waited.retries(2)(failing(1000, BUSY), "reading")
    assert 50 < sum(waited) <= 60


@pytest.mark.parametrize("error", [BUSY, ConnectionError("refused")])
def test_what_never_answered_is_asked_only_once_by_later_calls_until_one_succeeds(error: Exception) -> None:
    waited = Waited()
    catalog = waited.retries(2)
    with pytest.raises(ServiceUnavailableError):
        catalog(failing(1000, error), "loading")
    waited.clear()
    with pytest.raises(ServiceUnavailableError):
        catalog(failing(1000, error), "loading")
    assert [] == waited
    catalog(failing(0, error), "loading")
    assert "the answer" == catalog(failing(2, error), "loading")


def test_the_minute_of_a_store_is_that_of_all_its_reads_whatever_succeeds_between() -> None:
    waited = Waited()
    store = waited.retries(2, refilled=False)
    for _ in range(100):
        with pytest.raises(ServiceUnavailableError):
            store(failing(1000, BUSY), "reading")
        store(failing(0, BUSY), "reading")
    assert 50 < sum(waited) <= 60


def test_waits_of_reads_at_once_count_once() -> None:
    """The clock stands still: all reads wait for the same seconds."""
    waited = Waited()
    store = Retries(Redactor(()), 2, refilled=False, wait=waited, clock=lambda: 0.0)
    assert ["the answer"] * 100 == [store(failing(5, BUSY), "reading") for _ in range(100)]


def test_a_store_that_gives_no_answer_at_all_is_asked_once_for_each_later_file(
    lake: Lake, connect: Open, busy: list[Exception]
) -> None:
    for number in range(20):
        lake.table(f"sales.t{number}")
    busy[:] = [OSError("AWS Error NETWORK_CONNECTION during GetObject operation: no route")] * 1000
    assert 20 == len(list(connect(retries=1, parallelism=1).references()))
    assert 21 == 1000 - len(busy)


def test_each_store_has_a_minute_of_its_own() -> None:
    reads = ReadRetries(Redactor(()), 1)
    with pytest.raises(ServiceUnavailableError):
        reads(failing(1000, ConnectionError("refused")), "reading", "s3://down/t/1.json")
    assert "the answer" == reads(failing(1, BUSY), "reading", "s3://lake/t/1.json")
    with pytest.raises(ServiceUnavailableError):
        reads(failing(1, BUSY), "reading", "s3://down/u/1.json")


def test_a_call_without_an_answer_is_made_again_so_many_times() -> None:
    waited = Waited()
    with pytest.raises(ServiceUnavailableError):
        waited.retries(3)(failing(1000, ConnectionError("refused")), "reading")
    assert 3 == len(waited)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (OSError("AWS Error ACCESS_DENIED during GetObject operation"), AccessDeniedError),
        (FileNotFoundError("gone"), RepositoryError),
    ],
)
def test_what_waiting_cannot_mend_is_not_tried_again(error: Exception, expected: type[Exception]) -> None:
    waited = Waited()
    with pytest.raises(expected):
        waited.retries(2)(failing(1, error), "reading")
    assert [] == waited


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("AWS Error NETWORK_CONNECTION during GetObject operation"), "the store does not answer"),
        (requests.ConnectionError("connection refused"), "the catalog does not answer"),
    ],
)
def test_the_error_says_who_does_not_answer(error: Exception, said: str) -> None:
    assert f"reading: {said}" in str(translated(error, "reading", Redactor(())))


def test_without_retries_nothing_is_tried_again() -> None:
    waited = Waited()
    with pytest.raises(ServiceUnavailableError):
        waited.retries(0)(failing(1, BUSY), "reading")
    assert [] == waited


def test_whoever_stops_waiting_gets_the_error_at_once_in_every_call_that_follows() -> None:
    store, stopped, calls = Retries(Redactor(()), 2), threading.Event(), list[str]()

    def call() -> str:
        calls.append("made")
        threading.Timer(0.05, stopped.set).start()
        raise BUSY

    for _ in range(2):
        with pytest.raises(ServiceUnavailableError):
            until(stopped, lambda: store(call, "reading"))
    assert ["made"] * 2 == calls


def test_who_stops_the_calls_of_one_listing_does_not_stop_those_of_another() -> None:
    store, stopped = Retries(Redactor(()), 2), threading.Event()
    stopped.set()
    assert "the answer" == until(threading.Event(), lambda: store(failing(1, BUSY), "reading"))


def test_a_listing_that_ends_early_does_not_wait_for_its_last_table(
    lake: Lake, connect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when somebody interrupts the run while the table that is awaited is read from a busy store."""
    lake.table("sales.orders", appends=1)
    reading, reads = threading.Event(), list[str]()

    def busy_read(self: GuardedFileIO, location: str) -> InputFile:
        reads.append(location)
        reading.set()
        raise BUSY

    def interrupted(self: Future[object], timeout: float | None = None) -> object:
        assert reading.wait(30)
        raise KeyboardInterrupt

    monkeypatch.setattr(retries, "_FIRST_WAIT", 20.0)
    monkeypatch.setattr(GuardedFileIO, "new_input", busy_read)
    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(connect().references())
    assert 1 == len(reads)


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("s3://key:secret@host/lake/1.json", "s3://***@host/lake/1.json"),
        (
            "https://a.blob.core.windows.net/c/1.json?sv=1&sig=secret%3D",
            "https://a.blob.core.windows.net/c/1.json?sv=1&sig=***",
        ),
        ("s3://lake/1.json?X-Amz-Signature=secret&x=1", "s3://lake/1.json?X-Amz-Signature=***&x=1"),
        ("abfss://container@a.dfs.core.windows.net/1.json", "abfss://container@a.dfs.core.windows.net/1.json"),
    ],
)
def test_s28_credentials_in_the_location_of_a_metadata_file_are_not_shown(location: str, shown: str) -> None:
    error = translated(OSError("no route"), f"reading {location} of sales.orders", Redactor(()))
    assert f"reading {shown} of sales.orders: OSError: no route" == str(error)


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """The errors with which the next reads of metadata files fail."""
    errors: list[Exception] = []
    read = GuardedFileIO.new_input

    def busy_read(self: GuardedFileIO, location: str) -> InputFile:
        if errors:
            raise errors.pop()
        return read(self, location)

    monkeypatch.setattr(GuardedFileIO, "new_input", busy_read)
    return errors


def test_s18_a_table_is_read_when_its_store_is_less_busy(lake: Lake, connect: Open, busy: list[Exception]) -> None:
    lake.table("sales.orders", appends=1)
    busy[:] = [BUSY]
    assert [] == put(connect(), "sales.orders", UNKNOWN_CONTENT)
    assert [] == busy


def test_s06_a_table_of_a_store_that_stays_busy_is_unknown_and_stops_no_other(
    lake: Lake, connect: Open, busy: list[Exception]
) -> None:
    orders = lake.table("sales.orders", appends=1)
    busy[:] = [BUSY]
    versions = put(connect(retries=0), "sales.orders")
    assert [ICEBERG_TABLE, UNKNOWN_CONTENT] == [version.content_type for version in versions]
    assert orders.location() == versions[1].location


def test_s18_the_snapshots_of_a_table_of_a_busy_store_stay_and_stop_no_other(
    lake: Lake, connect: Open, busy: list[Exception]
) -> None:
    lake.table("sales.orders", appends=1)
    connector = connect(retries=0)
    orders = reference(connector, "sales.orders")
    busy[:] = [BUSY]
    with pytest.raises(UnreadableFileError, match="too many requests"):
        list(connector.tables(orders))
    assert [orders.name] == [table.reference for table in connector.tables(orders)]


def test_a_table_that_could_not_be_read_is_left_alone_by_an_expiry_and_not_passed_over(
    lake: Lake, connect: Open
) -> None:
    Path(lake.table("sales.orders").metadata_location.removeprefix("file://")).unlink()
    connector = connect()
    with pytest.raises(UnreadableFileError, match="could not be read when it was listed"):
        list(connector.tables(reference(connector, "sales.orders")))


@pytest.mark.parametrize(
    ("error", "expected"), [(ConnectionError("refused"), ServiceUnavailableError), (BUSY, UnreadableFileError)]
)
def test_only_a_catalog_that_does_not_answer_ends_an_expiry(
    lake: Lake, connect: Open, monkeypatch: pytest.MonkeyPatch, error: Exception, expected: type[Exception]
) -> None:
    """Some catalogs, as Glue's, read metadata files while they load a table: so both come from the same call."""
    catalog, loader = lake.catalog, connect(retries=0)._loader
    monkeypatch.setattr(type(catalog), "load_table", lambda *_: failing(1, error)())
    with pytest.raises(expected):
        loader.metadata(Listed(identifier=("sales", "orders")), "s3://lake/1.metadata.json")


def test_s06_a_table_that_the_configuration_names_as_unreadable_is_not_unknown(lake: Lake, connect: Open) -> None:
    orders = lake.table("sales.orders", appends=1)
    Path(orders.metadata_location.removeprefix("file://")).unlink()
    [frozen] = put(connect(unreadable_tables={"sales.orders": orders.location()}), "sales.orders")
    assert (UNREADABLE_TABLE, orders.location()) == (frozen.content_type, frozen.location)
