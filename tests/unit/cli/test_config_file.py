from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import Run, one_line

BAD = {
    "unknown key": ('default-cutof = "1"', "unknown key 'default-cutof'; did you mean 'default-cutoff'?"),
    "underscores": ('default_cutoff = "1"', "unknown key 'default_cutoff'; did you mean 'default-cutoff'?"),
    "nothing like it": ("zzz = 1", "unknown key 'zzz'; its keys are the long option names"),
    "no TOML": ("default-cutoff = ", "nessie-gc.toml is not a TOML file: it cannot be understood at"),
    "one of several without a table": ("[repositories]\nname = 1", "write [[repositories]], one for each repository"),
    "a list for one value": ('default-cutoff = ["1", "2"]', "'default-cutoff' takes one value, not a list"),
    "a table for one value": ("[default-cutoff]\na = 1", "'default-cutoff' takes one value, not a table"),
    "a wrong type": ('identify-parallelism = "many"', "'many' is not a valid integer range"),
    "an unknown connector": ("[connectors.file-lister.tape]\na = 1", "unknown file-lister 'tape'"),
    "an unknown kind": ("[connectors.robot.tape]\na = 1", "unknown kind of connector 'robot'"),
    "options without a connector": ("[connectors.file-lister]\na = 1", "write [connectors.file-lister.NAME]"),
    "an option nobody has": ('[repository]\nname = "memory"\nport = 1', "repository 'memory': unknown option 'port'"),
    "a date": ('[repository]\nname = "memory"\nlake = 2026-01-01', "'lake' in [repository] is a date"),
}


@pytest.mark.parametrize(("text", "said"), BAD.values(), ids=list(BAD))
def test_what_is_wrong_in_the_file_is_one_line_and_exit_code_2(run: Run, home: Path, text: str, said: str) -> None:
    (home / "nessie-gc.toml").write_text(text)
    result = run("gc", "--inmemory", "--engine", "local")
    assert said in one_line(result)
    assert 2 == result.exit_code


def test_a_file_that_is_not_utf_8_is_named(run: Run, home: Path) -> None:
    (home / "x.toml").write_bytes(b'uri = "\xff"')
    assert "x.toml is not a TOML file: it is not UTF-8" == one_line(run("list", "--config", "x.toml"))


def test_keys_of_other_commands_do_not_disturb(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text('default-cutoff = 20\nmin-age = "P2D"\njson = true\n')
    assert '{\n  "format": 1,\n  "live_sets": []\n}\n' == run("list").stdout


def test_the_environment_names_the_file(run: Run, home: Path) -> None:
    (home / "mine.toml").write_text("json = true")
    assert run("list", env={"NESSIE_GC_CONFIG": "mine.toml"}).stdout.startswith("{")
