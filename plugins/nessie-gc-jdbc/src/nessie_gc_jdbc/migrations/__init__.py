"""Migrations of the tables, run by Alembic, forward only.

Each file in ``versions`` is one revision. Its id is the number of the version that it leads to, and the last one is
:data:`nessie_gc_jdbc.tables.SCHEMA_VERSION`. A new revision changes only what exists at that time, so it names tables,
columns and types itself and never imports the tables of today.

- **It can be repeated.** MariaDB commits each statement that changes a table, so a revision may have been cut off
  anywhere: write ``if_not_exists=True``, and look before you change.
- **It changes columns in** ``op.batch_alter_table``, because SQLite can only rebuild a table. Foreign keys are off
  meanwhile, or the rows that refer to the rebuilt table would be deleted.
"""

from __future__ import annotations

import threading

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

SCRIPTS = "nessie_gc_jdbc:migrations"
"""Where the scripts are, as Alembic names a folder in a package."""
_ONE_AT_A_TIME = threading.Lock()
"""Alembic's context is the same for all threads of a process."""


def upgrade(connection: Connection, scripts: str = SCRIPTS) -> None:
    """Runs all revisions that the tables have not had, in the connection's transaction."""
    with _ONE_AT_A_TIME:
        command.upgrade(_config(connection, scripts), "head")


def stamp(connection: Connection, version: int, scripts: str = SCRIPTS) -> None:
    """Records that the tables have a version, and changes nothing else."""
    with _ONE_AT_A_TIME:
        command.stamp(_config(connection, scripts), str(version))


def _config(connection: Connection, scripts: str) -> Config:
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", scripts.replace("%", "%%"))
    return config
