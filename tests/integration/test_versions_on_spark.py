"""Versions of a bucket on Spark as a whole: hidden, shown, purged, and deleted, while a worker dies each time (S15)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pyarrow as pa
import pytest
from dying_worker import arm, install, is_armed
from pyiceberg.catalog import load_catalog

from nessie_gc_core import Collector
from nessie_gc_core.testing.servers import MotoServer, running

pytestmark = [pytest.mark.spark, pytest.mark.server]

TESTS = Path(__file__).parents[1]
BUCKET = "lake"
DEAD = tuple(f"wh/db/t/data/dead-{number:02}.parquet" for number in range(12))
HALF = len(DEAD) // 2
RESTORED = r".*/dead-0[0-5]\.parquet"
"""That half of them."""
TRIED_AGAIN = "local[2,3]"
"""Two processors, and three attempts for each task."""


class Bucket:
    """The bucket, and what it keeps."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        self._client = boto3.client(
            "s3",
            endpoint_url=properties["s3.endpoint"],
            aws_access_key_id=properties["s3.access-key-id"],
            aws_secret_access_key=properties["s3.secret-access-key"],
            region_name=properties["s3.region"],
        )

    def make(self) -> None:
        """With versions."""
        self._client.create_bucket(Bucket=BUCKET)
        self._client.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})

    def put_dead(self) -> None:
        """Two versions of each file that nobody needs."""
        for data in (b"old", b"dead"):
            for key in DEAD:
                self._client.put_object(Bucket=BUCKET, Key=key, Body=data)
        time.sleep(2.1)  # the server's clock and its files' times are whole seconds

    def kept(self) -> dict[str, Any]:
        """What there is of the dead files, and the live ones that are visible."""
        versions, markers, visible = Counter[str](), Counter[str](), []
        for page in self._client.get_paginator("list_object_versions").paginate(Bucket=BUCKET):
            versions.update(each["Key"] for each in page.get("Versions", ()) if each["Key"] in DEAD)
            markers.update(each["Key"] for each in page.get("DeleteMarkers", ()))
        for page in self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET):
            visible += [each["Key"] for each in page.get("Contents", ())]
        live = [key for key in visible if key not in DEAD]
        dead = len(visible) - len(live)
        return {"visible": dead, "versions": versions.total(), "markers": markers.total(), "live": len(live)}

    def close(self) -> None:
        self._client.close()


def work(site: Path, properties: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """All commands, one after the other in one session; of each what it says, and what the bucket keeps then."""
    place = f"versions:s3://{BUCKET}/"
    now: dict[str, Any] = {"min_age": "PT0S", "no_age_floor": True}
    with closing(Bucket(properties)) as bucket, Collector(config="nessie-gc.toml", spark_master=TRIED_AGAIN) as gc:

        def did(name: str, report: Any) -> tuple[str, dict[str, Any]]:
            died = not is_armed(site)
            file = Path(f"{name}.jsonl")
            rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
            told = Counter(row["outcome"] for row in rows)
            names = len({row["path"] for row in rows})
            said = {"exit_code": report.exit_code, "died": died, "told": told, "names": names}
            return name, {**said, **bucket.kept()}

        arm(site)
        hidden: dict[str, Any] = {"quarantine": [place], "quarantine_for": "PT0S", "outcomes_to": "hidden.jsonl"}
        yield did("hidden", gc.sweep(str(gc.mark().live_set_id), delete=True, **hidden, **now))
        arm(site)
        half = {"matching": RESTORED, "outcomes_to": "restored.jsonl"}
        yield did("restored", gc.run("restore", dry_run=False, **half))
        arm(site)
        yield did("purged", gc.run("purge", dry_run=False, outcomes_to="purged.jsonl"))
        bucket.put_dead()
        arm(site)
        gone = gc.collect(delete=True, noncurrent_versions="delete", outcomes_to="deleted.jsonl", **now)
        yield did("deleted", gone)


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory, small_spark: None) -> Iterator[dict[str, dict[str, Any]]]:
    """What each command said, and left."""
    folder = tmp_path_factory.mktemp("versions")
    install(folder / "site")
    with running(MotoServer) as aws:
        with closing(Bucket(aws.properties)) as bucket:
            bucket.make()
            uri = f"sqlite:///{folder}/catalog.db"
            with load_catalog("prod", type="sql", uri=uri, **aws.properties) as catalog:
                catalog.create_namespace("db")
                rows = pa.table({"n": pa.array([1], pa.int64())})
                catalog.create_table("db.t", rows.schema, location=f"s3://{BUCKET}/wh/db/t").append(rows)
            bucket.put_dead()
        access = "".join(f'"{name}" = "{value}"\n' for name, value in aws.properties.items())
        (folder / "nessie-gc.toml").write_text(
            f'jdbc-url = "sqlite:///{folder}/live-sets.db"\nallow = ["s3://{BUCKET}/wh/"]\n'
            f'[repository]\nname = "iceberg-catalog"\ncatalog_name = "prod"\nuri = "{uri}"\n'
            f"[repository.properties]\n{access}[iceberg]\n{access}"
        )
        paths = os.pathsep.join([str(folder / "site"), str(TESTS), os.environ.get("PYTHONPATH", "")])
        command = [sys.executable, __file__, str(folder / "site"), json.dumps(dict(aws.properties))]
        done = subprocess.run(
            command, cwd=folder, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
        )
        assert 0 == done.returncode, done.stderr[-4000:]
        yield dict(json.loads(done.stdout.splitlines()[-1]))


def test_s15_every_dead_file_is_hidden_once_though_a_worker_dies(said: dict[str, dict[str, Any]]) -> None:
    found = said["hidden"]
    assert (True, 0) == (found["died"], found["exit_code"])
    assert ({"quarantined": len(DEAD)}, len(DEAD)) == (found["told"], found["names"])
    assert (0, 2 * len(DEAD), len(DEAD)) == (found["visible"], found["versions"], found["markers"])


def test_s15_hidden_files_come_back_though_a_worker_dies(said: dict[str, dict[str, Any]]) -> None:
    found = said["restored"]
    assert (True, 0) == (found["died"], found["exit_code"])
    assert ({"restored": HALF}, HALF) == (found["told"], found["names"])
    assert (HALF, 2 * len(DEAD), HALF) == (found["visible"], found["versions"], found["markers"])


def test_s15_hidden_versions_are_purged_though_a_worker_dies(said: dict[str, dict[str, Any]]) -> None:
    found = said["purged"]
    assert (True, 0) == (found["died"], found["exit_code"])
    assert ({"purged": HALF}, HALF) == (found["told"], found["names"])
    # The older version of each stays behind its marker: it was never in quarantine.
    assert (HALF, 2 * len(DEAD) - HALF, HALF) == (found["visible"], found["versions"], found["markers"])


def test_s15_dead_files_go_with_all_their_versions_though_a_worker_dies(said: dict[str, dict[str, Any]]) -> None:
    found = said["deleted"]
    assert (True, 0) == (found["died"], found["exit_code"])
    assert ({"deleted": len(DEAD)}, len(DEAD)) == (found["told"], found["names"])
    assert (0, 0, 0) == (found["visible"], found["versions"], found["markers"])


def test_no_live_file_goes(said: dict[str, dict[str, Any]]) -> None:
    assert 1 == len({found["live"] for found in said.values()})
    assert said["hidden"]["live"] > 0


if __name__ == "__main__":
    sys.stdout.write(json.dumps(dict(work(Path(sys.argv[1]), json.loads(sys.argv[2])))) + "\n")
