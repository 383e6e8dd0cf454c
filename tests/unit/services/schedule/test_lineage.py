"""OpenLineage is told of runs that delete or rewrite: what became of them, and which tables changed."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # has no types of its own
import pytest

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.text import json_time
from nessie_gc_core.services.schedule.outcome import Outcome
from nessie_gc_core.services.schedule.telling.changed_tables import MOST_NAMES, MOST_TABLES, Changes, place_of
from nessie_gc_core.services.schedule.telling.lineage import DELETION, OUTCOME, SCHEMAS, SERVICES
from nessie_gc_core.services.schedule.telling.settings import listeners_of

from .conftest import DAILY, FAILED, Bench, Receiver, run_with

SCHEMA = json.loads((Path(__file__).parents[4] / "docs" / "reference" / "openlineage.json").read_text())
LOCATION = "s3://lake/warehouse/db/t/"
SWEPT = {
    "tables": ["db.t"],
    "location": "s3://lake/warehouse/db/t/",
    "deleted": {"files": 3, "bytes": 70},
    "quarantined": {"files": 1, "bytes": 30},
}
COMPACTED = {
    "table": "db.t",
    "snapshot_ids": [7],
    "removed_data_files": 10,
    "removed_delete_files": 2,
    "removed_bytes": 1200,
    "added_data_files": 1,
    "added_delete_files": 0,
    "added_bytes": 1000,
}
REORGANIZED = {
    "table": "db.t", "snapshot_id": 7, "manifests": 10, "rewritten": 8, "rewritten_bytes": 80, "manifests_after": 3
}  # fmt: skip
EXPIRED = {"table": "db.t", "outcome": "expired", "expired": 5, "files": {"files": 4, "bytes": 40}}


@pytest.fixture
def told(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Receiver:
    """A server that the client of OpenLineage is configured for."""
    monkeypatch.setenv("OPENLINEAGE_URL", receiver.address)
    return receiver


def outcome(report: Mapping[str, Any], exit_code: int = 0) -> Outcome:
    return Outcome(exit_code=exit_code, report=json.dumps(report))


def events(told: Receiver) -> list[dict[str, Any]]:
    assert {"/api/v1/lineage"} == {path for path, _ in told.bodies}
    return [json.loads(body) for _, body in told.bodies]


def tell(bench: Bench, report: Mapping[str, Any], service: str = "gc", exit_code: int = 0) -> None:
    run_with(bench, outcome(report, exit_code), lineage=True, job={"service": service})


# ---- events ---------------------------------------------------------------------------------------------
def test_a_run_begins_and_completes_with_the_tables_that_it_changed(bench: Bench, told: Receiver) -> None:
    tell(bench, {"deleted": {"files": 3, "bytes": 70}, "address": "http://catalog/", "tables": [SWEPT]})
    start, complete = events(told)
    (run,) = bench.runs()
    assert (["START", "COMPLETE"], [str(run.id)] * 2) == (
        [each["eventType"] for each in (start, complete)],
        [each["run"]["runId"] for each in (start, complete)],
    )
    assert {"namespace": "nessie-gc", "name": "default.nightly"}.items() <= complete["job"].items()
    assert ([], json_time(run.started)) == (start["outputs"], start["eventTime"])
    (table,) = complete["outputs"]
    assert ("s3://lake", "warehouse/db/t") == (table["namespace"], table["name"])
    assert (4, 100) == tuple(table["outputFacets"][DELETION][name] for name in ("deletedFiles", "deletedBytes"))
    assert {"deleted.files": 3, "deleted.bytes": 70} == complete["run"]["facets"][OUTCOME]["numbers"]


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (FAILED, "FAIL"),
        (Outcome(exit_code=None, error="no memory"), "FAIL"),
        (Outcome(exit_code=0, not_due="health found nothing"), "COMPLETE"),
    ],
)
def test_a_run_that_did_not_succeed_ends_too(bench: Bench, told: Receiver, end: Outcome, state: str) -> None:
    run_with(bench, end, lineage=True)
    assert ["START", state] == [each["eventType"] for each in events(told)]


def test_our_facets_are_as_their_schema_says(bench: Bench, told: Receiver) -> None:
    tell(bench, {"tables": [SWEPT]}, exit_code=1)
    assert SCHEMAS == SCHEMA["$id"]
    for event in events(told):
        facets = [event["run"]["facets"][OUTCOME]]
        facets += [table["outputFacets"][DELETION] for table in event["outputs"]]
        for facet in facets:
            name = facet["_schemaURL"].removeprefix(f"{SCHEMAS}#/$defs/")
            jsonschema.validate(facet, SCHEMA["$defs"][name])
            assert set(facet) <= set(SCHEMA["$defs"][name]["properties"])


def test_our_facets_are_named_as_the_specification_asks(bench: Bench, told: Receiver) -> None:
    tell(bench, {"tables": [SWEPT]})
    entities = []
    for event in events(told):
        (dataset,) = event["outputs"] or [{"outputFacets": {}}]
        for entity, facets in (("Run", event["run"]["facets"]), ("OutputDataset", dataset["outputFacets"])):
            for key, facet in facets.items():
                if facet["_schemaURL"].startswith("urn:nessie-gc:"):
                    prefix, name = key.split("_")
                    expected = f"{prefix[0].upper()}{prefix[1:]}{name.capitalize()}{entity}Facet"
                    assert expected == facet["_schemaURL"].rpartition("/")[2]
                    entities.append(entity)
    assert ["Run", "Run", "OutputDataset"] == entities


def test_a_run_says_when_it_was_due(bench: Bench, told: Receiver) -> None:
    tell(bench, {})
    (run,) = bench.runs()
    due = [event["run"]["facets"]["nominalTime"]["nominalStartTime"] for event in events(told)]
    assert [json_time(run.occasion.due)] * 2 == due


@pytest.mark.parametrize("service", ["health", "mark", "autotag"])
def test_nothing_is_told_of_services_that_change_no_files(bench: Bench, told: Receiver, service: str) -> None:
    tell(bench, {"tables": [SWEPT]}, service)
    assert [] == told.bodies


def test_neither_texts_of_errors_nor_names_of_files_are_told(bench: Bench, told: Receiver) -> None:
    report = {"error": "secret in a text", "failed_files": [{"path": "secret", "reason": "secret"}], "exit_code": 1}
    tell(bench, report, exit_code=1)
    assert 2 == len(told.bodies)
    assert all(b"secret" not in body for _, body in told.bodies)


def test_a_server_that_hangs_holds_up_no_run(bench: Bench, told: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    told.hangs.set()
    scheduler = bench.scheduler(DAILY, lineage=True)
    scheduler.listeners = listeners_of(scheduler.definition, bench.store, clock=bench.clock, once=False)
    scheduler.define()
    begun = time.monotonic()
    for _ in range(3):
        bench.clock.pass_(days=1)
        scheduler.run_due()
    scheduler.listeners.close(seconds=0.1)
    assert (3, True) == (len(bench.runs()), time.monotonic() - begun < 20)
    assert "OpenLineage does not end, and is left" in caplog.text
    told.go_on.set()
    scheduler.listeners.close(seconds=20)
    assert 6 == len(told.bodies)


def test_a_server_that_refuses_is_one_line_without_its_address(
    bench: Bench, told: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told.status = 400
    monkeypatch.setenv("OPENLINEAGE_ENDPOINT", "secret")
    run_with(bench, lineage=True)
    assert ["OpenLineage: HTTPError"] * 2 == [each.message for each in caplog.records if each.levelname == "ERROR"]
    assert "secret" not in caplog.text


def test_a_wrong_configuration_of_the_client_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "openlineage.yml"
    file.write_text("transport: {type: secret}")
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(file))
    with pytest.raises(ConfigurationError, match="the configuration of OpenLineage") as caught:
        run_with(bench, lineage=True)
    assert "secret" not in str(caught.value)


class Kept(logging.Handler):
    """What reaches the handlers of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    def of(self, logger: str) -> list[str]:
        return [record.getMessage() for record in self.records if record.name.startswith(logger)]


@pytest.fixture
def log() -> Iterator[Kept]:
    """All that is logged."""
    root, kept = logging.getLogger(), Kept()
    before = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(kept)
    yield kept
    root.removeHandler(kept)
    root.setLevel(before)


SERVER_THAT_IS_DOWN = """
transport:
  type: http
  url: http://127.0.0.1:9/%s?apikey=%s
  endpoint: %s
  retry: {total: 2, backoff_factor: 0}
"""


@pytest.mark.parametrize(
    "more", ["", "  auth: {type: jwt, apiKey: %s, tokenEndpoint: 'http://127.0.0.1:9/%s?key=%s'}\n"]
)
def test_s28_a_server_that_is_down_shows_nothing_of_its_address_in_the_log(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Kept, more: str
) -> None:
    (tmp_path / "openlineage.yml").write_text((SERVER_THAT_IS_DOWN + more).replace("%s", "secret"))
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(tmp_path / "openlineage.yml"))
    run_with(bench, lineage=True)
    texts = [logging.Formatter().format(record) for record in log.records]
    kind = "RuntimeError" if more else "ConnectionError"
    assert 2 == texts.count(f"OpenLineage: {kind}")
    assert more == "" or any("error in openlineage.client.transport.http" in text for text in texts)
    assert [] == [text for text in texts if "secret" in text]


def test_what_others_send_is_logged_as_before(bench: Bench, told: Receiver, log: Kept) -> None:
    run_with(bench, lineage=True)
    logging.getLogger("urllib3.connectionpool").warning("of others")
    assert ["of others"] == log.of("urllib3")


def test_events_may_go_to_the_log(bench: Bench, monkeypatch: pytest.MonkeyPatch, log: Kept) -> None:
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "console")
    run_with(bench, lineage=True)
    assert ["START", "COMPLETE"] == [json.loads(event)["eventType"] for event in log.of("openlineage")]


def test_lineage_without_a_place_to_send_it_to_is_refused(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigurationError, match="nowhere to send events: set OPENLINEAGE_URL"):
        run_with(bench, lineage=True)


# ---- tables ---------------------------------------------------------------------------------------------
def change(row: Mapping[str, Any], **report: Any) -> dict[str, Any]:
    found = Changes.of({"tables": [row], **report})
    assert found == Changes.read(found.text())
    (table,) = found.tables
    return {name: getattr(table, name) for name in ("namespace", "name", "deleted_files", "deleted_bytes")} | {
        "written": (table.written_files, table.written_bytes),
        "snapshots": table.snapshots,
    }


def test_of_a_rewrite_what_was_replaced_and_what_was_written_is_told(bench: Bench, told: Receiver) -> None:
    expected = {"namespace": "iceberg://lake", "name": "db.t", "snapshots": 0}
    assert {**expected, "deleted_files": 12, "deleted_bytes": 1200, "written": (1, 1000)} == change(
        COMPACTED, catalog="lake"
    )
    assert {**expected, "deleted_files": 8, "deleted_bytes": 80, "written": (1, None)} == change(
        REORGANIZED, catalog="lake"
    )
    tell(bench, {"catalog": "lake", "tables": [COMPACTED]}, "compact")
    ((table,),) = (event["outputs"] for event in events(told)[1:])
    assert {"size": 1000, "fileCount": 1}.items() <= table["outputFacets"]["outputStatistics"].items()


REPORTS: Mapping[str, Mapping[str, Any]] = {
    "gc": {"address": "http://catalog/", "tables": [SWEPT]},
    "compact": {"catalog": "lake", "tables": [{**COMPACTED, "location": LOCATION}]},
    "rewrite-manifests": {"catalog": "lake", "tables": [{**REORGANIZED, "location": LOCATION}]},
    "expire-snapshots": {"collection": {"address": "http://catalog/"}, "tables": [{**EXPIRED, "location": LOCATION}]},
    "delete-unreferenced": {"collection": {"address": "http://catalog/", "tables": [SWEPT]}},
    "purge": {"tables": [SWEPT]},
}


def named(told: Receiver) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Namespace and name of all outputs, with their other names."""
    outputs = [table for event in events(told) for table in event["outputs"]]
    told.bodies.clear()
    return [
        (
            table["namespace"],
            table["name"],
            [(each["namespace"], each["name"]) for each in table["facets"].get("symlinks", {}).get("identifiers", ())],
        )
        for table in outputs
    ]


@pytest.mark.parametrize("service", REPORTS)
def test_a_table_is_one_dataset_whatever_service_changed_it(bench: Bench, told: Receiver, service: str) -> None:
    run_with(bench, outcome(REPORTS[service]), lineage=True, job={"service": service}, lineage_catalog="http://lake/")
    assert [("s3://lake", "warehouse/db/t", [("http://lake/", "db.t")])] == named(told)


@pytest.mark.parametrize(
    ("service", "catalog"),
    [
        ("gc", ["http://catalog/"]),
        ("expire-snapshots", ["http://catalog/"]),
        ("compact", ["iceberg://lake"]),
        ("purge", []),
    ],
)
def test_names_count_in_the_catalog_that_the_report_says_and_not_in_a_bucket(
    bench: Bench, told: Receiver, service: str, catalog: list[str]
) -> None:
    tell(bench, REPORTS[service], service)
    assert [("s3://lake", "warehouse/db/t", [(each, "db.t") for each in catalog])] == named(told)


@pytest.mark.parametrize("more", [{}, {"lineage_catalog": "http://lake/"}])
@pytest.mark.parametrize(
    ("service", "together"),
    [
        ("gc", {"address": "x, y", "repositories": [{"address": "x"}, {"address": "y"}], "tables": [SWEPT]}),
        ("purge", {"repositories": [{"repository": "x"}, {"repository": "y"}], "tables": [SWEPT]}),
    ],
)
def test_nobody_says_in_which_of_several_repositories_a_table_is(
    bench: Bench, told: Receiver, service: str, together: Mapping[str, Any], more: Mapping[str, Any]
) -> None:
    run_with(bench, outcome(together), lineage=True, job={"service": service}, **more)
    assert [("s3://lake", "warehouse/db/t", [])] == named(told)


def test_of_an_expiry_its_snapshots_and_files_are_told() -> None:
    found = change(EXPIRED, collection={"address": "http://catalog/", "tables": [SWEPT]})
    assert {
        "namespace": "http://catalog/", "name": "db.t", "deleted_files": 4, "deleted_bytes": 40,
        "written": (None, None), "snapshots": 5,
    } == found  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [
        {**SWEPT, "deleted": {"files": 0, "bytes": 0}, "quarantined": {"files": 0, "bytes": 0}},
        {"location": "s3://b/t/", "tables": [], "left_alone": "it is unknown"},
        {**COMPACTED, "snapshot_ids": []},
        {**REORGANIZED, "snapshot_id": None},
        {**EXPIRED, "outcome": "conflict"},
    ],
)
def test_a_table_that_was_not_changed_is_not_told(row: Mapping[str, Any]) -> None:
    assert Changes() == Changes.of({"tables": [row], "catalog": "lake", "collection": {"address": "x"}})


def test_a_dry_run_changed_nothing() -> None:
    assert Changes(dry_run=True) == Changes.of({"dry_run": True, "tables": [SWEPT]})


def test_only_the_first_tables_are_named_and_the_others_counted() -> None:
    rows = [{**SWEPT, "location": f"s3://lake/warehouse/db/t{number}/"} for number in range(MOST_TABLES + 3)]
    found = Changes.of({"tables": rows})
    assert (MOST_TABLES, 3) == (len(found.tables), found.left_out)


def test_of_many_tables_at_one_location_the_first_are_named_and_the_others_counted(
    bench: Bench, told: Receiver
) -> None:
    many = {**SWEPT, "tables": [f"db.t{number}" for number in range(MOST_NAMES + 3)]}
    tell(bench, {"address": "http://catalog/", "tables": [many]})
    ((table,),) = (event["outputs"] for event in events(told)[1:])
    assert MOST_NAMES == len(table["facets"]["symlinks"]["identifiers"])
    assert 3 == table["outputFacets"][DELETION]["tablesLeftOut"]


def test_a_table_that_changed_on_two_branches_is_named_once_with_the_sums() -> None:
    expired = [{**EXPIRED, "reference": branch} for branch in ("main", "dev")]
    (found,) = Changes.of({"tables": expired, "collection": {"address": "http://catalog/"}}).tables
    assert (8, 80, 10) == (found.deleted_files, found.deleted_bytes, found.snapshots)
    (found,) = Changes.of({"tables": [COMPACTED, COMPACTED], "catalog": "lake"}).tables
    assert (24, 2, 2000) == (found.deleted_files, found.written_files, found.written_bytes)
    (found,) = Changes.of({"tables": [REORGANIZED, REORGANIZED], "catalog": "lake"}).tables
    assert (16, 2, None) == (found.deleted_files, found.written_files, found.written_bytes)


@pytest.mark.parametrize("row", [COMPACTED, REORGANIZED, EXPIRED])
def test_a_number_of_a_report_that_is_missing_or_none_counts_as_nothing(row: Mapping[str, Any]) -> None:
    kind = {name: value for name, value in row.items() if name in ("snapshot_id", "snapshot_ids", "outcome")}
    for odd in (kind, {name: kind.get(name, "odd") for name in row}):
        (found,) = Changes.of({"tables": [odd, None]}).tables
        assert (0, 0, 0) == (found.deleted_files, found.deleted_bytes, found.snapshots)


@pytest.mark.parametrize(
    ("location", "namespace", "name"),
    [
        ("s3://bucket/a/b/", "s3://bucket", "a/b"),
        ("s3://bucket/", "s3://bucket", "/"),
        ("file:///data/t/", "file", "/data/t"),
        ("hdfs://host:8020/t/", "hdfs://host:8020", "t"),
        ("abfss://box@account.dfs.core.windows.net/t/", "abfss://box@account.dfs.core.windows.net", "t"),
        ("sftp://me:secret@host/t/", "sftp://host", "t"),
    ],
)
def test_places_are_named_as_openlineage_names_them_without_passwords(location: str, namespace: str, name: str) -> None:
    assert (namespace, name) == place_of(location)


def test_services_that_are_told_of_exist() -> None:
    from nessie_gc_core.plugins import installed

    assert SERVICES <= installed().services.names
