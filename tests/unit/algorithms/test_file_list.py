from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nessie_gc_core.algorithms import file_list_source
from nessie_gc_core.algorithms.file_list import KeyRows
from nessie_gc_core.algorithms.file_list_columns import LISTED
from nessie_gc_core.algorithms.file_list_source import cut, open_file_list, rows_of_lists
from nessie_gc_core.algorithms.unit_index import UnitIndex
from nessie_gc_core.algorithms.units import plan_units
from nessie_gc_core.model.batches import to_batches, to_micros
from nessie_gc_core.model.limits import AllowedLocations
from nessie_gc_core.model.locations import LocationRules
from nessie_gc_core.model.relations import UNKNOWN_TIME

TIME = to_micros(datetime(2026, 1, 1, tzinfo=UTC))


def keyed(
    locations: list[str], *paths: str, rules: LocationRules | None = None, modified: int = TIME
) -> tuple[list[tuple[str, str, str, str]], int]:
    """Unit, key, location and path of the rows that lie in units, and how many do not."""
    plan = plan_units(locations, rules or LocationRules(), AllowedLocations(min_depth=0))
    key_rows = KeyRows(UnitIndex.of(plan), plan.units)
    batches = key_rows(to_batches(((path, modified, None) for path in paths), LISTED))
    rows = [row for batch in batches for row in batch.to_pylist()]
    found = [(row["unit"], row["key"], row["location"], row["path"] or row["sidecar_path"]) for row in rows]
    return [row for row in found if row[0]], sum(row["left_alone"] for row in rows)


@pytest.mark.parametrize(
    ("location", "path", "expected"),
    [
        ("s3://b/wh/t", "s3://b/wh/t/data/a", ("s3://b/wh/t/", "data/a", "s3://b/wh/t/", "data/a")),
        ("s3a://b/wh/t/", "s3n://b/wh/t/a%20 #?", ("s3://b/wh/t/", "a%20 #?", "s3a://b/wh/t/", "a%20 #?")),
        ("s3://b/wh/t", "s3://b/wh/t//a/./b", ("s3://b/wh/t/", "a/b", "s3://b/wh/t/", "/a/./b")),
        ("s3://b/wh/t", "s3://b/wh/t2/a", None),
        ("s3://b/wh/t", "s3://b/wh/t", None),
        ("s3://b/wh/t", "s3://b/wh//t/a", None),
        ("s3://b/wh/t", "s3://c/wh/t/a", None),
        ("s3://b/wh/t", "b/wh/t/a", None),
        ("s3://point/wh/t", "s3://b/wh/t/a", ("s3://b/wh/t/", "a", "s3://point/wh/t/", "a")),
        ("s3://b/wh/t", "s3://point/wh/t/a", ("s3://b/wh/t/", "a", "s3://b/wh/t/", "a")),
        ("abfss://c@one.dfs.core.windows.net/t", "abfs://c@one.blob.core.windows.net/t/a", ("abfs://c/t/", "a")),
        ("abfss://c@one.dfs.core.windows.net/t", "abfss://c@two.dfs.core.windows.net/t/a", None),
        ("abfss://c@one.dfs.core.windows.net/t", "abfs://c/t/a", None),
        ("hdfs://one:8020/t", "hdfs://one:8020/t//a", ("hdfs:///t/", "a", "hdfs://one:8020/t/", "a")),
        ("hdfs://one:8020/t", "hdfs://two:8020/t/a", None),
    ],
)
def test_s03_a_row_lies_where_a_listing_would_show_its_file(
    location: str, path: str, expected: tuple[str, ...] | None
) -> None:
    found, elsewhere = keyed([location], path, rules=LocationRules(authority_aliases={"point": "b"}))
    if expected is None:
        assert ([], 1) == (found, elsewhere)
    else:
        assert (1, 0) == (len(found), elsewhere)
        assert expected == found[0][: len(expected)]


def test_s24_what_may_be_another_file_too_is_none(tmp_path: Path) -> None:
    """Through a link: the file is listed where it lies, if that is in a unit."""
    (tmp_path / "t" / "data").mkdir(parents=True)
    (tmp_path / "t" / "data" / "a").write_bytes(b"a")
    (tmp_path / "t" / "link").symlink_to(tmp_path / "t" / "data")
    (tmp_path / "way").symlink_to(tmp_path / "t")
    location = f"file://{tmp_path}/t/"
    found, elsewhere = keyed([location], f"{location}data/a", f"{tmp_path}/t/link/a", f"{tmp_path}/way/link/a")
    assert ([(f"file://{tmp_path}/t/", "data/a")], 2) == ([row[:2] for row in found], elsewhere)


def test_s24_a_climbing_path_that_may_lie_in_another_unit_is_none() -> None:
    locations = ["s3://b/wh/t", "s3://b/wh/u"]
    assert ([], 1) == keyed(locations, "s3://b/wh/t/../u/a")


def test_a_location_that_links_lead_to_has_its_files_by_both_names(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a").write_bytes(b"a")
    (tmp_path / "way").symlink_to(tmp_path / "t")
    found, elsewhere = keyed([f"file://{tmp_path}/way"], f"{tmp_path}/t/a")
    place = f"file://{tmp_path}/t/"
    assert ([(place, "a", place, "a")], 0) == (found, elsewhere)


def test_sidecars_are_told_by_their_names_as_in_a_listing() -> None:
    ((unit, key, _, path),) = keyed(["hdfs://one/t"], "hdfs://one/t/data/.a.crc")[0]
    assert ("hdfs:///t/", "data/.a.crc", "data/.a.crc") == (unit, key, path)


@pytest.mark.parametrize("micros", [UNKNOWN_TIME, 2**62, -(2**62)])
def test_s08_a_time_that_no_calendar_has_is_unknown(micros: int) -> None:
    plan = plan_units(["s3://b/wh/t"], LocationRules(), AllowedLocations())
    rows = to_batches([("s3://b/wh/t/a", micros, None)], LISTED)
    (batch,) = KeyRows(UnitIndex.of(plan), plan.units)(rows)
    assert [UNKNOWN_TIME] == batch.column("modified").to_pylist()


def test_s22_markers_of_directories_are_no_files_and_not_elsewhere() -> None:
    assert ([], 0) == keyed(["s3://b/wh/t"], "s3://b/wh/t/data/")


# ---- where it is read --------------------------------------------------------------------------------------
def test_large_files_are_cut_by_their_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "l.parquet"
    names = [f"s3://b/wh/t/{number}" for number in range(1_000)]
    table = pa.table({"file_path": names, "last_modified": [datetime(2026, 1, 1, tzinfo=UTC)] * len(names)})
    pq.write_table(table, path, row_group_size=90)
    monkeypatch.setattr(file_list_source, "_PIECE_BYTES", path.stat().st_size // 4)
    opened = open_file_list(str(path))
    (pieces,) = cut([opened], 8)
    assert [3, 3, 3, 3] == [part.groups for part in pieces.parts]
    assert sorted(names) == sorted(row["path"] for batch in rows_of_lists([pieces]) for row in batch.to_pylist())
    assert [opened] == cut([opened], 1)
