"""The container file: hadolint finds nothing, it installs what exists, and its steps run on a machine without it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from deployment.programs import run_program
from docs.bare_machine import BareMachine
from docs.commands import parse
from docs.pages import ROOT

CONTAINERFILE = ROOT / "examples" / "deployment" / "container" / "Containerfile"
OURS = re.compile(r"(?<=[ '])(nessie-gc-[\w-]+)(?:\[([\w,]+)\])?")
"""A distribution of this repository among the arguments of pip, and its extras."""
IN_NO_IMAGE = {"nessie-gc-memory", "nessie-gc-airflow"}
"""One is for tests, and the other one runs where Airflow does."""


@dataclass(slots=True)
class Stage:
    """A stage of the file: each instruction with its arguments."""

    parent: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        return [arguments for name, arguments in self.steps if name == instruction]


def stages() -> dict[str, Stage]:
    """The stages by their names, in order."""
    text = re.sub(r"^#.*\n", "", CONTAINERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: dict[str, Stage] = {}
    for line in re.sub(r"\\\n\s*", "", text).splitlines():
        name, _, arguments = line.partition(" ")
        if name == "FROM":
            parent, _, stage = arguments.partition(" AS ")
            found[stage] = Stage(parent)
        elif name and found:
            found[stage].steps.append((name, arguments))
    return found


def ancestry(stage: str) -> list[Stage]:
    """A stage after those that it begins with."""
    own = stages()
    return [*ancestry(own[stage].parent), own[stage]] if stage in own else []


def installed_by(stage: Stage) -> dict[str, set[str]]:
    """The distributions of this repository that a stage installs, with their extras."""
    lines = " ".join(line for line in stage.all("RUN") if "pip install" in line)
    found = re.findall(OURS, lines.partition("pip install")[2])
    installed: dict[str, set[str]] = {}
    for name, extras in found:
        installed.setdefault(name, set()).update(filter(None, extras.split(",")))
    return installed


def distributions() -> dict[str, set[str]]:
    """The distributions of this repository, with their extras."""
    files = [ROOT / "pyproject.toml", *ROOT.glob("plugins/*/pyproject.toml")]
    projects = [tomllib.loads(path.read_text(encoding="utf-8"))["project"] for path in files]
    return {project["name"]: set(project.get("optional-dependencies", ())) for project in projects}


IMAGES = [name for name, stage in stages().items() if name not in ("wheels", "distribution")]
"""The stages that somebody runs."""


def test_hadolint_finds_nothing() -> None:
    assert (0, "") == run_program("hadolint", "--no-color", CONTAINERFILE)


def test_hadolint_would_find_an_unpinned_distribution(tmp_path: Path) -> None:
    changed = tmp_path / "Containerfile"
    text = CONTAINERFILE.read_text(encoding="utf-8")
    changed.write_text(text.replace("--constraint /wheels/constraints.txt", ""), encoding="utf-8")
    assert "DL3013" in run_program("hadolint", changed)[1]


@pytest.mark.parametrize("name", IMAGES)
def test_every_distribution_and_extra_that_a_stage_installs_exists(name: str) -> None:
    for distribution, extras in installed_by(stages()[name]).items():
        assert set() == extras - distributions()[distribution]


def test_the_stages_together_install_every_distribution() -> None:
    installed = {name for stage in ancestry("executor") for name in installed_by(stage)}
    assert set(distributions()) - IN_NO_IMAGE == installed


def test_every_distribution_of_ours_comes_from_the_checkout() -> None:
    local: set[str] = set()
    for stage in ancestry("executor"):
        commands = [command for line in stage.all("RUN") for command in line.split(" && ") if "pip install" in command]
        for command in commands:
            names = {name for name, _ in re.findall(OURS, command)}
            if "--no-index" in command:
                local |= names
            assert names <= local
            assert "--constraint /wheels/constraints.txt" in command


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_runs_as_a_numbered_user_without_rights(name: str) -> None:
    users = [user for stage in ancestry(name) for user in stage.all("USER")]
    assert "10001:10001" == users[-1]


@pytest.mark.parametrize("name", [name for name in IMAGES if name != "executor"])
def test_an_image_is_the_program(name: str) -> None:
    last = {each: [line for stage in ancestry(name) for line in stage.all(each)][-1] for each in ("ENTRYPOINT", "CMD")}
    assert ["nessie-gc"] == json.loads(last["ENTRYPOINT"])
    parse(json.loads(last["CMD"]), name)


def test_a_build_without_a_target_gives_the_program_with_all_plugins() -> None:
    assert ("nessie-gc", "catalogs") == (list(stages())[-1], list(stages().values())[-1].parent)


def test_it_writes_to_a_volume_and_to_the_temporary_folder_only() -> None:
    (core,) = ancestry("core")
    variables = dict(pair.split("=", 1) for pair in core.all("ENV")[0].split())
    assert ("/tmp", "/var/lib") == (variables["HOME"], variables["XDG_DATA_HOME"])
    assert ["/var/lib/nessie-gc"] == core.all("VOLUME") == core.all("WORKDIR")


def test_what_is_copied_exists_and_is_sent_to_the_builder() -> None:
    ignored = CONTAINERFILE.with_name("Containerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    lines = [line for stage in stages().values() for line in stage.all("COPY") if not line.startswith("--from")]
    copied = {source for line in lines for source in line.split()[:-1]}
    assert copied == sent
    assert [] == [source for source in copied if not (ROOT / source).exists()]


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_steps_that_need_no_builder_install_the_program_with_its_plugins(tmp_path: Path) -> None:
    """They run on a machine on which the libraries are there, and nothing of this project."""
    machine = BareMachine.make(tmp_path, os.environ)
    wheels = tmp_path / "wheels"
    for stage in (stages()["wheels"], *ancestry("spark")):
        for line in stage.all("RUN"):
            if "pip " in line or "constraints.txt" in line:
                _run_step(machine, line, wheels)
    plugins = json.loads(machine.run("nessie-gc", "plugins", "--json"))
    assert [] == [plugin for plugin in plugins["plugins"] if plugin.get("error")]
    names = {plugin["name"] for plugin in plugins["plugins"]}
    assert {"core", "nessie", "iceberg-files", "iceberg-catalog", "jdbc", "internal"} == names


def _run_step(machine: BareMachine, line: str, wheels: Path) -> None:
    """Runs a step where paths of the image are those of the machine."""
    step = re.sub(r"^(--mount=\S+\s+)+", "", line).replace("/wheels", str(wheels))
    folder = machine.checkout if "pip wheel" in step else wheels
    step = step.replace("${SPARK}", _installed_spark(machine))
    done = subprocess.run(
        ["sh", "-euc", step], cwd=folder, env=machine.environment, capture_output=True, text=True, check=False
    )
    assert 0 == done.returncode, step + done.stderr[-4000:]
    assert "does not provide the extra" not in done.stderr


def _installed_spark(machine: BareMachine) -> str:
    return machine.run("python", "-c", "import pyspark; print(pyspark.__version__)").strip()
