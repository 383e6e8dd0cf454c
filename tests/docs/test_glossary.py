from __future__ import annotations

import functools
import importlib.util
import pkgutil
import re
from collections.abc import Iterator

import pytest
from docs.pages import DOCS

import nessie_gc_core
from nessie_gc_core import hookspecs
from nessie_gc_core.connectors import Service
from nessie_gc_core.model import LiveSetStatus, Outcome, Verdict
from nessie_gc_core.plugins import installed
from nessie_gc_core.plugins.registry import KINDS

GLOSSARY = DOCS / "glossary.md"
WORDS = [
    "connector", "content", "content version", "cut-off policy", "deferred", "deleter", "engine", "expand", "frozen",
    "guard", "head", "kit", "lease", "list", "lister", "live set", "location", "lost", "mark", "object store",
    "outcome", "plan", "re-check", "reach", "reader", "reference", "register", "repository", "run", "service",
    "sidecar", "spared", "step", "store", "subtract", "sweep", "sweep unit", "tombstone", "unknown", "unread",
    "verdict",
]  # fmt: skip
"""Words without which the other pages cannot be understood."""
TEXTS = {"nessie_gc", ".name.crc", "name"}
"""In code font, and no names in the code."""


def _entries() -> dict[str, str]:
    parts = re.split(r"(?m)^## (.+)$", GLOSSARY.read_text(encoding="utf-8"))[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _names() -> list[str]:
    return sorted(set(re.findall(r"`([^`]+)`", GLOSSARY.read_text(encoding="utf-8"))) - TEXTS)


@functools.cache
def _defined() -> dict[str, list[object]]:
    """All that the modules of the core define, by name."""
    found: dict[str, list[object]] = {}
    for module in pkgutil.walk_packages(nessie_gc_core.__path__, "nessie_gc_core."):
        if not module.name.startswith(("nessie_gc_core.testing", "nessie_gc_core.demo", "nessie_gc_core.__main__")):
            loaded = importlib.import_module(module.name)
            for name, value in vars(loaded).items():
                found.setdefault(name, []).append(value)
    return found


def _exists(name: str) -> bool:
    if name in vars(hookspecs) or name in installed().services.by_name():
        return True
    if name.startswith("nessie_gc_core."):
        return importlib.util.find_spec(name) is not None
    first, _, attribute = name.partition(".")
    owners = _defined().get(first, [])
    return any(not attribute or attribute in _attributes(owner) for owner in owners)


def _attributes(owner: object) -> Iterator[str]:
    yield from dir(owner)
    for base in getattr(owner, "__mro__", ()):
        yield from vars(base).get("__annotations__", ())


def test_the_entries_are_sorted_and_unique() -> None:
    headings = re.findall(r"(?m)^## (.+)$", GLOSSARY.read_text(encoding="utf-8"))
    assert sorted(set(headings)) == headings


def test_the_words_that_pages_use_have_an_entry() -> None:
    assert [] == [word for word in WORDS if word not in _entries()]


@pytest.mark.parametrize("word", _entries())
def test_an_entry_is_short_and_names_what_the_code_calls_it(word: str) -> None:
    text = " ".join(_entries()[word].split())
    *sentences, names = re.split(r"(?<=[.)]) (?=`[^`]+`(?:, |$))", text, maxsplit=1)
    assert sentences != [], "an entry has a sentence"
    assert re.match(r"`[^`]+`", names), "the names in the code stand at the end"
    assert len(re.findall(r"[.!?](?: |$)", sentences[0])) <= 4


@pytest.mark.parametrize("name", _names())
def test_a_name_of_the_code_exists(name: str) -> None:
    assert _exists(name)


def test_every_outcome_verdict_status_and_service_is_explained_here_or_on_a_page_that_is_linked() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    linked = {target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)} - {""}
    everything = text + "".join((DOCS / page).read_text(encoding="utf-8") for page in sorted(linked))
    values = [member.value for kind in (Outcome, Verdict, LiveSetStatus) for member in kind]
    assert [] == [value for value in [*values, *installed().services.by_name()] if f"`{value}`" not in everything]


def test_every_contract_has_an_entry() -> None:
    contracts: list[type] = [*KINDS, Service]
    names = [contract.__name__ for contract in contracts]
    assert [] == [name for name in names if not re.search(rf"`{name}\b", GLOSSARY.read_text(encoding="utf-8"))]
