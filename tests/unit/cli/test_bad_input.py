from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_runs import COLLECT, Run, one_line
from nessie_gc_memory import MemoryLake

GC = ("gc", *COLLECT, "--inmemory")
ID = "2e5d6f8a-8f0b-4b7e-9d5a-0c8b5f6d7a11"

BAD = {
    "unknown command": (("colect",), "No such command 'colect'"),
    "unknown option": (("gc", "--defualt-cutoff", "1"), "No such option '--defualt-cutoff'"),
    "unknown engine": ((*GC, "--engine", "flink"), "'flink' is not one of"),
    "unknown policy": ((*GC, "-c", "soon"), "unknown cut-off policy 'soon'"),
    "bad pattern": ((*GC, "-C", "ma(in=1"), "reference pattern 'ma(in' is not a valid regular expression"),
    "policy without pattern": ((*GC, "-C", "main"), "cut-off 'main' is not of the form"),
    "bad reference time": ((*GC, "-R", "yesterday"), "'yesterday' is not an instant"),
    "no mark threads": ((*GC, "--identify-parallelism", "0"), "0 is not in the range x>=1"),
    "bad age": ((*GC, "--min-age", "1 day"), "'1 day' is not a duration"),
    "age below the floor": (("gc", "--inmemory", "--engine", "local", "--min-age", "PT59M"), "--no-age-floor"),
    "unknown repository": ((*GC, "--repository", "nesie"), "unknown repository 'nesie'"),
    "unknown repository option": ((*GC, "-r", "uri=x"), "repository 'memory': unknown option 'uri'"),
    "uri for a repository without": ((*GC, "-u", "http://x"), "remove --uri"),
    "pair without value": ((*GC, "-r", "history_file"), "entry 1 is not of the form KEY=VALUE"),
    "unknown deduplicator": ((*GC, "--visited", "bloom"), "unknown visited-deduplicator 'bloom'"),
    "unknown lister": ((*GC, "--lister", "tape"), "unknown file-lister 'tape'"),
    "unknown kind": ((*GC, "--connector-option", "robot:x:y=z"), "unknown kind of connector 'robot'"),
    "connector option's form": ((*GC, "--connector-option", "x=y"), "KIND:NAME:KEY=VALUE"),
    "connector's option": ((*GC, "--connector-option", "file-lister:memory:x=y"), "file-lister 'memory': unknown"),
    "unknown scheme": ((*GC, "--allow", "ftp://x/y"), "the scheme of 'ftp://x/y' is unknown"),
    "relative location": ((*GC, "--allow", "warehouse"), "'warehouse' is not absolute"),
    "scheme taken apart": ((*GC, "--scheme-alias", "s3a=gs"), "s3a always means s3"),
    "aliases in a circle": ((*GC, "--scheme-alias", "one=two,two=one"), "form a cycle"),
    "bad false-positive rate": ((*GC, "--fpp", "2"), "--fpp must be between 0 and 1"),
    "bad outcome file": ((*GC, "--outcomes-to", "x.csv"), "must end in .jsonl or .parquet"),
    "outcome file in no folder": ((*GC, "--outcomes-to", "nowhere/x.jsonl"), "the folder 'nowhere' does not exist"),
    "bad zone": ((*GC, "--time-zone", "Mars/Olympus"), "is not a time zone"),
    "bad memory limit": ((*GC, "--memory-limit", "much"), "'much'"),
    "hadoop": ((*GC, "-H", "fs.s3a.endpoint=x"), "give Iceberg properties with -I"),
    "nessie client": ((*GC, "--nessie-client", "x"), "--nessie-client is not supported"),
    "nessie api": ((*GC, "--nessie-api", "x"), "--nessie-api is not supported"),
    "spark with local": ((*GC, "--spark-master", "local[1]"), "--spark-master has no effect with --engine local"),
    "in memory, deferred": ((*GC, "--defer-deletes"), "--inmemory and --defer-deletes are mutually exclusive"),
    "two stores": ((*GC, "--jdbc-url", "sqlite://"), "--inmemory and --jdbc-url are mutually exclusive"),
    "two kinds of store": ((*GC, "--jdbc"), "--inmemory and --jdbc are mutually exclusive"),
    "sweep in memory": (("sweep", *COLLECT, "--inmemory", "-l", ID), "it works only with 'gc'"),
    "mark in memory": (("mark", "--repository", "memory", "--inmemory"), "it works only with 'gc'"),
    "list in memory": (("list", "--inmemory"), "it works only with 'gc'"),
    "no live set": (("sweep", *COLLECT), "the live set is missing"),
    "two live sets": (("sweep", *COLLECT, "-l", ID, "-L", "x"), "are mutually exclusive"),
    "misspelt deduplicator": (("mark", "--repository", "memory", "--visited", "exakt"), "'exakt'"),
    "rare re-checks": ((*GC, "--recheck-interval", "P5D"), "at most PT5M"),
    "relative warehouse": (("sweep", *COLLECT, "--allow", "wh/relative", "-l", ID), "--allow: "),
    "check in memory, deferred": (
        ("check", *COLLECT, "--inmemory", "--defer-deletes"),
        "--inmemory and --defer-deletes are mutually exclusive",
    ),
    "bad live set": (("show", "-l", "17"), "--live-set-id '17' is neither the id of a live set"),
    "no live-set file": (
        ("show", "-L", "nowhere"),
        "cannot read --read-live-set-id-from nowhere: No such file or directory",
    ),
    "unknown database": (("list", "--jdbc-url", "oracle9://x"), "oracle9"),
    "unknown schema strategy": (("create-sql-schema", "--jdbc-schema", "MAYBE"), "'MAYBE' is not one of"),
    "missing file option": (("completion-script",), "Missing option '--output-file'"),
    "no configuration file": ((*GC, "--config", "nowhere.toml"), "cannot read the configuration file nowhere.toml"),
}


@pytest.mark.parametrize(("arguments", "said"), BAD.values(), ids=list(BAD))
def test_bad_input_is_one_line_and_exit_code_2(
    run: Run, lake: MemoryLake, arguments: tuple[str, ...], said: str
) -> None:
    before = lake.paths()
    result = run(*arguments)
    assert said in one_line(result)
    assert 2 == result.exit_code
    assert before == lake.paths()


def test_a_file_without_a_live_set_id_is_named(run: Run, home: Path) -> None:
    (home / "id").write_text("seventeen\n")
    result = run("show", "-L", "id")
    said = (
        "the first line of id, 'seventeen', is neither the id of a live set nor the first 4 or more characters of one"
    )
    assert (2, said) == (result.exit_code, one_line(result))


def test_an_unexpected_error_is_one_line_and_says_how_to_see_more(
    run: Run, lake: MemoryLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.faults.references = ZeroDivisionError("oops")  # a bug in a connector
    result = run(*GC)
    assert 1 == result.exit_code
    assert one_line(result).startswith("unexpected error ZeroDivisionError at the beginning of 'gc': oops; this is")
    assert "run it with -vv (log level DEBUG) for the traceback, and report that" in one_line(result)
    assert "Traceback" in run(*GC, "-vv").stderr


def test_an_interrupt_is_exit_code_130(run: Run, lake: MemoryLake) -> None:
    lake.faults.references = KeyboardInterrupt()  # type: ignore[assignment]  # the user, at this very moment
    assert 130 == run(*GC).exit_code


def test_values_of_a_file_that_are_nested_too_deeply_are_one_line(run: Run, home: Path) -> None:
    said = f"{home / 'deep.toml'} is not a TOML file: its values are nested too deeply (more than 250 levels)"
    for text in (
        "allow = " + "[" * 5_000 + "]" * 5_000,
        "x" + ".x" * 5_000 + " = 1",
        "x = " + "{x = " * 300 + "1" + "}" * 300,
    ):
        (home / "deep.toml").write_text(text, encoding="utf-8")
        result = run("gc", "--config", str(home / "deep.toml"))
        assert (2, said) == (result.exit_code, one_line(result))


def test_a_number_of_a_file_that_no_program_reads_is_one_line(run: Run, home: Path) -> None:
    (home / "long.toml").write_text("parallelism = " + "1" * 10_000, encoding="utf-8")
    result = run("gc", "--config", str(home / "long.toml"))
    assert (2, f"{home / 'long.toml'} is not a TOML file: it cannot be understood") == (
        result.exit_code,
        one_line(result),
    )


FULL = "error: cannot write the result to standard output: No space left on device\n"
CLOSED = "error: standard output is closed, so that the result cannot be written: send it to a file\n"


@pytest.mark.parametrize(
    ("arguments", "to", "said"),
    [
        ("plugins --json", "> /dev/full", FULL),
        ("plugins", "> /dev/full", FULL),
        ("plugins --json", ">&-", CLOSED),
        ("wrong --json", "> /dev/full", "error: No such command 'wrong'. (see nessie-gc --help)\n"),
    ],
)
def test_a_result_that_cannot_be_written_is_one_line(arguments: str, to: str, said: str) -> None:
    command = f"exec '{sys.executable}' -m nessie_gc_core {arguments} {to}"
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True, timeout=120)
    assert said == done.stderr
    assert done.returncode
