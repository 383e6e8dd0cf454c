"""The kit itself: it passes good plugins, and on each faulty one it fails with the rule that is broken."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from faulty import MODULES, Fault

from nessie_gc_core.testing.content_to_files import ContentToFilesContract
from nessie_gc_core.testing.file_deleter import FileDeleterContract
from nessie_gc_core.testing.file_lister import FileListerContract
from nessie_gc_core.testing.live_set_store import LiveSetStoreContract
from nessie_gc_core.testing.repository import RepositoryConnectorContract
from nessie_gc_core.testing.schedule_store import ScheduleStoreContract
from nessie_gc_core.testing.table_catalog import TableCatalogContract
from nessie_gc_core.testing.visited_deduplicator import VisitedDeduplicatorContract

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "nessie-gc-ledger"
KIT = (
    RepositoryConnectorContract,
    ContentToFilesContract,
    FileListerContract,
    FileDeleterContract,
    LiveSetStoreContract,
    VisitedDeduplicatorContract,
    TableCatalogContract,
    ScheduleStoreContract,
)
sys.path[:0] = [str(EXAMPLE / folder) for folder in ("src", "tests")]  # the good repository and store
_Fixture = type(pytest.fixture(lambda: None))
FAULTS = {name: import_module(f"faulty.{name}").FAULTS for name in MODULES}
del sys.path[:2]


Results = dict[tuple[str, str], list[str]]
"""What the kit says of a module's suites: suite and test to messages of failures; the good suite runs whole."""


@pytest.fixture(scope="module")
def results() -> Callable[[str], Results]:
    """The results of a module, which runs once."""
    found: dict[str, Results] = {}

    def of(name: str) -> Results:
        if name not in found:
            found[name] = run_kit(name)
        return found[name]

    return of


def run_kit(name: str) -> Results:
    """Runs the kit on a module in a pytest of its own."""
    file = ROOT / "tests" / "faulty" / f"{name}.py"
    tests = dict.fromkeys(f"{file}::{fault.suite}::{fault.test}" for fault in FAULTS[name])
    paths = [ROOT / "tests", EXAMPLE / "src", EXAMPLE / "tests", *filter(None, [os.environ.get("PYTHONPATH")])]
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            "-p",
            "faulty.quickly",
            "--rootdir",
            folder,
            f"--junitxml={report}",
        ]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": f"{folder}/hypothesis",
        }
        command = [sys.executable, "-m", "pytest", "-c", os.devnull, *options, f"{file}::TestGood", *tests]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        assert report.exists(), done.stdout + done.stderr
        found: Results = {}
        for case in ElementTree.parse(report).iter("testcase"):
            key = (case.attrib["classname"].rpartition(".")[2], case.attrib["name"].partition("[")[0])
            failures = [each.attrib["message"] for each in case if each.tag in ("failure", "error")]
            found.setdefault(key, []).extend(failures)
        return found


@pytest.mark.parametrize("name", MODULES)
def test_a_good_plugin_passes_the_kit(name: str, results: Callable[[str], Results]) -> None:
    good = {test: failures for (suite, test), failures in results(name).items() if suite == "TestGood"}
    assert good
    assert {} == {test: failures for test, failures in good.items() if failures}


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        pytest.param(name, fault, id=f"{name}-{fault.suite.removeprefix('Test')}")
        for name, faults in FAULTS.items()
        for fault in faults
    ],
)
def test_a_faulty_plugin_fails_with_the_rule_that_it_breaks(
    name: str, fault: Fault, results: Callable[[str], Results]
) -> None:
    failures = results(name)[fault.suite, fault.test]
    assert failures, "the kit passes it"
    assert [] == [failure for failure in failures if not failure.startswith(f"AssertionError: {fault.says}")]


@pytest.mark.parametrize("contract", KIT, ids=lambda contract: contract.__name__)
def test_every_test_of_the_kit_says_in_one_or_two_lines_what_it_demands(contract: type) -> None:
    tests = {name: test for name, test in inspect.getmembers(contract) if name.startswith("test_")}
    demands = {name: getattr(test, "demand", "") for name, test in tests.items()}
    assert [] == [name for name, demand in demands.items() if not re.fullmatch(r"\S[^\n]{20,230}[.]", demand)]


OURS = {
    "tagging",
    "connector_class",
    "repository",
    "reader",
    "lister",
    "deleter",
    "here",
    "held",
    "store",
    "schedules",
    "schedule",
    "versioned",
    "deleting",
    "open_catalog",
    "catalog",
    "made",
    "identifying",
    "expiring",
}
"""Fixtures that the kit makes for its own tests."""


@pytest.mark.parametrize("contract", KIT, ids=lambda contract: contract.__name__)
def test_every_fixture_of_the_kit_is_described_in_its_class_and_no_other_is(contract: type) -> None:
    fixtures = {name for name, member in inspect.getmembers(contract) if isinstance(member, _Fixture)} - OURS
    described = set(re.findall(r"^ {4}``(\w+)``: ", inspect.cleandoc(contract.__doc__ or ""), re.MULTILINE))
    assert fixtures == described
    page = (ROOT / "docs" / "reference" / "contracts.md").read_text(encoding="utf-8")
    section = page.partition(f"### {contract.__name__}\n")[2].partition("\n### ")[0].partition("\n## ")[0]
    assert [] == [name for name in fixtures if f"| `{name}` | " not in section]


@pytest.mark.parametrize("contract", KIT, ids=lambda contract: contract.__name__)
def test_every_test_that_is_named_after_a_rule_names_it(contract: type) -> None:
    for name, test in inspect.getmembers(contract):
        if match := re.match(r"test_s(\d+)_", name):
            assert re.search(rf"\bS{int(match[1])}\b", test.demand), name
