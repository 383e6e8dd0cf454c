"""``nessie-gc``, and ``python -m nessie_gc_core``."""

from __future__ import annotations

import gc
import sys


def run() -> None:
    """Runs the program. Its modules stay until it ends, so Python's garbage collector never has to look at them."""
    gc.disable()
    try:
        from nessie_gc_core.cli.main import run as run_program
        from nessie_gc_core.model.allocator import take_the_systems
        from nessie_gc_core.model.without_pandas import leave_pandas_out
    except KeyboardInterrupt:  # importing takes a second; from then on, the program says it itself
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
    except ImportError as error:  # nothing of the program can be used to say it
        sys.stderr.write(f"error: the installation is not complete ({error}): install nessie-gc-core again\n")
        sys.exit(1)
    take_the_systems()
    leave_pandas_out()
    gc.freeze()
    gc.enable()
    run_program()


if __name__ == "__main__":
    run()
