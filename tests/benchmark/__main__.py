"""``python -m benchmark``: measures ``nessie-gc gc`` on simulated lakes, one of them with twice the appends.

Every run is a whole process. Runs are dry but for the last one on the smaller lake, which deletes. The exit code
is 1 where a run named other files than the dead ones; how long anything took never fails.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from lakes import LakeFacts, LakeSpec, build_lake
from lakes.build import spec_from, spec_options

from benchmark.measuring import CommandFailedError
from benchmark.runs import GcRun, RunResult, fastest, missing_files, run_gc
from benchmark.showing import show, write_artifact
from nessie_gc_core.testing.servers import NessieServer


def main() -> int:
    """Measures, shows, and writes the artifact."""
    arguments = _parser().parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nessie-gc-benchmark-", dir=arguments.folder))
    results: list[RunResult] = []
    failures: list[str] = []
    try:
        for factor in (1, 2) if arguments.twice else (1,):
            spec = spec_from(arguments, appends=arguments.appends * factor)
            results.extend(
                _on_lake(arguments, spec, folder / f"x{factor}", failures, real=arguments.real and factor == 1)
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    spec = spec_from(arguments)
    show(results, spec, keep_commits=arguments.keep_commits)
    path = write_artifact(results, spec, keep_commits=arguments.keep_commits, folder=arguments.artifacts)
    _say(f"written to {path}")
    for failure in failures:
        _say(failure)
    return 0 if all(result.is_right for result in results) and not failures else 1


def _on_lake(
    arguments: argparse.Namespace, spec: LakeSpec, folder: Path, failures: list[str], *, real: bool
) -> Iterator[RunResult]:
    """Runs every engine; one that fails is noted, and the others are still measured."""
    with NessieServer(heap="1g") as nessie:
        started = time.perf_counter()
        facts = build_lake(spec, folder, nessie.uri)
        _say(f"lake of {facts.commits} commits and {facts.stored_files} files: {time.perf_counter() - started:.1f} s")
        for engine in arguments.engine or ("local", "spark"):
            run = _run(arguments, engine, dry_run=True)
            try:
                yield fastest([_measured(run, facts) for _ in range(arguments.repeat)])
            except CommandFailedError as error:
                failures.append(str(error))
        if real:
            run = _run(arguments, (arguments.engine or ("local",))[0], dry_run=False)
            yield _measured(run, facts)
            missing = missing_files(facts, arguments.keep_commits)
            if missing:
                failures.append(f"{len(missing)} live files are gone, the first is {missing[0]}")
        shutil.rmtree(folder)


def _run(arguments: argparse.Namespace, engine: str, *, dry_run: bool) -> GcRun:
    return GcRun(
        engine=engine,
        keep_commits=arguments.keep_commits,
        dry_run=dry_run,
        launcher=tuple(shlex.split(arguments.launcher)),
        more=tuple(arguments.more),
    )


def _measured(run: GcRun, facts: LakeFacts) -> RunResult:
    result = run_gc(run, facts)
    _say(f"{run.engine}{'' if run.dry_run else ', deleting'}: {result.seconds:.1f} s, {result.dead_files} dead files")
    return result


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmark", description=__doc__)
    spec_options(parser)
    parser.add_argument("--engine", action="append", choices=("local", "spark"), help="may be repeated; default: both")
    parser.add_argument("--keep-commits", type=int, default=1000, help="the cut-off policy of every branch")
    parser.add_argument("--repeat", type=int, default=1, help="dry runs of each; the fastest counts")
    parser.add_argument(
        "--no-twice", dest="twice", action="store_false", help="leave out the lake of twice the appends"
    )
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
