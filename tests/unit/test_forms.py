"""Sizes, times and durations have one form each, and only ``model/text.py`` makes it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (ROOT / "nessie_gc_core", *ROOT.glob("plugins/*/src"))
    for path in (*folder.rglob("*.py"), *folder.rglob("*.html"))
)
METHODS = {"isoformat", "strftime", "ctime", "filesizeformat"}
FUNCTIONS = {"decimal", "duration_isoformat", "naturalsize", "naturaltime", "do_filesizeformat"}
UNITS = re.compile(r"\s?(s|sec|seconds?|min|minutes?|h|hours?|d|days?|bytes?|[KMGT]i?B)\b")
CLOCK = re.compile("%Y|%H")
EXEMPT = {
    "nessie_gc_core/model/text.py": "the one place",
    "nessie_gc_core/algorithms/with_versions.py": "the reason of an outcome, which is parsed again",
    "nessie_gc_core/engines/spark/expressions.py": "a literal of an Iceberg expression",
    "nessie_gc_core/model/policies.py": "the text by which a store knows a policy",
    "nessie_gc_core/model/sizes.py": "what to write instead of a bare number",
    "nessie_gc_core/services/autotag/periods.py": "digits of a period, which are compared and never shown",
    "nessie_gc_core/services/compaction/separating.py": "the name of a partition, as Iceberg writes it",
    "nessie_gc_core/services/plans/file.py": "a row of a plan, whose digest depends on it",
    "nessie_gc_core/services/schedule/page/multiples.py": "the path of a picture",
    "nessie_gc_core/testing/servers/signed.py": "a header of a signed request",
    "plugins/nessie-gc-airflow/src/nessie_gc_airflow/child.py": "an option; it uses no model of the core",
    "plugins/nessie-gc-memory/src/nessie_gc_memory/history.py": "what the digest of a commit is made of",
    "plugins/nessie-gc-memory/src/nessie_gc_memory/mock/s3_answers.py": "what a server of S3 answers",
}


def made_by_hand(text: str) -> Iterator[str]:
    """Expressions that format a size, a time or a duration."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name)) if name in METHODS:
                yield ast.unparse(node)
            case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
                yield ast.unparse(node)
            case ast.Constant(value=str(value)) if CLOCK.search(value):
                yield value
            case ast.JoinedStr(values=parts):
                values = (after for before, after in pairwise(parts) if isinstance(before, ast.FormattedValue))
                if any(UNITS.match(str(after.value)) for after in values if isinstance(after, ast.Constant)):
                    yield ast.unparse(node)


def found(path: str) -> list[str]:
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".html"):
        return re.findall(r"\|\s*filesizeformat|\.strftime\(|\.isoformat\(", text)
    return list(made_by_hand(text))


def test_nothing_else_formats_a_size_a_time_or_a_duration() -> None:
    """Use ``size_text``, ``time_text``, ``json_time``, ``duration_text`` or ``iso_duration`` of ``model/text.py``."""
    by_hand = {path: found(path) for path in SOURCES if path not in EXEMPT}
    assert {} == {path: texts for path, texts in by_hand.items() if texts}


def test_what_is_exempt_has_to_be() -> None:
    assert [] == [path for path in EXEMPT if not found(path)]


@pytest.mark.parametrize(
    "source",
    [
        "f'{size} bytes'",
        "f'{size:,} MB free'",
        "f'it took {seconds:.1f} s'",
        "f'{days} days old'",
        "time.isoformat()",
        "time.strftime(form)",
        "f'{time:%Y-%m-%d}'",
        "decimal(size)",
        "str(duration_isoformat(age))",
    ],
)
def test_each_kind_is_found(source: str) -> None:
    assert list(made_by_hand(source))


@pytest.mark.parametrize("source", ["f'{count} snapshots'", "f'{name} shows {more}'", "f'{host}:{port}'", "'10 %'"])
def test_other_texts_are_none(source: str) -> None:
    assert [] == list(made_by_hand(source))
