"""Tables as earlier releases made them, with a row in each, and rows as they are in the database."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy
from alembic import command
from nessie_gc_jdbc import migrations
from sqlalchemy import BigInteger, MetaData, SmallInteger
from sqlalchemy.types import Integer

TABLES = Path(__file__).with_name("tables")
LIVE_SET = "0d4ce1f6-95c1-4d52-9a52-6bd3e0a4c111"
MIGRATIONS = "nessie_gc_migrations"


def run(engine, *statements):
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(sqlalchemy.text(statement))


def make_version_4(engine):
    """The tables of the last release before Alembic."""
    script = (TABLES / f"version_4_{engine.dialect.name.replace('mysql', 'mariadb')}.sql").read_text()
    run(engine, *(statement for statement in script.split(";") if statement.strip()))


def make_stamped_version_4(engine):
    """The same tables as the first release with Alembic left them."""
    make_version_4(engine)
    made = f"CREATE TABLE {MIGRATIONS} (version_num VARCHAR(32) NOT NULL, PRIMARY KEY (version_num))"
    run(engine, made, f"INSERT INTO {MIGRATIONS} (version_num) VALUES ('4')")


def make_version_3(engine):
    """Those of the release before that."""
    make_version_4(engine)
    run(engine, "DROP TABLE nessie_gc_held_files", "UPDATE nessie_gc_schema SET version = 3")


def make_version_5(engine):
    """Those of the release with the first schedules."""
    make_stamped_version_4(engine)
    with engine.begin() as connection:
        command.upgrade(migrations._config(connection, migrations.SCRIPTS), "5")


def fill(engine):
    """One row in each table."""
    found = tables(engine)
    with engine.begin() as connection:
        for table in found.sorted_tables:
            if table.name not in ("nessie_gc_schema", MIGRATIONS):
                connection.execute(table.insert().values({column.name: value(column) for column in table.columns}))


def value(column):
    """One that fits, and is odd where it may be."""
    if column.name == "live_set_id":
        return LIVE_SET
    if column.name == "status":
        return "IDENTIFY_SUCCESS"
    if isinstance(column.type, SmallInteger):
        return 1
    if isinstance(column.type, BigInteger | Integer):
        return 2**31 - 7
    if column.type.python_type is bytes:
        return bytes(range(190, 190 + (column.type.length or 20)))
    if getattr(column.type, "length", None):
        return "STATE"
    odd = {"policies": "[]", "numbers": '{"deleted.bytes": 5, "purged.bytes": 4, "deleted.files": 3}'}
    return odd.get(column.name, "été % 'x' 表")


def all_rows(engine):
    """Of each table its rows, but for those that say which version it is."""
    with engine.connect() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(table.select())]
            for table in tables(engine).sorted_tables
            if table.name not in ("nessie_gc_schema", MIGRATIONS)
        }


def columns(engine):
    """Of each table its columns, as the database describes them."""
    inspector = sqlalchemy.inspect(engine)
    return {
        name: {column["name"]: (str(column["type"]), column["nullable"]) for column in inspector.get_columns(name)}
        for name in inspector.get_table_names()
    }


def tables(engine):
    found = MetaData()
    found.reflect(engine, only=lambda name, _: name.startswith("nessie_gc_"))
    return found
