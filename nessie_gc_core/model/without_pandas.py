"""Spares a process the import of pandas, which takes longer than a small run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa


class _NoPandas(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == "pandas":
            raise ModuleNotFoundError("not now", name=fullname)
        return None


def leave_pandas_out() -> None:
    """PyArrow imports pandas, where it is installed, with its first array; here it is told that there is none.

    For programs of our own only, at their start. Whoever asks PyArrow for something of pandas later, such as
    ``to_pandas``, still gets it: PyArrow then looks again (``pandas-shim.pxi``).
    """
    if "pandas" in sys.modules:
        return
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
