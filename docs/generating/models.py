"""The public data classes."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from enum import Enum

from generating.text import attribute_docs, cell, code, markdown, member_parts, table
from nessie_gc_core import model

_INTRO = """# Models

`nessie_gc_core.model` contains the data that the core and plugins exchange. The classes are frozen, take only keyword
arguments, and have no behaviour of their own. The [glossary](../glossary.md) explains the terms.

Unless a field says otherwise, times are `datetime` values with a time zone, in UTC, to the microsecond; sizes are
bytes; paths and locations are *raw*, the exact text from metadata or a listing. In relations and outcome files, the
same times are whole numbers, [microseconds since the epoch](relations.md).

"""
GROUPS = {
    "Repositories": ("repository", "The parts of a [repository](contracts.md#repositoryconnector)."),
    "Files": ("files", "The results of readers, listers and deleters."),
    "Credentials": (
        "credentials",
        "What a repository [gives for its storage](contracts.md#supportsstoragecredentials).",
    ),
    "Verdicts and outcomes": ("verdicts", "See [what they mean](../explanation/verdicts-and-reports.md)."),
    "Live sets": ("live_sets", "The data in a [store](contracts.md#livesetstore)."),
    "Digests": ("row_digests", "By which a store and its readers agree on the rows of a live set."),
    "Tags": ("tags", "The [tag records](contracts.md#supportstagrecords) in a store."),
    "Quarantine": ("quarantine", "Files that were [moved instead of deleted](../how-to/quarantine.md)."),
    "Versions": (
        "versions",
        "Files that are [hidden in a bucket that keeps versions](../how-to/quarantine.md#choose-a-place). The module "
        "has functions, too: the rules for [deleters that hide](contracts.md#supportshiding).",
    ),
    "Object tags": (
        "object_tags",
        "Files that are [in quarantine with a tag](../how-to/quarantine.md#choose-a-place). The module has functions, "
        "too: the rules for [deleters that tag](contracts.md#supportsobjecttags).",
    ),
    "Cut-off policies": ("policies", "How far back commits stay live."),
    "Limits": ("limits", "Limits on the deletion of unreferenced files."),
    "Table metadata": ("table_metadata", "For [snapshot expiry](contracts.md#supportssnapshotexpiry) and `health`."),
    "Manifests": ("manifests", "For [`rewrite-manifests`](../how-to/rewrite-manifests.md)."),
    "Compaction": ("compaction", "For [`compact`](../how-to/compact.md)."),
    "Tables": ("tables", "The tables of a [table catalog](contracts.md#tablecatalog)."),
    "Work": ("work", "The requests of a run to its stores, for its progress and its [report](report.md)."),
}
"""Heading to the module below ``nessie_gc_core.model``, and its introduction."""


def page() -> str:
    """The page."""
    parts = [_INTRO]
    for heading, (name, text) in GROUPS.items():
        parts.append(f"## {heading}\n\n{text}\n")
        parts += [_entry(public) for public in names_of(name)]
    missing = set(model.__all__) - {public for name, _ in GROUPS.values() for public in names_of(name)}
    assert not missing, f"GROUPS in docs/generating/models.py has no module of {missing}"
    return "\n".join(parts)


def names_of(module: str) -> list[str]:
    """The public names that a module of the model defines, in its order."""
    found = importlib.import_module(f"nessie_gc_core.model.{module}")
    own = [
        name for name, value in vars(found).items() if getattr(value, "__module__", found.__name__) == found.__name__
    ]
    return [name for name in own if name in model.__all__]


def rows_of(class_: type) -> list[tuple[str, str, str, str]]:
    """The fields of a data class, or the members of an enumeration: name, type or value, default, meaning."""
    texts = attribute_docs(class_)
    if issubclass(class_, Enum):
        return [(name, repr(member.value), "", texts.get(name, "")) for name, member in class_.__members__.items()]
    assert dataclasses.is_dataclass(class_)
    return [(f.name, str(f.type), _default(f), texts.get(f.name, "")) for f in dataclasses.fields(class_)]


def _entry(name: str) -> str:
    value = getattr(model, name)
    if not isinstance(value, type):
        defines = next(module for module, _ in GROUPS.values() if name in names_of(module))
        module = importlib.import_module(f"nessie_gc_core.model.{defines}")
        return f"### {name}\n\n`{value!r}`. {attribute_docs(module)[name]}\n"
    rows = rows_of(value)
    if issubclass(value, Enum):
        body = table(("member", "value", "meaning"), ((code(n), code(v), text) for n, v, _, text in rows))
    else:
        shown = ((code(n), code(type_), code(default) or "required", text) for n, type_, default, text in rows)
        body = table(("field", "type", "default", "meaning"), shown)
    return "\n".join([f"### {name}\n\n{markdown(inspect.getdoc(value))}\n", body, "", *member_parts(value, level=4)])


def _default(field: dataclasses.Field[object]) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return cell(repr(field.default_factory()))
    if field.default is dataclasses.MISSING:
        return ""
    return f"{field.default}" if hasattr(field.default, "total_seconds") else repr(field.default)
