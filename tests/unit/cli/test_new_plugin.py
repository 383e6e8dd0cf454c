from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cli_runs import Run, one_line

from nessie_gc_core.plugins.starting import KINDS_OF_PLUGINS

PUBLIC = re.compile(r"nessie_gc_core(\.(api|connectors|model|errors|testing)(\..*)?)?")
FILES = ["README.md", "pyproject.toml", "src/nessie_gc_tape/__init__.py", "src/nessie_gc_tape/py.typed"]


def test_a_plugin_is_written_with_what_to_do_next(run: Run, home: Path) -> None:
    lines = run("new-plugin", "tape", "--kind", "lister").stdout.splitlines()
    assert ["wrote the lister plugin nessie-gc-tape:", *(f"  {file}" for file in FILES)] == lines[:5]
    assert ["  tests/test_tape.py", "next:"] == lines[5:7]
    assert "  python -m pip install -e nessie-gc-tape 'nessie-gc-core[testing]'" == lines[7]
    assert all((home / "nessie-gc-tape" / file).is_file() for file in FILES)


def test_it_is_told_as_json_too(run: Run, home: Path) -> None:
    told = json.loads(run("new-plugin", "tape", "--kind", "lister", "--folder", "plugins", "--json").stdout)
    assert "plugins/nessie-gc-tape" == told["folder"]
    assert [str(home / file) for file in told["files"]] == [
        str(home / "plugins/nessie-gc-tape" / file) for file in [*FILES, "tests/test_tape.py"]
    ]


@pytest.mark.parametrize("kind", KINDS_OF_PLUGINS)
def test_every_kind_has_an_entry_point_and_imports_public_names_only(run: Run, home: Path, kind: str) -> None:
    assert 0 == run("new-plugin", "nessie-gc-my-lake", "--kind", kind).exit_code
    folder = home / "nessie-gc-my-lake"
    project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    assert {"my-lake": "nessie_gc_my_lake"} == project["entry-points"]["nessie_gc"]
    for path in folder.glob("**/*.py"):
        text = path.read_text()
        assert "$" not in text
        imports = (node.module or "" for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom))
        ours = [name for name in imports if name.startswith("nessie_gc_core")]
        assert [] == [name for name in ours if not PUBLIC.fullmatch(name)]


def test_a_folder_that_exists_is_never_written_into(run: Run, home: Path) -> None:
    (home / "nessie-gc-tape").mkdir()
    result = run("new-plugin", "tape", "--kind", "lister")
    assert (1, True) == (result.exit_code, "nessie-gc-tape already exists" in one_line(result))
    assert [] == list((home / "nessie-gc-tape").iterdir())


@pytest.mark.parametrize("name", ["Tape", "../tape", "my_lake", "nessie-gc-", "7up", "a b", ""])
def test_a_name_that_is_no_name_of_a_package_is_refused(run: Run, home: Path, name: str) -> None:
    result = run("new-plugin", name, "--kind", "lister")
    assert (2, True) == (result.exit_code, "use small letters, digits and hyphens" in one_line(result))
    assert [] == list(home.iterdir())


def test_the_kind_has_to_be_given(run: Run) -> None:
    assert "--kind" in one_line(run("new-plugin", "tape"))
    assert "'liste' is not one of 'repository', 'lister'" in one_line(run("new-plugin", "tape", "--kind", "liste"))


def test_the_tests_it_proposes_are_those_of_the_new_plugin_alone(run: Run, home: Path) -> None:
    (home / "test_of_somebody_else.py").write_text("def test_it() -> None: ...", encoding="utf-8")
    _, command = json.loads(run("new-plugin", "tape", "--kind", "lister", "--json").stdout)["next"]
    collected = subprocess.run(
        [sys.executable, *command.split()[1:], "--collect-only", "-q"],
        cwd=home,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(home / "nessie-gc-tape/src"), *sys.path])},
        check=False,
        capture_output=True,
        text=True,
    ).stdout
    assert "test_tape.py::" in collected
    assert "somebody_else" not in collected
