"""What the tutorials for authors of plugins claim, and their packages."""

from __future__ import annotations

import ast
import doctest
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs.packages import built, run
from docs.pages import DOCS, ROOT, blocks

EXAMPLES = ROOT / "examples"
PACKAGES = sorted(path.parent for path in EXAMPLES.glob("*/pyproject.toml"))
PAGES = sorted(DOCS.glob("tutorial/write-*.md"))
PUBLIC = re.compile(r"nessie_gc_core\.(connectors|model|errors|testing)(\.|$)")
NAMES = {"ConnectorOptions", "hookimpl", "option", "options", "secret"}
_LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def test_there_are_two_packages_and_two_pages() -> None:
    assert ["nessie-gc-ledger", "nessie-gc-tape"] == [package.name for package in PACKAGES]
    assert 2 == len(PAGES)


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built core, unpacked as pip would."""
    return built(ROOT, tmp_path_factory.mktemp("core"))


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_package_is_built_and_passes_the_kit_of_the_built_core(package: Path, core: Path, tmp_path: Path) -> None:
    plugin = built(package, tmp_path / "wheel")
    command = [sys.executable, "-m", "pytest", "-c", str(package / "pyproject.toml"), "-q", "-p", "no:cacheprovider"]
    done = run([*command, str(package / "tests")], tmp_path, core, plugin)
    assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_the_package_is_found_by_its_entry_point_once_it_isbuilt(package: Path, core: Path, tmp_path: Path) -> None:
    plugin = built(package, tmp_path / "wheel")
    done = run([sys.executable, "-m", "nessie_gc_core", "plugins"], tmp_path, core, plugin)
    name = package.name.removeprefix("nessie-gc-")
    assert f"{name}: {package.name} 0.1.0, works" in done.stdout.splitlines(), done.stdout + done.stderr


def test_the_store_of_the_package_is_chosen_by_its_name(core: Path, tmp_path: Path) -> None:
    plugin = built(EXAMPLES / "nessie-gc-ledger", tmp_path / "wheel")
    command = [sys.executable, "-m", "nessie_gc_core", "list", "--store", "ledger", "--json"]
    done = run([*command, "--store-option", f"file={tmp_path}/live-sets.db"], tmp_path, core, plugin)
    assert (0, {"format": 1, "live_sets": []}) == (done.returncode, json.loads(done.stdout)), done.stderr
    assert (tmp_path / "live-sets.db").is_file()


def test_the_first_version_fails_the_kit_as_the_page_shows(tmp_path: Path) -> None:
    page = DOCS / "tutorial" / "write-a-plugin.md"
    first = [block.text for block in blocks(page) if "FirstTapeLister" in block.text and block.is_run]
    connector, _, tests = first
    assert "class FirstTapeLister" in connector
    assert "class TestFirstTapeLister" in tests
    (tmp_path / "test_first.py").write_text(f"{connector}\n{tests}", encoding="utf-8")
    (shown,) = [shown for block in blocks(page) for command, shown in block.commands() if "test_first.py" in command]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "test_first.py"]
    done = run(command, tmp_path)
    assert 1 == done.returncode
    for line in filter(lambda line: line.startswith("E "), shown.splitlines()):
        assert any(doctest.OutputChecker().check_output(line, said, _LIKE) for said in done.stdout.splitlines()), line
    failed = set(re.findall(r"^FAILED \S+::test_(s\d+)_", done.stdout, re.MULTILINE))
    assert {"s06", "s08"} == failed
    assert {"put_link", "put_directory"} == set(re.findall(r"^E .*define the fixture (\w+)", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("path", [*PAGES, *EXAMPLES.glob("*/src/**/*.py"), *EXAMPLES.glob("*/tests/*.py")])
def test_authors_are_shown_public_names_only(path: Path) -> None:
    private = [name for name in _imports_of_the_core(path) if not PUBLIC.match(name)]
    assert [] == private


def _imports_of_the_core(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    texts = [text] if path.suffix == ".py" else [b.text for b in blocks(path) if b.language == "python" and b.is_run]
    for node in (node for each in texts for node in ast.walk(ast.parse(each))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("nessie_gc_core"))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("nessie_gc_core"):
            if node.module == "nessie_gc_core":
                yield from (alias.name for alias in node.names if alias.name not in NAMES)
            else:
                yield node.module or ""
