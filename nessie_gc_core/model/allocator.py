"""Which allocator Arrow takes its memory from. Its own keeps twice as much, in batches that are long gone."""

from __future__ import annotations

import os

import pyarrow as pa

VARIABLE = "ARROW_DEFAULT_MEMORY_POOL"
"""The environment variable of Arrow that says which; it is read when Arrow is loaded."""
SYSTEM = "system"
"""The allocator of the C library, which gives memory back to the system."""


def take_the_systems() -> None:
    """Makes it the system's, unless the environment says which. For programs of our own only, at their start."""
    if not os.environ.get(VARIABLE):
        pa.set_memory_pool(pa.system_memory_pool())
