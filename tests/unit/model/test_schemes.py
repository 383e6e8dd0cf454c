"""Who reads and who lists a scheme, in words."""

from __future__ import annotations

import pytest

from nessie_gc_core.errors import UnknownLocationError
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.schemes import unread_scheme

READABLE = {"s3", "oss"}


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)


def test_a_scheme_that_no_file_io_reads_is_named_unless_the_user_has_one() -> None:
    assert "no FileIO reads the scheme 'foo': set the property py-io-impl" in str(unread_scheme("foo", {}, READABLE))
    assert unread_scheme("foo", {"py-io-impl": "mine.FileIO"}, READABLE) is None
    assert unread_scheme("s3", {}, READABLE) is None


def test_oss_needs_an_address_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "set the property s3.endpoint to the address of their server" in str(unread_scheme("oss", {}, READABLE))
    for said in ({"s3.endpoint": "https://oss.example.com"}, {"fsspec.oss": "{}"}, {"py-io-impl": "mine.FileIO"}):
        assert unread_scheme("oss", said, READABLE) is None
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "https://oss.example.com")
    assert unread_scheme("oss", {}, READABLE) is None


def test_a_scheme_that_nobody_lists_is_named_with_both_ways_out() -> None:
    with pytest.raises(UnknownLocationError) as caught:
        LocationRules().canonical("foo://bucket/t")
    assert (
        "the scheme of 'foo://bucket/t' is unknown: no installed plugin lists it; install one that does, or if a "
        "scheme that is listed reaches the same files, declare it with `scheme_alias` foo=SCHEME"
    ) == str(caught.value)
