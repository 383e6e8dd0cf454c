"""The contract of services: what runs on top of the connectors, from Python, a command line or a schedule."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, Never, Protocol, TypeAlias, TypeVar

from nessie_gc_core.model.options import ConnectorOptions

RunT = TypeVar("RunT", contravariant=True)


class Report(Protocol):
    """What a service gives when it is done."""

    @property
    def exit_code(self) -> int:
        """0 where everything that should be done is done."""

    def to_dict(self) -> Mapping[str, object]:
        """The report as one JSON object."""


class Service(ABC, Generic[RunT]):
    """A service has a name and typed parameters; it takes a run, and gives a report.

    Its docstring is the help of its command. ``RunT`` is :class:`nessie_gc_core.services.run.Run`.
    """

    name: ClassVar[str]
    """The name of its command, such as ``rewrite-manifests``."""
    aliases: ClassVar[tuple[str, ...]] = ()
    """More names of its command."""
    Parameters: ClassVar[type[ConnectorOptions]]
    """Its parameters, declared with ``@options``; those that the settings of a run have are not among them."""
    uses_repository: ClassVar[bool] = True
    """Whether it works with a repository and a live-set store; else with something of its own, and with no files."""
    uses_files: ClassVar[bool] = True
    """Whether it reads or deletes files."""
    uses_engine: ClassVar[bool] = True
    """Whether the work on files needs an engine; a service that reads a few small files does without."""
    lasting_store: ClassVar[bool] = True
    """Whether what it leaves in the live-set store has to outlive the process."""

    @abstractmethod
    def __init__(self, parameters: ConnectorOptions) -> None:
        """Takes the parameters, which are an instance of :attr:`Parameters`."""

    @abstractmethod
    def run(self, run: RunT) -> Report:
        """Does it.

        Raises:
            NessieGcError: it could not be done; the message says what to do.
        """


AnyService: TypeAlias = type[Service[Never]]
"""A service class, whatever run it takes."""
