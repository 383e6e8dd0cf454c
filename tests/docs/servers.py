"""What pages and examples run beside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lakes import LakeSpec, build_lake

from nessie_gc_core.testing.servers import NessieServer, running


@contextmanager
def small_lake(folder: Path) -> Iterator[str]:
    """A Nessie server with a small lake, whose files are a month old; gives its URI."""
    with running(lambda: NessieServer(log=folder / "nessie.log")) as server:
        spec = LakeSpec(tables=2, appends=4, files_per_append=2, branches=1, garbage_ratio=0.25)
        build_lake(spec, folder / "warehouse", server.uri)
        yield server.uri
