from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.testing.servers.jars import cached_jars, pinned
from nessie_gc_core.testing.servers.maven import Artifact

ONE, TWO = Artifact.parse("org.one:one:1.0"), Artifact.parse("org.two:two:2.0:runner")
BYTES = {"one-1.0.jar": b"one", "two-2.0-runner.jar": b"two"}
JARS = {jar: hashlib.sha256(BYTES[jar.file_name]).hexdigest() for jar in (ONE, TWO)}


class Source:
    """Has some files, and notes what it is asked for."""

    def __init__(self, **changes: bytes | None) -> None:
        self.bytes = {**BYTES, **{f"{name}.jar": content for name, content in changes.items()}}
        self.asked: list[Sequence[Artifact]] = []

    def __call__(self, artifacts: Sequence[Artifact], folder: Path) -> None:
        self.asked.append(artifacts)
        for artifact in artifacts:
            content = self.bytes[artifact.file_name]
            if content is not None:
                (folder / artifact.file_name).write_bytes(content)


def test_what_one_source_lacks_or_has_wrong_the_next_one_gives(tmp_path: Path) -> None:
    first, second, third = Source(**{"one-1.0": b"wrong"}), Source(), Source()

    folder = cached_jars(JARS, tmp_path / "jars", {"first": first, "second": second, "third": third})

    assert BYTES == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert ([[ONE, TWO]], [[ONE]], []) == (first.asked, second.asked, third.asked)


def test_cached_jars_are_not_fetched_again_unless_they_were_changed(tmp_path: Path) -> None:
    source = Source()
    folder = cached_jars(JARS, tmp_path / "jars", {"source": source})
    cached_jars(JARS, tmp_path / "jars", {"source": source})
    (folder / "one-1.0.jar").write_bytes(b"changed")
    (folder / "stranger.jar").write_bytes(b"?")

    cached_jars(JARS, tmp_path / "jars", {"source": source})

    assert BYTES == {path.name: path.read_bytes() for path in folder.iterdir()}
    assert [[ONE, TWO], [ONE]] == source.asked


def test_a_jar_that_nobody_has_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"from nowhere: org\.one:one:1\.0;"):
        cached_jars(JARS, tmp_path / "jars", {"nowhere": Source(**{"one-1.0": None})})


def test_a_list_of_jars_has_coordinates_and_digests() -> None:
    text = "".join(f"{coordinates} {digest}\n" for coordinates, digest in (("a:b:1", "00"), ("a:c:2:tests", "11")))

    assert {"b-1.jar": "00", "c-2-tests.jar": "11"} == {jar.file_name: digest for jar, digest in pinned(text).items()}
