from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from nessie_gc_core.errors import TableError
from nessie_gc_core.model.asset_runs import ASSET_RUNS, RunStatus, complete_runs


@pytest.mark.parametrize("settings", ["{", "[]", "[" * 100_000, "7"], ids=len)
def test_settings_that_nobody_can_read_are_an_error_that_names_the_run(settings: str) -> None:
    row = dict.fromkeys(ASSET_RUNS.names) | {
        "runid": 17,
        "run": "r",
        "status": RunStatus.COMPLETE.value,
        "timestamp": datetime(2026, 1, 1, tzinfo=UTC),
        "settings": settings,
    }
    with pytest.raises(TableError, match=r"the settings of run 17 in the table of runs cannot be read") as caught:
        complete_runs(pa.Table.from_pylist([row], schema=ASSET_RUNS))
    assert 1 == len(str(caught.value).splitlines())
