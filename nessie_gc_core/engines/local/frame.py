"""A relation of the local engine as people look at it: as Arrow, as pandas, and by SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from nessie_gc_core.errors import ConfigurationError
from nessie_gc_core.model.without_pandas import check_pandas

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


class LocalFrame:
    """Rows that can be asked for; nothing is read before that. It is good as long as its engine is open.

    Example::

        plan.files.sql("SELECT unit, outcome, count(*) AS files FROM files GROUP BY ALL").to_arrow()
    """

    def __init__(self, relation: duckdb.DuckDBPyRelation, *, owner: object = None) -> None:
        """Takes the rows, and the owner of the engine, which closes it when nothing refers to the owner any more."""
        self._relation = relation
        self._owner = owner

    def owned_by(self, owner: object) -> LocalFrame:
        """The same rows, which keep the owner of the engine from going away."""
        return LocalFrame(self._relation, owner=owner)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self._relation.columns)

    def count(self) -> int:
        """How many rows."""
        return int(self._relation.shape[0])

    def to_arrow(self) -> pa.Table:
        """All rows as an Arrow table."""
        return self._relation.to_arrow_table()

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a pandas DataFrame.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        check_pandas()
        return self._relation.df()

    def sql(self, query: str) -> LocalFrame:
        """The result of a query, in which these rows are the table ``files``; DuckDB's SQL."""
        found = self._relation.query("files", query)
        if found is None:
            raise ConfigurationError("the query is empty; give one such as SELECT * FROM files")
        return LocalFrame(found, owner=self._owner)

    def show(self, rows: int = 20) -> None:
        """Prints some rows."""
        self._relation.limit(rows).show()

    def __repr__(self) -> str:
        return f"LocalFrame({', '.join(self.columns)})"
