"""In which places contents have files outside their own locations."""

from __future__ import annotations

import pickle
from collections.abc import Iterable

import pyarrow as pa
import pytest

from nessie_gc_core.algorithms.expansion_cache import CACHED_FILES
from nessie_gc_core.algorithms.reach import MAX_PLACES, KnownReached, Places, ReachedFrom, bounded, reached_places
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.model.batches import to_batches
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import EXPANDED_FILES, VERSION_FILES

T, U, INNER = "s3://lake/wh/t/", "s3://lake/wh/u/", "s3://lake/wh/t/inner/"
PLACES = Places([T, U, INNER], LocationRules(), ["MANIFEST"])
Found = dict[tuple[str, str], int]


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (T + "data/a", T),
        ("s3a://lake/wh//t/data/a", T),
        (INNER + "a", INNER),
        ("s3://lake/wh/t2/data/day=1/a", "s3://lake/wh/t2/data/"),
        ("s3://lake/a/b/c/d/e/f/g", "s3://lake/a/b/c/d/"),
        ("s3://lake/a", "s3://lake/"),
        ("s3://lake/day=1/a", "s3://lake/"),
        ("/a/b/c/d/e/f", "file:///a/b/c/d/"),
    ],
)
def test_a_file_is_in_the_innermost_known_place_or_in_a_folder_of_bounded_depth(path: str, place: str) -> None:
    assert (place,) == PLACES.of(path)
    assert (place,) == pickle.loads(pickle.dumps(PLACES)).of(path)


def test_a_path_that_clients_take_differently_is_in_both_places() -> None:
    assert {T, U} == set(PLACES.of(T + "../u/a"))


@pytest.mark.parametrize("path", ["data/a", "warp://lake/a"])
def test_a_path_that_cannot_be_compared_is_in_none(path: str) -> None:
    assert () == PLACES.of(path)


def test_too_many_places_become_the_folders_above_them() -> None:
    places = [f"s3://lake/n{number % 7}/t{number}/" for number in range(MAX_PLACES + 1)]
    assert [f"s3://lake/n{number}/" for number in range(7)] == bounded(places)
    assert sorted(places[1:]) == bounded(places[1:])
    assert [T, U] == bounded([T, INNER, U])


def reached(found: ReachedFrom) -> Found:
    return {(str(row[5]), str(row[0])): int(str(row[3])) for row in found.rows("T")}


def test_a_place_reaches_the_others_and_those_with_manifests_lead_on() -> None:
    found = ReachedFrom(PLACES)
    found.add(T + "metadata/l", [T + "metadata/m", U + "metadata/m"], ["MANIFEST", "MANIFEST"])
    found.add(T + "metadata/m", [INNER + "a", T + "data/a"], ["DATA", "DATA"])
    assert {(T, U): 1, (T, INNER): 0} == reached(found)


def test_what_is_remembered_of_manifests_reaches_the_same() -> None:
    rows = [
        (T + "metadata/m", 1, "", "MANIFEST", "T", "r", 2, path, "DATA", None, 0)
        for path in (T + "data/a", U + "data/b")
    ]
    batches = KnownReached(PLACES)(iter(to_batches(rows, CACHED_FILES)))
    assert [(U, "REACHED", 0, T)] == [
        (row["path"], row["kind"], row["length"], row["key"]) for batch in batches for row in batch.to_pylist()
    ]


def version_rows(*rows: tuple[str, str, str, str]) -> Iterable[pa.RecordBatch]:
    full = ((path, kind, "T", None, location, id_, None, None, False, None) for path, kind, location, id_ in rows)
    return to_batches(full, VERSION_FILES)


def test_contents_reach_what_their_manifests_name_however_far_they_lead() -> None:
    far, files = "s3://lake/far/x/", "s3://lake/files/x/"
    edges = [(U, "REACHED", "T", 1, None, T, None, None), (far, "REACHED", "T", 0, None, U, None, None)]
    edges.append((files, "REACHED", "T", 0, None, far, None, None))
    homes = [("t", T), ("u", U), ("far", far), ("own", "s3://lake/wh/own/")]
    with LocalEngine(workers=1) as engine:
        versions = engine.dataset(version_rows((far + "l", "MANIFEST", "s3://lake/wh/own", "own")), VERSION_FILES)
        rows = engine.dataset(to_batches(edges, EXPANDED_FILES), EXPANDED_FILES)
        found = dict(reached_places(versions, rows, homes, PLACES))
    assert {"t": [far, U], "u": [far], "far": [files], "own": ["s3://lake/far/x/", files]} == found
