"""Programs of our own take Arrow's memory from the system, unless the environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

from nessie_gc_core.engines.spark.session import properties_of
from nessie_gc_core.model.allocator import VARIABLE

PROGRAM = """
import atexit, runpy, sys
def tell():
    import pyarrow as pa
    print(pa.default_memory_pool().backend_name)
atexit.register(tell)
sys.argv = ["nessie-gc", "--version"]
runpy.run_module("nessie_gc_core", run_name="__main__")
"""
"""``python -m nessie_gc_core``, which tells its allocator at its end."""


def allocator_of(**environment: str) -> str:
    others = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**others, **environment})
    *_, allocator = done.stdout.split()
    return allocator


def test_that_of_the_program_is_the_systems() -> None:
    assert "system" == allocator_of()


def test_what_the_environment_says_stays() -> None:
    assert "mimalloc" == allocator_of(**{VARIABLE: "mimalloc"})


def test_workers_of_spark_take_it_too_unless_the_user_says_otherwise() -> None:
    name = f"spark.executorEnv.{VARIABLE}"
    assert "system" == properties_of("local", {}, available=2)[name]
    assert "mimalloc" == properties_of("local", {name: "mimalloc"}, available=2)[name]
