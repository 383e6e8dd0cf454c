from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cli_runs import Run, one_line

SECRET = "hunter2-never-to-be-seen"


def shown(run: Run, *arguments: str, **environment: str) -> dict[str, dict[str, Any]]:
    """The settings that ``config show`` shows, by their names."""
    result = run("config", "show", *arguments, "--json", env=environment)
    assert 0 == result.exit_code, result.stderr
    return {found["name"]: found for found in json.loads(result.stdout)["settings"]}


def source(found: dict[str, Any]) -> tuple[str, str]:
    return found["source"], found["where"]


def test_every_value_says_where_it_comes_from(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text('min-age = "P2D"\nallow = ["s3://a/"]\nmax-deletes = 7\n')
    found = shown(run, "--allow", "s3://b/", NESSIE_GC_MAX_DELETES="8")
    assert {"min-age", "allow", "max-deletes"} == set(found)
    assert ("P2D", "file", "nessie-gc.toml: min-age") == (found["min-age"]["value"], *source(found["min-age"]))
    assert (["s3://b/"], "command line", "command line") == (found["allow"]["value"], *source(found["allow"]))
    said = (found["max-deletes"]["value"], *source(found["max-deletes"]))
    assert (8, "environment", "environment variable NESSIE_GC_MAX_DELETES") == said


def test_defaults_are_shown_on_request_and_counted_otherwise(run: Run) -> None:
    assert {} == shown(run)
    found = shown(run, "--all")
    assert ("P1D", "default") == (found["min-age"]["value"], found["min-age"]["source"])
    assert ("nessie", "default") == (found["repository"]["value"], found["repository"]["source"])
    lines = run("config", "show").stdout.splitlines()
    assert ["no configuration file", "", f"{len(found)} other settings have their defaults; --all shows them"] == lines


def test_pairs_say_each_where_they_come_from(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text('[iceberg]\n"s3.region" = "eu-central-1"\n"s3.endpoint" = "http://a"\n')
    found = shown(run, "-I", "s3.endpoint=http://b", NESSIE_GC_ICEBERG="gcs.project-id=p")
    assert ("eu-central-1", "file") == (found["iceberg.s3.region"]["value"], found["iceberg.s3.region"]["source"])
    assert ("http://b", "command line") == (
        found["iceberg.s3.endpoint"]["value"],
        found["iceberg.s3.endpoint"]["source"],
    )
    assert "environment variable NESSIE_GC_ICEBERG" == found["iceberg.gcs.project-id"]["where"]


def test_options_of_the_repository_are_shown_with_their_sources(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text('uri = "http://a/api/v2"\n[repository]\nretries = 2\npage_size = 5\n')
    found = shown(run, "-r", "page_size=7", NESSIE_GC_REPOSITORY_OAUTH2_SCOPE="all")
    assert ("http://a/api/v2", "nessie-gc.toml: uri") == (
        found["repository.uri"]["value"],
        found["repository.uri"]["where"],
    )
    assert "nessie-gc.toml: [repository] retries" == found["repository.retries"]["where"]
    assert (7, "command line") == (found["repository.page_size"]["value"], found["repository.page_size"]["where"])
    expected = "environment variable NESSIE_GC_REPOSITORY_OAUTH2_SCOPE"
    assert expected == found["repository.oauth2_scope"]["where"]


def test_the_store_and_its_options_are_shown(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text('[store]\nname = "memory"\nstore = "mine"\n')
    found = shown(run)
    assert ("memory", "nessie-gc.toml: [store] name") == (found["store"]["value"], found["store"]["where"])
    assert ("mine", "nessie-gc.toml: [store] store") == (found["store.store"]["value"], found["store.store"]["where"])
    found = shown(run, "--jdbc-fetch-size", "9", "--store", "jdbc")
    assert ("jdbc", "command line") == (found["store"]["value"], found["store"]["where"])
    assert (9, "command line") == (found["store.fetch_size"]["value"], found["store.fetch_size"]["where"])


def test_several_repositories_are_shown_by_their_labels(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text(
        '[[repositories]]\nlabel = "shop"\nuri = "http://a/api/v2"\n'
        '[[repositories]]\nlabel = "reports"\nuri = "http://b/api/v2"\n'
    )
    found = shown(run, "--repository", "reports")
    assert ("reports", "command line") == (found["repository"]["value"], found["repository"]["where"])
    assert "http://a/api/v2" == found["repositories.shop.uri"]["value"]
    assert "nessie-gc.toml: [repositories.reports] uri" == found["repositories.reports.uri"]["where"]


def test_settings_of_other_commands_are_shown_where_they_are_given(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text('table = "lake.gc.assets"\nquiet = true\n')
    found = shown(run, NESSIE_GC_RETAIN_LAST="3")
    assert ("lake.gc.assets", "nessie-gc.toml: table") == (found["table"]["value"], found["table"]["where"])
    assert ("3", "environment variable NESSIE_GC_RETAIN_LAST") == (
        found["retain-last"]["value"],
        found["retain-last"]["where"],
    )
    assert "quiet" in found
    assert "Settings of other commands:" in run("config", "show").stdout


SECRETS = {
    "token": ("--token", SECRET),
    "pairs": ("-I", f"s3.secret-access-key={SECRET}"),
    "repository option": ("-r", f"password={SECRET}"),
    "store option": ("--store-option", f"password={SECRET}"),
    "database": ("--jdbc-url", f"postgresql://me:{SECRET}@db/x"),
    "Spark property": ("--spark-conf", f"spark.hadoop.fs.s3a.secret.key={SECRET}"),
    "signed URL": ("-I", f"s3.endpoint=http://s3.example.com/?X-Amz-Signature={SECRET}"),
    "Spark catalog": ("--spark-conf", f"spark.sql.catalog.lake.credential={SECRET}"),
    "warehouse": ("-I", f"warehouse=s3://me:{SECRET}@lake/wh"),
    "connector option": ("--connector-option", f"file-lister:memory:lake={SECRET}"),
}


def test_well_known_properties_are_shown(run: Run, home: Path) -> None:
    (home / "nessie-gc.toml").write_text(
        '[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\n[repository.properties]\n'
        f'type = "rest"\nwarehouse = "s3://lake/wh"\ntoken = "{SECRET}"\n'
    )
    found = shown(run, "--spark-conf", "spark.sql.shuffle.partitions=8", "-I", "s3.endpoint=http://localhost:9000")
    values = {name: each["value"] for name, each in found.items()}
    assert ("8", "http://localhost:9000") == (
        values["spark-conf.spark.sql.shuffle.partitions"],
        values["iceberg.s3.endpoint"],
    )
    assert ("rest", "s3://lake/wh") == (values["repository.properties.type"], values["repository.properties.warehouse"])
    assert (None, True) == (values["repository.properties.token"], found["repository.properties.token"]["hidden"])


@pytest.mark.parametrize("name", SECRETS)
@pytest.mark.parametrize("form", [(), ("--json",), ("--all",)])
def test_secrets_are_hidden(run: Run, name: str, form: tuple[str, ...]) -> None:
    result = run("config", "show", *SECRETS[name], *form)
    assert (0, False) == (result.exit_code, SECRET in result.output), result.stderr
    assert ('"hidden": true' if "--json" in form else "(hidden)") in result.stdout


def test_secrets_of_other_commands_are_hidden(run: Run) -> None:
    found = shown(run, NESSIE_GC_NESSIE_JDBC_PASSWORD=SECRET)
    assert (None, True) == (found["nessie-jdbc-password"]["value"], found["nessie-jdbc-password"]["hidden"])


def test_s27_a_setting_that_is_wrong_is_an_error(run: Run) -> None:
    assert "unknown option 'retires'" in one_line(run("config", "show", "-r", "retires=2"))


def test_without_a_word_the_group_shows_its_commands(run: Run) -> None:
    result = run("config")
    assert (2, True) == (result.exit_code, "show  " in result.output)
