"""Asks the workers of a Spark session, whoever made it, whether they can run our functions."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nessie_gc_core.engines.spark.session import functions_of, is_connect
from nessie_gc_core.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NEEDED = ("pandas", "pyarrow", "nessie_gc_core.engines.spark.task", "nessie_gc_core.plugins")
"""What a worker imports before it runs any of our functions."""
CORE = "nessie_gc_core"

_OTHER_VERSION = re.compile(r"\[PYTHON_VERSION_MISMATCH\]\D*(\d+\.\d+)")
_NOT_STARTED = re.compile(r'Cannot run program "(?P<program>[^"]*)"[^\n]*error=\d+, (?P<why>[^\n]*)')
_ERROR = re.compile(r"^(?:Caused by: |: )?([\w.$]+(?:Error|Exception): .+?)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, order=True)
class Worker:
    """What a worker says of itself."""

    python: str
    """Its interpreter."""
    version: str
    lacking: tuple[str, ...]
    """What it cannot import."""

    def describe(self) -> str:
        """In words."""
        python = f"{self.python or 'Python'} ({self.version})"
        return f"Spark's workers run {python}, which cannot import {', '.join(self.lacking)}"


def check_workers(session: SparkSession, tasks: int) -> None:
    """Runs one job of so many tasks, which imports on the workers what our functions need.

    Raises:
        ConfigurationError: Spark cannot start its workers, or they have another Python, or lack a package; one line
            that says what was found and what to set.
    """
    from pyspark.sql.types import StringType  # by its name only, it would be parsed by the classic session

    ask = functions_of(session).udf(_question(NEEDED), StringType(), useArrow=False)
    try:
        rows = session.range(0, tasks, 1, tasks).select(ask("id").alias("answer")).collect()
    except Exception as error:
        raise ConfigurationError(f"{_why(error)}; {_what_to_set(session)}") from error
    unfit = sorted({worker for (answer,) in rows if (worker := _parse(answer)).lacking})
    if unfit:
        raise ConfigurationError(f"{unfit[0].describe()}; {_what_to_do(session, unfit[0])}")


def _question(needed: Sequence[str]) -> Callable[[object], str]:
    """A function that is pickled by value: a worker without this package can run it too."""

    def answer(_: object) -> str:
        import importlib
        import json
        import sys

        lacking = []
        for name in needed:
            try:
                importlib.import_module(name)
            except ImportError as error:
                lacking.append((error.name or name).partition(".")[0])
            except Exception as error:  # noqa: BLE001 - whatever stops an import is the answer
                lacking.append(f"{name} ({type(error).__name__}: {error})")
        return json.dumps([sys.executable or "", sys.version.split()[0], sorted(set(lacking))])

    return answer


def _parse(answer: str) -> Worker:
    python, version, lacking = json.loads(answer)
    return Worker(python, version, tuple(" ".join(each.split()) for each in lacking))


def _why(error: Exception) -> str:
    text = str(error)
    if found := _OTHER_VERSION.search(text):
        return f"Spark's workers run Python {found[1]}, this process runs {_own_version()}"
    if found := _NOT_STARTED.search(text):
        return f"Spark cannot start its workers: {found['program']}: {found['why'].strip()}"
    errors: list[str] = _ERROR.findall(text)
    return f"Spark cannot start its workers: {errors[-1].rstrip('.') if errors else type(error).__name__}"


def _what_to_do(session: SparkSession, worker: Worker) -> str:
    if worker.lacking != (CORE,):
        return f"install the packages there, or {_what_to_set(session)}"
    ship = "session.addArtifacts(…, pyfile=True)" if is_connect(session) else "sparkContext.addPyFile(…)"
    return f"install nessie-gc-core and its plugins there, ship them with {ship}, or {_what_to_set(session)}"


def _what_to_set(session: SparkSession) -> str:
    """Where the interpreter of the workers is chosen; it depends on who starts them."""
    python = f"a Python {_own_version()} with the same packages"
    if is_connect(session):
        return f"set PYSPARK_PYTHON in the environment of the Connect server to {python}"
    if str(session.conf.get("spark.master", "local")).startswith("local"):
        return f"set PYSPARK_PYTHON={sys.executable} in the environment before the session is created"
    return (
        f"set PYSPARK_PYTHON (or spark.pyspark.python of spark-submit) to {python} on the workers' machines before "
        "the session is created"
    )


def _own_version() -> str:
    return f"{sys.version_info.major}.{sys.version_info.minor}"
