"""Objects of GCS through obstore: who is asked for which, and what obstore is told."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from gcsfs.retry import HttpError
from nessie_gc_iceberg_files import IcebergContentToFiles, gcs_reads
from nessie_gc_iceberg_files.gcs_store import GcsStore
from nessie_gc_iceberg_files.quick_reads import MOST_IN_VAIN
from obstore.store import GCSStore
from scripted_gcs import FORBIDDEN, scripted_gcs

from nessie_gc_core.errors import MissingFileError, UnreadableFileError
from nessie_gc_core.testing.paths import ODD_PATHS

pytestmark = pytest.mark.server
ANONYMOUS = {"gcs.oauth2.token": "anon"}


@pytest.fixture
def gcs():
    with scripted_gcs() as server:
        yield server


@pytest.fixture
def properties(gcs):
    return {"gcs.service.host": gcs.endpoint, **ANONYMOUS}


@pytest.fixture
def with_token(gcs, monkeypatch):
    """A token that nobody asks Google about."""
    monkeypatch.setenv("FETCH_RAW_TOKEN_EXPIRY", "false")
    gcs.tokens = ["s3cret"]
    return {"gcs.service.host": gcs.endpoint, "gcs.oauth2.token": "s3cret"}


@pytest.fixture(scope="module")
def private_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()


@pytest.fixture
def service_account(gcs, private_key, tmp_path):
    """The file of a service account, whose tokens the server gives out."""
    account = {
        "type": "service_account",
        "project_id": "ours",
        "client_email": "gc@ours",
        "private_key": private_key,
        "token_uri": f"{gcs.endpoint}/token",
    }
    path = tmp_path / "account.json"
    path.write_text(json.dumps(account))
    return path


@pytest.fixture
def told(monkeypatch):
    """What obstore is told when a store is opened."""
    said = []

    def opened(bucket, **more):
        said.append({"bucket": bucket, **more})

    monkeypatch.setattr(gcs_reads, "GCSStore", opened)

    def tell(properties, bucket="lake"):
        store = GcsStore(bucket, properties)
        store._reads.read("a")
        return said.pop() if said else None

    return tell


def test_an_object_is_read_through_obstore_alone(gcs, properties):
    gcs.objects = {f"t/{number}": b"%d" % number for number in range(20)}
    store = GcsStore("lake", properties)
    assert list(gcs.objects.values()) == [store.read(key) for key in gcs.objects]
    assert (list(gcs.objects), []) == (gcs.quick, gcs.exact)


@pytest.mark.parametrize("key", [path for path in ODD_PATHS if not path.startswith("/")])
def test_s4_odd_keys_are_read_as_they_are_stored(gcs, properties, key):
    gcs.objects = {key: b"here"}
    assert b"here" == GcsStore("lake", properties).read(key)


@pytest.mark.parametrize("key", ["a//b", "/a", "a/", "a/./b", "bell\x07"])
def test_s4_a_key_that_obstore_takes_apart_is_read_by_gcsfs_and_held_against_nobody(gcs, properties, key):
    gcs.objects = {key: b"here", "a": b"there"}
    store = GcsStore("lake", properties)
    assert [b"here"] * MOST_IN_VAIN == [store.read(key) for _ in range(MOST_IN_VAIN)]
    assert ([], MOST_IN_VAIN) == (gcs.quick, len(gcs.exact))
    assert b"there" == store.read("a")
    assert ["a"] == gcs.quick


def test_a_missing_object_a_missing_bucket_and_a_refusal_are_told_apart(gcs, properties, version_of):
    with IcebergContentToFiles.from_options({"properties": properties}) as reader:
        with pytest.raises(MissingFileError):
            list(reader.files(version_of("gs://lake/1.metadata.json")))
        for bucket in ("none", FORBIDDEN):
            with pytest.raises(UnreadableFileError) as caught:
                list(reader.files(version_of(f"gs://{bucket}/1.metadata.json")))
            assert not isinstance(caught.value, MissingFileError)
    assert 3 == len(gcs.quick)


def test_a_server_that_speaks_no_xml_is_soon_asked_through_gcsfs_alone(gcs, properties):
    gcs.objects, gcs.speaks_xml = {"a": b"here"}, False
    store = GcsStore("lake", properties)
    for _ in range(MOST_IN_VAIN + 3):
        assert b"here" == store.read("a")
    assert (MOST_IN_VAIN, MOST_IN_VAIN + 3) == (len(gcs.quick), len(gcs.exact))


def test_what_is_stored_packed_is_read_by_gcsfs_which_unpacks_it(gcs, properties):
    gcs.objects, gcs.packed = {"a": b"here"}, {"a"}
    assert b"here" == GcsStore("lake", properties).read("a")
    assert (["a"], ["a"]) == (gcs.quick, gcs.exact)


def test_an_answer_without_a_generation_is_none_of_gcs():
    def answer(version):
        return SimpleNamespace(meta={"version": version}, attributes={})

    assert gcs_reads.is_answer_of_gcs(answer("17"))
    assert not gcs_reads.is_answer_of_gcs(answer(None))


def test_a_token_of_the_properties_is_sent(gcs, with_token):
    gcs.objects = {"a": b"here"}
    assert b"here" == GcsStore("lake", with_token).read("a")
    assert (["a"], []) == (gcs.quick, gcs.exact)


def given_by(store: GcsStore) -> Any:
    """What the client of the store is told about its token."""
    made = store._reads._store
    assert isinstance(made, GCSStore)
    assert made.credential_provider is not None
    return made.credential_provider()


@pytest.mark.parametrize("is_default", [True, False])
def test_a_service_account_gives_tokens_which_are_renewed(gcs, service_account, monkeypatch, is_default):
    gcs.objects, gcs.tokens = {"a": b"here"}, ["first"]
    properties = {"gcs.service.host": gcs.endpoint, "gcs.project-id": "ours"}
    if is_default:
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(service_account))
    else:
        properties["gcs.oauth2.token"] = str(service_account)
    store = GcsStore("lake", properties)
    assert b"here" == store.read("a")
    gcs.tokens = ["second"]
    assert "first" == given_by(store)["token"]
    store._fs.credentials.credentials.expiry = datetime.now(UTC).replace(tzinfo=None) + timedelta(minutes=4)
    assert "second" == given_by(store)["token"]
    assert timedelta(0) < given_by(store)["expires_at"] - datetime.now(UTC) <= timedelta(minutes=5)
    assert (["a"], []) == (gcs.quick, gcs.exact)


def test_who_pays_is_named_as_gcsfs_names_it(gcs, service_account):
    gcs.objects, gcs.tokens = {"a": b"here", "a//b": b"there"}, ["first"]
    store = GcsStore("lake", {"gcs.service.host": gcs.endpoint, "gcs.oauth2.token": str(service_account)})
    ours = store._fs.credentials
    ours.credentials = ours.credentials.with_quota_project("they-pay")
    assert (b"here", b"there") == (store.read("a"), store.read("a//b"))
    assert (["a"], ["a//b"], ["they-pay"] * 2) == (gcs.quick, gcs.exact, gcs.payers)


def test_credentials_that_are_more_than_a_token_are_left_to_gcsfs(gcs, with_token):
    gcs.objects = {"a": b"here"}
    store = GcsStore("lake", with_token)
    only_token = store._fs.credentials.credentials.apply

    def with_more(headers):
        only_token(headers)
        headers["x-allowed-locations"] = "0x1"

    store._fs.credentials.credentials.apply = with_more
    assert b"here" == store.read("a")
    assert ([], ["a"]) == (gcs.quick, gcs.exact)


def test_obstore_is_told_what_gcsfs_has(told):
    said = told({**ANONYMOUS})
    options = said["client_options"]
    assert ("lake", {"base_url": "https://storage.googleapis.com", "skip_signature": True}) == (
        said["bucket"],
        said["config"],
    )
    assert (False, timedelta(seconds=30), timedelta(minutes=5)) == (
        options["allow_http"],
        options["connect_timeout"],
        options["timeout"],
    )
    assert {"max_retries": 5} == said["retry_config"]
    assert {} == options["default_headers"]


@pytest.mark.parametrize(
    ("endpoint", "is_quick"),
    [
        ("https://storage.example.com", True),
        ("http://127.0.0.1:1", True),
        ("https://user:s3cret@storage.example.com", False),
        ("https://storage.example.com/prefix", False),
        ("https://storage.example.com/", False),
        ("storage.example.com", False),
    ],
)
def test_an_address_is_that_of_gcsfs_and_nothing_but_a_host(told, endpoint, is_quick):
    said = told({"gcs.service.host": endpoint, **ANONYMOUS})
    assert (endpoint if is_quick else None) == (said and said["config"]["base_url"])


@pytest.mark.parametrize(
    "more",
    [
        {"gcs.requester-pays": "true", "gcs.project-id": "ours"},
        {"gcs.session-kwargs": '{"trust_env": true}'},
    ],
)
def test_what_obstore_cannot_say_is_left_to_gcsfs(told, more):
    assert told({**ANONYMOUS, **more}) is None


def test_a_client_certificate_is_left_to_gcsfs(told, monkeypatch):
    opened = GcsStore("lake", {**ANONYMOUS, "gcs.service.host": "https://storage.example.com"})
    opened._fs._use_client_cert = True
    try:
        assert gcs_reads.gcs_reads("lake", opened._fs) is None
    finally:
        opened._fs._use_client_cert = False


def test_nothing_that_is_kept_or_logged_has_the_token(gcs, with_token, caplog):
    store = GcsStore("lake", with_token)
    with caplog.at_level(logging.DEBUG):
        with pytest.raises(FileNotFoundError):
            store.read("a")
        gcs.tokens = ["another"]
        with pytest.raises(HttpError, match="401") as caught:
            store.read("b")
    made = store._reads._store
    assert isinstance(made, GCSStore)
    kept = [caplog.text, str(caught.value), repr(made), repr(made.config), repr(made.credential_provider), repr(store)]
    assert all("s3cret" not in text for text in kept)
