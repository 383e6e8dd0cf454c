"""Hooks, contracts, optional abilities, errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator

from generating.text import attribute_docs, code, first_line, markdown, table
from nessie_gc_core import connectors, errors, hookspecs
from nessie_gc_core.connectors import (
    Connector,
    FileLister,
    LiveSetStore,
    RepositoryConnector,
    SupportsFormerIdentities,
    SupportsLeftAlone,
    SupportsSharedClock,
    SupportsSplitListing,
    SupportsSqlSchema,
    SupportsStoreClock,
    SupportsVersioning,
)
from nessie_gc_core.plugins.registry import KINDS
from nessie_gc_core.testing import __doc__ as kit

ABILITIES = {
    SupportsSharedClock: RepositoryConnector,
    SupportsFormerIdentities: RepositoryConnector,
    SupportsSplitListing: FileLister,
    SupportsStoreClock: FileLister,
    SupportsLeftAlone: FileLister,
    SupportsVersioning: FileLister,
    SupportsSqlSchema: LiveSetStore,
}
"""Optional abilities and the contract to which each belongs."""
_INTRO = """# Hooks and contracts

A plugin is an importable module behind an entry point of the group `nessie_gc`. It implements hooks; a hook that
registers gives back a connector class, or a sequence of them. [How to write one](../tutorial/write-a-plugin.md).
"""


def page() -> str:
    """The page."""
    parts = [_INTRO, "## Hooks\n", *(_hook(name, function) for name, function in hooks().items())]
    parts += ["## Contracts\n", _contract(Connector), *(_contract(contract) for contract in KINDS)]
    parts += [
        "## Optional abilities\n",
        "Asked for with `isinstance`; a connector that has the methods has the ability.\n",
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
    title += f"An ability of a `{belongs_to.__name__}`. " if belongs_to is not None else ""
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
    parameters = []
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
    lead = "A plugin's tests inherit one class for each contract that it implements, and give it its fixtures.\n\n"
    return lead + text[begin:end].strip() + "\n\n" + text[end:].strip() + "\n"


def _errors() -> str:
    rows = []
    for name, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.NessieGcError):
            rows.append(
                (code(name), code(error.__bases__[0].__name__), code(error.exit_code), first_line(error.__doc__))
            )
    return "All of `nessie_gc_core.errors`; each message is one line.\n\n" + table(
        ("error", "is a", "exit code", "meaning, and what to do"), rows
    )


assert set(ABILITIES) == {getattr(connectors, name) for name in connectors.__all__ if name.startswith("Supports")}
