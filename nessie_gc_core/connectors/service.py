"""The contract of services, which run on top of the connectors: from Python, a command line or a schedule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, Never, Protocol, TypeAlias, TypeVar

from nessie_gc_core.model.options import ConnectorOptions

RunT = TypeVar("RunT", contravariant=True)


class Report(Protocol):
    """What a service returns."""

    @property
    def exit_code(self) -> int:
        """0 if everything was done."""

    def to_dict(self) -> Mapping[str, object]:
        """The report as one JSON object."""


class Service(ABC, Generic[RunT]):
    """A service has a name and typed parameters; it takes a run and returns a report.

    Its docstring is the help of its command. ``RunT`` is :class:`nessie_gc_core.services.run.Run`.
    """

    name: ClassVar[str]
    """The name of its command, such as ``rewrite-manifests``."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """More names of its command."""
    examples: ClassVar[tuple[str, ...]] = ()
    """Calls of its command that its help shows, without the name of the program."""
    Parameters: ClassVar[type[ConnectorOptions]]
    """Its parameters, declared with ``@options``, without the settings of a run."""
    uses_repository: ClassVar[bool] = True
    """Whether it works with a repository and a live-set store; if false, it reads and deletes no files either."""
    uses_files: ClassVar[bool] = True
    """Whether it reads or deletes files."""
    uses_engine: ClassVar[bool] = True
    """Whether its work on files needs an engine; a service that reads a few small files does not."""
    lasting_store: ClassVar[bool] = True
    """Whether its records in the live-set store must outlive the process."""

    @abstractmethod
    def __init__(self, parameters: ConnectorOptions) -> None:
        """Takes an instance of :attr:`Parameters`."""

    @abstractmethod
    def run(self, run: RunT) -> Report:
        """Does it.

        Raises:
            NessieGcError: it failed; the message says what to do.
        """


AnyService: TypeAlias = type[Service[Never]]
"""A service class, whatever run it takes."""
