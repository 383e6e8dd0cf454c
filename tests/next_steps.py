"""Runs the commands that the program proposes, as somebody does who copies them into a shell."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from cli_runs import Run
from click.testing import Result
from nessie_gc_memory import MemoryLake

T = TypeVar("T")
_MARKED = re.compile(r"'(nessie-gc [^'\n]*)'|`(nessie-gc [^`\n]*)`")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_DELETES = re.compile(r"\bdelet|\bmoves\b")
_DELETES_NOTHING = re.compile(r"\bdeletes (nothing|no file)|\bto delete\b")


def proposes(*steps: str) -> Callable[[T], T]:
    """Says which steps a test runs: the module that proposes it, and the command with the names of its arguments."""
    return lambda test: test


@dataclass(frozen=True, kw_only=True)
class Proposed:
    """A command that was printed."""

    sentence: str
    """The line that names it."""
    command: str
    """As a shell takes it."""

    @property
    def arguments(self) -> Sequence[str]:
        """What a shell makes of it, without the program."""
        script = f'nessie-gc() {{ printf "%s\\0" "$@"; }}\n{self.command}\n'
        said = subprocess.run(["bash", "-c", script], check=True, capture_output=True, text=True)
        return said.stdout.split("\0")[:-1]


def proposed_in(text: str) -> list[Proposed]:
    """All commands in what was printed; each is on one line, between quotes."""
    found = [
        Proposed(sentence=line, command=match[1] or match[2])
        for line in text.splitlines()
        for match in _MARKED.finditer(line)
    ]
    marked = sum(each.command.count("nessie-gc ") for each in found)
    assert marked == len(re.findall(r"(?<![/\w-])nessie-gc [a-z]", text)), (
        f"a command is broken or without quotes: {text}"
    )
    return found


@dataclass(frozen=True, kw_only=True)
class NextSteps:
    """Runs what the program proposes over a simulated lake of this process."""

    run: Run
    files: Callable[[], Collection[object]]
    """The files that are there."""
    env: Mapping[str, str]
    """The environment of the person's shell."""

    def follow(self, said: str | Result, beginning: str, *, code: int = 0, more: Sequence[str] = ()) -> Result:
        """Runs the only command of a text that begins so; if files are gone then, its sentence said so.

        Args:
            said: the text, or the result that has it.
            beginning: of the command, without the program; ``ID`` stands for any id.
            code: the exit code that it promises.
            more: options that keep a command from going on for ever.
        """
        text = said if isinstance(said, str) else said.output
        wanted = f"nessie-gc {beginning} "
        meant = [each for each in proposed_in(text) if _ID.sub("ID", f"{each.command} ").startswith(wanted)]
        assert 1 == len({each.command for each in meant}), text
        before = set(self.files())
        result = self.run(*meant[0].arguments, *more, env=dict(self.env))
        assert code == result.exit_code, f"{meant[0].command}: {result.output}"
        if len(before) > len(set(self.files())):  # a file that comes back from quarantine is gone from there
            assert says_it_deletes(meant[0]), meant[0].sentence
        return result


def says_it_deletes(proposed: Proposed) -> bool:
    """Whether a sentence says, after the command or before it, that files go."""
    return _DELETES.search(_DELETES_NOTHING.sub("", proposed.sentence.replace(proposed.command, ""))) is not None


def steps_over(lake: MemoryLake, run: Run) -> NextSteps:
    """The same over a lake in memory, with the local engine."""
    return NextSteps(run=run, files=lambda: frozenset(lake.paths()), env={"NESSIE_GC_ENGINE": "local"})
