"""Files that are reached with the credentials that a repository gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from nessie_gc_iceberg_files import IcebergContentToFiles, IcebergFileDeleter, IcebergFileLister, open_stores
from nessie_gc_iceberg_files.open_stores import Stores
from nessie_gc_iceberg_files.places import place_of
from nessie_gc_iceberg_files.reading import FileReader
from nessie_gc_iceberg_files.vended_access import Renewal
from nessie_gc_iceberg_files.vended_s3 import VendedCredentials, renew_when_rejected

from nessie_gc_core.connectors import SupportsCredentialSource
from nessie_gc_core.errors import AccessDeniedError, ConfigurationError, NessieGcError, ServiceUnavailableError
from nessie_gc_core.model import DeleteStatus, FileReference, StorageCredential

PLACE = "s3://lake/wh/t/"


class Source:
    """Gives credentials for one location, the next ones when a store rejects those before."""

    def __init__(self, *credentials: StorageCredential, location: str = PLACE) -> None:
        self.credentials = list(credentials)
        self.location = location
        self.rejected = 0
        self.error: NessieGcError | None = None

    def credential(self, location: str) -> StorageCredential | None:
        if self.error is not None:
            raise self.error
        return self.credentials[0] if location.startswith(self.location) else None

    def renewed(self, location: str, rejected: StorageCredential) -> StorageCredential | None:
        self.rejected += 1
        if len(self.credentials) == 1:
            return None
        del self.credentials[0]
        return self.credentials[0]


def credential(key: str, secret: str, scope: str = "t", **more: str) -> StorageCredential:
    keys = {"s3.access-key-id": key, "s3.secret-access-key": secret}
    return StorageCredential(prefix="s3", properties={**keys, **more}, scope=scope)


def stores(properties: dict[str, str], source: Source) -> Stores:
    made = Stores(properties)
    made.use_credentials(source)
    return made


OURS = {
    "s3.endpoint": "http://127.0.0.1:1",
    "s3.access-key-id": "ours",
    "s3.secret-access-key": "ours",
    "s3.session-token": "ours",
    "client.region": "eu",
}


@pytest.mark.parametrize("connector", [IcebergContentToFiles, IcebergFileLister, IcebergFileDeleter])
def test_all_three_take_credentials(connector: type) -> None:
    assert issubclass(connector, SupportsCredentialSource)


def test_they_replace_configured_ones_as_a_whole_and_nothing_else() -> None:
    found = stores(OURS, Source(credential("theirs", "theirs", **{"s3.region": "us"}))).access(place_of(f"{PLACE}a"))
    assert {"s3.endpoint": "http://127.0.0.1:1", "client.region": "eu", "s3.region": "us"} == found.properties
    assert found.renewal is not None


def test_a_place_without_credentials_is_reached_with_the_configured_ones() -> None:
    assert stores(OURS, Source(credential("theirs", "theirs"))).access(place_of("s3://lake/wh/t2/a")).properties == OURS


def test_clients_are_shared_by_all_files_of_one_scope() -> None:
    source = Source(credential("theirs", "theirs"), location="s3://lake/")
    made = stores(OURS, source)
    first = made.of(place_of("s3://lake/a"))
    source.credentials = [credential("newer", "newer")]
    assert first is made.of(place_of("s3://lake/b"))
    source.credentials = [credential("others", "others", scope="other")]
    assert first is not made.of(place_of("s3://lake/c"))
    made.close()


def test_clients_of_many_tables_are_not_all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_stores, "_MOST", 4)
    source = Source(credential("theirs", "theirs"), location="s3://lake/")
    made = stores(OURS, source)
    made.of(place_of("file:///tmp/a"))
    kept = []
    for table in "abcdef":
        source.credentials = [credential("theirs", "theirs", scope=table)]
        made.of(place_of(f"s3://lake/{table}"))
        kept.append("".join(identity[2][1] for identity in made._open))
    assert ["a", "ab", "abc", "abcd", "bcde", "cdef"] == kept
    assert 5 == len(made._open)
    made.close()


def test_s6_where_the_source_does_not_know_nothing_is_reached() -> None:
    source = Source(credential("theirs", "theirs"))
    source.error = ServiceUnavailableError("the catalog does not answer")
    made = stores(OURS, source)
    with pytest.raises(ServiceUnavailableError, match="does not answer"):
        made.of(place_of(f"{PLACE}a"))


def test_s28_a_token_of_google_that_is_the_name_of_a_file_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "service-account-of-others").write_text("{}")
    token = StorageCredential(prefix="gs", properties={"gcs.oauth2.token": "service-account-of-others"}, scope="t")
    made = stores({}, Source(token, location="gs://lake/"))
    with pytest.raises(ConfigurationError, match="the name of a file") as caught:
        made.of(place_of("gs://lake/a"))
    assert "service-account" not in str(caught.value)


def test_s28_a_token_of_azure_is_sent_to_a_configured_host_only() -> None:
    token = StorageCredential(prefix="abfs", properties={"adls.sas-token.evil": "sig=1"}, scope="t")
    made = stores({}, Source(token, location="abfss://"))
    with pytest.raises(ConfigurationError, match=r"evil\.example"):
        made.of(place_of("abfss://c@evil.dfs.evil.example/t/a"))


def test_a_quarantine_with_other_credentials_is_another_access() -> None:
    made = stores(OURS, Source(credential("theirs", "theirs")))
    assert made.have_same_access(place_of(f"{PLACE}a"), place_of(f"{PLACE}b"))
    assert not made.have_same_access(place_of(f"{PLACE}a"), place_of("s3://lake/quarantine/"))


def test_a_file_io_of_ones_own_is_given_them(tmp_path: Path) -> None:
    reader = FileReader({**OURS, "py-io-impl": "forgetful_file_io.ForgetfulFileIO"})
    reader.use_credentials(Source(credential("theirs", "theirs")))
    opened = reader._opened_file_io(f"{PLACE}a")
    assert ("theirs", None) == tuple(opened.properties.get(f"s3.{name}") for name in ("access-key-id", "session-token"))
    assert "ours" == reader._opened_file_io("s3://lake/other").properties["s3.access-key-id"]


def test_each_request_is_signed_with_those_that_are_valid_by_then() -> None:
    source = Source(credential("first", "first"))
    signing = VendedCredentials(Renewal("t", source, PLACE))
    assert "first" == signing.get_frozen_credentials().access_key
    source.credentials = [credential("second", "second")]
    assert "second" == signing.get_frozen_credentials().access_key
    source.location = "s3://other/"  # the table is gone
    assert "second" == signing.get_frozen_credentials().access_key


REFUSED = {"ResponseMetadata": {"HTTPStatusCode": 403}, "Error": {"Code": "AccessDenied"}}
EXPIRED = {"ResponseMetadata": {"HTTPStatusCode": 400}, "Error": {"Code": "ExpiredToken"}}
MISSING = {"ResponseMetadata": {"HTTPStatusCode": 404}, "Error": {"Code": "NoSuchKey"}}


@pytest.mark.parametrize(
    ("answer", "expires", "renewed"),
    [
        (EXPIRED, None, True),
        (EXPIRED, datetime(2100, 1, 1, tzinfo=UTC), True),
        (REFUSED, None, True),
        (REFUSED, datetime(2100, 1, 1, tzinfo=UTC), False),
        (MISSING, None, False),
    ],
)
def test_a_refusal_means_expired_only_where_nobody_knows_when_that_is(
    answer: dict[str, Any], expires: datetime | None, renewed: bool
) -> None:
    source = Source(replace(credential("old", "old"), expires=expires), credential("new", "new"))
    signing = VendedCredentials(Renewal("t", source, PLACE))
    handlers: list[Callable[..., float | None]] = []
    events = SimpleNamespace(register_first=lambda _, handler: handlers.append(handler))
    renew_when_rejected(SimpleNamespace(meta=SimpleNamespace(events=events)), signing)
    request: dict[str, Any] = {"context": {}}
    assert [0.0 if renewed else None, None] == [handlers[0]((None, answer), request) for _ in range(2)]
    assert renewed == source.rejected


@pytest.mark.server
def test_a_client_goes_on_with_new_credentials_when_the_store_rejects_its_own(s3_server) -> None:
    server, good = s3_server, credential(s3_server.access_key, s3_server.secret_key)
    endpoint = {name: server.properties[name] for name in ("s3.endpoint", "s3.region", "s3.path-style-access")}
    location = "s3://lake/renewed/"
    Stores(dict(server.properties)).of(place_of(location)).create("renewed/a", b"content")
    for use in ("list", "read", "delete"):
        source = Source(credential("expired", "expired"), good, location=location)
        made = stores(endpoint, source)
        store = made.of(place_of(location))
        if use == "list":
            assert ["renewed/a"] == [file.key for file in store.files("renewed/")]
        elif use == "read":
            assert b"content" == store.read("renewed/a")
        else:
            assert [DeleteStatus.DELETED] == [each.status for each in store.delete("renewed/", ["a"])]
        assert 1 == source.rejected
        made.close()


@pytest.mark.server
def test_rejected_credentials_without_successors_are_a_refusal(s3_server) -> None:
    endpoint = {name: s3_server.properties[name] for name in ("s3.endpoint", "s3.region", "s3.path-style-access")}
    source = Source(credential("expired", "expired"), location="s3://lake/")
    with IcebergFileLister.from_options({"properties": endpoint}) as lister:
        lister.use_credentials(source)
        with pytest.raises(AccessDeniedError):
            list(lister.list_files("s3://lake/renewed/"))
    with IcebergFileDeleter.from_options({"properties": endpoint}) as deleter:
        deleter.use_credentials(source)
        files = [FileReference(location="s3://lake/renewed/", path=path, size=1) for path in ("a", "b")]
        assert [DeleteStatus.FAILED] * 2 == [each.status for each in deleter.delete_files(files[0].location, files)]
