"""``python -m benchmark``: measures ``nessie-gc gc`` on simulated lakes of two sizes.

The larger one has ``--times`` as many appends, or tables with ``--more-tables``. A lake lies on the disk, or with
``--s3`` in a bucket on loopback, with ``--latency`` also behind a proxy that holds answers back. Each time is told
beside the floor: the time in which everything is read once and nothing else is done. Every run is a whole process.
Runs are dry but for the last one on the smaller lake of a disk, which deletes. The exit code is 1 where a run named
other files than the dead ones; how long anything took never fails. ``python -m benchmark identify`` measures
``identify-unreferenced`` instead, and so on for each command in ``OTHERS``.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from lakes import CommittedLake, commit_lake

from benchmark import autotag, computed, deletions, identify, internal, live_sets, manifests, mark, schedules
from benchmark.measuring import CommandFailedError
from benchmark.places import DISK, Bucket, Place
from benchmark.runs import GcRun, RunResult, fastest, missing_files, read_once, run_gc
from benchmark.shape import LakeShape, shape_from, shape_options
from benchmark.showing import show, write_artifact
from nessie_gc_core.testing.servers import NessieServer, S3Server

OTHERS: dict[str, Callable[[Sequence[str]], int]] = {
    "autotag": autotag.main,
    "computed": computed.main,
    "compact": partial(manifests.main, "compact"),
    "deletions": deletions.main,
    "identify": identify.main,
    "internal": internal.main,
    "live-sets": live_sets.main,
    "manifests": partial(manifests.main, "manifests"),
    "mark": mark.main,
    "schedules": schedules.main,
}
"""Benchmarks of other commands, by the word that asks for them."""


def main() -> int:
    """Measures, shows, and writes the artifact."""
    if sys.argv[1:2] and sys.argv[1] in OTHERS:
        return OTHERS[sys.argv[1]](sys.argv[2:])
    arguments = _parser().parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nessie-gc-benchmark-", dir=arguments.folder))
    results: list[RunResult] = []
    failures: list[str] = []
    try:
        for number, shape in enumerate(_sizes(arguments)):
            real = arguments.real and number == 0
            results.extend(_on_lake(arguments, shape, folder / f"{number}", failures, real=real))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    shape = shape_from(arguments)
    show(results, shape, keep_commits=arguments.keep_commits)
    path = write_artifact(results, shape, keep_commits=arguments.keep_commits, folder=arguments.artifacts)
    _say(f"written to {path}")
    for failure in failures:
        _say(failure)
    return 0 if all(result.is_right for result in results) and not failures else 1


def _sizes(arguments: argparse.Namespace) -> list[LakeShape]:
    """The smaller lake, and the larger one unless it is left out."""
    shape, times = shape_from(arguments), arguments.times
    if times == 1:
        return [shape]
    more = {"tables": shape.tables * times} if arguments.more_tables else {"appends": shape.appends * times}
    return [shape, replace(shape, **more)]


def _on_lake(
    arguments: argparse.Namespace, shape: LakeShape, folder: Path, failures: list[str], *, real: bool
) -> Iterator[RunResult]:
    """Runs everything on one lake, wherever it lies."""
    with NessieServer(heap="1g") as nessie, ExitStack() as stack:
        bucket = Bucket(stack.enter_context(S3Server())) if arguments.s3 else None
        place = DISK if bucket is None else bucket.place
        started = time.perf_counter()
        spec = shape.spec(place.root(folder))
        place.fill(spec)
        lake = commit_lake(spec, nessie.uri)
        _say(f"lake of {lake.commits} commits and {lake.stored_files} files: {time.perf_counter() - started:.1f} s")
        yield from _at_place(arguments, place, lake, failures)
        if bucket is not None and arguments.latency:
            with bucket.held_back(arguments.latency) as slow:
                yield from _at_place(arguments, slow, lake, failures)
        if real and bucket is None:
            run = _run(arguments, (arguments.engine or ("local",))[0], place, dry_run=False)
            yield _measured(run, lake, read_once(lake, place))
            missing = missing_files(lake, arguments.keep_commits)
            if missing:
                failures.append(f"{len(missing)} live files are gone, the first is {missing[0]}")
        shutil.rmtree(folder, ignore_errors=True)


def _at_place(
    arguments: argparse.Namespace, place: Place, lake: CommittedLake, failures: list[str]
) -> Iterator[RunResult]:
    """Runs every engine, the local one with every number of workers; one that fails is noted."""
    floor = read_once(lake, place)
    for engine in arguments.engine or ("local", "spark"):
        for workers in (arguments.workers or [None]) if engine == "local" else [None]:
            run = _run(arguments, engine, place, workers=workers, dry_run=True)
            try:
                yield fastest([_measured(run, lake, floor) for _ in range(arguments.repeat)])
            except CommandFailedError as error:
                failures.append(str(error))


def _run(
    arguments: argparse.Namespace, engine: str, place: Place, *, dry_run: bool, workers: int | None = None
) -> GcRun:
    return GcRun(
        engine=engine,
        keep_commits=arguments.keep_commits,
        place=place,
        workers=workers,
        dry_run=dry_run,
        launcher=tuple(shlex.split(arguments.launcher)),
        more=tuple(arguments.more),
    )


def _measured(run: GcRun, lake: CommittedLake, floor: float) -> RunResult:
    result = run_gc(run, lake, floor=floor)
    workers = "" if run.workers is None else f", {run.workers} workers"
    _say(
        f"{run.place.name}, {run.engine}{workers}{'' if run.dry_run else ', deleting'}: {result.seconds:.1f} s, "
        f"{result.times_the_floor:.2f} times the floor, {result.dead_files} dead files"
    )
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmark", description=__doc__)
    shape_options(parser)
    parser.add_argument("--engine", action="append", choices=("local", "spark"), help="may be repeated; default: both")
    parser.add_argument("--s3", action="store_true", help="put the lake into a bucket on loopback")
    parser.add_argument(
        "--latency", type=float, default=0, metavar="MS", help="measure the bucket once more, with answers held back"
    )
    parser.add_argument("--workers", type=int, action="append", help="of the local engine; may be repeated")
    parser.add_argument("--keep-commits", type=int, default=1000, help="the cut-off policy of every branch")
    parser.add_argument("--repeat", type=int, default=1, help="dry runs of each; the fastest counts")
    parser.add_argument(
        "--times", type=int, default=2, metavar="N", help="of the larger lake the appends; default: 2; 1: leave it out"
    )
    parser.add_argument("--more-tables", action="store_true", help="the larger lake has more tables, not more appends")
    parser.add_argument("--no-real", dest="real", action="store_false", help="leave out the run that deletes")
    parser.add_argument("--folder", type=Path, help="where lakes are built; default: the temporary folder")
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"), help="where the JSON goes")
    parser.add_argument("--launcher", default="", help="command to run instead of nessie-gc beside this Python")
    parser.add_argument("more", nargs="*", help="more arguments of nessie-gc, after --")
    return parser


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    raise SystemExit(main())
