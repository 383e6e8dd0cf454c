"""Hooks, contracts, optional abilities, errors."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

from generating.text import attribute_docs, code, first_line, markdown, table
from nessie_gc_core import connectors, errors, hookspecs
from nessie_gc_core.connectors import (
    Connector,
    ContentToFiles,
    FileDeleter,
    FileLister,
    LiveSetStore,
    RepositoryConnector,
    SupportsBranches,
    SupportsCapacity,
    SupportsCredentialSource,
    SupportsCutListing,
    SupportsDefaultReference,
    SupportsEmptyDirectories,
    SupportsExpandBatches,
    SupportsFormerIdentities,
    SupportsHiding,
    SupportsJavaTables,
    SupportsKindOfName,
    SupportsLeftAlone,
    SupportsListBatches,
    SupportsLookUp,
    SupportsManifests,
    SupportsMetadataCommits,
    SupportsMoves,
    SupportsObjectTags,
    SupportsQuarantine,
    SupportsSharedClock,
    SupportsSnapshotExpiry,
    SupportsSnapshotRemoval,
    SupportsSplitListing,
    SupportsSqlSchema,
    SupportsStorageCredentials,
    SupportsStoreClock,
    SupportsTableMetadata,
    SupportsTableTags,
    SupportsTagRecords,
    SupportsTags,
    SupportsTraffic,
    SupportsVersionDeletion,
    SupportsVersionHints,
    SupportsVersioning,
    SupportsVersionParts,
    SupportsWorkBranches,
    VisitedDeduplicator,
)
from nessie_gc_core.plugins.registry import KINDS
from nessie_gc_core.testing import __doc__ as kit
from nessie_gc_core.testing.content_to_files import ContentToFilesContract
from nessie_gc_core.testing.file_deleter import FileDeleterContract
from nessie_gc_core.testing.file_lister import FileListerContract
from nessie_gc_core.testing.live_set_store import LiveSetStoreContract
from nessie_gc_core.testing.repository import RepositoryConnectorContract
from nessie_gc_core.testing.schedule_store import ScheduleStoreContract
from nessie_gc_core.testing.table_catalog import TableCatalogContract
from nessie_gc_core.testing.visited_deduplicator import VisitedDeduplicatorContract

ABILITIES: dict[type, type | None] = {
    SupportsSharedClock: RepositoryConnector,
    SupportsFormerIdentities: RepositoryConnector,
    SupportsBranches: RepositoryConnector,
    SupportsDefaultReference: RepositoryConnector,
    SupportsSnapshotExpiry: RepositoryConnector,
    SupportsMetadataCommits: RepositoryConnector,
    SupportsTags: RepositoryConnector,
    SupportsWorkBranches: RepositoryConnector,
    SupportsTableTags: RepositoryConnector,
    SupportsStorageCredentials: RepositoryConnector,
    SupportsExpandBatches: ContentToFiles,
    SupportsKindOfName: ContentToFiles,
    SupportsTableMetadata: ContentToFiles,
    SupportsManifests: ContentToFiles,
    SupportsSnapshotRemoval: ContentToFiles,
    SupportsVersionHints: ContentToFiles,
    SupportsEmptyDirectories: FileDeleter,
    SupportsMoves: FileDeleter,
    SupportsHiding: FileDeleter,
    SupportsObjectTags: FileDeleter,
    SupportsVersionDeletion: FileDeleter,
    SupportsSplitListing: FileLister,
    SupportsCutListing: FileLister,
    SupportsListBatches: FileLister,
    SupportsStoreClock: FileLister,
    SupportsLeftAlone: FileLister,
    SupportsLookUp: FileLister,
    SupportsVersioning: FileLister,
    SupportsTagRecords: LiveSetStore,
    SupportsQuarantine: LiveSetStore,
    SupportsSqlSchema: LiveSetStore,
    SupportsVersionParts: LiveSetStore,
    SupportsJavaTables: LiveSetStore,
    SupportsCapacity: VisitedDeduplicator,
    SupportsTraffic: None,
    SupportsCredentialSource: None,
}
"""Optional abilities and the contract to which each belongs; ``None``: to several."""
KIT = (
    RepositoryConnectorContract,
    ContentToFilesContract,
    FileListerContract,
    FileDeleterContract,
    LiveSetStoreContract,
    VisitedDeduplicatorContract,
    TableCatalogContract,
    ScheduleStoreContract,
)
"""The classes from which plugins' tests inherit."""
_FIXTURE = re.compile(r" {4}``(\w+)``: (.*)")
_INTRO = """# Hooks and contracts

A plugin is an importable module behind an entry point of the group `nessie_gc`. It implements hooks. A hook that
registers connectors returns a connector class, or a sequence of them. See
[how to write a plugin](../tutorial/write-a-plugin.md).
"""


def page() -> str:
    """The page."""
    parts = [_INTRO, "## Hooks\n", *(_hook(name, function) for name, function in hooks().items())]
    parts += ["## Contracts\n", _contract(Connector), *(_contract(contract) for contract in KINDS)]
    parts += [
        "## Optional abilities\n",
        "A connector that has the methods has the ability; the core checks this with `isinstance`.\n",
    ]
    parts += [_contract(ability, belongs_to=contract) for ability, contract in ABILITIES.items()]
    parts += ["## The conformance kit\n", _kit(), "\n## Errors\n", _errors()]
    return "\n".join(parts)


def hooks() -> dict[str, Callable[..., object]]:
    """All hooks by name."""
    return {
        name: function
        for name, function in inspect.getmembers(hookspecs, inspect.isfunction)
        if name.startswith("nessie_gc_")
    }


def _hook(name: str, function: Callable[..., object]) -> str:
    return f"### {name}\n\n{_signature(name, function)}\n\n{markdown(function.__doc__)}\n"


def _contract(contract: type, belongs_to: type | None = None) -> str:
    title = f"### {contract.__name__}\n\n"
    title += f"Ability of a `{belongs_to.__name__}`. " if belongs_to is not None else ""
    text = title + markdown(contract.__doc__) + "\n"
    attributes = attribute_docs(contract)
    if attributes:
        text += "\n" + table(("attribute", "meaning"), ((code(n), d) for n, d in attributes.items())) + "\n"
    for name, method in _methods(contract):
        text += f"\n#### {contract.__name__}.{name}\n\n{_signature(name, method)}\n\n{markdown(method.__doc__)}\n"
    return text


def _methods(contract: type) -> Iterator[tuple[str, Callable[..., object]]]:
    for name, member in vars(contract).items():
        function = member.__func__ if isinstance(member, classmethod) else member
        if inspect.isfunction(function) and not name.startswith("_") and function.__doc__:
            yield name, function


def _signature(name: str, function: Callable[..., object]) -> str:
    parameters: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        star = "*, " if parameter.kind is parameter.KEYWORD_ONLY and "*, " not in "".join(parameters) else ""
        default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
        parameters.append(f"{star}{parameter.name}: {parameter.annotation}{default}")
    returns = inspect.signature(function).return_annotation
    return f"`{name}({', '.join(parameters)}) -> {returns}`"


def _kit() -> str:
    text = markdown(kit)
    begin, end = text.index("| module"), text.index("What a contract leaves open")
    said = text[text.index("Every test that fails") : begin]
    lead = "A plugin's tests inherit from one class for each contract that it implements, and define its fixtures.\n"
    parts = [lead, said.strip() + "\n", text[begin:end].strip() + "\n", text[end:].strip() + "\n"]
    return "\n".join([*parts, *(_suite(suite) for suite in KIT)])


def _suite(suite: type) -> str:
    """A class of the kit with a table for each group of its fixtures."""
    text = f"### {suite.__name__}\n"
    rows: list[list[str]] = []
    for line in [*inspect.cleandoc(suite.__doc__ or "").splitlines()[1:], ""]:
        if found := _FIXTURE.fullmatch(line):
            rows.append([code(found[1]), found[2]])
        elif rows and line.startswith("    "):
            rows[-1][1] += f" {line.strip()}"
        else:
            text += "\n" + _fixtures(rows) + markdown(line) + ("\n" if not line else "")
            rows = []
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _fixtures(rows: list[list[str]]) -> str:
    if not rows:
        return ""
    return "\n" + table(("fixture", "what it returns"), ((name, markdown(text)) for name, text in rows)) + "\n\n"


def _errors() -> str:
    rows = []
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.NessieGcError):
            rows.append(
                (code(name), code(error.__bases__[0].__name__), code(error.exit_code), first_line(error.__doc__))
            )
    return "These are the errors of `nessie_gc_core.errors`. Each message is one line.\n\n" + table(
        ("error", "is a", "exit code", "meaning, and what to do"), rows
    )


assert set(ABILITIES) == {getattr(connectors, name) for name in connectors.__all__ if name.startswith("Supports")}
