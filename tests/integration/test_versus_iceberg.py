"""Iceberg's own procedures beside ours, on copies of tables that Spark wrote: the quick part of ``versus-iceberg``.

Where each case of Iceberg's own tests of ``expire_snapshots`` and ``remove_orphan_files`` is compared, or why not:
``tests/versus/README.md``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from versus.cases import Asked, Case
from versus.catalogue import all_cases
from versus.compare import compare
from versus.stage import Stage

from nessie_gc_core.engines.local import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
CASES = {case.title: case for case in all_cases()}
QUICK = [title for title, case in CASES.items() if case.quick]


def catalog_of(case: Case) -> str:
    """A catalog that no other test of the session has."""
    return f"versus{list(CASES).index(case.title)}"


@pytest.mark.parametrize("title", QUICK)
def test_what_differs_from_icebergs_procedure_is_a_defect_of_the_procedure(
    spark: SparkSession, tmp_path: Path, title: str
) -> None:
    case = CASES[title]

    result = compare(case, spark, tmp_path / "lake", catalog_of(case), lambda: LocalEngine(workers=2))

    assert [] == result.differences
    assert result.theirs.deleted | result.ours.deleted or result.asked.both_refuse


def test_a_file_that_only_one_side_deletes_is_a_difference(spark: SparkSession, tmp_path: Path) -> None:
    case = CASES["remove_orphan_files: two tables on one location"]
    forgetful = Case(name="forgetful", procedure=case.procedure, write=lambda stage: _without_known(case, stage))

    result = compare(forgetful, spark, tmp_path / "lake", "forgetful", lambda: LocalEngine(workers=2))

    assert not result.is_right
    assert result.verdict.startswith("DIFFERENT: only theirs")


def _without_known(case: Case, stage: Stage) -> Asked:
    return replace(case.write(stage), known=None)
