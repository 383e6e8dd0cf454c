"""Alembic runs this file for each upgrade and each stamp; the connection comes with its transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from alembic import context
from alembic.runtime.migration import MigrationContext, MigrationInfo
from sqlalchemy import Connection, update

from nessie_gc_jdbc.tables import migrations, schema_version


def keep_in_step(
    ctx: MigrationContext, step: MigrationInfo, heads: Collection[Any], run_args: Mapping[str, Any]
) -> None:
    """Writes the version to where releases before Alembic look, so that they refuse tables that they do not know."""
    del step, run_args  # Alembic gives them by name
    assert ctx.connection is not None
    (version,) = map(int, heads)
    ctx.connection.execute(update(schema_version).values(version=version))


connection: Connection = context.config.attributes["connection"]
context.configure(connection=connection, version_table=migrations.name, on_version_apply=keep_in_step)
with context.begin_transaction():
    context.run_migrations()
