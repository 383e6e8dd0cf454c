"""Which versions of Spark were tested, with what: from the record that ``nox -s spark-versions`` writes."""

from __future__ import annotations

import json
from pathlib import Path

from generating.text import code, table

RECORDS = Path(__file__).parents[1] / "data" / "spark-versions.json"
_INTRO = """# Compatibility

The Spark engine is made for Spark 3.5, 4.0 and 4.1, in classic sessions and on Spark Connect. `nox -s spark-versions`
runs the tests on each version, and this page is written from what ran. A run with a failed or skipped test is not
recorded. [What is different on Spark 3.5](../how-to/pyspark.md#spark-35-and-40) is described with the setup.

"""
_SUITES = {
    "engine": "tests of the engine",
    "collection": "of a whole collection",
    "tables": "of rewritten tables",
}
_COLUMNS = {"spark": "Spark", "scala": "Scala", "java": "Java", "python": "Python"}


def page() -> str:
    """The page."""
    records = json.loads(RECORDS.read_text(encoding="utf-8"))
    head = [*_COLUMNS.values(), "Iceberg runtime", *_SUITES.values()]
    rows = (
        [
            *(record[name] for name in _COLUMNS),
            code(record["iceberg"].partition(":")[2]),
            *(record["passed"].get(suite, "") for suite in _SUITES),
        ]
        for record in records
    )
    if not records:
        return f"{_INTRO}No complete run is recorded yet.\n"
    return f"{_INTRO}Tests that passed, in the last three columns:\n\n{table(head, rows)}"
