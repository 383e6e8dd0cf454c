"""The site, built as ``nox -s site`` builds it: whatever Sphinx warns of fails."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from docs.pages import DOCS, ROOT, name_of

from nessie_gc_core import api, connectors, errors, model

sys.path.insert(0, str(DOCS))
from generating.site_api import exists

sys.path.remove(str(DOCS))

OPTIONS = ("-W", "--keep-going", "-n", "-q", "-c", "docs")
"""What ``nox -s site`` gives to Sphinx."""
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("plugins/*/README.md")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the site, whose pages nobody changes."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", *OPTIONS, "-d", str(folder / "doctrees"), ".", str(folder / "html")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-6000:]
    return folder / "html"


def test_nox_gives_sphinx_the_same_options() -> None:
    line = ", ".join(f'"{option}"' for option in OPTIONS)
    assert line in (ROOT / "noxfile.py").read_text(encoding="utf-8")


@pytest.mark.timeout(600)
def test_every_page_of_the_documentation_is_on_the_site(site: Path) -> None:
    pages = [name_of(page).removesuffix(".md") for page in PAGES]
    assert [] == [page for page in pages if not (site / f"{page}.html").exists()]


def test_the_first_page_leads_to_every_page(site: Path) -> None:
    first = (site / "index.html").read_text(encoding="utf-8")
    own = [name_of(page).replace(".md", ".html") for page in PAGES if page != ROOT / "README.md"]
    assert [] == [page for page in own if f'href="{page}"' not in first]


def test_all_public_names_have_an_entry_with_a_link_to_it(site: Path) -> None:
    wanted = {"collector": api, "connectors": connectors, "model": model}
    for page, module in wanted.items():
        text = (site / "docs" / "api" / f"{page}.html").read_text(encoding="utf-8")
        classes = [name for name in module.__all__ if isinstance(getattr(module, name), type)]
        assert [] == [name for name in classes if f'id="{module.__name__}.{name}"' not in text]
    raised = [name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)]
    text = (site / "docs" / "api" / "errors.html").read_text(encoding="utf-8")
    assert [] == [name for name in raised if f'id="nessie_gc_core.errors.{name}"' not in text]


def test_the_search_knows_pages_and_names_of_the_api(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert '"docs/how-to/troubleshooting"' in index
    assert "nessie_gc_core.api.Collector" in index


def test_a_reader_without_a_network_sees_everything(site: Path) -> None:
    elsewhere = re.compile(r"""<(?:script|link|img)\b[^>]*(?:src|href)="(?:https?:)?//""")
    assert [] == [page.name for page in site.rglob("*.html") if elsewhere.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(
    ("name", "there"),
    [
        ("nessie_gc_core.api.Collector", True),
        ("nessie_gc_core.api.Collector.plan", True),
        ("nessie_gc_core.dataset", True),
        ("nessie_gc_core.api.Collectors", False),
        ("nessie_gc_core.api.Collector.plans", False),
        ("nessie_gc_core.apis.Collector", False),
    ],
)
def test_a_name_without_a_page_of_its_own_has_to_exist(name: str, there: bool) -> None:
    assert there is exists(name)
