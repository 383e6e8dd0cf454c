"""Services that need Spark do their work with the policies for S3 and the rules for Nessie, and need nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from s3_accounts import allowed

PROGRAM = Path(__file__).parents[1] / "rights_on_spark.py"


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_who_may_only_write_compacts_and_who_may_only_identify_finds(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path)}
    command = [sys.executable, str(PROGRAM), str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-3000:]
    asked = {use: {tuple(each) for each in found} for use, found in json.loads(done.stdout).items()}
    assert {("s3:GetObject", "arn:aws:s3:::lake/warehouse/*")} == asked.pop("mark")  # and so part of that policy
    assert {use: allowed(use) for use in asked} == asked
