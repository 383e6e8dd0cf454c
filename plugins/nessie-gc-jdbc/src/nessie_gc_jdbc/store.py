"""The live-set store ``jdbc``."""

from __future__ import annotations

from datetime import datetime

from nessie_gc_jdbc.database import Database
from nessie_gc_jdbc.java_tables import JavaTableVerbs
from nessie_gc_jdbc.options import JdbcOptions, SchemaStrategy
from nessie_gc_jdbc.quarantine import QuarantineVerbs
from nessie_gc_jdbc.registers import RegisterVerbs
from nessie_gc_jdbc.rows import RowVerbs
from nessie_gc_jdbc.status import StatusVerbs
from nessie_gc_jdbc.tables import create_script, from_micros


class JdbcLiveSetStore(StatusVerbs, RowVerbs, RegisterVerbs, QuarantineVerbs, JavaTableVerbs):
    """Keeps live sets in a database, by SQLAlchemy: SQLite, PostgreSQL or MariaDB.

    The name and the forms of the URLs are those of the Java tool. Text is kept whole but for characters that the
    database has none of (PostgreSQL: NUL); such text is an error and never changed.
    """

    name = "jdbc"
    Options = JdbcOptions

    def __init__(self, options: JdbcOptions) -> None:
        super().__init__(options)
        self.database = Database(options)
        # A process that creates tables on first use must stay the only one that opens the store with these options.
        creates = self.database.strategy in (SchemaStrategy.CREATE, SchemaStrategy.DROP_AND_CREATE)
        self.multi_process = not self.database.is_file and not creates

    def create_schema(self, strategy: str) -> None:
        """Creates the tables.

        Raises:
            ConfigurationError: the strategy is not known.
            StoreError: an existing table is in the way, or the database refuses.
        """
        self.database.create_schema(SchemaStrategy.parse(strategy))

    def schema_script(self) -> str:
        """The statements that create the tables, for the store's database."""
        return create_script(self.database.engine.dialect)

    def shared_time(self) -> datetime | None:
        """The database server's clock; a file has none but that of the machine."""
        if self.database.is_file:
            return None
        return from_micros(self.database.read(self.database.now))

    def close(self) -> None:
        """Closes all connections."""
        self.database.close()
