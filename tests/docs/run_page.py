"""``python run_page.py PAGE``: runs a page's blocks, in order, in the working directory; names the one that fails.

Python blocks share one namespace; console blocks are run by bash, and what they print is compared where the page
shows it; TOML blocks are read as configuration files.

``python run_page.py PAGE MODULE...``: Python has no such modules; blocks that import one themselves are left out.
"""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
import traceback
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from pages import Block, blocks

_LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


class _Without(MetaPathFinder):
    """Finds no module of some names, nor what is in it."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None

    def is_wanted(self, block: Block) -> bool:
        """Whether a block says itself that it needs one."""
        names = "|".join(map(re.escape, self._names))
        return bool(names) and re.search(rf"^(?:import|from) (?:{names})\b", block.text, re.MULTILINE) is not None


def main() -> int:
    namespace: dict[str, object] = {"__name__": "__page__"}
    without = _Without(sys.argv[2:])
    sys.meta_path.insert(0, without)
    for block in blocks(Path(sys.argv[1])):
        if not block.is_run or without.is_wanted(block):
            continue
        try:
            _run(block, namespace)
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a block raises is the page's failure
            sys.stderr.write(f"{block.page.name}, the {block.language} block in line {block.line}:\n")
            traceback.print_exc()
            return 1
    return 0


def _run(block: Block, namespace: dict[str, object]) -> None:
    if block.language == "python":
        exec(compile(block.text, f"{block.page.name}:{block.line}", "exec"), namespace)
    elif block.language == "console":
        _run_console(block)
    elif block.language == "toml":
        _read_config(block)
    elif block.language == "json":
        json.loads(block.text)
    else:
        raise ValueError(f"blocks of {block.language!r} are not run; say why with <!-- not run: REASON -->")


def _run_console(block: Block) -> None:
    commands = list(block.commands())
    for number, (command, wanted) in enumerate(commands, start=1):
        expected = block.exit_code if number == len(commands) else 0
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        said = f"{command}\nended with {done.returncode} and printed:\n{done.stdout}{done.stderr}"
        assert expected == done.returncode, said
        if wanted.strip():
            shown = (done.stdout, done.stdout + done.stderr)
            assert any(doctest.OutputChecker().check_output(wanted, text, _LIKE) for text in shown), said


def _read_config(block: Block) -> None:
    from nessie_gc_core.cli.command import known_options
    from nessie_gc_core.cli.main import cli
    from nessie_gc_core.config.file import ConfigFile

    Path("block.toml").write_text(block.text, encoding="utf-8")
    ConfigFile.read(Path("block.toml"), known_options(cli))


if __name__ == "__main__":
    sys.exit(main())
