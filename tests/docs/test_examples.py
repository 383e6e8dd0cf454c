from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.pages import DOCS, ROOT
from docs.servers import small_lake

from nessie_gc_core.cli.command import _known_options
from nessie_gc_core.cli.main import cli
from nessie_gc_core.config.file import ConfigFile
from nessie_gc_core.connectors import Connector, RepositoryConnector
from nessie_gc_core.plugins import installed
from nessie_gc_core.plugins.registry import KINDS

EXAMPLES = ROOT / "examples"


def test_the_example_configuration_has_only_options_that_exist() -> None:
    config = ConfigFile.read(EXAMPLES / "nessie-gc.toml", _known_options(cli))
    installed().connector_class(RepositoryConnector, "nessie").Options.from_mapping(config.repository)
    for (kind, name), options in config.connectors.items():
        contract: type[Connector] = next(contract for contract, (known, _) in KINDS.items() if known == kind)
        installed().connector_class(contract, name).Options.from_mapping(options)


def test_the_airflow_example_is_python() -> None:
    compile((EXAMPLES / "airflow_dag.py").read_text(encoding="utf-8"), "airflow_dag.py", "exec")


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.timeout(600)
def test_the_notebook_collects_a_lake_with_its_own_session(tmp_path: Path, environment: dict[str, str]) -> None:
    with small_lake(tmp_path) as uri:
        command = [sys.executable, str(EXAMPLES / "collect_in_pyspark.py")]
        environment = {**environment, "NESSIE_GC_URI": uri}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-4000:]
    assert re.search(r"^\{'files': [1-9]\d*, 'bytes': \d+\} exit code 0$", done.stdout, re.MULTILINE)
    assert (tmp_path / "deleted.parquet").is_file()


RULES = [number for number in range(1, 29) if number not in (19, 20)]
"""The safety rules; S19 and S20 are about abilities that do not exist yet."""


def test_every_safety_rule_has_a_section() -> None:
    text = (DOCS / "explanation" / "safety.md").read_text(encoding="utf-8")
    assert [f"S{number}" for number in RULES] == re.findall(r"^## (S\d+):", text, re.MULTILINE)


def test_every_safety_rule_of_the_page_has_tests_with_its_number() -> None:
    files = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("plugins/*/tests/**/test_*.py")]
    text = "\n".join(file.read_text(encoding="utf-8") for file in files)
    tested = {int(number) for number in re.findall(r"def test_s(\d+)_", text)}
    assert [] == [f"S{number}" for number in RULES if number not in tested]
