"""``python -m nessie_gc_core``: the same as the command ``nessie-gc``."""

from nessie_gc_core.cli.main import run

run()
