"""What all connectors have in common."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Protocol, Self, runtime_checkable

from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.options import ConnectorOptions, OptionValue
from nessie_gc_core.model.work import Traffic


class Connector(Closing):
    """A connector has a name, typed options and a life: made, used, closed.

    Making one opens no connection and reads nothing; what is wrong with the options is said at once.
    """

    name: ClassVar[str]
    """How configuration names it; unique among the installed connectors of its kind."""
    Options: ClassVar[type[ConnectorOptions]] = ConnectorOptions
    """Its options, declared with ``@options``."""
    executor_safe: ClassVar[bool] = True
    """Whether a copy made from the same options in another process sees the same state."""
    shareable: ClassVar[bool] = False
    """Whether one instance serves all tasks of a process, several of them at the same time.

    Its methods are then called from several threads at once, and what a call gives depends on its arguments alone; an
    iterator stays with the thread that asked for it. There is then one for each process and options. Of a connector
    that is not shareable there are as many as are in use at the same time, each in one thread. Both are kept from one
    task to the next and closed when the run ends, so what is expensive about them (clients, connections) is best made
    when the first call needs it.
    """

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> Self:
        """Makes one from plain option values.

        Raises:
            ConfigurationError: an option is unknown or wrong.
        """
        return cls(cls.Options.from_mapping(values))

    def __init__(self, options: ConnectorOptions) -> None:
        self.options = options

    def close(self) -> None:
        """Releases what it holds; may be called twice."""


@runtime_checkable
class SupportsSharedClock(Protocol):
    """A repository or live-set store with a clock of its own, which relates those of mark and sweep (S8)."""

    def shared_time(self) -> datetime | None:
        """Its time now, UTC, such as the ``Date`` header of an answer; ``None`` where it does not tell.

        Writes nothing. Of a store without a server, whose clock is that of the machine, ``None``.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError, StoreError: it cannot be asked.
        """


@runtime_checkable
class SupportsTraffic(Protocol):
    """A reader, lister or deleter that counts what it asks of stores, for the progress and the report of a run."""

    def take_traffic(self) -> Traffic:
        """What the calls of this thread asked of stores since this was asked last in this thread."""
