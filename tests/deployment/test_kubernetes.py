"""The manifests for Kubernetes: rendered by kustomize, valid by Kubernetes' own schemas, and with few rights."""

from __future__ import annotations

import base64
import json
import os
import re
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from deployment.programs import run_program
from docs.commands import parse, without_configuration
from docs.pages import ROOT

from nessie_gc_core.cli.main import cli
from nessie_gc_core.model.policies import parse_duration
from nessie_gc_core.services.schedule.conduct import Patience
from nessie_gc_core.services.schedule.telling.listeners import LISTENERS_SECONDS

KUBERNETES = ROOT / "examples" / "deployment" / "kubernetes"
VARIANTS = ("base", "postgresql", "schedule", "schedule-once")
VERSIONS = ("1.33.0", "1.37.0")
"""The oldest and the newest Kubernetes whose schemas the manifests have to fit."""
KINDS = ["Namespace", "ServiceAccount", "ConfigMap", "Secret", "PersistentVolumeClaim", "CronJob", "Deployment"]
WITH_CRON_JOB = [name for name in VARIANTS if name != "schedule"]
DAY_SECONDS = 24 * 60 * 60

Manifest = dict[str, Any]


def render(variant: str) -> str:
    """What ``kubectl apply -k`` would send."""
    code, said = run_program("kubectl", "kustomize", KUBERNETES / variant)
    assert 0 == code, said
    return said


@pytest.fixture(scope="module", params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def manifests(variant: str) -> dict[str, Manifest]:
    """The rendered manifests, by their kind."""
    return {manifest["kind"]: manifest for manifest in yaml.safe_load_all(render(variant))}


def cron_job(variant: str) -> Manifest:
    (found,) = [each["spec"] for each in yaml.safe_load_all(render(variant)) if each["kind"] == "CronJob"]
    return dict(found)


@pytest.fixture
def pod(manifests: dict[str, Manifest]) -> Manifest:
    own = manifests.get("Deployment") or manifests["CronJob"]["spec"]["jobTemplate"]
    found: Manifest = own["spec"]["template"]["spec"]
    return found


@pytest.fixture
def container(pod: Manifest) -> Manifest:
    (found,) = pod["containers"]
    return dict(found)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_manifest_fits_the_schema(variant: str, version: str, tmp_path: Path) -> None:
    rendered = tmp_path / "rendered.yaml"
    rendered.write_text(render(variant), encoding="utf-8")
    assert (0, "") == run_program("kubernetes-validate", "--strict", "--quiet", "-k", version, rendered)


def test_that_check_finds_a_field_that_does_not_exist(tmp_path: Path) -> None:
    misspelt = tmp_path / "misspelt.yaml"
    text = (KUBERNETES / "base" / "cronjob.yaml").read_text(encoding="utf-8")
    misspelt.write_text(text.replace("concurrencyPolicy", "concurencyPolicy"), encoding="utf-8")
    code, said = run_program("kubernetes-validate", "--strict", misspelt)
    assert (1, True) == (code, "concurencyPolicy" in said)


def test_a_database_needs_no_volume(manifests: dict[str, Manifest], variant: str) -> None:
    absent = {"CronJob" if variant == "schedule" else "Deployment"}
    absent |= set() if variant == "base" else {"PersistentVolumeClaim"}
    assert [kind for kind in KINDS if kind not in absent] == sorted(manifests, key=KINDS.index)


@pytest.mark.parametrize("name", WITH_CRON_JOB)
def test_one_job_at_a_time_runs_and_is_not_repeated_before_somebody_has_looked(name: str) -> None:
    job = cron_job(name)
    assert ("Forbid", 0) == (job["concurrencyPolicy"], job["jobTemplate"]["spec"]["backoffLimit"])
    assert job["successfulJobsHistoryLimit"] <= job["failedJobsHistoryLimit"] <= 10


@pytest.mark.parametrize("name", WITH_CRON_JOB)
def test_an_endless_run_ends_before_the_next_night(name: str) -> None:
    assert 0 < cron_job(name)["jobTemplate"]["spec"]["activeDeadlineSeconds"] < DAY_SECONDS


@pytest.mark.parametrize("name", ["base", "postgresql"])
def test_the_first_run_deletes_nothing(name: str) -> None:
    assert tomllib.loads((KUBERNETES / name / "nessie-gc.toml").read_text(encoding="utf-8"))["dry-run"]


def test_a_scheduler_has_time_to_end_its_runs(pod: Manifest) -> None:
    assert pod["terminationGracePeriodSeconds"] > Patience().stop + Patience().last + LISTENERS_SECONDS


def test_one_scheduler_is_asked_for_its_metrics_where_it_serves_them() -> None:
    manifests = {manifest["kind"]: manifest for manifest in yaml.safe_load_all(render("schedule"))}
    deployment = manifests["Deployment"]["spec"]
    (container,) = deployment["template"]["spec"]["containers"]
    assert (1, "Recreate") == (deployment["replicas"], deployment["strategy"]["type"])
    settings = tomllib.loads(manifests["ConfigMap"]["data"]["nessie-gc.toml"])["schedule"]
    assert [{"name": "metrics", "containerPort": settings["metrics-port"]}] == container["ports"]
    assert {"path": "/metrics", "port": "metrics"} == container["readinessProbe"]["httpGet"]
    assert ("0.0.0.0", False) == (settings["metrics-host"], "livenessProbe" in container)


def test_a_scheduler_that_is_called_waits_longer_than_all_its_jobs_may_take() -> None:
    file = tomllib.loads((KUBERNETES / "schedule-once" / "nessie-gc.toml").read_text(encoding="utf-8"))
    limits = [parse_duration(job["time-limit"]).total_seconds() for job in file["schedule"]["jobs"].values()]
    assert cron_job("schedule-once")["jobTemplate"]["spec"]["activeDeadlineSeconds"] > sum(limits)


def test_the_pod_meets_the_restricted_standard(pod: Manifest, container: Manifest) -> None:
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] > 0
    assert {"type": "RuntimeDefault"} == pod["securityContext"]["seccompProfile"]
    expected = {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert expected == container["securityContext"]
    allowed = {"configMap", "emptyDir", "persistentVolumeClaim"}
    assert [] == [volume for volume in pod["volumes"] if set(volume) - {"name"} - allowed]
    assert set() == {"hostNetwork", "hostPID", "hostIPC"} & set(pod)


def test_the_pod_gets_no_token_and_no_variables_of_services(manifests: dict[str, Manifest], pod: Manifest) -> None:
    assert [False, False] == [pod["automountServiceAccountToken"], pod["enableServiceLinks"]]
    assert False is manifests["ServiceAccount"]["automountServiceAccountToken"]
    assert manifests["ServiceAccount"]["metadata"]["name"] == pod["serviceAccountName"]


def test_its_command_exists_and_reads_the_mounted_settings(
    manifests: dict[str, Manifest], pod: Manifest, container: Manifest
) -> None:
    arguments = container["args"]
    parse(without_configuration(arguments), "cronjob.yaml")
    file = PurePosixPath(arguments[arguments.index("--config") + 1])
    (mount,) = [mount for mount in container["volumeMounts"] if mount["mountPath"] == str(file.parent)]
    (volume,) = [volume for volume in pod["volumes"] if volume["name"] == mount["name"]]
    assert mount["readOnly"]
    assert manifests["ConfigMap"]["metadata"]["name"] == volume["configMap"]["name"]
    assert file.name in manifests["ConfigMap"]["data"]


def test_everything_that_it_writes_is_on_a_volume(manifests: dict[str, Manifest], container: Manifest) -> None:
    writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert {"/tmp", "/var/lib/nessie-gc"} == writable
    settings = tomllib.loads(manifests["ConfigMap"]["data"]["nessie-gc.toml"])
    written = [settings["jdbc-url"].removeprefix("sqlite:///"), settings.get("outcomes-to", "/tmp/none")]
    for path in written:
        assert path.startswith("jdbc:postgresql:") or str(PurePosixPath(path).parent) in writable


def test_settings_and_secrets_fit_together(
    manifests: dict[str, Manifest], container: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("NESSIE_GC_")]:
        monkeypatch.delenv(name)
    assert [{"secretRef": {"name": manifests["Secret"]["metadata"]["name"]}}] == container["envFrom"]
    variables = {name: base64.b64decode(text).decode() for name, text in manifests["Secret"]["data"].items()}
    file = tmp_path / "nessie-gc.toml"
    file.write_text(manifests["ConfigMap"]["data"]["nessie-gc.toml"], encoding="utf-8")
    shown = CliRunner().invoke(cli, ["config", "show", "--json", "--config", str(file)], env=variables)
    assert 0 == shown.exit_code, shown.output
    used = {
        found["where"].removeprefix("environment variable ")
        for found in json.loads(shown.stdout)["settings"]
        if found["source"] == "environment"
    }
    assert {name for name in variables if name.startswith("NESSIE_GC_")} == used


def test_the_settings_hold_no_secret() -> None:
    for path in KUBERNETES.rglob("*.toml"):
        assert not re.search(r"^\s*\S*(password|secret|token)\S*\s*=", path.read_text(encoding="utf-8"), re.MULTILINE)
