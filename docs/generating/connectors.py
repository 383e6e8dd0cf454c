"""The connectors of the distributions in this repository."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

from generating.text import code, first_line, table
from nessie_gc_core.connectors import Connector
from nessie_gc_core.model.options import ConnectorOptions
from nessie_gc_core.plugins.registry import KINDS, installed

ROOT = Path(__file__).parents[2]
OWN = {"nessie_gc_core", *(path.name.replace("-", "_") for path in (ROOT / "plugins").iterdir())}
"""Import names of this repository's distributions; the reference covers no others."""
_HOW = {
    "repository": "Set options with `-r KEY=VALUE`, `NESSIE_GC_REPOSITORY_KEY`, or in the table `[repository]`.",
    "live-set-store": "Set options with `--store-option KEY=VALUE`, `NESSIE_GC_STORE_KEY`, or in the table `[store]`; "
    "those of `jdbc` also with `--jdbc-…`.",
}
_HOW_ELSE = "Set options with `--connector-option {kind}:NAME:KEY=VALUE`, or in the table `[connectors.{kind}.NAME]`."
_INTRO = """# Connectors

This page lists the connectors of this repository's distributions, by kind. `nessie-gc plugins` lists the connectors in
your installation. A secret option never appears in a report, a log line, an error or a store. Set an option that
contains pairs (such as `properties`) as a table in the file, or with the corresponding command-line option (such as
`-I`).
"""


def page() -> str:
    """The page."""
    parts = [_INTRO]
    for contract, (kind, _) in KINDS.items():
        parts.append(f"## {kind}\n\n{first_line(contract.__doc__)} [Contract](contracts.md#{_anchor(contract)}).\n")
        parts.append(_HOW.get(kind, _HOW_ELSE.format(kind=kind)))
        for name, connector in own_connectors(contract).items():
            parts.append(f"\n### {kind} {name}\n\n{first_line(connector.__doc__)} {_facts(connector)}\n")
            rows = list(options_of(connector.Options))
            parts.append(table(("option", "default", "meaning"), rows) if rows else "It has no options.")
        parts.append("")
    return "\n".join(parts)


def own_connectors(contract: type[Connector]) -> dict[str, type[Connector]]:
    """The connectors of a contract that come from this repository, by name."""
    found = installed().connectors(contract)
    return {name: found[name] for name in sorted(found) if found[name].__module__.partition(".")[0] in OWN}


def _anchor(contract: type[Connector]) -> str:
    return contract.__name__.lower()


def _facts(connector: type[Connector]) -> str:
    package = connector.__module__.partition(".")[0].replace("_", "-")
    facts = [f"Included in `{package}`."]
    claims = sorted(getattr(connector, "schemes", ()) or getattr(connector, "content_types", ()))
    if claims:
        facts.append(f"Claims {', '.join(f'`{claim}`' for claim in claims)}.")
    if fallback := sorted(getattr(connector, "fallback_schemes", ())):
        facts.append(f"Fallback for {', '.join(f'`{claim}`' for claim in fallback)}.")
    if not connector.executor_safe:
        facts.append("Works in one process only.")
    if connector.shareable:
        facts.append("One instance serves all tasks of a process.")
    return " ".join(facts)


def options_of(options: type[ConnectorOptions]) -> Iterator[tuple[str, str, str]]:
    """Of each option its name, its default and its meaning."""
    for field in dataclasses.fields(options):
        secret = " (secret)" if field.metadata.get("secret") else ""
        yield f"`{field.name}`{secret}", code(_default(field)), str(field.metadata.get("help", ""))


def _default(field: dataclasses.Field[object]) -> str:
    value = field.default
    if value is dataclasses.MISSING or value is None or isinstance(value, Mapping):
        return ""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():g} s"
    return str(value).lower() if isinstance(value, bool) else str(value)
