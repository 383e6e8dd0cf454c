"""Whether a run may still delete: asked where the files are, before every batch (S35)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from nessie_gc_core.connectors import LiveSetStore
from nessie_gc_core.dataset import task_attempt
from nessie_gc_core.model.text import one_line
from nessie_gc_core.model.times import Clock, Elapsed, elapsed_seconds, utc_now
from nessie_gc_core.model.verdicts import Outcome

Refusal = Callable[[], str | None]
"""Asked before every batch: why none may be begun any more; ``None``: it may."""
NOT_BEGUN = "its batch was not begun, because "
"""How the reason of a file begins that stays because of the lease."""
_RAN_OUT = "the lease on the repository ran out"
_EARLIER = "; an earlier attempt of its task may have deleted it"


class StillHeld(ABC):
    """Whether the lease of a run is held; travels with a function to where files are deleted, moved or hidden."""

    @abstractmethod
    def opened(self) -> AbstractContextManager[Refusal]:
        """What the function asks before every batch, as long as the block lasts."""


@dataclass(frozen=True, slots=True)
class InThisProcess(StillHeld):
    """Asks whoever holds the lease in this process; it does not travel."""

    refusal: Refusal

    def opened(self) -> AbstractContextManager[Refusal]:
        """Nothing needs to be opened."""
        return nullcontext(self.refusal)


def _nothing_is_lost() -> None:
    """There is no lease to lose."""


NEEDED_BY_NOBODY = InThisProcess(_nothing_is_lost)
"""For a run that changes nothing, and needs no lease."""


@dataclass(frozen=True, slots=True)
class OnThisMachine(StillHeld):
    """Reads a file of the process that holds the lease, which runs on this machine and writes it with every renewal.

    The file has the moment at which the lease ends, by this machine's clock of elapsed seconds, which all processes
    share. No file: the lease was lost, or given back.
    """

    file: str
    elapsed: Elapsed = elapsed_seconds

    def opened(self) -> AbstractContextManager[Refusal]:
        """The file is read for each batch."""
        return nullcontext(self._refusal)

    def _refusal(self) -> str | None:
        try:
            ends = float(Path(self.file).read_text(encoding="ascii"))
        except (OSError, ValueError):
            return _RAN_OUT
        return None if self.elapsed() < ends else _RAN_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Until(StillHeld):
    """Compares this machine's clock with the end of the lease, less what clocks may differ; knows of no renewal."""

    at: datetime
    clock: Clock = utc_now

    def opened(self) -> AbstractContextManager[Refusal]:
        """Nothing needs to be opened."""
        return nullcontext(self.refusal)

    def refusal(self) -> str | None:
        """Whether it is too late."""
        return None if self.clock() < self.at else _RAN_OUT


@dataclass(frozen=True, slots=True, kw_only=True)
class InStore(StillHeld):
    """Asks the live-set store, from any machine; while that cannot be reached, only until a deadline."""

    store: Callable[[], LiveSetStore]
    """Opens it."""
    owner: str
    since: Mapping[str, datetime]
    """The repositories whose leases are held, and since when."""
    until: Until

    @contextmanager
    def opened(self) -> Iterator[Refusal]:
        """The store is opened for the first batch."""
        with ExitStack() as stack:
            opened: list[LiveSetStore | None] = []

            def refusal() -> str | None:
                try:
                    if not opened:
                        opened.append(stack.enter_context(self.store()))
                    store = opened[0]
                    lost = self.until.refusal() if store is None else lost_in(store, self.owner, self.since)
                except Exception as error:  # noqa: BLE001 - whatever a store raises, it does not say who has the lease
                    opened[:] = [None]
                    lost = self.until.refusal()
                    return lost and f"{lost}, and the store cannot be asked ({one_line(error)})"
                return lost

            yield refusal


def lost_in(store: LiveSetStore, owner: str, since: Mapping[str, datetime]) -> str | None:
    """Why an owner does not have the leases any more that it has had since then; ``None``: it has all of them.

    The store alone compares times. One that ran out and was taken again by the same owner has another beginning:
    somebody else may have had it in between.
    """
    for repository, began in since.items():
        holder = store.lease(repository)
        if holder is None or (holder.owner == owner and holder.since != began):
            return _RAN_OUT
        if holder.owner != owner:
            return f"{holder} has the lease on the repository now"
    return None


def not_begun(why: str) -> tuple[Outcome, str]:
    """The outcome of a file whose batch was not begun; what an earlier attempt of the same task did is not known."""
    if task_attempt.get() > 0:
        return Outcome.FAILED, NOT_BEGUN + why + _EARLIER
    return Outcome.SPARED, NOT_BEGUN + why
