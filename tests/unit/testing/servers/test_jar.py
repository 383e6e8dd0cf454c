from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.jar import NESSIE_JAR_VARIABLE, cached_nessie_jar, nessie_jar

RIGHT = b"the server"
SHA256 = hashlib.sha256(RIGHT).hexdigest()


class Source:
    """Has a file with some bytes, and counts how often it is asked."""

    def __init__(self, content: bytes | None) -> None:
        self.content = content
        self.asked = 0

    def __call__(self, folder: Path) -> Path | None:
        self.asked += 1
        if self.content is None:
            return None
        (folder / "found.jar").write_bytes(self.content)
        return folder / "found.jar"


def test_the_first_source_with_the_right_file_fills_the_cache(tmp_path: Path) -> None:
    nothing, wrong, right, unasked = Source(None), Source(b"another"), Source(RIGHT), Source(RIGHT)
    sources = {"nothing": nothing, "wrong": wrong, "right": right, "unasked": unasked}

    jar = cached_nessie_jar(tmp_path / "cache", sources, sha256=SHA256)

    assert RIGHT == jar.read_bytes()
    assert [1, 1, 1, 0] == [source.asked for source in sources.values()]
    assert [] == list(jar.parent.glob(".fetch-*"))


def test_a_cached_jar_is_not_fetched_again(tmp_path: Path) -> None:
    source = Source(RIGHT)

    jars = {cached_nessie_jar(tmp_path, {"source": source}, sha256=SHA256) for _ in range(3)}

    assert (1, 1) == (len(jars), source.asked)


def test_a_jar_that_lies_in_the_cache_already_is_taken_where_it_is_the_right_one(tmp_path: Path) -> None:
    jar = cached_nessie_jar(tmp_path, {"source": Source(RIGHT)}, sha256=SHA256)
    for marker in tmp_path.glob("*.verified"):
        marker.unlink()

    assert jar == cached_nessie_jar(tmp_path, {}, sha256=SHA256)


def test_a_cached_jar_that_was_changed_is_fetched_anew(tmp_path: Path) -> None:
    source = Source(RIGHT)
    jar = cached_nessie_jar(tmp_path, {"source": source}, sha256=SHA256)
    jar.write_bytes(RIGHT[:4])

    assert RIGHT == cached_nessie_jar(tmp_path, {"source": source}, sha256=SHA256).read_bytes()
    assert 2 == source.asked


def test_many_that_want_it_at_once_fetch_it_once(tmp_path: Path) -> None:
    source = Source(RIGHT)

    with ThreadPoolExecutor(6) as threads:
        jars = set(threads.map(lambda _: cached_nessie_jar(tmp_path, {"s": source}, sha256=SHA256), range(12)))

    assert (1, 1) == (len(jars), source.asked)


def test_where_nobody_has_it_one_line_says_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
    sources = {"mvn": Source(None), "mirror": Source(b"another")}

    with pytest.raises(ConfigurationError) as raised:
        cached_nessie_jar(tmp_path, sources, sha256=SHA256)

    message = str(raised.value)
    assert "mvn: nothing; mirror: another file" in message
    assert f"set {NESSIE_JAR_VARIABLE} to it" in message
    assert "\n" not in message
    assert [] == list(tmp_path.glob("*.jar"))


def test_the_environment_names_a_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = tmp_path / "other.jar"
    jar.write_bytes(b"any")
    monkeypatch.setenv(NESSIE_JAR_VARIABLE, str(jar))

    assert jar == nessie_jar()


def test_a_named_jar_that_is_not_there_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NESSIE_JAR_VARIABLE, str(tmp_path / "missing.jar"))

    with pytest.raises(ConfigurationError, match="which is not a file"):
        nessie_jar()
