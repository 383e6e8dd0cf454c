"""Both engines, for rules where an engine matters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from collecting import spark_engine
from merged import Merged, collected

from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BOTH = ("local", pytest.param("spark", marks=pytest.mark.spark))


@pytest.fixture(params=BOTH)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """One after the other."""
    if request.param == "local":
        with LocalEngine(workers=2) as engine:
            yield engine
    else:
        session: SparkSession = request.getfixturevalue("spark")
        yield spark_engine(session)


@pytest.fixture
def merged(engine: Engine) -> Merged:
    """All scenes after a run of the engine."""
    return collected(engine)
