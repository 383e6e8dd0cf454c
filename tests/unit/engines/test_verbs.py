"""What each verb of a dataset means, on every engine: local, Spark in this process, and Spark Connect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from nessie_gc_core.dataset import MANY_VALUES, BatchFunction, Dataset, Engine
from nessie_gc_core.engines.local import LocalEngine
from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.batches import Row, to_batches
from nessie_gc_core.model.work import Work

FILES = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("unit", pa.string()),
        pa.field("size", pa.int64()),
        pa.field("bucket", pa.int32(), nullable=False),
        pa.field("old", pa.bool_()),
    ]
)
UNITS = pa.schema([pa.field("unit", pa.string())])
MANY = 120_000
"""More rows than are streamed at once, and more than an engine takes in one go."""
ROWS: list[Row] = [
    ("a", "u", 1, 0, True),
    ("b", "u", 2, 1, False),
    ("c", "v", None, 0, None),
    ("d", None, 2**62, -1, True),
    ("d", None, 2**62, -1, True),
    ("quote'\"\\ \n%`😀", "", 0, 2**31 - 1, False),
]


@pytest.fixture
def files(engine: Engine) -> Dataset:
    return engine.dataset(to_batches(iter(ROWS), FILES), FILES)


def rows(dataset: Dataset) -> list[tuple[Any, ...]]:
    return in_order(tuple(row.values()) for row in dataset.summary().to_pylist())


def in_order(found: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(found, key=repr)


def paths(dataset: Dataset) -> list[str]:
    return sorted(row["path"] for row in dataset.summary().to_pylist())


def units(engine: Engine, *names: str | None) -> Dataset:
    return engine.dataset(to_batches(((name,) for name in names), UNITS), UNITS)


def test_rows_come_back_as_they_went_in(files: Dataset) -> None:
    assert in_order(ROWS) == rows(files)
    assert (FILES, FILES) == (files.schema, files.summary().schema)
    assert (len(ROWS), 2) == (files.count(), files.head(2).num_rows)


def test_a_relation_may_have_no_rows(engine: Engine, files: Dataset) -> None:
    nothing = engine.empty(FILES)
    assert ([], 0, []) == (rows(nothing), nothing.count(), [batch for batch in nothing.batches() if batch.num_rows])
    assert in_order(ROWS) == rows(files.union(nothing)) == rows(files.anti_join(nothing, ["path"]))


def test_where_takes_null_for_none_of_the_values(files: Dataset) -> None:
    assert ["a", "b", "c"] == paths(files.where("unit", ["u", "v"]))
    assert ["d", "d", ROWS[-1][0]] == paths(files.where("unit", ["u", "v"], negate=True))
    assert ["b", ROWS[-1][0]] == paths(files.where("old", [False]))
    assert ["a", "c"] == paths(files.where("bucket", [0]))
    assert ([], len(ROWS)) == (paths(files.where("unit", [])), files.where("unit", [], negate=True).count())
    assert [ROWS[-1][0]] == paths(files.where("path", [str(ROWS[-1][0])]))


def test_where_takes_many_values_as_few(files: Dataset) -> None:
    units, buckets = [f"no unit {n}" for n in range(MANY_VALUES)], [*range(5, MANY_VALUES + 5)]
    assert ["a", "b", "c"] == paths(files.where("unit", [*units, "u", "v", "u"]))
    assert ["d", "d", ROWS[-1][0]] == paths(files.where("unit", [*units, "u", "v"], negate=True))
    assert ["a", "c"] == paths(files.where("bucket", [0, *buckets]))
    assert FILES == files.where("unit", [*units, "u"]).schema == files.where("unit", [*units, "u"]).summary().schema


def test_present_and_select_keep_rows_and_columns(files: Dataset) -> None:
    chosen = files.present("size").select(pa.schema([FILES.field("size"), FILES.field("path")]))
    assert in_order([(1, "a"), (2, "b"), (2**62, "d"), (2**62, "d"), (0, ROWS[-1][0])]) == rows(chosen)
    assert ["size", "path"] == chosen.schema.names


def test_union_keeps_duplicates_and_distinct_takes_null_for_equal_to_null(files: Dataset) -> None:
    assert 2 * len(ROWS) == files.union(files).count()
    assert ["a", "b", "c", "d", ROWS[-1][0]] == paths(files.union(files).distinct(["path"]))
    assert in_order([("u",), ("v",), (None,), ("",)]) == rows(files.select(UNITS).distinct(["unit"]))


@pytest.fixture(params=["few rows", "many rows"])
def _few_or_many(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark sends few rows everywhere, and sorts and merges many."""
    if request.param == "many rows":
        monkeypatch.setattr("nessie_gc_core.engines.spark.engine.BROADCAST_ROWS", -1)


@pytest.mark.usefixtures("_few_or_many")
def test_joins_compare_whole_keys_and_null_is_no_key(engine: Engine, files: Dataset) -> None:
    some = units(engine, "u", "u", None, "v ")
    assert ["a", "b"] == paths(files.semi_join(some, ["unit"]))
    assert ["c", "d", "d", ROWS[-1][0]] == paths(files.anti_join(some, ["unit"]))
    assert in_order(row for row in ROWS if row[1] is not None) == rows(files.semi_join(files, ["unit", "path"]))


@pytest.mark.usefixtures("_few_or_many")
def test_a_left_join_keeps_every_row_and_null_is_no_key(engine: Engine, files: Dataset) -> None:
    schema = pa.schema([*UNITS, pa.field("owner", pa.string(), nullable=False)])
    owners = engine.dataset(to_batches([("u", "x"), ("u", "y"), (None, "nobody")], schema), schema)
    joined = files.select(pa.schema([FILES.field("path"), FILES.field("unit")])).left_join(owners, ["unit"])
    expected = [("a", "u", "x"), ("a", "u", "y"), ("b", "u", "x"), ("b", "u", "y"), ("c", "v", None)]
    assert in_order([*expected, *[("d", None, None)] * 2, (ROWS[-1][0], "", None)]) == rows(joined)
    assert joined.schema.field("owner").nullable


def test_setting_gives_some_columns_one_value_and_keeps_the_others(files: Dataset) -> None:
    odd = "it's `\\ \n😀"
    expected = [("x", odd, *row[2:]) for row in ROWS]
    assert in_order(expected) == rows(files.setting({"unit": odd, "path": "x"}))


def test_rows_that_a_function_gives_are_counted_once_they_are_stored(files: Dataset) -> None:
    stored = files.where("unit", ["u"]).flat_map(numbered()).checkpoint()
    assert (2, 2, 0) == (stored.count(), stored.count(), stored.where("number", ["none"]).count())


def test_matching_keeps_rows_for_which_a_predicate_is_true(files: Dataset) -> None:
    assert ["a", "b"] == paths(files.matching("unit = 'u' AND size < 10"))
    assert ["a", "d", "d"] == paths(files.matching("old"))
    assert ["d", "d"] == paths(files.matching("unit IS NULL"))


@pytest.mark.parametrize("predicate", ["nobody = 1", "size +", "size", "true; DROP TABLE x", "size > (", ""])
def test_what_is_no_predicate_is_refused_in_one_line(files: Dataset, predicate: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is not a (valid )?predicate") as caught:
        files.matching(predicate).count()
    assert "\n" not in str(caught.value)


def test_bytes_and_instants_come_back_as_they_went_in_and_as_a_frame(engine: Engine) -> None:
    schema = pa.schema(
        [pa.field("key", pa.binary(), nullable=False), pa.field("at", pa.timestamp("us", tz="UTC")), UNITS.field(0)]
    )
    instant = datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC)
    given = [(b"\x00\xff", instant, "a"), (b"", None, None)]
    dataset = engine.dataset(to_batches(given, schema), schema)
    assert in_order(given) == rows(dataset)
    assert in_order(given) == rows(engine.from_frame(dataset.to_frame(), schema))
    with pytest.raises(ConfigurationError, match="lacks the columns path"):
        engine.from_frame(dataset.to_frame(), pa.schema([*schema, FILES.field("path")]))
    with pytest.raises(ConfigurationError, match="not str"):
        engine.from_frame("no frame", schema)


def test_an_aggregate_counts_sums_and_compares(files: Dataset) -> None:
    measures = {"n": ("count", ""), "bytes": ("sum", "size"), "first": ("min", "path"), "last": ("max", "size")}
    fields = [FILES.field("unit"), *(pa.field(name, pa.int64()) for name in ("n", "bytes"))]
    schema = pa.schema([*fields, pa.field("first", pa.string()), pa.field("last", pa.int64())])
    few = files.where("path", ["d"], negate=True).aggregate(["unit"], measures, schema)
    assert in_order([("u", 2, 3, "a", 2), ("v", 1, None, "c", None), ("", 1, 0, ROWS[-1][0], 0)]) == rows(few)
    whole = pa.schema([pa.field("n", pa.int64())])
    assert [(len(ROWS),)] == rows(files.aggregate([], {"n": ("count", "")}, whole))


def doubled() -> BatchFunction:
    """Made here, so that it is sent by value: workers have no tests."""

    class Doubled:
        schema = pa.schema([pa.field("path", pa.string(), nullable=False), pa.field("process", pa.int64())])

        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import os

            import pyarrow as pa

            for batch in batches:
                names = [path for path in batch.column("path").to_pylist() for _ in range(2)]
                yield pa.RecordBatch.from_arrays([names, [os.getpid()] * len(names)], schema=self.schema)

    return Doubled()


def test_a_function_sees_each_row_once_in_another_process_where_the_engine_says_so(
    engine: Engine, files: Dataset
) -> None:
    import os

    table = files.spread(["path"]).flat_map(doubled()).summary()
    assert sorted(2 * [str(row[0]) for row in ROWS]) == sorted(table.column("path").to_pylist())
    assert engine.distributed is (os.getpid() not in table.column("process").to_pylist())
    assert engine.parallelism > 0


def called() -> BatchFunction:
    class Called:
        """Gives each unit that a call has seen together with a name of the call."""

        schema = pa.schema([pa.field("unit", pa.string()), pa.field("call", pa.string(), nullable=False)])

        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import uuid

            import pyarrow as pa

            for batch in batches:
                units = batch.column("unit")
                yield pa.RecordBatch.from_arrays([units, [str(uuid.uuid4())] * len(units)], schema=self.schema)

    return Called()


def test_rows_that_are_spread_by_a_column_stay_together_where_it_is_equal(engine: Engine) -> None:
    found = ((f"f{number}", f"u{number % 7}", number, 0, True) for number in range(700))
    calls = set(
        rows(engine.dataset(to_batches(found, FILES), FILES).spread(["unit"], together=True).flat_map(called()))
    )
    assert [f"u{number}" for number in range(7)] == sorted(unit for unit, _ in calls)


def numbered() -> BatchFunction:
    class Numbered:
        schema = pa.schema([pa.field("number", pa.string(), nullable=False)])

        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            import uuid

            import pyarrow as pa

            for batch in batches:
                numbers = [str(uuid.uuid4()) for _ in range(batch.num_rows)]
                yield pa.RecordBatch.from_arrays([numbers], schema=self.schema)

    return Numbered()


def test_what_a_checkpoint_has_computed_is_never_computed_again(files: Dataset) -> None:
    kept = files.flat_map(numbered()).checkpoint()
    assert len(ROWS) == len(set(rows(kept)))
    assert (
        rows(kept)
        == rows(kept)
        == in_order(tuple(row.values()) for batch in kept.batches() for row in batch.to_pylist())
    )


def test_many_rows_stream_in_batches_and_a_stream_may_end_early(engine: Engine) -> None:
    rows = ((f"f{number}", None if number % 3 else "u", number, number % 7, True) for number in range(MANY))
    many = engine.dataset(to_batches(rows, FILES), FILES)
    sizes: list[int] = []
    seen: set[int] = set()
    for batch in many.spread(["path"]).batches():
        assert FILES == batch.schema
        sizes.append(batch.num_rows)
        seen.update(batch.column("size").to_pylist())
    assert (MANY, set(range(MANY))) == (sum(sizes), seen)
    assert max(sizes) <= 10_000
    with closing(many.batches()) as stream:
        assert next(stream).num_rows


def test_an_engine_that_can_work_passes_its_check(engine: Engine) -> None:
    engine.check()


def test_relations_of_two_local_engines_are_never_taken_for_one_another() -> None:
    """Each engine counts its relations from the first, so a join by name alone would meet the wrong rows."""
    schema = pa.schema([pa.field("x", pa.string())])
    with LocalEngine(workers=1) as one, LocalEngine(workers=1) as other:
        mine, theirs = one.empty(schema), other.empty(schema)
        for verb in (
            lambda: mine.anti_join(theirs, ["x"]),
            lambda: mine.semi_join(theirs, ["x"]),
            lambda: mine.union(theirs),
        ):
            with pytest.raises(TypeError, match="another engine"):
                verb()


def works() -> BatchFunction:
    """Counts a file that is listed for each row."""

    class Works:
        schema = FILES

        def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from nessie_gc_core.config.meter import METER

            for batch in batches:
                METER.listed(batch.num_rows)
                yield batch

    return Works()


def test_the_work_of_functions_is_counted_where_the_engine_can_tell(
    request: pytest.FixtureRequest, engine: Engine, files: Dataset
) -> None:
    before = engine.work()
    files.spread(["path"]).flat_map(works()).checkpoint()
    after = engine.work()
    if "connect" in request.node.name:
        assert (before, after) == (None, None)
    else:
        assert before is not None
        assert after is not None
        assert Work(files_listed=len(ROWS)) == after - before
