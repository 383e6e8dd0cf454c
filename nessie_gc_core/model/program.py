"""This program once more, as a command for another process."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path


def own_command() -> tuple[str, ...]:
    """The command that starts this program with the same packages, and with nothing of the folder that it starts in.

    The single executable file has its packages inside: only the file itself starts it.
    """
    program = Path(sys.argv[0])
    if program.is_file() and zipfile.is_zipfile(program):
        return sys.executable, str(program.absolute())
    return sys.executable, "-P", "-m", "nessie_gc_core"
