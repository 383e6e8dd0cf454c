"""Commands that a text proposes to run next: the one place that writes them.

A text of the core names a command as a call: `` `sweep(resume=True, live_set_id=...)` ``. Where only the command line
has it, it is a command: `` `nessie-gc schedule list` ``. ``nessie_gc_core.config.flags`` shows both as commands that a
shell runs, with the options of the run that proposes them.

A command that deletes files is named in a sentence that says so. ``tests/unit/cli/test_next_steps.py`` runs each of
them, and fails on one that it does not run.
"""

from __future__ import annotations

import shlex
from uuid import UUID

PROGRAM = "nessie-gc"


def next_call(name: str, **arguments: str | UUID | bool) -> str:
    """A command as a call of its name, with hyphens or underscores, and the parameters that it needs."""
    given = (f"{key}={_plain(value)}" for key, value in arguments.items())
    return f"`{name.replace('-', '_')}({', '.join(given)})`"


def next_command(*words: str) -> str:
    """A command by its words, without the program."""
    return f"`{command_line(*words)}`"


def command_line(*words: str) -> str:
    """What a shell runs as these words of the program, on one line."""
    return " ".join(map(quoted, (PROGRAM, *words)))


def quoted(word: str) -> str:
    """A word of a command; what would end it or its line is escaped, as bash and zsh read it."""
    if word.isprintable() and "`" not in word:
        return shlex.quote(word)
    return "$'" + repr('"' + word)[2:-1].replace("`", "\\x60") + "'"


def _plain(value: str | UUID | bool) -> str:  # noqa: FBT001 - it is the value of an argument
    """A value; a text in single quotes, without backticks, which end the call."""
    if not isinstance(value, str):
        return str(value)
    return "'" + repr('"' + value)[2:-1].replace("`", "\\x60") + "'"
