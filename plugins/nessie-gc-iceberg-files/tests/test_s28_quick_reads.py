"""S28: what obstore sends goes where the exact client would send it, whatever the environment and other hosts say."""

from __future__ import annotations

import base64
import json
import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from evil_host import recording_host, sending_on
from nessie_gc_iceberg_files import adls_reads
from nessie_gc_iceberg_files.adls_store import AdlsStore
from nessie_gc_iceberg_files.gcs_store import GcsStore
from nessie_gc_iceberg_files.s3_store import S3Store

KEY, TOKEN = "czNjcmV0", "our-token"
SAS = "sv=2026-01-01&sig=our-signature"
HERE, THERE = b"from here", b"from somewhere else"
PROXIES = ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")


@pytest.fixture
def evil():
    with recording_host(THERE) as host:
        yield host


@pytest.fixture
def home():
    with recording_host(HERE) as host:
        yield host


@pytest.fixture(autouse=True)
def nobody_asks_google(monkeypatch):
    monkeypatch.setenv("FETCH_RAW_TOKEN_EXPIRY", "false")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """An authority's certificate, and a server's that it has signed."""
    folder = tmp_path_factory.mktemp("certificates")
    authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    (folder / "authority.pem").write_bytes(_certificate("authority", authority, authority))
    (folder / "server.pem").write_bytes(
        _certificate("server", server, authority)
        + server.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "server.pem")
    return folder / "authority.pem", tls


def _certificate(name, key, authority):
    def named(text):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    now = datetime.now(UTC)
    made = x509.CertificateBuilder(named("authority"), named(name), key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=name == "authority", path_length=None), critical=True)
    return made.sign(authority, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def gcs(endpoint):
    return GcsStore("lake", {"gcs.service.host": endpoint, "gcs.oauth2.token": TOKEN})


def azure(endpoint, given=f"AccountName=ours;AccountKey={KEY}"):
    return AdlsStore("lake", {"adls.connection-string": f"BlobEndpoint={endpoint};{given}"})


def s3(endpoint):
    keys = {"s3.access-key-id": "ours", "s3.secret-access-key": KEY, "s3.region": "eu-central-1"}
    return S3Store("lake", {"s3.endpoint": endpoint, **keys})


def azure_by_token(endpoint):
    host = endpoint.removeprefix("https://")
    return AdlsStore("lake", {"adls.account-name": "ours", "adls.account-host": host, "adls.token": TOKEN})


def quick(store):
    """What obstore gets, where it is asked."""
    return store._reads.read("t/a")


SECRETS = (TOKEN, KEY, "SharedKey", "Bearer", "AWS4-HMAC", "our-signature")


def has_secrets(host):
    return any(host.has(secret) for secret in SECRETS)


@pytest.mark.parametrize("store", [gcs, azure, s3])
@pytest.mark.parametrize("there", ["127.0.0.1", "localhost"])
def test_s28_whoever_is_sent_on_takes_neither_token_nor_key_along(evil, store, there):
    with sending_on(evil.endpoint.replace("127.0.0.1", there)) as home:
        assert THERE == quick(store(home.endpoint))
    assert has_secrets(home)
    assert evil.requests
    assert not has_secrets(evil)


@pytest.mark.parametrize("store", [gcs, azure_by_token])
def test_s28_nobody_is_sent_on_from_tls_to_plain_text(certificates, evil, store, monkeypatch):
    authority, tls = certificates
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with sending_on(evil.endpoint, tls) as home:
        assert quick(store(home.endpoint)) is None
    assert home.has(f"Bearer {TOKEN}")
    assert not evil.requests


def test_s28_a_token_goes_to_no_other_host_by_tls_either(certificates, monkeypatch):
    authority, tls = certificates
    monkeypatch.setenv("SSL_CERT_FILE", str(authority))
    with recording_host(THERE, tls) as evil, sending_on(evil.endpoint, tls) as home:
        assert THERE == quick(azure_by_token(home.endpoint))
    assert has_secrets(home)
    assert evil.requests
    assert not has_secrets(evil)


@pytest.mark.parametrize("given", [f"AccountName=ours;SharedAccessSignature={SAS}", f"SharedAccessSignature=?{SAS}"])
def test_s28_a_signature_in_an_address_is_sent_by_obstore_to_azure_alone(evil, given):
    with sending_on(evil.endpoint) as home:
        assert quick(azure(home.endpoint, given)) is None
    assert not home.requests
    assert not evil.requests


@pytest.mark.parametrize(
    ("host", "is_told"),
    [
        ("ours.blob.core.windows.net", True),
        ("ours.blob.core.windows.net:443", True),
        ("ours.blob.core.windows.net:8443", False),
        ("ours.blob.core.windows.net.evil.example", False),
        ("evil.example", False),
    ],
)
@pytest.mark.parametrize("scheme", ["https", "http"])
def test_s28_it_is_azure_only_by_its_name_and_by_tls(monkeypatch, host, is_told, scheme):
    told = []
    monkeypatch.setattr(adls_reads, "AzureStore", lambda *_, **more: told.append(more))
    quick(azure(f"{scheme}://{host}", f"SharedAccessSignature={SAS}"))
    assert (is_told and scheme == "https") == bool(told)


@pytest.fixture
def environment(monkeypatch, evil):
    """Every variable of obstore that could lead it elsewhere."""
    account = {"gcs_base_url": evil.endpoint, "disable_oauth": True, "client_email": "", "private_key": ""}
    account["private_key_id"] = ""
    for name, value in {
        "GOOGLE_BASE_URL": evil.endpoint,
        "GOOGLE_BUCKET": "evil",
        "GOOGLE_BEARER_TOKEN": "of-somebody-else",
        "GOOGLE_SKIP_SIGNATURE": "true",
        "GOOGLE_SERVICE_ACCOUNT_KEY": json.dumps(account),
        "AZURE_STORAGE_ENDPOINT": evil.endpoint,
        "AZURE_ENDPOINT": evil.endpoint,
        "AZURE_STORAGE_USE_EMULATOR": "true",
        "AZURITE_BLOB_STORAGE_URL": evil.endpoint,
        "AZURE_USE_FABRIC_ENDPOINT": "true",
        "AZURE_CONTAINER_NAME": "evil",
        "AZURE_STORAGE_ACCOUNT_NAME": "evil",
        "AZURE_STORAGE_ACCOUNT_KEY": "ZXZpbA==",
        "AZURE_STORAGE_TOKEN": "of-somebody-else",
        "AZURE_STORAGE_SAS_KEY": "sig=of-somebody-else",
        "AZURE_SKIP_SIGNATURE": "true",
        "AZURE_CREDENTIAL_TYPE": "sas_token",
        "AZURE_MSI_ENDPOINT": evil.endpoint,
        "IDENTITY_ENDPOINT": evil.endpoint,
        "AZURE_AUTHORITY_HOST": evil.endpoint,
        "AZURE_FABRIC_TOKEN_SERVICE_URL": evil.endpoint,
        "AZURE_FABRIC_WORKLOAD_HOST": evil.endpoint,
        "AZURE_FABRIC_SESSION_TOKEN": "of-somebody-else",
        "AZURE_FABRIC_CLUSTER_IDENTIFIER": "evil",
        **{f"{cloud}_PROXY_URL": evil.endpoint for cloud in ("GOOGLE", "AZURE")},
        **{f"{cloud}_ALLOW_INVALID_CERTIFICATES": "true" for cloud in ("GOOGLE", "AZURE")},
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(
    ("store", "sent"), [(gcs, [f"authorization: Bearer {TOKEN}"]), (azure, ["authorization: SharedKey ours:"])]
)
def test_s28_the_environment_changes_neither_address_nor_credentials(evil, home, store, sent):
    assert HERE == quick(store(home.endpoint))
    assert not evil.requests
    (request,) = home.requests
    assert "GET /lake/t" in request
    assert all(text in request for text in sent)
    assert "of-somebody-else" not in request


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("store", [gcs, azure])
def test_s28_certificates_that_nobody_signed_are_not_trusted(certificates, store):
    with recording_host(THERE, certificates[1]) as host:
        assert quick(store(host.endpoint)) is None
    assert not host.requests


@pytest.mark.parametrize("name", PROXIES)
def test_s28_a_proxy_of_the_environment_is_not_for_gcs_as_it_is_not_for_gcsfs(evil, home, monkeypatch, name):
    monkeypatch.setenv(name, evil.endpoint)
    store = gcs(home.endpoint)
    assert (HERE, HERE) == (quick(store), store._read("t/a"))
    assert not evil.requests


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("without", ["", "127.0.0.1", "*"])
def test_s28_a_proxy_of_the_environment_is_for_azure_where_the_sdk_takes_it(home, evil, monkeypatch, name, without):
    monkeypatch.setenv("NO_PROXY", without)
    monkeypatch.setenv(name, evil.endpoint)
    store = azure(home.endpoint)
    read = quick(store)
    is_asked = bool(evil.requests)
    evil.requests.clear()
    with pytest.raises(ValueError, match="Content-Range"):  # the SDK wants more than these hosts say
        store._read("t/a")
    assert is_asked is bool(evil.requests) is (name.lower() == "http_proxy" and not without)
    assert (THERE if is_asked else HERE) == read


@pytest.mark.parametrize("name", PROXIES)
@pytest.mark.parametrize("without", ["", "127.0.0.1", "*"])
def test_s28_a_proxy_of_the_environment_is_for_s3_where_boto3_takes_it(home, evil, monkeypatch, name, without):
    monkeypatch.setenv("NO_PROXY", without)
    monkeypatch.setenv(name, evil.endpoint)
    store = s3(home.endpoint)
    expected = THERE if name.lower() == "http_proxy" and not without else HERE
    assert (expected, expected) == (quick(store), store._read("t/a"))


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "https://127.0.0.1:1"])
def test_a_proxy_of_another_kind_is_left_to_the_sdk(home, monkeypatch, proxy):
    monkeypatch.setenv("HTTP_PROXY", proxy)
    assert adls_reads.adls_reads("lake", azure(home.endpoint)._fs) is None


@pytest.mark.parametrize("name", ["AZURE_STORAGE_ENCRYPTION_KEY", "AZURE_Storage_Encryption_Key"])
def test_s28_a_key_of_the_environment_that_the_sdk_does_not_send_is_sent_by_nobody(home, monkeypatch, name):
    monkeypatch.setenv(name, base64.b64encode(b"k" * 32).decode())
    assert quick(azure(home.endpoint)) is None
    assert not home.requests


def test_s28_a_token_is_not_sent_in_plain_text_where_the_sdk_would_not(home, monkeypatch):
    store = azure_by_token(home.endpoint)
    monkeypatch.setattr(store._fs.service_client, "scheme", "http")
    assert adls_reads.adls_reads("lake", store._fs) is None
