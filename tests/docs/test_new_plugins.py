"""``nessie-gc new-plugin`` writes packages that work as they are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from docs.packages import built, run
from docs.pages import ROOT

from nessie_gc_core import __version__
from nessie_gc_core.plugins.starting import KINDS_OF_PLUGINS, write_plugin


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built core, unpacked as pip would."""
    return built(ROOT, tmp_path_factory.mktemp("core"))


def written(kind: str, folder: Path) -> Path:
    write_plugin("my-lake", kind, folder, version=__version__)
    return folder / "nessie-gc-my-lake"


@pytest.mark.parametrize("kind", KINDS_OF_PLUGINS)
def test_a_new_plugin_passes_ruff(kind: str, tmp_path: Path) -> None:
    folder = written(kind, tmp_path)
    for command in (["check"], ["format", "--check"]):
        done = run([sys.executable, "-m", "ruff", *command, "--no-cache", str(folder)], tmp_path)
        assert 0 == done.returncode, done.stdout + done.stderr


# In every run a few tests of each kind; nox -s thorough runs the whole kit.
@pytest.mark.thorough(whole=True)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", KINDS_OF_PLUGINS)
def test_a_new_plugin_is_built_and_passes_its_tests(kind: str, whole: bool, core: Path, tmp_path: Path) -> None:
    folder = written(kind, tmp_path / "new")
    site = built(folder, tmp_path / "wheel")
    command = [sys.executable, "-m", "pytest", "-c", str(folder / "pyproject.toml"), "-q", "-p", "no:cacheprovider"]
    chosen = [] if whole else ["-k", "every or new or command"]
    done = run([*command, *chosen, str(folder / "tests")], tmp_path, core, site)
    assert (0, True) == (done.returncode, " passed" in done.stdout), done.stdout + done.stderr


@pytest.mark.parametrize("kind", ["store", "service"])
def test_a_new_plugin_is_found_by_its_entry_point(kind: str, core: Path, tmp_path: Path) -> None:
    site = built(written(kind, tmp_path / "new"), tmp_path / "wheel")
    done = run([sys.executable, "-m", "nessie_gc_core", "plugins"], tmp_path, core, site)
    assert "my-lake: nessie-gc-my-lake 0.1.0, works" in done.stdout.splitlines(), done.stdout + done.stderr
