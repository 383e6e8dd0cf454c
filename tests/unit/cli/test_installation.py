from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import Run, one_line
from nessie_gc_memory import MemoryLake, delete, put

from nessie_gc_core import __version__


@pytest.fixture
def broken_plugin(tmp_path: Path) -> Path:
    """A folder with an installed distribution whose plugin cannot be imported."""
    folder = tmp_path / "site"
    info = folder / "nessie_gc_tape-9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nessie-gc-tape\nVersion: 9\n")
    (info / "entry_points.txt").write_text("[nessie_gc]\ntape = nessie_gc_tape\n")
    (folder / "nessie_gc_tape.py").write_text("import a_library_that_is_missing\n")
    return folder


def with_broken_plugin(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "nessie_gc_core", *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )


def test_plugins_shows_what_is_installed_with_all_options(run: Run) -> None:
    shown = run("plugins").stdout
    assert f"core: nessie-gc-core {__version__}, works" in shown
    assert "visited-deduplicator exact" in shown
    assert "  capacity [20000000]: how many commits to remember" in shown
    assert "(may be secret)" in shown


def test_plugins_shows_what_is_broken_and_why(broken_plugin: Path) -> None:
    done = with_broken_plugin(broken_plugin, "plugins")
    said = "tape: nessie-gc-tape 9, broken: ModuleNotFoundError: No module named 'a_library_that_is_missing'"
    assert (0, True) == (done.returncode, said in done.stdout.splitlines())
    (tape,) = [
        plugin
        for plugin in json.loads(with_broken_plugin(broken_plugin, "plugins", "--json").stdout)["plugins"]
        if plugin["name"] == "tape"
    ]
    assert "9" == tape["version"]


def test_plugins_shows_defaults_that_are_durations_and_instants_as_text(run: Run) -> None:
    connectors = json.loads(run("plugins", "--json").stdout)["connectors"]
    (options,) = (each["options"] for each in connectors if (each["kind"], each["name"]) == ("file-lister", "mock"))
    defaults = {option["name"]: option["default"] for option in options}
    assert ("PT10M", "2025-01-01T00:00:00Z") == (defaults["interval"], defaults["newest"])


def test_a_broken_plugin_breaks_only_those_who_ask_for_it(broken_plugin: Path) -> None:
    assert 0 == with_broken_plugin(broken_plugin, "list").returncode
    done = with_broken_plugin(broken_plugin, "mark", "--repository", "tape")
    assert 2 == done.returncode
    assert "broken plugins: tape (ModuleNotFoundError: No module named 'a_library_that_is_missing')" in done.stderr


def test_check_reaches_everything_and_touches_nothing(run: Run, lake: MemoryLake) -> None:
    before = lake.paths()
    arguments = ("check", "--repository", "memory", "--allow", "memory://warehouse/", "--engine", "local")
    result = run(*arguments)
    assert 0 == result.exit_code, result.stdout
    assert "ok      repository: memory:default has 1 reference" in result.stdout
    assert "ok      live-set store: it has no live set yet" in result.stdout
    assert "ok      memory://warehouse/: it has files" in result.stdout
    assert "ok      engine local: local runs, and its workers have the same plugins" in result.stdout
    assert before == lake.paths()
    assert 0 == json.loads(run(*arguments, "--json").stdout)["exit_code"]


def test_check_blames_no_worker_for_what_cannot_be_listed_anywhere(run: Run, lake: MemoryLake) -> None:
    result = run("check", "--repository", "memory", "--allow", "sftp://nobody.invalid/lake/", "--engine", "local")
    assert "failed  sftp://nobody.invalid/lake/: nothing is sent for sftp locations" in result.stdout
    assert "ok      engine local: local runs" in result.stdout


def test_s06_check_warns_of_a_branch_whose_tables_may_be_hidden(run: Run, lake: MemoryLake) -> None:
    lake.branch("another", at=None)
    lake.commit("another", put(lake.table("db.u", location="memory://warehouse/db/u").append("u.parquet").version))
    lake.commit("main", delete("db.t"))
    result = run("check", "--repository", "memory", "--engine", "local")
    (line,) = (line for line in result.stdout.splitlines() if "repository:" in line)
    assert line.startswith("warn    repository: memory:default has 2 references; no table is visible at main; ")
    assert "their files would be deleted: grant it all contents (in Nessie READ_CONTENT_KEY)" in line


def test_check_says_that_it_cannot_know_of_what_is_hidden(run: Run, lake: MemoryLake) -> None:
    result = run("check", "--repository", "memory", "--engine", "local")
    assert "1 reference; not tried: whether this account sees all of them, and all contents\n" in result.stdout


def test_check_goes_on_after_a_failure_and_says_all(run: Run, lake: MemoryLake, home: Path) -> None:
    (home / "file").write_text("")
    lake.faults.references = ConnectionError("no answer")
    nowhere = ("--jdbc-url", f"sqlite:///{home}/file/in/a/file.db", "--allow", "ftp://x/")
    result = run("check", "--repository", "memory", *nowhere, "--connect-timeout", "PT1S", "--engine", "local")
    lines = result.stdout.splitlines()
    assert (1, 7) == (result.exit_code, len(lines))
    assert ["plugins"] == [line.split()[1].rstrip(":") for line in lines if line.startswith("ok")]
    assert ["warn    reading: not tried: the repository cannot be read"] == [
        line for line in lines if not line.startswith(("ok      ", "failed  "))
    ]


SCHEDULE = """
[schedule.jobs.collect]
service = "gc"
every = "P1D"
options = { allow = ["memory://warehouse/"] }
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", "ok      schedule: valid; 1 job"),
        ("allow", "retain-last", "failed  schedule: nessie-gc.toml: [schedule.jobs.collect]: the service 'gc' has no"),
        ('"gc"', '"tidy"', "warn    schedule: the service 'tidy' of the job 'collect' is not installed"),
        ('"gc"', '"sweep"', "failed  schedule: the job 'collect' names no live set for 'sweep', so it can never run"),
        ('"gc"', '"expire"', "failed  schedule: the job 'collect' names no live set for 'sweep', so it can never run"),
        ('"gc"', '"deferred-deletes"', "failed  schedule: the job 'collect' names no live set"),
        (
            '"gc"\nevery = "P1D"\noptions = { ',
            '"sweep"\nevery = "P1D"\noptions = { read-live-set-id-from = "id", ',
            "ok      schedule: valid; 1 job",
        ),
    ],
)
def test_s27_check_reads_the_schedule(run: Run, lake: MemoryLake, home: Path, old: str, new: str, said: str) -> None:
    (home / "nessie-gc.toml").write_text(SCHEDULE.replace(old, new))
    result = run("check", "--repository", "memory", "--engine", "local")
    assert said in result.stdout
    assert int(said.startswith("failed")) == result.exit_code


@pytest.mark.parametrize(
    ("service", "lacks"),
    [
        ("delete-unreferenced", "--table is missing"),
        ("report", "--table is missing"),
        ("remove-orphan-files", "--table is missing"),
        ("compact", "--catalog is missing"),
        ("rewrite-manifests", "--catalog is missing"),
        ("explain", "--file is missing"),
        ("restore", "say which files to restore"),
        ("import-java", "--java-time-zone is missing"),
        ("internal-gc", "--nessie-jdbc-url is missing"),
        ("prune", "--older-than is missing"),
    ],
)
def test_s27_check_refuses_a_job_of_any_service_that_can_never_run(
    run: Run, lake: MemoryLake, home: Path, service: str, lacks: str
) -> None:
    (home / "nessie-gc.toml").write_text(f"[schedule.jobs.a]\nservice = '{service}'\nevery = 'P1D'\n")
    result = run("check", "--repository", "memory", "--engine", "local")
    (line,) = (line for line in result.stdout.splitlines() if "schedule:" in line)
    assert line.startswith(f"failed  schedule: the job 'a' can never run as '{service}': {lacks}")
    assert 1 == result.exit_code


@pytest.mark.parametrize(
    ("service", "options"),
    [
        ("delete-unreferenced", "table = 'nessie.gc.unreferenced'"),
        ("compact", "catalog = 'lake'"),
        ("prune", "prune-older-than = 'P90D'"),
        ("health", ""),
        ("autotag", ""),
        ("expire-snapshots", "older-than = 'P30D'"),
    ],
)
def test_check_accepts_jobs_that_have_what_their_services_need(
    run: Run, lake: MemoryLake, home: Path, service: str, options: str
) -> None:
    file = f"[schedule.jobs.a]\nservice = '{service}'\nevery = 'P1D'\noptions = {{ {options} }}\n"
    (home / "nessie-gc.toml").write_text(file)
    result = run("check", "--repository", "memory", "--engine", "local")
    assert "ok      schedule: valid; 1 job" in result.stdout.splitlines()


def test_check_asks_about_what_a_sweep_would_list(run: Run, lake: MemoryLake, home: Path) -> None:
    folder = home / "real" / "warehouse"
    folder.mkdir(parents=True)
    (folder / "x.parquet").write_text("")
    (home / "link").symlink_to(folder)
    places = (f"file://{home}/link", f"{home}/link/", f"lake://{home}/real/warehouse", f"lake://{home}/link")
    arguments = [argument for place in places for argument in ("--allow", place)]
    scheme = ("--scheme-alias", "lake=file", "--engine", "local")
    result = run("check", "--repository", "memory", "--inmemory", *scheme, *arguments, "--json")
    found = {check["name"]: check["detail"] for check in json.loads(result.stdout)["checks"]}
    said = "it has files, such as x.parquet; not tried: deleting"
    assert dict.fromkeys(places, said) == {place: found.get(place) for place in places}
    assert 0 == result.exit_code, result.stdout


def test_check_says_what_would_never_be_swept(run: Run, lake: MemoryLake) -> None:
    place = "memory://warehouse/db/../t"
    result = run("check", "--repository", "memory", "--inmemory", "--engine", "local", "--allow", place)
    assert f"failed  {place}: it is never swept: " in result.stdout
    assert 1 == result.exit_code


def test_check_names_a_broken_plugin(broken_plugin: Path, tmp_path: Path) -> None:
    done = with_broken_plugin(broken_plugin, "check", "--repository", "memory", "--inmemory", "--engine", "local")
    assert 1 == done.returncode
    assert "failed  plugins: broken: tape (ModuleNotFoundError" in done.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_written_and_never_written_over(run: Run, home: Path, shell: str) -> None:
    assert 0 == run("completion-script", "-O", "script", "--shell", shell).exit_code
    assert "_NESSIE_GC_COMPLETE" in (home / "script").read_text()
    again = run("completion-script", "-O", "script", "--shell", shell)
    assert (1, "script already exists; name another file, or remove it") == (again.exit_code, one_line(again))


def test_the_completion_script_works_in_bash(run: Run, home: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    run("completion-script", "-O", "script")
    asked = (
        "source ./script; COMP_WORDS=(nessie-gc sw); COMP_CWORD=1; "
        '_nessie_gc_completion nessie-gc; echo "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run([bash, "-c", asked], capture_output=True, text=True, check=True, env={"PATH": path})
    assert "sweep\n" == done.stdout


@pytest.mark.parametrize("flag", ["--version", "-V"])
@pytest.mark.parametrize("command", [(), ("gc",)])
def test_the_version_is_printed_everywhere(run: Run, flag: str, command: tuple[str, ...]) -> None:
    assert f"nessie-gc {__version__}\n" == run(*command, flag).stdout


def test_without_a_command_the_help_is_shown(run: Run) -> None:
    result = run()
    assert (2, True) == (result.exit_code, "deferred-deletes" in result.output)


def test_the_help_has_sections_and_hides_what_is_refused(run: Run) -> None:
    shown = run("gc", "-h").stdout
    assert ["Examples:", "Repository:", "Mark:", "Sweep:", "Safety limits:", "Tables:"] == [
        line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")
    ][:6]
    assert "--hadoop" not in shown
