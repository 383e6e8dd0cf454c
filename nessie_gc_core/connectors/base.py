"""What all connectors have in common."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Protocol, Self, runtime_checkable

from nessie_gc_core.model.closing import Closing
from nessie_gc_core.model.options import ConnectorOptions, OptionValue
from nessie_gc_core.model.work import Traffic


class Connector(Closing):
    """A connector has a name, typed options and a lifecycle: created, used, closed.

    Creating one opens no connection and reads nothing; invalid options are reported immediately.
    """

    name: ClassVar[str]
    """The name used in configurations; unique among the installed connectors of its kind."""
    Options: ClassVar[type[ConnectorOptions]] = ConnectorOptions
    """Its options, declared with ``@options``."""
    executor_safe: ClassVar[bool] = True
    """Whether a copy created from the same options in another process sees the same state."""
    shareable: ClassVar[bool] = False
    """Whether one instance may serve several tasks of a process at the same time.

    If true, there is one instance for each process and options. Its methods are called from several threads at once,
    and results depend on the arguments alone; an iterator stays in the thread that requested it. If false, each
    instance is used by one thread at a time. Both are kept between tasks and closed when the run ends, so create
    expensive parts (clients, connections) on first use.
    """

    @classmethod
    def from_options(cls, values: Mapping[str, OptionValue]) -> Self:
        """Creates a connector from plain option values.

        Raises:
            ConfigurationError: an option is unknown or wrong.
        """
        return cls(cls.Options.from_mapping(values))

    def __init__(self, options: ConnectorOptions) -> None:
        self.options = options

    def close(self) -> None:
        """Releases its resources; may be called twice."""


@runtime_checkable
class SupportsSharedClock(Protocol):
    """A repository or live-set store with its own clock, by which the clocks of mark and sweep are compared (S8)."""

    def shared_time(self) -> datetime | None:
        """Its current time in UTC, such as the ``Date`` header of a response; ``None`` if unknown.

        Writes nothing. A store without a server has the machine's clock and returns ``None``.

        Raises:
            ServiceUnavailableError, AccessDeniedError, RepositoryError, StoreError: it cannot be reached.
        """


def prefers(connector: Connector, ability: str, method: str) -> bool:
    """Whether a method of an ability may be called instead of one that does the same in another way.

    It may not if a subclass has changed the other one alone: then only that one does what the subclass wants.
    """
    for class_ in type(connector).__mro__:
        if ability in vars(class_):
            return True
        if method in vars(class_):
            return False
    return False


@runtime_checkable
class SupportsTraffic(Protocol):
    """A reader, lister or deleter that counts its requests to stores, for the progress and the report of a run."""

    def take_traffic(self) -> Traffic:
        """What this thread requested from stores since its previous call of this method."""
