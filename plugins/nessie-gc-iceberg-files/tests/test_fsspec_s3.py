"""S3 through s3fs: keys that its paths cannot say, answers that break off, refusals; and properties that it lacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from botocore.exceptions import ClientError
from nessie_gc_iceberg_files import IcebergFileDeleter, IcebergFileLister
from nessie_gc_iceberg_files.fsspec_s3 import S3fsStore
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.places import place_of
from test_contracts import moto

from nessie_gc_core.errors import AccessDeniedError, ConfigurationError, ListingError, ServiceUnavailableError
from nessie_gc_core.model.files import DeleteStatus, FileReference

__all__ = ["moto"]  # a fixture
ODD = ["x?versionId=1", "x", "a//b", "//c", "d/./e", "d/../e", "#", "?", " ", "trailing /x"]


class Scripted:
    """Answers of an ``S3FileSystem``, one after the other."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    def call_s3(self, method, **named):
        self.asked.append((method, named))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def refusal(code, status):
    answer = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error = OSError("s3fs says it in other words")
    error.__cause__ = ClientError(answer, "ListObjectsV2")
    return error


@pytest.fixture
def properties(moto):
    return {**moto.properties, "s3.client": "fsspec"}


@pytest.mark.parametrize("odd", ODD)
def test_s04_keys_that_the_paths_of_s3fs_cannot_say_are_listed_read_and_deleted(moto, properties, odd):
    prefix = f"odd-{ODD.index(odd)}/"
    for key in (odd, "neighbour"):
        moto.put(prefix + key, odd.encode())
    location = f"s3://lake/{prefix}"
    with IcebergFileLister.from_options({"properties": properties}) as lister:
        found = {file.path: file for file in lister.list_files(location)}
    assert {odd, "neighbour"} == set(found)
    assert len(odd) == found[odd].size
    modified = found[odd].modified
    assert modified is not None
    assert abs(datetime.now(UTC) - modified) < timedelta(minutes=15)
    stores = Stores(properties)
    assert odd.encode() == stores.of(place_of(location)).read(prefix + odd)
    stores.close()
    with IcebergFileDeleter.from_options({"properties": properties}) as deleter:
        (outcome,) = deleter.delete_files(location, [FileReference(location=location, path=odd, size=1)])
    assert DeleteStatus.DELETED is outcome.status
    assert [f"{prefix}neighbour"] == list(moto.keys(prefix))


def test_s06_a_missing_bucket_is_neither_empty_nor_a_missing_file(properties):
    stores = Stores(properties)
    store = stores.of(place_of("s3://no-such-bucket/t/"))
    with pytest.raises(ListingError, match="NoSuchBucket"):
        list(store.files("t/"))
    with pytest.raises(OSError, match="NoSuchBucket") as caught:
        store.read("t/a")
    assert not isinstance(caught.value, FileNotFoundError)
    assert caught.value.__cause__ is None
    with pytest.raises(FileNotFoundError):
        stores.of(place_of("s3://lake/t/")).read("t/none")
    stores.close()


def test_s06_pages_that_break_off_are_an_error_and_not_the_end():
    page = {"Contents": [{"Key": "t/a", "Size": 1}], "IsTruncated": True}
    store = S3fsStore(Scripted({**page, "NextContinuationToken": "more"}, page), "lake")
    listing = store.files("t/")
    assert ["t/a", "t/a"] == [next(listing).key, next(listing).key]
    with pytest.raises(ListingError, match="no token to request them"):
        next(listing)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (refusal("AccessDenied", 403), AccessDeniedError),
        (refusal("InternalError", 500), ServiceUnavailableError),
        (refusal("SlowDown", 503), ServiceUnavailableError),
        (refusal("NoSuchBucket", 404), ListingError),
        (ConnectionError("no answer"), ServiceUnavailableError),
    ],
)
def test_s06_a_refusal_is_an_error_of_its_kind(error, expected):
    store = S3fsStore(Scripted(error, error), "lake")
    for ask in (lambda: list(store.files("t/")), lambda: store.level("t/", None)):
        with pytest.raises(expected):
            ask()


def test_s15_each_key_has_the_outcome_that_the_server_says():
    answer = {
        "Deleted": [{"Key": "t/a"}],
        "Errors": [{"Key": "t/b", "Code": "AccessDenied", "Message": "no"}, {"Key": "t/c", "Code": "NoSuchKey"}],
    }
    store = S3fsStore(Scripted(answer), "lake")
    outcomes = {outcome.path: outcome for outcome in store.delete("t/", ["a", "b", "c", "d"])}
    expected = [DeleteStatus.DELETED, DeleteStatus.FAILED, DeleteStatus.ALREADY_GONE, DeleteStatus.FAILED]
    assert expected == [outcomes[path].status for path in "abcd"]
    assert "AccessDenied: no; grant s3:DeleteObject" == outcomes["b"].reason
    assert "the server's response does not mention it" == outcomes["d"].reason


def test_s15_a_request_that_fails_is_the_failure_of_each_of_its_files():
    outcomes = list(S3fsStore(Scripted(refusal("AccessDenied", 403)), "lake").delete("t/", ["a", "b"]))
    assert [(DeleteStatus.FAILED, "AccessDenied: no")] * 2 == [(found.status, found.reason) for found in outcomes]


def test_a_signer_is_refused_as_by_the_native_client(properties):
    stores = Stores({**properties, "s3.signer": "S3V4RestSigner"})
    with pytest.raises(ConfigurationError, match=r"s3\.signer"):
        stores.of(place_of("s3://lake/t/"))
