"""Functions that worker processes of the local engine run, where they can be told from those of this process."""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Iterator

import pyarrow as pa

from nessie_gc_core.config.meter import METER
from nessie_gc_core.model.batches import to_batches, to_rows

NUMBERS = pa.schema([pa.field("number", pa.int64(), nullable=False)])
PLACED = pa.schema([*NUMBERS, pa.field("process", pa.int64(), nullable=False)])

log = logging.getLogger("nessie_gc_core.elsewhere")


class OddError(Exception):
    """An error that cannot be made again from what it was made of."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} {second}")


class Function:
    """Each number with the process that saw it; a process that is not the test's does something first."""

    elsewhere = True
    schema = PLACED

    def __init__(self) -> None:
        self.home = os.getpid()

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if os.getpid() != self.home:
                self.away()
            else:
                time.sleep(0.05)  # leaves something to the others
            METER.expanded(batch.num_rows)
            yield from to_batches(((number, os.getpid()) for (number,) in to_rows(batch, "number")), PLACED)

    def away(self) -> None:
        """What happens in another process."""


class Logs(Function):
    """Says something."""

    def away(self) -> None:
        log.warning("said by %s", "another process")


class TellsItsAllocator(Function):
    """Says where Arrow takes memory from."""

    def away(self) -> None:
        log.warning("allocator %s", pa.default_memory_pool().backend_name)


class Fails(Function):
    """Raises an error."""

    def away(self) -> None:
        raise ValueError("nothing doing")


class FailsOddly(Function):
    """Raises an error that does not travel."""

    def away(self) -> None:
        raise OddError("nothing", "doing")


class Dies(Function):
    """Is killed, as when memory is short."""

    def away(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class Sleeps(Function):
    """Takes longer than anybody waits."""

    def away(self) -> None:
        time.sleep(600)


class Stays(Function):
    """Cannot be pickled."""

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("not to be had elsewhere")


class Unknown(Function):
    """Cannot be made where the test is not."""

    def __reduce__(self) -> tuple[object, ...]:
        return (_made, (os.getpid(),))


def _made(home: int) -> Function:
    if os.getpid() != home:
        raise RuntimeError("made at home only")
    return Unknown()
