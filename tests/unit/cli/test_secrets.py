from __future__ import annotations

from pathlib import Path

import pytest
from cli_runs import Run

SECRET = "hunter2-never-to-be-seen"
NOWHERE = "http://127.0.0.1:1/api/v2"
AWAY = ("-r", "retries=0", "-u", NOWHERE, "-vv")


def runs(run: Run, home: Path) -> dict[str, object]:
    (home / "secret.toml").write_text(
        f'[repository]\nname = "nessie"\nauthentication = "bearer"\ntoken = "{SECRET}"\n'
        f'[store]\nurl = "postgresql://me:{SECRET}@127.0.0.1:1/x"\n[iceberg]\n"s3.secret-access-key" = "{SECRET}"\n'
    )
    database = f"postgresql://me:{SECRET}@127.0.0.1:1/x"
    mark, check = ("mark", *AWAY), ("check", "--inmemory", "--engine", "local", *AWAY)
    return {
        "token": run(*mark, "--token", SECRET),
        "token in the environment": run(*mark, env={"NESSIE_GC_TOKEN": SECRET}),
        "option in the environment": run(*mark, env={"NESSIE_GC_REPOSITORY_PASSWORD": SECRET}),
        "password in a database URL": run("list", "-vv", "--jdbc-url", database),
        "password of a database": run("list", "-vv", "--jdbc-url", "mysql://x", "--jdbc-password", SECRET),
        "bad pair": run(*mark, "-o", SECRET),
        "bad connector option": run("check", "--inmemory", "--connector-option", SECRET),
        "unknown nessie option": run(*mark, "-o", f"nessie.unknown={SECRET}"),
        "file properties": run(
            *check, "-I", f"s3.endpoint=http://127.0.0.1:1,s3.secret-access-key={SECRET}", "--allow", "s3://b/w/"
        ),
        "file": run("mark", *AWAY, "--config", "secret.toml"),
        "file with an error after it": run("list", "--config", "secret.toml", "-vv"),
        "plugins": run("plugins", env={"NESSIE_GC_TOKEN": SECRET}),
        "json": run(*mark, "--token", SECRET, "--json"),
    }


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_secrets_are_never_printed(run: Run, home: Path) -> None:
    for name, result in runs(run, home).items():
        assert SECRET not in result.output, name  # type: ignore[attr-defined]  # a click result
        assert name == "plugins" or result.exit_code in (1, 2), name  # type: ignore[attr-defined]


def test_a_secret_is_not_shown_where_the_file_is_broken(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text(f'token = "{SECRET}')
    result = run("list")
    assert 2 == result.exit_code
    assert SECRET not in result.output
