"""The notebook of unreferenced assets, as it runs on a machine that has nothing of this project yet."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from docs.bare_machine import BareMachine
from docs.pages import DOCS, ROOT

NOTEBOOK = ROOT / "examples" / "unreferenced_assets.ipynb"
PAGE = DOCS / "how-to" / "unreferenced-assets.md"
EXECUTE = """
import sys
import nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=600).execute()
nbformat.write(notebook, sys.argv[2])
"""


def cells(path: Path) -> dict[str, Any]:
    """The code cells of a notebook by their ids."""
    found = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return {cell["id"]: cell for cell in found if cell["cell_type"] == "code"}


def shown(cell: dict[str, Any]) -> str:
    """What an executed cell shows, as text."""
    texts = [output["data"]["text/plain"] for output in cell["outputs"] if "data" in output]
    return "".join(part for text in texts for part in text)


def test_no_outputs_are_stored() -> None:
    stored = {name: (cell["outputs"], cell["execution_count"]) for name, cell in cells(NOTEBOOK).items()}
    assert dict.fromkeys(stored, ([], None)) == stored


def test_the_page_has_the_same_links_to_binder_and_colab() -> None:
    links = [
        set(re.findall(r"https://[\w./?=]+\.ipynb", path.read_text(encoding="utf-8"))) for path in (NOTEBOOK, PAGE)
    ]
    assert links[0] == links[1]
    assert ["colab.research.google.com", "mybinder.org"] == sorted(link.split("/")[2] for link in links[0])


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.timeout(900)
def test_the_notebook_installs_what_it_needs_and_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    machine = BareMachine.make(tmp_path / "machine", environment)
    machine.run("python", "-c", EXECUTE, NOTEBOOK.name, str(tmp_path / "out.ipynb"), folder=NOTEBOOK.parent.name)
    done = {name: shown(cell) for name, cell in cells(tmp_path / "out.ipynb").items()}
    first, second = (int(re.findall(r"found (\d+) files", done[name])[0]) for name in ("identify", "change"))
    assert 0 < first < second
    assert {"expired commit", "never committed"} == set(re.findall(r"\w+ commit(?:ted)?", done["table"]))
    sightings = re.findall(r"^\d+ +(\d+) +(\d+)$", done["sightings"], re.MULTILINE)
    assert [("1", str(second - first)), ("2", str(first))] == sightings
    assert f"'files': {first}," in done["dry-run"]
    assert f"'{first} files tried, 0 failed'" == done["delete"]
    assert first == done["report"].count(" deleted ")
    assert second - first == len(re.findall(r"^\d+ .*[A-Z_]+ *\\?$", done["left"], re.MULTILINE))
    assert "Emmy" in done["orders"]
