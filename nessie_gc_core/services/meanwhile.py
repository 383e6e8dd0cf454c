"""The engine starts while other work is done: a session of Spark takes longer to start than many a mark takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nessie_gc_core.dataset import Beside
from nessie_gc_core.engines.beside import in_thread
from nessie_gc_core.services.run import Progress, Run


@contextmanager
def engine_meanwhile(run: Run) -> Iterator[Beside[None]]:
    """Opens the engine and checks it while the block runs, which must not need it.

    The result raises what :meth:`~nessie_gc_core.dataset.Engine.check` raises; ask for it after the block.
    """
    with in_thread(lambda: run.engine.check(), end=lambda: None) as engine:
        yield engine


def checked_by(check: Callable[[], None], progress: Progress) -> Progress:
    """The progress, which first raises what a check raises: whoever reports it then ends early."""

    def tell(phase: str, done: int, total: int | None) -> None:
        check()
        progress(phase, done, total)

    return tell
