"""The job for spark-submit: the same lines on this machine, and their options and properties by Spark itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from shutil import copytree

import pytest
import yaml
from click.testing import CliRunner
from deployment.programs import run_program
from docs.pages import ROOT
from nessie_gc_memory import MemoryLake, put
from spark_defaults import DEFAULTS

from nessie_gc_core.cli.main import cli
from nessie_gc_core.testing.servers import skip_or_fail
from nessie_gc_core.testing.servers.spark_wheel import spark_environment, spark_program

SPARK = ROOT / "examples" / "deployment" / "spark"
CLUSTERS = ("yarn", "kubernetes")
ON_THIS_MACHINE = {
    **DEFAULTS,
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.pyspark.python": sys.executable,
}
"""Properties that a small test needs, and that say more than the file's."""
NOTE_ARGUMENTS = """#!{python}
import json, pathlib, sys
pathlib.Path({file!r}).write_text(json.dumps(sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def environment() -> Mapping[str, str]:
    with skip_or_fail():
        return {**os.environ, **spark_environment()}


def submitted(cluster: str, folder: Path, *arguments: str) -> list[str]:
    """What the script for a cluster passes to spark-submit."""
    fake, noted = folder / "spark-submit", folder / "arguments.json"
    fake.write_text(NOTE_ARGUMENTS.format(python=sys.executable, file=str(noted)))
    fake.chmod(0o755)
    script = [str(SPARK / f"submit-to-{cluster}.sh"), *arguments]
    subprocess.run(script, env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}, check=True)
    found: list[str] = json.loads(noted.read_text())
    return found


def properties(cluster: str) -> dict[str, str]:
    """The properties of a file, by Java's rules as far as these files use them."""
    lines = (SPARK / f"{cluster}.conf").read_text(encoding="utf-8").splitlines()
    return dict(line.split(None, 1) for line in lines if line and not line.startswith("#"))


@pytest.mark.spark
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_spark_knows_every_option(cluster: str, tmp_path: Path, environment: Mapping[str, str]) -> None:
    arguments = submitted(cluster, tmp_path, "--delete")
    assert "--delete" == arguments[-1]
    assert ["cluster"] == [after for option, after in pairwise(arguments) if "deploy" in option]
    assert 0 == _launched(arguments, environment).returncode
    assert "Unrecognized option: --deploy-mod" in _launched(["--deploy-mod", *arguments], environment).stderr


def _launched(arguments: Sequence[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """What Spark's launcher makes of arguments; it starts nothing."""
    java = Path(environment["JAVA_HOME"]) / "bin" / "java"
    jars = Path(environment["SPARK_HOME"]) / "jars"
    (core,) = jars.glob("spark-core_*.jar")
    scala = {"SPARK_SCALA_VERSION": core.name.removeprefix("spark-core_").partition("-")[0]}  # as its own script does
    launcher = ["org.apache.spark.launcher.Main", "org.apache.spark.deploy.SparkSubmit"]
    command = [str(java), "-cp", str(jars / "*"), *launcher, *arguments]
    own = {**environment, **scala}
    return subprocess.run(command, cwd=SPARK, env=own, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_spark_knows_every_property(cluster: str) -> None:
    with skip_or_fail():
        jars = Path(spark_environment()["SPARK_HOME"]) / "jars"
    assert [] == [name for name in properties(cluster) if not _is_known(name, _names(jars))]
    assert not _is_known("spark.kubernetes.driverEnvironment.A", _names(jars))


@cache
def _names(jars: Path) -> frozenset[str]:
    """The texts in those classes of Spark that declare properties."""
    found: set[str] = set()
    for jar in (jar for name in ("core", "yarn", "kubernetes") for jar in jars.glob(f"spark-{name}_*.jar")):
        with zipfile.ZipFile(jar) as archive:
            for entry in archive.namelist():
                if re.search(r"(config/package\$|k8s/Config\$|yarn/Client|spark/SparkConf)\.class$", entry):
                    found.update(text.decode() for text in re.findall(rb"spark\.[\w.]+|\.[\w.]+", archive.read(entry)))
    return frozenset(found)


def _is_known(name: str, names: frozenset[str]) -> bool:
    """Whether a property is declared, or begins with a declared prefix, or with one that a declared name ends."""
    parts = ((name[: match.end()], name[match.end() :]) for match in re.finditer(r"\.", name))
    return name in names or any(
        (len(prefix) > len("spark.kubernetes.") and prefix in names) or (prefix[:-1] in names and f".{rest}" in names)
        for prefix, rest in parts
    )


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_variables_of_the_driver_fit_its_settings(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("NESSIE_GC_")]:
        monkeypatch.delenv(name)
    given = {
        key.rpartition(".")[2]: value
        for key, value in properties(cluster).items()
        if re.search(r"\.(appMasterEnv|driverEnv|driver\.secretKeyRef)\.NESSIE_GC_", key)
    }
    file = ["--config", str(SPARK / "nessie-gc.toml")] if cluster == "yarn" else []
    shown = CliRunner().invoke(cli, ["config", "show", "--json", *file], env=given)
    assert 0 == shown.exit_code, shown.output
    used = {found["where"] for found in json.loads(shown.stdout)["settings"] if found["source"] == "environment"}
    assert {f"environment variable {name}" for name in given} == used


def test_the_template_of_the_secret_has_every_name_that_pods_expect() -> None:
    lines = (SPARK / "secrets.env").read_text(encoding="utf-8").splitlines()
    expected = {value for key, value in properties("kubernetes").items() if ".secretKeyRef." in key}
    assert expected == {f"nessie-gc-spark:{line.partition('=')[0]}" for line in lines if not line.startswith("#")}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_nothing_is_done_twice(cluster: str) -> None:
    """A speculative task, and a driver that is started again, would work on what somebody else deletes (S15)."""
    found = properties(cluster)
    assert "false" == found["spark.speculation"]
    assert "1" == found.get("spark.yarn.maxAppAttempts", "1")


@pytest.mark.parametrize("name", ["pod.yaml", "driver-rights.yaml"])
def test_manifests_fit_the_schema(name: str) -> None:
    assert (0, "") == run_program("kubernetes-validate", "--strict", "--quiet", SPARK / name)


def test_pods_run_without_rights() -> None:
    pod = yaml.safe_load((SPARK / "pod.yaml").read_text(encoding="utf-8"))["spec"]
    (container,) = pod["containers"]
    assert (True, 10001, False) == (
        pod["securityContext"]["runAsNonRoot"],
        pod["securityContext"]["runAsUser"],
        pod["enableServiceLinks"],
    )
    assert {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}} == container["securityContext"]


def test_the_image_has_what_kubernetes_starts(tmp_path: Path) -> None:
    image = (ROOT / "examples" / "deployment" / "container" / "Containerfile").read_text(encoding="utf-8")
    (job,) = [word for word in submitted("kubernetes", tmp_path) if word.startswith("local://")]
    assert f"COPY examples/deployment/spark/collect.py {job.removeprefix('local://')}\n" in image
    assert f"PYSPARK_PYTHON={properties('kubernetes')['spark.pyspark.python']} " in image


# ---- the job --------------------------------------------------------------------------------------------
@pytest.fixture
def job(tmp_path: Path) -> Path:
    """A folder with the job, whose settings name a small lake beside it."""
    folder = copytree(SPARK, tmp_path / "job")
    lake = MemoryLake("spark-submit")
    lake.now = datetime.now(UTC) - timedelta(days=30)
    table = lake.table("db.t", location="memory://wh/db/t").append("live.parquet")
    lake.commit("main", put(table.version))
    lake.put("memory://wh/db/t/data/nobody-names-me.parquet")
    history = lake.write_to(tmp_path / "lake")
    (folder / "nessie-gc.toml").write_text(
        f'jdbc-url = "sqlite:///{tmp_path}/live-sets.db"\ndefault-cutoff = "1"\n'
        f'[repository]\nname = "memory"\nhistory_file = "{history}"\n'
    )
    return folder


@pytest.mark.spark
@pytest.mark.thorough
@pytest.mark.timeout(600)
@pytest.mark.parametrize("delete", [True, False])
def test_the_job_for_yarn_collects_a_lake_on_this_machine(
    job: Path, tmp_path: Path, environment: Mapping[str, str], *, delete: bool
) -> None:
    arguments = submitted("yarn", tmp_path, *(["--delete"] if delete else []))
    at = arguments.index("--archives")
    del arguments[at : at + 2]  # the environment of this Python instead
    local = [{"yarn": "local[2]", "cluster": "client"}.get(word, word) for word in arguments]
    conf = [word for key, value in ON_THIS_MACHINE.items() for word in ("--conf", f"{key}={value}")]
    command = [spark_program("spark-submit"), *conf, *local]
    done = subprocess.run(command, cwd=job, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-4000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["deleted" if delete else "would_delete"]["files"] > 0
    garbage = tmp_path / "lake/wh/db/t/data/nobody-names-me.parquet"
    assert (not delete, True) == (garbage.exists(), garbage.with_name("live.parquet").exists())
