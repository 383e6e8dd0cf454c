"""Settings of the documentation site, which ``nox -s site`` builds with Sphinx, the theme furo and MyST.

Sphinx was chosen over MkDocs because it fails on a broken reference to a page, a heading or a name in a docstring, and
writes the API pages itself. MkDocs 1 has had no release for years, and its theme Material is in maintenance mode.

The site's sources are the Markdown pages where they lie: there is no second copy, and every link is the one that a
reader of the repository follows. The tables of contents come from the links of the overview pages.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generating import site  # noqa: E402 - it lies beside this file

import nessie_gc_core  # noqa: E402 - after the standard library, as everywhere

project = "Nessie GC"
author = "the contributors to Nessie GC"
release = nessie_gc_core.__version__
root_doc = "README"
include_patterns = [
    "*.md",
    "docs/**",
    "changes/README.md",
    "examples/*/README.md",
    "plugins/*/README.md",
    "tests/README.md",
    "tests/versus/README.md",
]
exclude_patterns = ["docs/generating", "docs/site_assets", ".*", "site", "build", "dist", "artifacts", "**/.venv"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
]

# ---- Markdown -----------------------------------------------------------------------------------------
myst_heading_anchors = 4
myst_links_external_new_tab = False
suppress_warnings = ["myst.header"]  # reference pages skip a level where a class has methods and no fields

# ---- API pages ----------------------------------------------------------------------------------------
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_preserve_defaults = True
add_module_names = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 90
copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = "$ "

# ---- appearance ---------------------------------------------------------------------------------------
html_theme = "furo"
html_title = f"Nessie GC {release}"
html_static_path = ["site_assets"]
html_css_files = ["site.css"]
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "native"


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls it."""
    site.connect(app)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
