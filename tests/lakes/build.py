"""``python -m lakes.build DIRECTORY NESSIE_URI``: builds a lake and leaves its facts beside it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from lakes.builder import build_lake
from lakes.spec import LakeSpec


def spec_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that shape a lake."""
    default = LakeSpec()
    parser.add_argument("--tables", type=int, default=default.tables)
    parser.add_argument("--tables-per-commit", type=int, default=default.tables_per_commit)
    parser.add_argument("--appends", type=int, default=default.appends)
    parser.add_argument("--files", type=int, default=default.files_per_append, help="data files per append")
    parser.add_argument("--branches", type=int, default=default.branches)
    parser.add_argument("--branch-share", type=float, default=default.branch_share)
    parser.add_argument("--garbage", type=float, default=default.garbage_ratio, help="per committed data file")
    parser.add_argument("--overwrite-every", type=int, default=default.overwrite_every)


def spec_from(arguments: argparse.Namespace) -> LakeSpec:
    """The lake that the options describe."""
    return LakeSpec(
        tables=arguments.tables,
        tables_per_commit=arguments.tables_per_commit,
        appends=arguments.appends,
        files_per_append=arguments.files,
        branches=arguments.branches,
        branch_share=arguments.branch_share,
        garbage_ratio=arguments.garbage,
        overwrite_every=arguments.overwrite_every,
    )


def main() -> None:
    """Builds one lake and says what it holds."""
    parser = argparse.ArgumentParser(prog="lakes.build", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("nessie_uri", help="for instance http://127.0.0.1:19120/api/v2")
    spec_options(parser)
    arguments = parser.parse_args()
    started = time.monotonic()
    facts = build_lake(spec_from(arguments), arguments.directory, arguments.nessie_uri)
    facts.save(arguments.directory / "facts.json")
    sys.stdout.write(
        f"{facts.commits} commits, {facts.stored_files} files ({len(facts.garbage)} garbage), "
        f"{len(facts.branches)} branches in {time.monotonic() - started:.1f} s\n"
    )


if __name__ == "__main__":
    main()
