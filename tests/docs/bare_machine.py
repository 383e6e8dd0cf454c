"""A machine on which nothing of this project is installed, and a copy of the checkout on it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from docs.pages import ROOT

_COPIED = ("nessie_gc_core", "plugins", "examples", "binder", "pyproject.toml", "README.md", "LICENSE")
_OURS = re.compile(r"_*(editable)?_*nessie[-_]gc", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class BareMachine:
    """A Python with the libraries of this one, linked, so that none is downloaded; and a checkout."""

    prefix: Path
    checkout: Path
    environment: Mapping[str, str]

    @classmethod
    def make(cls, folder: Path, environment: Mapping[str, str]) -> BareMachine:
        """Makes one in an empty folder, with a user's environment."""
        prefix, checkout, libraries = folder / "python", folder / "checkout", folder / "libraries"
        venv.create(prefix, symlinks=True, with_pip=True)
        (site,) = prefix.glob("lib/python*/site-packages")
        (site / "libraries.pth").write_text(f"{libraries}\n", encoding="utf-8")
        libraries.mkdir()
        for entry in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if not _OURS.match(entry.name) and not (site / entry.name).exists() and entry.suffix != ".pth":
                (libraries / entry.name).symlink_to(entry)
        for name in _COPIED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__", "tests"))
            else:
                shutil.copy(ROOT / name, checkout)
        own = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
        return cls(
            prefix,
            checkout,
            {
                **own,
                "PATH": f"{prefix / 'bin'}{os.pathsep}{own['PATH']}",
                "PYSPARK_PYTHON": str(prefix / "bin" / "python"),
                "PIP_NO_BUILD_ISOLATION": "0",  # means: none; what builds wheels is linked as well
                "TMPDIR": str(folder),
            },
        )

    def run(self, *command: str | Path, folder: str = ".") -> str:
        """Runs a command in a folder of the checkout; gives what it printed."""
        done = subprocess.run(
            command, cwd=self.checkout / folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert 0 == done.returncode, done.stdout[-2000:] + done.stderr[-6000:]
        return done.stdout
