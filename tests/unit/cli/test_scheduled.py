"""The process of a scheduled run: what its scheduler said while it began counts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from nessie_gc_core.config.environment import JOB_VARIABLE, LEASE_VARIABLE
from nessie_gc_core.model.times import elapsed_seconds

PROGRAM = """
import time
from nessie_gc_core.cli.scheduled import end_with_scheduler
end_with_scheduler()
time.sleep(0.5)
print("it goes on")
"""


@pytest.mark.parametrize(
    ("renewed", "code", "said"), [(0, 0, "it goes on\n"), (90, -signal.SIGTERM, ""), (None, -signal.SIGTERM, "")]
)
def test_a_process_that_begins_late_goes_on_if_its_lease_was_renewed_meanwhile(
    renewed: float | None, code: int, said: str
) -> None:
    now = elapsed_seconds()
    environment = {**os.environ, JOB_VARIABLE: "nightly", LEASE_VARIABLE: f"60 {now - 90}"}
    command = [sys.executable, "-c", PROGRAM]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        if renewed is not None:
            process.stdin.write(f"{now - renewed}\n")
            process.stdin.flush()
        assert (said, code) == (process.stdout.read(), process.wait(60))
