from __future__ import annotations

from collections.abc import Iterator

import pytest

from nessie_gc_core.algorithms import subtract
from nessie_gc_core.algorithms.listing import sidecar_owner, stored_row
from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.batches import from_micros, to_batches
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.relations import REACHABLE_FILES, STORED_FILES

UNIT = "file:///wh/db/t/"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with LocalEngine(workers=1) as engine:
        yield engine


def candidates(engine: Engine, stored: dict[str, int], reachable: set[str], *, bloom: bool) -> set[tuple[object, ...]]:
    rows = (
        stored_row(
            UNIT, key, FileReference(location=UNIT, path=key, size=1, modified=from_micros(at)), sidecar_owner(key)
        )
        for key, at in stored.items()
    )
    files = engine.dataset(to_batches(rows, STORED_FILES), STORED_FILES)
    live = engine.dataset(to_batches(((UNIT, key, UNIT + key) for key in reachable), REACHABLE_FILES), REACHABLE_FILES)
    membership = subtract.bloom(live, capacity=1000, false_positive_rate=1e-9) if bloom else subtract.exact(live)
    dead = subtract.unreferenced(files, membership, with_sidecars=[UNIT]).summary().to_pylist()
    return {(row["path"], row["sidecar_path"], row["size"], row["sidecar_size"], row["modified"]) for row in dead}


@pytest.mark.parametrize("bloom", [False, True])
@pytest.mark.parametrize(
    ("stored", "reachable", "dead"),
    [
        ({"a": 1}, set(), {("a", None, 1, 0, 1)}),
        ({"a": 1}, {"a"}, set()),
        ({"a": 1, ".a.crc": 2}, set(), {("a", ".a.crc", 1, 1, 2)}),
        ({"a": 3, ".a.crc": 2}, set(), {("a", ".a.crc", 1, 1, 3)}),
        ({"a": 1, ".a.crc": 2}, {"a"}, set()),
        ({".a.crc": 2}, set(), {(None, ".a.crc", 0, 1, 2)}),
        ({".a.crc": 2}, {"a"}, set()),
        ({"a": 1, ".a.crc": 2}, {".a.crc"}, {("a", None, 1, 0, 1)}),
        ({"x/a": 1, ".a.crc": 2}, {"x/a"}, {(None, ".a.crc", 0, 1, 2)}),
        ({"A": 1, "a ": 1, "%61": 1}, {"a"}, {("A", None, 1, 0, 1), ("a ", None, 1, 0, 1), ("%61", None, 1, 0, 1)}),
    ],
)
def test_a_sidecar_follows_the_verdict_of_its_file(
    engine: Engine, stored: dict[str, int], reachable: set[str], dead: set[tuple[object, ...]], *, bloom: bool
) -> None:
    assert dead == candidates(engine, stored, reachable, bloom=bloom)
