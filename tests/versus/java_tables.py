"""Changes of tables that Spark's SQL has no word for, by Iceberg's Java API."""

from __future__ import annotations

from typing import Any

from versus.stage import Stage


def delete_where_equal(stage: Stage, *ids: int, table: str = "t") -> None:
    """Deletes rows by a file of equality deletes on the column ``id`` (INT), as Flink does."""
    jvm: Any = stage.spark._jvm
    java = stage.java(table)
    schema = java.schema().select([jvm.java.lang.String("id")])
    iceberg = jvm.org.apache.iceberg
    record = iceberg.data.GenericRecord.create(schema)
    field_ids = _ints(stage, [java.schema().findField("id").fieldId()])
    factory = iceberg.data.GenericAppenderFactory(java.schema(), java.spec(), field_ids, schema, None)
    output = java.io().newOutputFile(
        java.locationProvider().newDataLocation(f"equal-{'-'.join(map(str, ids))}.parquet")
    )
    encrypted = iceberg.encryption.EncryptedFiles.encryptedOutput(
        output, iceberg.encryption.EncryptionKeyMetadata.EMPTY
    )
    writer = factory.newEqDeleteWriter(encrypted, iceberg.FileFormat.PARQUET, None)
    for id_ in ids:
        row = record.copy()
        row.setField("id", id_)
        writer.write(row)
    writer.close()
    java.newRowDelta().addDeletes(writer.toDeleteFile()).commit()


def data_file(stage: Stage, table: str = "t") -> Any:
    """The first data file of the current snapshot."""
    tasks = stage.java(table).newScan().planFiles().iterator()
    return tasks.next().file()


def take_out(stage: Stage, file: Any, table: str = "t") -> None:
    """Takes a data file out, in one commit."""
    stage.java(table).newDelete().deleteFile(file).commit()


def put_in(stage: Stage, file: Any, *, branch: str | None = None, table: str = "t") -> None:
    """Adds a data file by the path that it has, in one commit."""
    jvm: Any = stage.spark._jvm
    java = stage.java(table)
    builder = jvm.org.apache.iceberg.DataFiles.builder(java.spec())
    again = builder.withPath(file.location()).withFormat("parquet").withFileSizeInBytes(file.fileSizeInBytes())
    append = java.newAppend().appendFile(again.withRecordCount(file.recordCount()).build())
    (append if branch is None else append.toBranch(branch)).commit()


def branch_at(stage: Stage, name: str, snapshot: int, *, table: str = "t", **retention: int) -> None:
    """A branch, with what it says itself about retention: ``min_snapshots``, ``max_age_ms``, ``max_ref_age_ms``."""
    manage = stage.java(table).manageSnapshots().createBranch(name, snapshot)
    if "min_snapshots" in retention:
        manage = manage.setMinSnapshotsToKeep(name, retention["min_snapshots"])
    if "max_age_ms" in retention:
        manage = manage.setMaxSnapshotAgeMs(name, retention["max_age_ms"])
    if "max_ref_age_ms" in retention:
        manage = manage.setMaxRefAgeMs(name, retention["max_ref_age_ms"])
    manage.commit()


def tag_at(stage: Stage, name: str, snapshot: int, *, max_ref_age_ms: int | None = None, table: str = "t") -> None:
    """A tag."""
    manage = stage.java(table).manageSnapshots().createTag(name, snapshot)
    if max_ref_age_ms is not None:
        manage = manage.setMaxRefAgeMs(name, max_ref_age_ms)
    manage.commit()


def _ints(stage: Stage, values: list[int]) -> Any:
    gateway: Any = stage.spark.sparkContext._gateway
    array = gateway.new_array(gateway.jvm.int, len(values))
    for number, value in enumerate(values):
        array[number] = value
    return array
