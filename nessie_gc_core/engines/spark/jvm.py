"""Options of the JVM of a local session that Nessie GC starts, on a machine with few cores.

There most of a small run goes into compiling Spark's own classes. With a simple compiler the JVM needs half the
processor time on a lake of 100,000 files, and no more than with the usual one on a million
(``docs/explanation/performance.md``). An archive of loaded classes would save more, but writing one costs more than a
run saves: that is left to the user.
"""

from __future__ import annotations

FEW_CORES = 4
"""On so many cores or fewer, the threads that compile take them from the work."""
QUICK = ("-XX:+IgnoreUnrecognizedVMOptions", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""A simple compiler, with room for the code that Spark makes for every query."""


def options_of_local_jvm(cores: int) -> tuple[str, ...]:
    """The options on so many cores; none where there are many."""
    return QUICK if cores <= FEW_CORES else ()
