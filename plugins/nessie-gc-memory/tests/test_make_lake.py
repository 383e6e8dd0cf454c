"""The service that describes computed lakes, writes their settings, and serves them."""

from __future__ import annotations

import json
import tomllib
import urllib.request
from dataclasses import fields
from datetime import timedelta
from pathlib import Path

import pytest
from nessie_gc_memory import MakeLakeService
from nessie_gc_memory.mock import MockLakeSpec, MockOracle, commit_records
from nessie_gc_memory.mock.make_lake import MakeLakeParameters

from nessie_gc_core.errors import ConfigurationError

THREE_TABLES = {"commits": "30", "table_count": "3", "garbage_files": "7"}


class Telling:
    """A run that remembers what it was told."""

    def __init__(self):
        self.told = []

    def tell(self, phase, done, total):
        self.told.append((phase, done, total))


def test_the_report_has_the_numbers_of_the_oracle():
    spec = MockLakeSpec(commits=30, table_count=3, garbage_files=7)
    parameters = MakeLakeParameters(lake_option=THREE_TABLES, lake_policy="1")
    report = MakeLakeService(parameters).run(Telling()).to_dict()
    counts = MockOracle(spec, "1").counts()
    assert ("1", counts.stored, counts.live, counts.garbage) == tuple(
        report[name] for name in ("policy", "stored", "live", "garbage")
    )
    assert "endpoint" not in report


def test_people_read_numbers_and_settings():
    report = MakeLakeService(MakeLakeParameters(lake_option=THREE_TABLES)).run(Telling())
    text = report.__rich__().plain
    assert "21 files (" in text
    assert text.endswith(f"\n{MockLakeSpec(commits=30, table_count=3, garbage_files=7).as_toml()}")


def test_the_written_settings_describe_the_lake(tmp_path):
    file = tmp_path / "nessie-gc.toml"
    parameters = MakeLakeParameters(lake_option={"commits": "30"}, lake_policy="5", lake_config=str(file))
    MakeLakeService(parameters).run(Telling())
    settings = tomllib.loads(file.read_text())
    assert ("5", "mock") == (settings["default-cutoff"], settings["repository"].pop("name"))
    assert MockLakeSpec(commits=30) == MockLakeSpec.from_mapping(settings["connectors"]["file-lister"]["mock"])


def test_a_served_lake_answers_while_it_is_served(tmp_path):
    file, statuses = tmp_path / "nessie-gc.toml", []

    def ask(seconds):
        endpoint = tomllib.loads(file.read_text())["iceberg"]["s3.endpoint"]
        with urllib.request.urlopen(f"{endpoint}/lake?list-type=2&max-keys=1") as response:
            statuses.append((response.status, seconds))

    run, parameters = Telling(), MakeLakeParameters(serve_lake=timedelta(seconds=2), lake_config=str(file))
    report = MakeLakeService(parameters, sleep=ask).run(run).to_dict()
    settings = tomllib.loads(file.read_text())
    assert [(200, 1), (200, 1)] == statuses
    assert [("serve", 0, 2), ("serve", 1, 2)] == run.told
    assert settings["iceberg"]["s3.endpoint"] == report["endpoint"]
    assert ("s3://lake/warehouse", "ICEBERG_TABLE") == tuple(
        settings["repository"][n] for n in ("root", "content_type")
    )
    assert "connectors" not in settings


def test_a_lake_is_written_to_a_folder_with_its_commits_and_settings(tmp_path):
    folder, commits, file = tmp_path / "lake", tmp_path / "commits.jsonl", tmp_path / "nessie-gc.toml"
    parameters = MakeLakeParameters(
        lake_option=THREE_TABLES, lake_folder=str(folder), lake_commits=str(commits), lake_config=str(file)
    )
    report = MakeLakeService(parameters).run(Telling())
    settings = tomllib.loads(file.read_text())
    spec = MockLakeSpec.from_mapping(
        {name: settings["repository"][name] for name in ("root", "content_type", *THREE_TABLES)}
    )
    assert (f"file://{folder}", "ICEBERG_TABLE") == (spec.root, spec.content_type)
    assert "connectors" not in settings
    assert report.counts.stored == sum(path.is_file() for path in folder.rglob("*"))
    assert f"\n{report.counts.stored:,} files written\n" in str(report)
    assert report.counts.stored == report.to_dict()["written"]
    assert list(commit_records(spec)) == [json.loads(line) for line in commits.read_text().splitlines()]


def test_a_lake_that_is_written_for_a_store_keeps_its_root(tmp_path):
    parameters = MakeLakeParameters(lake_option={"root": "s3://lake/warehouse"}, lake_folder=str(tmp_path / "lake"))
    assert "s3://lake/warehouse" == parameters.lake_spec().root


def test_commits_name_no_files_that_only_this_plugin_reads(tmp_path):
    parameters = MakeLakeParameters(lake_commits=str(tmp_path / "commits.jsonl"))
    with pytest.raises(ConfigurationError, match=r"of mock://lake/warehouse, .*: use --lake-folder or --serve-lake"):
        MakeLakeService(parameters).run(Telling())
    assert [] == list(tmp_path.iterdir())


def test_commits_of_a_lake_in_a_store_are_of_the_type_that_the_settings_say(tmp_path):
    commits = tmp_path / "commits.jsonl"
    parameters = MakeLakeParameters(lake_option={"root": "s3://lake/warehouse"}, lake_commits=str(commits))
    settings = tomllib.loads(MakeLakeService(parameters).run(Telling()).settings)
    record = json.loads(commits.read_text().splitlines()[0])
    assert settings["repository"]["content_type"] == record["contents"][0]["content"]["type"]
    assert "connectors" not in settings


def test_commits_of_a_type_that_no_repository_knows_are_refused(tmp_path):
    options = {"root": "s3://lake/warehouse", "content_type": "ODD_TABLE"}
    parameters = MakeLakeParameters(lake_option=options, lake_commits=str(tmp_path / "commits.jsonl"))
    with pytest.raises(ConfigurationError, match="type ODD_TABLE cannot be committed"):
        MakeLakeService(parameters).run(Telling())
    assert [] == list(tmp_path.iterdir())


def test_no_commits_are_left_if_the_folder_cannot_be_written(tmp_path):
    parameters = MakeLakeParameters(lake_folder=str(tmp_path), lake_commits=str(tmp_path / "commits.jsonl"))
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="File exists; name a new folder"):
            MakeLakeService(parameters).run(Telling())
    assert [] == list(tmp_path.iterdir())


def test_a_file_of_commits_that_exists_is_not_overwritten(tmp_path):
    (tmp_path / "commits.jsonl").write_text("ours")
    parameters = MakeLakeParameters(lake_folder=str(tmp_path / "lake"), lake_commits=str(tmp_path / "commits.jsonl"))
    with pytest.raises(ConfigurationError, match="already exists; name another file"):
        MakeLakeService(parameters).run(Telling())
    assert "ours" == (tmp_path / "commits.jsonl").read_text()


def test_a_file_that_cannot_be_written_is_an_error_that_names_it(tmp_path):
    file = str(Path(tmp_path, "none", "nessie-gc.toml"))
    with pytest.raises(ConfigurationError, match=f"`lake_config` '{file}' cannot be written: No such file"):
        MakeLakeService(MakeLakeParameters(lake_config=file)).run(Telling())


def test_a_file_that_exists_is_not_overwritten(tmp_path):
    file = tmp_path / "nessie-gc.toml"
    file.write_text("ours")
    with pytest.raises(ConfigurationError, match="already exists; name another file"):
        MakeLakeService(MakeLakeParameters(lake_config=str(file))).run(Telling())
    assert "ours" == file.read_text()


def test_s27_an_option_that_no_lake_has_is_an_error():
    with pytest.raises(ConfigurationError, match="depth"):
        MakeLakeService(MakeLakeParameters(lake_option={"depth": "30"})).run(Telling())


def test_s27_its_options_take_no_names_that_other_settings_may_be_mistaken_for():
    assert [] == [each.name for each in fields(MakeLakeParameters) if "lake" not in each.name]


def test_a_policy_that_is_not_understood_is_an_error():
    with pytest.raises(ConfigurationError, match="unknown cut-off policy 'some'"):
        MakeLakeService(MakeLakeParameters(lake_policy="some")).run(Telling())
