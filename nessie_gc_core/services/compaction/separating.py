"""Which partitions Iceberg can tell apart by a filter, and their names for people.

A filter says of each field of a partition's spec which value it has. Of files of another spec it leaves out those whose
partition differs in a field that both specs have, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from itertools import combinations

from nessie_gc_core.model.compaction import Partition
from nessie_gc_core.model.manifests import PartitionValue
from nessie_gc_core.model.table_metadata import PartitionField

_EXACT = re.compile(r"identity|year|month|day|hour|bucket\[\d+]|truncate\[\d+]")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Specs = Mapping[int, Sequence[PartitionField]]
_Values = tuple[PartitionValue | None, ...]


def inseparable(chosen: Set[Partition], live: Iterable[Partition], specs: Specs) -> set[Partition]:
    """Those of some partitions with which a filter takes in files of partitions that are not among them.

    Args:
        chosen: the partitions.
        live: all partitions of the table of whose files something would be rewritten where a filter takes them in.
        specs: the ids of its partition specs with their fields.
    """
    left, others = set(chosen), set(live) - chosen
    found: set[Partition] = set()
    while left and others:
        mixed = _meeting(left, others, specs)
        if not mixed:
            break
        found |= mixed
        left -= mixed
        others |= mixed
    return found


def joined(to: Set[Partition], waiting: Set[Partition], specs: Specs) -> set[Partition]:
    """Those of the waiting partitions that a filter takes in with some others, or with each other beside those."""
    found: set[Partition] = set()
    while more := _meeting(waiting - found, to | found, specs):
        found |= more
    return found


def bundles(chosen: Iterable[Partition], specs: Specs) -> dict[Partition, frozenset[Partition]]:
    """For each of some partitions those that are rewritten with it or not at all, itself among them."""
    by_spec: dict[int, list[Partition]] = {}
    for each in chosen:
        by_spec.setdefault(each.spec_id, []).append(each)
    found = {each: {each} for mine in by_spec.values() for each in mine}
    for one, other in combinations(by_spec, 2):
        pairs = _in_common(specs.get(one, ()), specs.get(other, ()))
        alike: dict[_Values, list[Partition]] = {}
        for each in by_spec[one]:
            alike.setdefault(tuple(each.values[here] for here, _ in pairs), []).append(each)
        for each in by_spec[other]:
            met = alike.get(tuple(each.values[there] for _, there in pairs), [])
            for member in met:
                _merge(found, each, member)
            del met[1:]  # they are of one set by now
    frozen = {id(members): frozenset(members) for members in found.values()}
    return {each: frozen[id(members)] for each, members in found.items()}


def _merge(found: dict[Partition, set[Partition]], one: Partition, other: Partition) -> None:
    """Merges the sets of two partitions, the smaller into the larger."""
    less, more = sorted((found[one], found[other]), key=len)
    if less is not more:
        more |= less
        found.update(dict.fromkeys(less, more))


def _meeting(chosen: Set[Partition], others: Set[Partition], specs: Specs) -> set[Partition]:
    """Those of the chosen partitions whose filters take in one of the others."""
    by_spec: dict[int, list[_Values]] = {}
    for other in others:
        by_spec.setdefault(other.spec_id, []).append(other.values)
    found: set[Partition] = set()
    for spec_id in {each.spec_id for each in chosen}:
        mine = [each for each in chosen if each.spec_id == spec_id]
        for other_id, values in by_spec.items():
            pairs = _in_common(specs.get(spec_id, ()), specs.get(other_id, ()))
            theirs = {tuple(value[there] for _, there in pairs) for value in values}
            found.update(each for each in mine if tuple(each.values[here] for here, _ in pairs) in theirs)
    return found


def _in_common(one: Sequence[PartitionField], other: Sequence[PartitionField]) -> list[tuple[int, int]]:
    """The places in two specs of fields with one column and one transform."""
    there = {_key(field): number for number, field in enumerate(other) if _is_exact(field)}
    mine = [(number, _key(field)) for number, field in enumerate(one) if _is_exact(field)]
    return [(number, there[key]) for number, key in mine if key in there]


def _is_exact(field: PartitionField) -> bool:
    return field.source_id is not None and _EXACT.fullmatch(field.transform) is not None


def _key(field: PartitionField) -> tuple[int | None, str]:
    return field.source_id, field.transform


def dropped_source(partition: Partition, specs: Specs, columns: Set[int]) -> str | None:
    """The name of a field of a partition whose column is no longer there; ``None``: there is none, or it is not known.

    Args:
        partition: the partition.
        specs: the ids of the table's partition specs with their fields.
        columns: ids of the columns of its schema; empty: not known.
    """
    fields = (field for field in specs.get(partition.spec_id, ()) if field.transform != "void" and columns)
    return next(
        (field.name for field in fields if field.source_id is not None and field.source_id not in columns), None
    )


def stays_whole(spec_id: int, default_spec: int, specs: Specs) -> bool:
    """Whether all files of a partition of one spec are of one partition of another, too.

    Args:
        spec_id: the one.
        default_spec: the other.
        specs: the ids of the table's partition specs with their fields.
    """
    if spec_id == default_spec:
        return True
    has = {_key(field) for field in specs.get(spec_id, ())}
    return has >= {_key(field) for field in specs.get(default_spec, ()) if field.transform != "void"}


def is_unpartitioned(partition: Partition, specs: Specs) -> bool:
    """Whether its spec has no fields, or has lost all: then its equality deletes apply to all partitions."""
    fields = specs.get(partition.spec_id)
    return not partition.values if fields is None else all(field.transform == "void" for field in fields)


def name_of(partition: Partition, specs: Specs) -> str:
    """What people call a partition, such as ``region=eu/day=2026-01-31``; empty where there are no fields."""
    fields = [*specs.get(partition.spec_id, ())]
    names = fields + [PartitionField(name="?", transform="")] * (len(partition.values) - len(fields))
    pairs = zip(names, partition.values, strict=False)
    return "/".join(f"{field.name}={_text(field.transform, value)}" for field, value in pairs)


def _text(transform: str, value: PartitionValue | None) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, int) and not isinstance(value, bool):
        return _time(transform, value) or str(value)
    return str(value)


def _time(transform: str, value: int) -> str | None:
    """A number since the epoch; ``None`` if it is none, or no calendar has it."""
    try:
        if transform == "year":
            return str(1970 + value)
        if transform == "month":
            return f"{1970 + value // 12}-{value % 12 + 1:02}"
        if transform == "day":
            return f"{_EPOCH + timedelta(days=value):%Y-%m-%d}"
        return f"{_EPOCH + timedelta(hours=value):%Y-%m-%d-%H}" if transform == "hour" else None
    except OverflowError:
        return None
