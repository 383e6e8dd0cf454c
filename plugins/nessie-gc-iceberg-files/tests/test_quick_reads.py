"""S4: which keys reach a store as they are, and who is asked for the others."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from evil_host import recording_host
from hypothesis import example, given
from hypothesis import strategies as st
from nessie_gc_iceberg_files import quick_reads
from nessie_gc_iceberg_files.adls_store import AdlsStore
from nessie_gc_iceberg_files.gcs_store import GcsStore
from nessie_gc_iceberg_files.quick_reads import MOST_IN_VAIN, QuickReads, is_kept, is_unpacked
from obstore.exceptions import BaseError
from obstore.store import MemoryStore

KEYS = st.text(st.sampled_from([*"ab/.%#? +&\\", "é", "\x00", "\x1f", "\x7f", "\x80", "\U0001f9ca"]), max_size=8)


@given(key=KEYS)
@example("")
@example("a//b")
@example("a/./b")
@example("../a")
@example("a/")
@example("/a")
@example("a/b..")
@example("a%2Fb")
@example("a\n")
def test_s04_a_key_is_read_quickly_only_where_it_is_kept_character_by_character(key):
    store = MemoryStore()
    try:
        store.put(key, b"found")
        is_same = [key] == [found["path"] for page in store.list() for found in page]
    except (BaseError, ValueError):
        is_same = False
    assert not is_kept(key) or is_same
    assert (b"found" if is_kept(key) else None) == QuickReads(lambda: store).read(key)


def test_an_answer_that_is_not_taken_is_left_to_the_exact_client():
    store = MemoryStore()
    store.put("packed", b"found", attributes={"Content-Encoding": "gzip"})
    store.put("plain", b"found")
    reads = QuickReads(lambda: store, is_unpacked)
    assert (None, b"found") == (reads.read("packed"), reads.read("plain"))


def test_the_exact_client_is_asked_for_what_is_not_read_and_odd_keys_are_held_against_nobody():
    store, asked = MemoryStore(), []
    store.put("a", b"found")

    def exact(key):
        asked.append(key)
        return b"exactly"

    reads = QuickReads(lambda: store)
    for _ in range(MOST_IN_VAIN):
        assert b"exactly" == reads.read_or_ask("a//b", exact)
    assert b"found" == reads.read_or_ask("a", exact)
    for _ in range(MOST_IN_VAIN):
        assert b"exactly" == reads.read_or_ask("missing", exact)
    assert b"exactly" == reads.read_or_ask("a", exact)
    assert ["a//b"] * MOST_IN_VAIN + ["missing"] * MOST_IN_VAIN + ["a"] == asked


def test_what_the_exact_client_says_is_the_last_word():
    def missing(key):
        raise FileNotFoundError(key)

    reads = QuickReads(MemoryStore)
    for _ in range(MOST_IN_VAIN * 2):
        with pytest.raises(FileNotFoundError):
            reads.read_or_ask("missing", missing)
    assert reads._store is not None


@pytest.fixture(scope="module")
def home():
    with recording_host() as host:
        yield host


@pytest.fixture(scope="module", params=["gcs", "azure"])
def store(request, home):
    if request.param == "gcs":
        return GcsStore("lake", {"gcs.service.host": home.endpoint, "gcs.oauth2.token": "anon"})
    connection = f"BlobEndpoint={home.endpoint};AccountName=ours;AccountKey=b3Vycw=="
    return AdlsStore("lake", {"adls.connection-string": connection})


@given(key=KEYS.filter(is_kept))
@example("%2e%2e/%2E")
@example("a./b..")
@example("a;b:c,d=e@f!$'()*~^`{|}[]\"<>")
def test_s04_a_key_that_is_read_quickly_comes_to_gcs_and_azure_character_by_character(store, home, key):
    home.requests.clear()
    assert b"from somewhere else" == store._reads.read(key)
    (request,) = home.requests
    assert f"/lake/{key}" == unquote(request.split()[1])


def test_what_is_missing_is_left_to_the_exact_client():
    assert QuickReads(MemoryStore).read("a/b") is None


def test_without_a_quick_client_everything_is_left_to_the_exact_one():
    asked = []
    reads = QuickReads(lambda: asked.append(1))
    assert (None, None) == (reads.read("a/b"), reads.read("c"))
    assert [1] == asked


def test_the_client_is_made_when_the_first_key_comes_and_only_once():
    made = []

    def make():
        made.append(MemoryStore())
        return made[-1]

    reads = QuickReads(make)
    assert [] == made
    reads.read("a")
    reads.read("b")
    assert 1 == len(made)


def test_an_object_that_is_not_got_is_left_to_the_exact_client():
    class Broken:
        def get(self, key):
            raise BaseError("it broke")

    assert QuickReads(Broken).read("a") is None


def test_a_client_that_never_gets_what_the_exact_one_gets_is_asked_no_more():
    asked = []

    class Elsewhere:
        def get(self, key):
            asked.append(key)
            raise BaseError("the bucket is in another region")

    reads = QuickReads(Elsewhere)
    for _ in range(MOST_IN_VAIN * 2):
        assert reads.read("a") is None
        reads.was_in_vain()
    assert MOST_IN_VAIN == len(asked)


def test_a_client_that_gets_some_is_asked_on():
    store = MemoryStore()
    store.put("a", b"found")
    reads = QuickReads(lambda: store)
    for _ in range(MOST_IN_VAIN * 2):
        assert reads.read("missing") is None
        reads.was_in_vain()
        assert b"found" == reads.read("a")


def test_a_panic_of_obstore_is_left_to_the_exact_client_and_an_interrupt_is_not():
    class PanicException(BaseException):
        pass

    class Panics:
        def __init__(self, error):
            self.error = error

        def get(self, key):
            raise self.error

    assert QuickReads(lambda: Panics(PanicException("no host"))).read("a") is None
    with pytest.raises(KeyboardInterrupt):
        QuickReads(lambda: Panics(KeyboardInterrupt())).read("a")


def test_a_client_that_cannot_be_made_is_left_out_and_not_tried_again(caplog):
    made = []

    def make():
        made.append(1)
        raise ValueError("builder error: user:s3cret@host")

    reads = QuickReads(make)
    with caplog.at_level("DEBUG"):
        assert (None, None) == (reads.read("a"), reads.read("b"))
    assert [1] == made
    assert "s3cret" not in caplog.text


def test_a_copy_of_a_process_that_used_obstore_leaves_everything_to_the_exact_client(monkeypatch):
    monkeypatch.setattr(quick_reads, "_used_in", {0})
    store = MemoryStore()
    store.put("a", b"found")
    assert QuickReads(lambda: store).read("a") is None
