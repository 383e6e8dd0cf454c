"""Filters of Iceberg that name partitions by the values of their fields."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from nessie_gc_core.errors import TableError
from nessie_gc_core.model.compaction import Partition
from nessie_gc_core.model.manifests import PartitionValue

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps of Iceberg have no zone


class PartitionFilters:
    """Filters of one table; they take in whole partitions of the specs that they are of."""

    def __init__(self, jvm: Any, table: Any) -> None:
        """Takes the table as Iceberg's Java has it."""
        self._expressions, self._table = jvm.org.apache.iceberg.expressions.Expressions, table

    def any_of(self, partitions: Iterable[Partition]) -> Any:
        """What is true of the rows of some partitions, one at least.

        Raises:
            TableError: a column by which they are partitioned is no longer in the table.
        """
        found = [self._one(partition) for partition in sorted(partitions, key=str)]
        while len(found) > 1:  # a balanced tree: Iceberg walks it with a stack
            pairs = zip(found[::2], found[1::2], strict=False)
            last = found[-1:] if len(found) % 2 else []
            found = [self._expressions.__getattr__("or")(one, other) for one, other in pairs] + last
        return found[0]

    def _one(self, partition: Partition) -> Any:
        spec, found = self._table.specs().get(partition.spec_id), self._expressions.alwaysTrue()
        for field, value in zip(spec.fields(), partition.values, strict=True):
            if not field.transform().isVoid():
                found = self._expressions.__getattr__("and")(found, self._field(field, value))
        return found

    def _field(self, field: Any, value: PartitionValue | None) -> Any:
        schema, transform = self._table.schema(), field.transform()
        name = schema.findColumnName(field.sourceId())
        if name is None:
            raise TableError(f"the column of the partition field {field.name()} was dropped")
        is_identity = transform.isIdentity()
        term = self._expressions.ref(name) if is_identity else self._expressions.transform(name, transform)
        if value is None:
            return self._expressions.isNull(term)
        if isinstance(value, float) and math.isnan(value):
            return self._expressions.isNaN(term)
        return self._expressions.equal(term, self._literal(value, transform.getResultType(schema.findType(name))))

    def _literal(self, value: PartitionValue, type_: Any) -> Any:
        """What Iceberg reads as a value of a type; the text of it where Java has no such number."""
        name = type_.typeId().toString()
        if isinstance(value, bytes) and name == "UUID":
            return str(UUID(bytes=value))
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        if name == "DECIMAL":
            return str(Decimal(f"{value}E{-type_.scale()}"))
        if name == "TIMESTAMP":
            return self._expressions.micros(value)
        if name == "TIMESTAMP_NANO":
            return self._expressions.nanos(value)
        return (_EPOCH + timedelta(microseconds=value)).time().isoformat() if name == "TIME" else value
