"""Several requests at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TypeVar

_T = TypeVar("_T")
_AT_ONCE = 16


async def gathered(tasks: Sequence[Coroutine[object, object, _T]]) -> Sequence[_T]:
    """The results in order, with a bounded number of tasks under way."""
    slots = asyncio.Semaphore(_AT_ONCE)

    async def run(task: Coroutine[object, object, _T]) -> _T:
        async with slots:
            return await task

    return await asyncio.gather(*(run(task) for task in tasks))
