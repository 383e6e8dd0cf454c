"""Every engine: local, Spark in this process, and Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from collecting import spark_engine

from nessie_gc_core.dataset import Engine
from nessie_gc_core.engines.local import LocalEngine


@pytest.fixture(
    params=[
        "local",
        pytest.param("spark", marks=pytest.mark.spark),
        pytest.param("connect", marks=[pytest.mark.spark, pytest.mark.server]),
    ]
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "local":
        with LocalEngine(workers=2) as local:
            yield local
    else:
        yield spark_engine(request.getfixturevalue(request.param))
