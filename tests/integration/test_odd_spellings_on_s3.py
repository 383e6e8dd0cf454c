"""S24 on a real object store that keeps clean keys, whatever is asked for: SeaweedFS stores ``x//y`` as ``x/y``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from catalogs_on_s3 import collect, rows
from pyiceberg.catalog import Catalog

from nessie_gc_core.testing.servers.s3 import S3Server

ODD, CLEAN = "s3://lake//wh//db/t", "s3://lake/wh/db/t"


def respell(catalog: Catalog, bucket: Any, name: str, *, location: str) -> set[str]:
    """Makes a table live by a metadata file that spells its paths in an odd way; the keys that it needs."""
    table = catalog.load_table(name)
    key = table.metadata_location.removeprefix("s3://lake/")
    text = bucket.Object(key).get()["Body"].read().decode()
    for folder in ("data", "metadata/snap"):
        text = text.replace(f"{CLEAN}/{folder}", f"{ODD}/{folder}")
    changed = text.replace(f'"location":"{table.location()}"', f'"location":"{location}"')
    assert "//wh//" in changed
    needed = {found.key for found in bucket.objects.filter(Prefix=f"{table.location().removeprefix('s3://lake/')}/")}
    catalog.drop_table(name)
    bucket.Object(f"{key}.v2.metadata.json").put(Body=changed.encode())
    catalog.register_table(name, f"s3://lake/{key}.v2.metadata.json")
    return needed - {key} | {f"{key}.v2.metadata.json"}


@pytest.mark.server
@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("location", [CLEAN, ODD])
@pytest.mark.thorough(engine="spark", location=CLEAN)
def test_s24_files_that_are_live_by_an_odd_spelling_stay(
    s3: S3Server, bucket: Any, catalog: Catalog, tmp_path: Path, engine: str, location: str
) -> None:
    """Another table shares the folder, and spells it as the store does."""
    table = catalog.create_table("db.t", rows(1).schema, location=CLEAN)
    for number in range(3):
        table.append(rows(number))
    needed = respell(catalog, bucket, "db.t", location=location)
    other = catalog.create_table("db.other", rows(1).schema, location=f"{CLEAN}/other")
    other.append(rows(1))
    bucket.Object("wh/db/t/other/data/orphan.parquet").put(Body=b"left over")

    report = collect(s3, tmp_path, engine)

    left = {found.key for found in bucket.objects.all()}
    assert needed <= left
    assert [1] == other.scan().to_arrow().column("n").to_pylist()
    assert ([], 0) == (report["unknown"], report["exit_code"])
    assert "wh/db/t/other/data/orphan.parquet" not in left, report
    if location == CLEAN:  # the server lists nothing at the odd one
        assert 0 == report["lost"]["files"]
