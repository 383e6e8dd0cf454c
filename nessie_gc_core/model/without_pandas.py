"""Spares a process the import of pandas, which takes longer than a small run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pyarrow as pa

from nessie_gc_core.errors import ConfigurationError


class _Later(MetaPathFinder):
    """Finds no pandas at first; when it is imported later, PyArrow learns of it."""

    is_now = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "pandas":
            return None
        if not self.is_now:
            raise ModuleNotFoundError("not now", name=fullname)
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in others)), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Telling(spec.loader)
        return spec


class _Telling(Loader):
    """Loads a module as another loader does, and lets PyArrow look for pandas again."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        pa.table({"any": [0]}).to_pandas()


def check_pandas() -> None:
    """Says what to install where rows are asked for as pandas has them.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    try:
        import pandas  # noqa: F401 - however it is found or hidden
    except ImportError as error:
        said = "to_pandas() needs pandas: pip install pandas (or use to_dict() or to_arrow())"
        raise ConfigurationError(said) from error


def leave_pandas_out() -> None:
    """PyArrow imports pandas, where it is installed, with its first array; here it is told that there is none.

    For programs of our own only, at their start. When somebody imports pandas, or asks PyArrow for something of it,
    everything is as usual: PyArrow looks again when it needs pandas (``pandas-shim.pxi``).
    """
    if "pandas" in sys.modules:
        return
    finder = _Later()
    sys.meta_path.insert(0, finder)
    pa.array([0])
    finder.is_now = True
