from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nessie_gc_core.demo.collector import Collection, collect
from nessie_gc_core.errors import NessieGcError


def program(folder: Path, text: str) -> tuple[str, str]:
    script = folder / "collector.py"
    script.write_text(text)
    return (sys.executable, str(script))


def test_the_report_is_what_the_collector_prints(tmp_path: Path) -> None:
    says = program(tmp_path, 'print(\'{"deleted": {"files": 3, "bytes": 30}}\')')
    run = collect("http://127.0.0.1:1", engine="local", folder=tmp_path, program=says)
    assert (3, 30, 0, 0) == (run.count("deleted"), run.size("deleted"), run.count("failed"), run.exit_code)


def test_a_collector_without_a_report_is_an_error_with_its_last_line(tmp_path: Path) -> None:
    says = program(tmp_path, "import sys; print('starting\\nno such server', file=sys.stderr); sys.exit(1)")
    with pytest.raises(NessieGcError, match=r"^the collector ended with exit code 1: no such server$"):
        collect("http://127.0.0.1:1", engine="local", folder=tmp_path, program=says)


def test_the_collector_gets_the_uri_and_the_engine(tmp_path: Path) -> None:
    says = program(tmp_path, "import json, sys; print(json.dumps({'arguments': sys.argv[1:]}))")
    run = collect("http://127.0.0.1:1", engine="local", folder=tmp_path, program=says)
    assert [
        *("gc", "-u", "http://127.0.0.1:1", "--inmemory", "--default-cutoff", "3", "--engine", "local"),
        *("--min-age", "PT0S", "--no-age-floor", "--dropped-after", "PT1S", "--json"),
    ] == run.report["arguments"]


def test_settings_for_another_lake_do_not_reach_the_collector(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NESSIE_GC_DRY_RUN", "true")
    says = program(tmp_path, "import json, os; print(json.dumps({'seen': 'NESSIE_GC_DRY_RUN' in os.environ}))")
    assert not collect("http://127.0.0.1:1", engine="local", folder=tmp_path, program=says).report["seen"]


def test_a_count_that_the_report_does_not_have_is_none() -> None:
    assert 0 == Collection(report={}, exit_code=0, complaints="").count("deleted")
