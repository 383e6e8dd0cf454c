"""S26: every place where a decision falls has the driver's plugins, or keeps its files; a broken one stops deletion."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from collecting import LakeServices, on_disk, spark_engine
from nessie_gc_memory import MemoryLake, put

from nessie_gc_core import hookimpl
from nessie_gc_core.algorithms.delete import DeleteFiles
from nessie_gc_core.algorithms.still_held import NEEDED_BY_NOBODY
from nessie_gc_core.config.connectors import ConnectorChoice, OpenConnectors
from nessie_gc_core.connectors import FileLister
from nessie_gc_core.errors import PluginError
from nessie_gc_core.model.batches import Value, to_batches
from nessie_gc_core.model.files import FileReference
from nessie_gc_core.model.relations import VERDICTS
from nessie_gc_core.model.verdicts import DeleteMode, Outcome
from nessie_gc_core.plugins import PluginInfo, PluginRegistry, PluginSet, installed
from nessie_gc_core.services.check import check_engine
from nessie_gc_core.services.parameters import SweepParameters

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HELD = "data/held.parquet"


class LegalHold:
    @hookimpl
    def nessie_gc_veto_deletion(self, location: str, files: Sequence[FileReference]) -> dict[str, str]:
        return {file.path: "legal hold" for file in files if file.path.endswith(HELD)}


def write(lake: MemoryLake) -> None:
    """A table with two files that nobody needs."""
    table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
    lake.commit("main", put(table.version))
    lake.put("memory://wh/db/t/" + HELD)
    lake.put("memory://wh/db/t/data/dead.parquet")
    lake.advance(timedelta(days=3))


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def sent(choice: ConnectorChoice) -> ConnectorChoice:
    """The choice as a worker gets it."""
    arrived = pickle.loads(pickle.dumps(choice))
    assert isinstance(arrived, ConnectorChoice)
    return arrived


@pytest.mark.spark
def test_s26_a_veto_that_only_the_driver_has_keeps_its_files_on_spark(
    lake: MemoryLake, spark: SparkSession, plugins: PluginRegistry, tmp_path: Path
) -> None:
    write(lake)
    services = on_disk(lake, tmp_path / "a" / "lake", spark_engine(spark)).choosing(plugins=plugins)
    before = files_below(tmp_path)
    plugins.register(LegalHold(), name="hold")
    report = services.collect("1")
    assert before == files_below(tmp_path)
    assert report.unreferenced.files == report.outcomes[Outcome.SPARED].files > 0
    assert 0 == report.outcomes[Outcome.DELETED].files
    (warning,) = [warning for warning in report.warnings if "does not have the plugin" in warning]
    assert "install the driver's packages on every worker" in warning


@pytest.mark.spark
def test_s26_a_deferred_deletion_without_the_drivers_veto_keeps_its_files_on_spark(
    lake: MemoryLake, spark: SparkSession, plugins: PluginRegistry, tmp_path: Path
) -> None:
    write(lake)
    services = on_disk(lake, tmp_path / "a" / "lake", spark_engine(spark)).choosing(plugins=plugins)
    live_set = services.mark("1")
    services.sweep(live_set, SweepParameters(defer_deletes=True))
    recorded = sorted(deletion.path for deletion in services.store.file_deletions(live_set))
    before = files_below(tmp_path)
    plugins.register(LegalHold(), name="hold")
    report = services.delete_deferred(live_set)
    assert before == files_below(tmp_path)
    assert recorded == sorted(deletion.path for deletion in services.store.file_deletions(live_set))
    assert any("does not have the plugin" in warning for warning in report.warnings)


@pytest.mark.spark
def test_s26_a_veto_that_is_disabled_by_name_is_missed_by_no_worker(
    lake: MemoryLake, spark: SparkSession, plugins: PluginRegistry, tmp_path: Path
) -> None:
    write(lake)
    services = on_disk(lake, tmp_path / "a" / "lake", spark_engine(spark)).choosing(plugins=plugins)
    plugins.register(LegalHold(), name="hold")
    assert ["hold"] == [plugin.name for plugin in plugins.plugins if plugin.has_veto]
    report = services.choosing(disabled_plugins=("hold",)).collect("1")
    assert report.unreferenced.files == report.outcomes[Outcome.DELETED].files > 0
    assert not any(path.endswith(HELD) for path in files_below(tmp_path))


@pytest.mark.spark
def test_s26_check_asks_the_workers_the_same(spark: SparkSession, plugins: PluginRegistry) -> None:
    engine = spark_engine(spark)
    choice = ConnectorChoice(plugins=plugins)
    assert "its workers have the same plugins" in check_engine(engine, choice)
    plugins.register(LegalHold(), name="hold")
    with pytest.raises(PluginError, match="does not have the plugin"):
        check_engine(engine, choice)


def test_s26_a_choice_travels_with_the_plugins_of_its_process(plugins: PluginRegistry) -> None:
    plugins.register(LegalHold(), name="hold")
    arrived = sent(ConnectorChoice(plugins=plugins))
    assert plugins.plugin_set() == arrived.sent_with == sent(arrived).sent_with
    assert "does not have the plugin 'hold'" in (arrived.lacking_plugin() or "")
    assert replace(arrived, plugins=plugins).lacking_plugin() is None


HOLD = PluginInfo(name="hold", distribution="nessie-gc-hold", version="1", has_veto=True)
LISTER = PluginInfo(name="tape", distribution="nessie-gc-tape", version="1", connectors=("file-lister tape (tape)",))


@pytest.mark.parametrize(
    ("here", "said"),
    [
        ([], "does not have the plugin 'hold' (nessie-gc-hold 1)"),
        ([replace(HOLD, version="2")], "has the plugin 'hold' as nessie-gc-hold 2, the driver as nessie-gc-hold 1"),
        ([replace(HOLD, has_veto=False)], "has the plugin 'hold' (nessie-gc-hold 1) without its veto"),
        ([replace(HOLD, error="ImportError: x")], "has a broken plugin 'hold' (ImportError: x)"),
        ([HOLD, replace(LISTER, error="ImportError: x")], "has a broken plugin 'tape' (ImportError: x)"),
    ],
)
def test_s26_a_worker_whose_plugins_differ_says_how(here: list[PluginInfo], said: str) -> None:
    found = PluginSet(plugins=(HOLD,)).lacking_in(PluginSet(plugins=tuple(here)))
    assert found is not None
    assert said in found
    assert found.endswith("install the driver's packages on every worker")


def test_s26_a_worker_may_have_more_plugins_than_the_driver() -> None:
    assert PluginSet(plugins=(HOLD,)).lacking_in(PluginSet(plugins=(HOLD, LISTER))) is None


def test_s26_a_connector_without_its_claims_is_missed() -> None:
    found = PluginSet(plugins=(LISTER,)).lacking_in(PluginSet(plugins=(replace(LISTER, connectors=()),)))
    assert found is not None
    assert "without its file-lister tape (tape)" in found


def test_s26_a_worker_reads_and_lists_with_no_other_version_of_a_connector(tmp_path: Path) -> None:
    mine = installed().plugin_set()
    older = tuple(replace(plugin, version="0.0.1") for plugin in mine.plugins)
    with OpenConnectors(ConnectorChoice(sent_with=mine)) as connectors:
        assert isinstance(connectors.lister(tmp_path.as_uri()), FileLister)
    with (
        OpenConnectors(ConnectorChoice(sent_with=PluginSet(plugins=older))) as connectors,
        pytest.raises(PluginError, match=r"the driver as nessie-gc-iceberg-files 0\.0\.1"),
    ):
        connectors.lister(tmp_path.as_uri())


def test_s26_a_worker_opens_no_connector_whose_state_another_process_has(lake: MemoryLake) -> None:
    """The lake of that name would be empty there, and its files garbage."""
    choice = ConnectorChoice(
        options={("file-lister", "memory"): {"lake": lake.name}}, sent_with=installed().plugin_set()
    )
    with (
        OpenConnectors(choice) as connectors,
        pytest.raises(PluginError, match="'memory' works in one process only"),
    ):
        connectors.lister("memory://wh/")


def test_s26_a_worker_that_lacks_a_plugin_deletes_nothing(lake: MemoryLake) -> None:
    path = lake.put("memory://wh/db/t/data/dead.parquet")
    choice = ConnectorChoice(
        options={("file-deleter", "memory"): {"lake": lake.name}}, sent_with=PluginSet(plugins=(HOLD,))
    )
    values: dict[str, Value] = {
        "unit": "memory://wh/db/t/",
        "key": "data/dead.parquet",
        "location": "memory://wh/db/t/",
        "path": "data/dead.parquet",
        "verdict": "UNREFERENCED",
        "sidecar_only": False,
    }
    row = tuple(values.get(field.name, 0 if str(field.type).startswith("int") else None) for field in VERDICTS)
    (batch,) = DeleteFiles(choice, DeleteMode.DELETE, {}, NEEDED_BY_NOBODY)(to_batches([row], VERDICTS))
    ((outcome, reason),) = [(row["outcome"], row["reason"]) for row in batch.to_pylist()]
    assert (Outcome.SPARED.value, True) == (outcome, "does not have the plugin 'hold'" in reason)
    assert path in lake.paths()


# ---- plugins that cannot be loaded --------------------------------------------------------------------
def install_broken(site: Path) -> None:
    """Installs the plugin ``hold``, which cannot be loaded."""
    info = site / "nessie_gc_hold-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nessie-gc-hold\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[nessie_gc]\nhold = nessie_gc_hold\n")
    (site / "nessie_gc_hold.py").write_text("import a_library_that_is_missing\n")


@pytest.fixture
def local(lake: MemoryLake, services: LakeServices) -> LakeServices:
    """Services of a lake with garbage."""
    write(lake)
    return services


@pytest.fixture
def with_broken(local: LakeServices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LakeServices:
    """The same where a plugin is installed that cannot be loaded."""
    install_broken(tmp_path / "site")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return local.choosing(plugins=PluginRegistry.discover())


def test_s26_a_broken_plugin_stops_a_run_before_anything_is_read(lake: MemoryLake, with_broken: LakeServices) -> None:
    before = lake.paths()
    with pytest.raises(PluginError, match=r"'hold' .nessie-gc-hold 1. is broken .*`disable_plugin` 'hold'"):
        with_broken.collect("1")
    assert before == lake.paths()
    assert [] == list(with_broken.store.live_sets())


def test_s26_a_broken_plugin_stops_a_sweep(lake: MemoryLake, with_broken: LakeServices) -> None:
    before = lake.paths()
    live_set = with_broken.mark("1")
    with pytest.raises(PluginError, match="nothing is deleted while it may have a veto"):
        with_broken.sweep(live_set)
    assert before == lake.paths()


def test_s26_a_broken_plugin_stops_deferred_deletions_which_may_be_recorded(
    lake: MemoryLake, with_broken: LakeServices
) -> None:
    live_set = with_broken.mark("1")
    report = with_broken.sweep(live_set, SweepParameters(defer_deletes=True))
    assert any("'hold' is broken" in warning for warning in report.warnings)
    before = lake.paths()
    with pytest.raises(PluginError, match="`disable_plugin` 'hold'"):
        with_broken.delete_deferred(live_set)
    assert before == lake.paths()
    assert list(with_broken.store.file_deletions(live_set))


def test_s26_a_dry_run_goes_on_with_a_broken_plugin_and_says_so(lake: MemoryLake, with_broken: LakeServices) -> None:
    report = with_broken.collect("1", sweep=SweepParameters(dry_run=True))
    assert report.outcomes[Outcome.WOULD_DELETE].files > 0
    assert any("'hold' is broken" in warning for warning in report.warnings)


@pytest.mark.parametrize("name", ["hold", "nessie-gc-hold", "nessie_gc_hold"])
def test_s26_a_broken_plugin_is_left_out_by_its_name_or_distribution(
    lake: MemoryLake, with_broken: LakeServices, name: str
) -> None:
    report = with_broken.choosing(disabled_plugins=(name,)).collect("1")
    assert report.unreferenced.files == report.outcomes[Outcome.DELETED].files > 0


def test_s26_a_disabled_plugin_is_not_asked_and_its_connectors_are_not_found(lake: MemoryLake) -> None:
    registry = installed().without(["nessie-gc-memory"])
    assert "memory" not in registry.connectors(FileLister)
    assert "memory" in installed().connectors(FileLister)
    choice = ConnectorChoice(disabled_plugins=("nessie-gc-memory",))
    with OpenConnectors(choice) as connectors, pytest.raises(PluginError, match="nessie-gc-memory"):
        connectors.lister("memory://wh/")
    with OpenConnectors(sent(choice)) as connectors, pytest.raises(PluginError, match="nessie-gc-memory"):
        connectors.lister("memory://wh/")


def test_s26_a_name_of_a_disabled_plugin_that_is_not_installed_is_refused() -> None:
    with pytest.raises(PluginError, match=r"`disable_plugin` memry: no plugin of this name .*did you mean 'memory'"):
        ConnectorChoice(disabled_plugins=("memry",)).check_plugins()


@pytest.mark.parametrize("name", ["legal-hold", "nessie-gc-memry"])
def test_s26_a_required_plugin_that_is_not_installed_stops_every_run(local: LakeServices, name: str) -> None:
    with pytest.raises(PluginError, match=f"`required_plugins` {name}: no plugin of this name is installed"):
        local.choosing(required_plugins=(name,)).collect("1", sweep=SweepParameters(dry_run=True))
    assert [] == list(local.store.live_sets())


def test_s26_a_required_plugin_has_to_work(with_broken: LakeServices) -> None:
    with pytest.raises(PluginError, match="`required_plugins` hold: it is broken"):
        with_broken.choosing(required_plugins=("memory", "hold")).collect("1", sweep=SweepParameters(dry_run=True))


def test_s26_the_program_deletes_nothing_while_a_plugin_is_broken(tmp_path: Path) -> None:
    site, work = tmp_path / "site", tmp_path / "work"
    install_broken(site)
    work.mkdir()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-m", "nessie_gc_core", "gc", "--repository", "memory", "--engine", "local"]
        return subprocess.run(
            [*program, "--inmemory", *arguments], cwd=work, env=environment, capture_output=True, text=True, check=False
        )

    refused = run()
    assert (2, True) == (refused.returncode, "the plugin 'hold' (nessie-gc-hold 1) is broken" in refused.stderr)
    assert 0 == run("--dry-run").returncode
    assert 0 == run("--disable-plugin", "hold").returncode
    (work / "nessie-gc.toml").write_text('required-plugins = ["nessie-gc-hold"]\n')
    required = run("--dry-run")
    assert (2, True) == (required.returncode, "--required-plugins nessie-gc-hold: it is broken" in required.stderr)
