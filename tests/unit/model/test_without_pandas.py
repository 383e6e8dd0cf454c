"""Programs of our own start without pandas, and whoever needs it still gets it."""

from __future__ import annotations

import subprocess
import sys

import pytest


def said(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


START = """
import sys
import pyarrow as pa
from nessie_gc_core.model.without_pandas import leave_pandas_out
leave_pandas_out()
"""


def test_an_array_does_not_import_pandas() -> None:
    assert said(START + "pa.array(['a'])\nprint('pandas' in sys.modules)") == "False\n"


def test_who_asks_for_pandas_gets_it() -> None:
    assert said(START + "print(pa.table({'a': [1]}).to_pandas()['a'].tolist())") == "[1]\n"
    assert said(START + "import pandas\nprint(pa.array(pandas.Series([1.0, None])).to_pylist())") == "[1.0, None]\n"
    asked = START + "import importlib.util\nimportlib.util.find_spec('pandas')\n"  # which does not import it
    assert said(asked + "import pandas\nprint(pa.array(pandas.Series([1.0, None])).to_pylist())") == "[1.0, None]\n"
    assert said(START + "print(pa.array(pa.array([1.0, None]).to_pandas()).to_pylist())") == "[1.0, None]\n"


def test_a_program_that_has_pandas_keeps_it() -> None:
    assert (
        said("import pandas\n" + START + "print(pa.array(pandas.Series([None, 1.0])).to_pylist())") == "[None, 1.0]\n"
    )


def test_a_missing_pandas_stays_missing() -> None:
    program = START + "sys.path[:] = []\ntry:\n    import pandas\nexcept ImportError as error:\n    print(error)"
    assert said(program) == "No module named 'pandas'\n"


HIDDEN = """
import sys
class Hidden:
    def find_spec(self, name, path, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name=name)
sys.meta_path.insert(0, Hidden())
"""


@pytest.mark.parametrize("how", ['import sys; sys.modules["pandas"] = None', HIDDEN])
@pytest.mark.parametrize(
    "rows",
    [
        "from nessie_gc_core.services.report import GcReport as R; r = R()",
        "import duckdb; from nessie_gc_core.engines.local.frame import LocalFrame as F; r = F(duckdb.sql('SELECT 1'))",
    ],
)
def test_rows_that_are_asked_for_without_pandas_say_what_to_install(rows: str, how: str) -> None:
    program = f"""
{rows}
{how}
try:
    r.to_pandas()
except Exception as error:
    print(type(error).__name__, error)
"""
    assert said(program) == (
        "ConfigurationError to_pandas() needs pandas: pip install pandas (or use to_dict() or to_arrow())\n"
    )
