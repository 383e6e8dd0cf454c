from __future__ import annotations

import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

from nessie_gc_core import __version__
from nessie_gc_core.model.program import own_command


def test_s28_nothing_comes_from_the_folder_that_it_starts_in(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('somebody else')")
    assert __version__ in said_by(own_command(), "--version", folder=tmp_path)


def test_the_single_executable_file_starts_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "__main__.py").write_text("import sys; print('itself', *sys.argv[1:])")
    zipapp.create_archive(tmp_path / "source", tmp_path / "nessie-gc", interpreter="/usr/bin/env python3")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["nessie-gc", "schedule", "run"])
    assert "itself gc --json\n" == said_by(own_command(), "gc", "--json", folder=tmp_path / "source")


def said_by(command: tuple[str, ...], *arguments: str, folder: Path) -> str:
    return subprocess.run([*command, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout
