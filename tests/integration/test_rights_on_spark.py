"""Services that need Spark do their work with the file for a store and the rules for Nessie, and need nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from stores_for_spark import GRANTED

PROGRAM = Path(__file__).parents[1] / "rights_on_spark.py"
IN_PROCESS = ("mark", "delete-unreferenced")
"""Uses whose other commands need more; other tests hold them against their files."""


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.timeout(900)
@pytest.mark.parametrize("store", GRANTED)
def test_who_may_only_write_compacts_and_who_may_only_identify_finds(tmp_path: Path, store: str) -> None:
    no_grpc = {"GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"}  # else gcsfs waits for a service of Google's
    environment = {**os.environ, **no_grpc, "XDG_DATA_HOME": str(tmp_path)}
    command = [sys.executable, str(PROGRAM), store, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-3000:]
    asked = {use: set(rights) for use, rights in json.loads(done.stdout).items()}
    granted = {use: set(GRANTED[store](use)) for use in asked}
    for use in IN_PROCESS:
        assert asked.pop(use) <= granted.pop(use)
    assert granted == asked
