"""``python tests/spark_versions.py RESULTS``: records what ran on which Spark, in docs/data/spark-versions.json."""

from __future__ import annotations

import json
import platform
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

RECORDS = Path(__file__).parents[1] / "docs" / "data" / "spark-versions.json"
"""One record for each feature version of Spark; docs/generate.py makes a table of them."""
_COUNTS = ("tests", "failures", "errors", "skipped")


def main(results: Path) -> None:
    """Puts the record of the Spark that is installed in place of the one before."""
    record = {**versions(), "passed": {path.stem: passed(path) for path in sorted(results.glob("*.xml"))}}
    records = json.loads(RECORDS.read_text(encoding="utf-8")) if RECORDS.exists() else []
    others = [each for each in records if feature(each) != feature(record)]
    RECORDS.parent.mkdir(exist_ok=True)
    text = json.dumps(sorted([*others, record], key=feature), indent=2)
    RECORDS.write_text(text + "\n", encoding="utf-8")


def versions() -> dict[str, str]:
    """What ran the tests."""
    import pyspark

    from nessie_gc_core.demo.spark import iceberg_runtime
    from nessie_gc_core.testing.servers.java import JavaRole, find_java

    scala = next((Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar"))
    return {
        "spark": pyspark.__version__,
        "scala": scala.stem.removeprefix("scala-library-"),
        "java": str(find_java(JavaRole.SPARK).version),
        "python": platform.python_version(),
        "iceberg": iceberg_runtime(),
    }


def passed(path: Path) -> int:
    """How many tests of a suite passed.

    Raises:
        SystemExit: one did not, or was left out: such a run says too little.
    """
    suite = next(ElementTree.parse(path).iter("testsuite"))
    count = {name: int(suite.attrib[name]) for name in _COUNTS}
    if wrong := {name: number for name, number in count.items() if name != "tests" and number}:
        sys.exit(f"{path.stem}: {wrong}; only a complete run is recorded")
    return count["tests"]


def feature(record: dict[str, Any]) -> tuple[int, ...]:
    """``4.1.4`` is a 4.1."""
    return tuple(int(part) for part in record["spark"].split(".")[:2])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
