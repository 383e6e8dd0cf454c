"""``-`` as a file: what a command writes there goes to standard output, and everything else to standard error."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from nessie_gc_core.cli.output import result_piped
from nessie_gc_core.services.output_files import PIPE, PIPED


@contextmanager
def piped(context: click.Context, *, as_json: bool) -> Iterator[None]:
    """Lets the command write a file that is copied to standard output when the block ends, however it ends.

    Raises:
        click.UsageError: two things would come to standard output, or the file must survive the process.
    """
    names = [name for name in PIPED if context.params.get(name) == PIPE]
    if not names:
        yield
        return
    flag = f"--{names[0].replace('_', '-')} -"
    if len(names) > 1 or as_json:
        raise click.UsageError(f"{flag} and {'--json' if as_json else f'--{names[1]} -'} both write to standard output")
    if names[0] == "outcomes_to" and not context.params.get("dry_run"):
        raise click.UsageError(
            f"{flag} needs --dry-run: the outcomes of a deletion must survive the process; name a file"
        )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / PIPED[names[0]]
        context.params[names[0]] = str(file)
        with result_piped(instead_of=str(file)) as output:
            try:
                yield
            finally:
                if file.exists():
                    with file.open("rb") as written:
                        shutil.copyfileobj(written, output)
                    output.flush()
