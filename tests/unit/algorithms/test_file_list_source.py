from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from inventories import checked, read

from nessie_gc_core.algorithms.file_list_source import open_file_list, rows_of_lists
from nessie_gc_core.errors import ConfigurationError, ListingError
from nessie_gc_core.model.batches import to_micros
from nessie_gc_core.model.relations import UNKNOWN_TIME

TIME = datetime(2026, 1, 31, 12, 0, 0, 123_000, UTC)
ROWS = [("s3://b/wh/a%20 #?,\"'\nü.parquet", TIME, 7), ("NA", TIME, 0), ("s3://b/_hidden/.x", None, None)]


def expected(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(path, UNKNOWN_TIME if time is None else to_micros(time), size) for path, time, size in rows]


def parquet(path: Path, rows: list[tuple[Any, ...]] = ROWS, type_: pa.DataType | None = None) -> Path:
    paths, times, sizes = zip(*rows, strict=True)
    columns = {"file_path": paths, "last_modified": pa.array(times, type_ or pa.timestamp("us", "UTC")), "size": sizes}
    pq.write_table(pa.table({**columns, "storage_class": ["STANDARD"] * len(rows)}), path)
    return path


def csv(path: Path, rows: list[tuple[Any, ...]] = ROWS) -> Path:
    lines = ["storage_class,size,last_modified,file_path"]
    for name, time, size in rows:
        quoted = '"' + name.replace('"', '""') + '"'
        lines.append(f"STANDARD,{'' if size is None else size},{'' if time is None else time.isoformat()},{quoted}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def jsonl(path: Path, rows: list[tuple[Any, ...]] = ROWS) -> Path:
    found = [
        {"file_path": name, "last_modified": None if time is None else time.isoformat(), "size": size, "more": {"a": 1}}
        for name, time, size in rows
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in found), encoding="utf-8")
    return path


@pytest.mark.parametrize(("write", "name"), [(parquet, "l.parquet"), (csv, "l.csv"), (jsonl, "l.jsonl")])
def test_every_format_gives_the_same_rows(write: Any, name: str, tmp_path: Path) -> None:
    assert expected(ROWS) == read(write(tmp_path / name))


@pytest.mark.parametrize(("write", "name"), [(csv, "l.csv"), (jsonl, "l.ndjson")])
def test_text_may_be_packed(write: Any, name: str, tmp_path: Path) -> None:
    plain = write(tmp_path / name)
    packed = plain.with_name(name + ".gz")
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert expected(ROWS) == read(packed)


def test_several_lists_and_folders_are_one(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "day=1").mkdir(parents=True)
    (folder / "_temporary").mkdir()
    parquet(folder / "day=1" / "a.parquet", ROWS[:1])
    parquet(folder / "b.parquet", ROWS[1:2])
    (folder / "_SUCCESS").write_bytes(b"")
    (folder / "_temporary" / "half.parquet").write_bytes(b"PAR1")
    assert sorted(map(str, expected(ROWS))) == sorted(map(str, read(folder, csv(tmp_path / "l.csv", ROWS[2:]))))
    assert 2 == len(read(f"file://{folder}"))


@pytest.mark.parametrize(
    ("type_", "time"),
    [
        (pa.timestamp("s"), TIME.replace(microsecond=0, tzinfo=None)),
        (pa.timestamp("ms"), TIME.replace(tzinfo=None)),
        (pa.timestamp("ns", "America/New_York"), TIME),
    ],
)
def test_s17_times_without_a_zone_are_utc_and_others_are_what_they_are(
    type_: pa.DataType, time: datetime, tmp_path: Path
) -> None:
    ((_, micros, _),) = read(parquet(tmp_path / "l.parquet", [("s3://b/a", time, 1)], type_))
    assert to_micros(time if time.tzinfo else time.replace(tzinfo=UTC)) == micros


@pytest.mark.parametrize("text", ["2026-01-31 12:00:00", "2026-01-31T12:00:00.000Z", "2026-01-31T14:00:00+02:00"])
def test_s17_times_in_text_are_utc_unless_they_say_otherwise(text: str, tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(f"file_path,last_modified\ns3://b/a,{text}\n")
    assert [("s3://b/a", to_micros(datetime(2026, 1, 31, 12, tzinfo=UTC)), None)] == read(path)


def test_large_and_dictionary_text_are_text(tmp_path: Path) -> None:
    paths = pa.array(["s3://b/a", "s3://b/a"])
    for number, column in enumerate((paths.cast(pa.large_string()), paths.dictionary_encode())):
        pq.write_table(pa.table({"file_path": column, "last_modified": [TIME] * 2}), tmp_path / f"{number}.parquet")
    assert ["s3://b/a"] * 4 == [path for path, *_ in read(tmp_path)]


WRONG = [
    ("none.parquet", None, "does not exist"),
    ("l.txt", b"a", "ends in .parquet, .csv"),
    ("l.parquet.gz", b"a", "ends in .parquet, .csv"),
    ("l.parquet", b"no Parquet", "cannot be read"),
    ("l.csv", b"", "cannot be read"),
    ("l.csv", b"path,last_modified\n", "has no column file_path"),
    ("l.jsonl", b'{"size": 1}\n', "has no column file_path and no column last_modified"),
    ("l.csv", b"file_path,last_modified\na,2026-01-31\n", "'2026-01-31' is not a time"),
    ("l.csv", b"file_path,last_modified\na,yesterday at noon\n", "'yesterday at noon' is not a time"),
    ("l.csv", b"file_path,last_modified,size\na,2026-01-31T00:00:00Z,many\n", "size"),
    ("l.jsonl", b'{"file_path": "a", "last_modified": 1769817600}\n', "last_modified"),
    ("l.jsonl", b'{"file_path": "a", "last_modi', "cannot be read"),
]


@pytest.mark.parametrize(("name", "data", "reason"), WRONG)
def test_what_is_no_list_is_refused_in_one_line_that_names_it(
    name: str, data: bytes | None, reason: str, tmp_path: Path
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(ConfigurationError) as caught:
        checked(tmp_path / name)
    assert reason in str(caught.value)
    assert name in str(caught.value)
    assert 1 == len(str(caught.value).splitlines())


@pytest.mark.parametrize(
    ("column", "values", "reason"),
    [
        ("file_path", [b"a"], "file_path is binary, expected text"),
        ("last_modified", [1769817600], "last_modified is int64, expected timestamp"),
        ("last_modified", ["2026-01-31T00:00:00Z"], "last_modified is string, expected timestamp"),
        ("size", [1.5], "size is double, expected integer"),
    ],
)
def test_columns_of_another_type_are_refused_by_name(
    column: str, values: list[object], reason: str, tmp_path: Path
) -> None:
    good = {"file_path": ["s3://b/a"], "last_modified": [TIME], "size": [1]}
    pq.write_table(pa.table({**good, column: values}), tmp_path / "l.parquet")
    with pytest.raises(ConfigurationError, match=reason):
        checked(tmp_path / "l.parquet")


def test_a_folder_without_a_list_or_with_two_kinds_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="of one format"):
        checked(tmp_path)
    parquet(tmp_path / "a.parquet")
    csv(tmp_path / "b.csv")
    with pytest.raises(ConfigurationError, match="of one format"):
        checked(tmp_path)


def test_s28_credentials_in_a_name_are_refused_and_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        checked("s3://somebody:90210@bucket/list.parquet")
    assert "90210" not in str(caught.value)


def test_a_list_that_breaks_off_is_no_shorter_list(tmp_path: Path) -> None:
    path = csv(tmp_path / "l.csv", [("s3://b/a", TIME, 1)] * 50_000)
    with path.open("a") as file:
        file.write("STANDARD,1,no time at all,s3://b/a\n")
    checked(str(path))
    with pytest.raises(ListingError, match=r"l\.csv.*completely.*no time at all"):
        list(rows_of_lists([open_file_list(str(path))]))


def test_a_time_that_does_not_fit_is_no_earlier_one(tmp_path: Path) -> None:
    far = pa.array([2**62], pa.int64()).cast(pa.timestamp("ms"))
    pq.write_table(pa.table({"file_path": ["s3://b/a"], "last_modified": far}), tmp_path / "l.parquet")
    with pytest.raises(ConfigurationError):
        read(tmp_path / "l.parquet")


def test_a_list_is_read_in_batches(tmp_path: Path) -> None:
    path = parquet(tmp_path / "l.parquet", [(f"s3://b/{n}", TIME + timedelta(seconds=n), 1) for n in range(40_000)])
    sizes = [len(batch) for batch in rows_of_lists([open_file_list(str(path))])]
    assert (40_000, True) == (sum(sizes), max(sizes) <= 16_384)
