"""Batches as values of a column: the driver takes them as they are, and never row by row."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


class Packed:
    """Batches to one row for each, with the batch in Arrow's own format."""

    schema = pa.schema([pa.field("packet", pa.binary(), nullable=False)])

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Packs each batch on its own."""
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as stream:
                stream.write_batch(batch)
            yield pa.RecordBatch.from_pydict({"packet": [sink.getvalue().to_pybytes()]}, schema=self.schema)


def unpacked(packet: bytes) -> pa.RecordBatch:
    """The batch of a packet."""
    with pa.ipc.open_stream(packet) as stream:
        return stream.read_next_batch()
