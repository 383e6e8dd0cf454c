"""S33: what is packed is unpacked up to a limit."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable

import pyarrow as pa
import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.parsing import TooDeepError
from nessie_gc_core.model.unpacking import ALWAYS_ALLOWED, Limit, TooMuchError, read_json, unpacked

LIMIT = Limit(option="max_metadata_bytes", most=1000, ratio=10)


def zstd(data: bytes) -> bytes:
    packed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return packed


PACKERS = [bytes, gzip.compress, zstd]


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("size", [1, 999, 1000])
def test_what_there_is_room_for_is_unpacked(pack: Callable[[bytes], bytes], size: int) -> None:
    assert b"x" * size == unpacked(pack(b"x" * size), LIMIT.room(1000))


@pytest.mark.parametrize("pack", PACKERS)
def test_one_byte_more_is_too_much(pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(TooMuchError, match="more than 1,000 bytes; the limit is max_metadata_bytes"):
        unpacked(pack(b"x" * 1001), LIMIT.room(1000))


def test_pieces_that_were_packed_one_by_one_are_one_file() -> None:
    assert b"ab" == unpacked(gzip.compress(b"a") + gzip.compress(b"b"), LIMIT.room(1))
    assert b"ab" == unpacked(zstd(b"a") + zstd(b"b"), LIMIT.room(1))
    with pytest.raises(TooMuchError):
        unpacked(zstd(b"a" * 600) * 2, LIMIT.room(1))


def test_the_ratio_counts_beyond_what_every_file_may_have() -> None:
    large = Limit(option="x", most=ALWAYS_ALLOWED * 10, ratio=10)
    data = gzip.compress(bytes(ALWAYS_ALLOWED + 1))
    assert ALWAYS_ALLOWED == len(unpacked(gzip.compress(bytes(ALWAYS_ALLOWED)), large.room(1)))
    with pytest.raises(TooMuchError, match="more than 10 times its size; the limit is max_unpack_ratio"):
        unpacked(data, large.room(len(data)))


@pytest.mark.parametrize("pack", [gzip.compress, zstd])
@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:9], lambda data: data + b"?"])
def test_what_is_damaged_or_cut_off_is_never_less(
    pack: Callable[[bytes], bytes], damage: Callable[[bytes], bytes]
) -> None:
    with pytest.raises(ValueError, match="damaged or truncated"):
        unpacked(damage(pack(b"x" * 100)), LIMIT.room(100))


def test_many_small_values_are_too_much_as_well() -> None:
    with pytest.raises(TooMuchError, match="too many values"):
        read_json(json.dumps([1] * 100).encode(), LIMIT)
    assert [1] * 50 == read_json(json.dumps([1] * 50).encode(), LIMIT)[1]


@pytest.mark.parametrize("text", [b"", b"{", b"\xff"])
def test_what_is_no_complete_json_is_said_to_be_none(text: bytes) -> None:
    with pytest.raises(ValueError, match="not complete JSON"):
        read_json(text, Limit(option="x", most=100_000_000))


@pytest.mark.parametrize("text", [b"[" * 100_000, b"[" * 300 + b"]" * 300])
def test_what_is_nested_too_deeply_is_said_to_be_so(text: bytes) -> None:
    with pytest.raises(TooDeepError, match="nested too deeply"):
        read_json(text, Limit(option="x", most=100_000_000))


@pytest.mark.parametrize("change", [{"most": 0}, {"ratio": 0}])
def test_a_limit_of_nothing_is_none(change: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match="at least 1"):
        Limit(option="x", **{"most": 1, **change})
