"""The page of a table of unreferenced assets: what is on it, and what never is."""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner
from nessie_gc_memory import MemoryLake, MemoryTableCatalog
from PIL import Image
from unit.services.assets.conftest import CATALOG, TABLE, AssetLake
from unit.services.assets.made_up_runs import add_run, make_table

from nessie_gc_core.api import Collector
from nessie_gc_core.cli.main import cli
from nessie_gc_core.errors import ConfigurationError, NessieGcError
from nessie_gc_core.model.text import times_in
from nessie_gc_core.services.assets.settings import KEPT
from nessie_gc_core.services.parameters import GcParameters

PLOTS = ["trend", "sightings", "by-table", "by-type", "by-reason", "by-age"]
EVIL = "db.<script>alert('1')</script>&\"'$x^2$\x1b[31m\u202e"
INLINE = ("code", "strong")


@pytest.fixture(autouse=True)
def reader() -> Iterator[None]:
    """Whoever reads the page does so in UTC."""
    with times_in(UTC):
        yield


@dataclass
class Seen(HTMLParser):
    """What a browser sees of a page: elements with their attributes, and text outside of styles."""

    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    text: str = ""
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.text += "" if tag in INLINE else " "
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        self.text += "" if tag in INLINE else " "
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    @property
    def words(self) -> str:
        """The text with single spaces."""
        return " ".join(self.text.split())


def seen(html: str) -> Seen:
    found = Seen()
    found.feed(html)
    found.close()
    assert found.open == []
    return found


@pytest.fixture
def filled(assets: AssetLake) -> AssetLake:
    """Three runs; two files that all have seen, and one that the latest saw first."""
    old: list[dict[str, object]] = [
        {"name": "a", "sizeBytes": 3 * 1024**3, "tableName": "db.orders"},
        {"name": "b", "reason": "no reference"},
    ]
    add_run(assets, old)
    add_run(assets, old)
    add_run(assets, [*old, {"name": "c", "assetType": "STATISTICS"}], unknown=1, repository="nessie:lake")
    return assets


# ---- what is on it ------------------------------------------------------------------------------------
def test_the_page_has_the_figures(filled: AssetLake) -> None:
    words = seen(filled.show().html).words
    assert f"Table {TABLE}, run 3 of 2026-03-03 00:00:00+00:00" in words
    assert "Garbage 3.0 GiB 3 files" in words
    assert "Next deletion 3.0 GiB 2 files at most" in words
    assert "Complete runs 3 3 counted, 2 needed" in words
    assert "could not examine 1 location. Garbage there is missing from these figures" in words
    assert "Each file is checked again first: the references are read again" in words
    assert "table files size db.orders 1 3.0 GiB db.t 1 100 B" in words  # of the next deletion
    assert "db.orders 1 3.0 GiB db.t 2 200 B" in words  # of what there is
    assert "DATA_FILE 2 3.0 GiB STATISTICS 1 100 B" in words
    assert "expired commit 2 3.0 GiB no reference 1 100 B" in words
    assert "less than a day 0 0 B 1 to 7 days 3 3.0 GiB" in words
    assert "runs that saw it files size 1 1 100 B 2 or more 2 3.0 GiB" in words
    assert "run files size 2026-03-03 00:00:00+00:00 3 3.0 GiB 2026-03-02 00:00:00+00:00 2 3.0 GiB" in words


def test_the_page_says_what_the_latest_run_was_made_with(filled: AssetLake) -> None:
    words = seen(filled.show().html).words
    assert "repository nessie:lake live set a live set engine local unknown locations 1" in words
    assert "default-cutoff P7D cutoff main=P30D, dev=NONE" in words
    assert "cutoff-ref-time" not in words  # it was not given


def test_the_page_says_what_a_deletion_asks_for(filled: AssetLake) -> None:
    where = "\"sizeBytes\" < 1000 AND name <> '<b>'"
    words = seen(filled.show(seen_count=4, seen_apart=timedelta(hours=36), where=where).html).words
    assert "Nothing. A file is deleted if the latest run saw it, and at least 4 runs in all, counting only" in words
    assert f"only runs that are at least P1DT12H apart, and if {where} is true. Each file" in words
    assert "2 runs count so far; no file can reach the threshold before 2 more" in words


def test_rows_that_left_the_table_are_mentioned(filled: AssetLake) -> None:
    make_table(filled).forget(make_table(filled).sightings(filled.show().figures.trend[:1]))
    words = seen(filled.show().html).words
    assert "The latest run saw 3 files; the rows of 2 have been removed from the table since" in words
    assert "Garbage 100 B 1 file Next deletion 0 B 0 files at most" in words
    make_table(filled).forget(make_table(filled).sightings(filled.show().figures.trend))
    assert "Nothing that the latest run saw is left in the table." in seen(filled.show().html).words


def test_old_runs_and_small_groups_are_summed_up(assets: AssetLake) -> None:
    for _ in range(22):
        add_run(assets, [{"name": str(n), "tableName": f"db.t{n}"} for n in range(22)])
    words = seen(assets.show().html).words
    assert "and 2 earlier" in words
    assert 3 == words.count("2 other tables")  # next deletion, the plot by table and its numbers
    assert "200 B" in words


def test_a_page_without_a_complete_run_says_so(assets: AssetLake) -> None:
    make_table(assets)
    page = seen(assets.show().html)
    assert "No run of this table is complete yet, so there is nothing to show." in page.words
    assert "svg" not in {tag for tag, _ in page.elements}


def test_a_page_without_garbage_says_so(assets: AssetLake) -> None:
    add_run(assets, [])
    page = seen(assets.show().html)
    assert "The latest run found nothing unreferenced." in page.words
    assert 1 == [tag for tag, _ in page.elements].count("svg")  # the trend


# ---- what never is ------------------------------------------------------------------------------------
def test_what_comes_from_data_is_escaped(assets: AssetLake) -> None:
    settings = {"default_cutoff": "</code><script>", "cutoff": ["<img src=x>=P1D"]}
    rows = [{"name": "a", "tableName": EVIL, "reason": "<b>", "assetType": "</svg><script>"}]
    given = {"repository": "<script>", "live_set": "<script>", "engine": "<script>", "run": "<script>"}
    add_run(assets, rows, settings=settings, **given)
    html = assets.show(seen_count=1, where="'<script>' <> '</script>'").html
    page = seen(html)
    assert not {"script", "b", "img"} & {tag for tag, _ in page.elements}
    assert "db.<script>alert('1')</script>&\"'$x^2$\\x1b[31m\\u202e" in page.words
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", html)


def test_the_page_needs_nothing_from_outside_and_runs_nothing(filled: AssetLake) -> None:
    page = seen(filled.show().html)
    for tag, attributes in page.elements:
        assert tag not in {"script", "link", "img", "iframe", "object", "base", "form"}
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in {"src", "href", "action", "srcset"}
            assert name != "xlink:href" or (value or "").startswith("#")
            assert "url(" not in (value or "").replace("url(#", "")
    assert not re.search(r"@import|url\((?!#)", filled.show().html)


def test_plots_have_the_colours_of_the_page(filled: AssetLake) -> None:
    plots = re.findall(r"<svg.*?</svg>", filled.show().html, re.DOTALL)
    assert len(PLOTS) == len(plots)
    for plot in plots:
        assert "var(--ink)" in plot
        assert [] == re.findall(r"(?:fill|stroke): ?#[0-9a-fA-F]{3,6}", plot)
        assert not re.search(r'<svg [^>]*(width|height)="', plot)


def test_no_setting_that_a_run_keeps_is_a_secret() -> None:
    assert not GcParameters.secret_names() & set(KEPT)


# ---- files --------------------------------------------------------------------------------------------
def test_two_pages_of_one_state_are_equal(filled: AssetLake, tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        filled.show(output=str(folder / "page.html"), plots=str(folder))
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert first == second
    assert sorted(first) == sorted(["page.html", *(f"{name}.png" for name in PLOTS)])
    add_run(filled, [{"name": "d"}])
    assert first["page.html"].decode() != filled.show().html


def test_plots_are_pictures_of_a_size_that_can_be_shown(filled: AssetLake, tmp_path: Path) -> None:
    report = filled.show(plots=str(tmp_path))
    assert [tmp_path / f"{name}.png" for name in PLOTS] == list(report.plots)
    for path in report.plots:
        with Image.open(io.BytesIO(path.read_bytes())) as image:
            assert image.width > 800
            assert len(image.convert("L").getcolors() or []) > 1  # there is something on it


def test_a_page_replaces_an_earlier_one(filled: AssetLake, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("an earlier one")
    assert filled.show(output=str(page)).page == page
    assert filled.show().html == page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"output": "nowhere/page.html"}, "the folder 'nowhere' does not exist"),
        ({"output": "page.pdf"}, "must end in .html"),
        ({"output": "folder.html"}, "is a folder"),
        ({"plots": "file"}, "'file' is not a folder"),
        ({"seen_count": 0}, "`seen_count` must be at least 1"),
        ({"table": "assets"}, "CATALOG.NAMESPACE.TABLE"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_before_anything_is_read(
    assets: AssetLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, object], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder.html").mkdir()
    Path("file").touch()
    with pytest.raises(ConfigurationError, match=re.escape(message)):
        assets.show(**given)  # there is no table either, which is not what it says


def test_the_folder_of_the_plots_is_created(filled: AssetLake, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "plots"
    filled.show(plots=str(folder))
    assert {f"{name}.png" for name in PLOTS} == {path.name for path in folder.iterdir()}


def test_a_file_that_cannot_be_written_is_named(filled: AssetLake, tmp_path: Path) -> None:
    (tmp_path / "trend.png").mkdir()
    with pytest.raises(NessieGcError, match=r"cannot write '.*trend\.png': "):
        filled.show(plots=str(tmp_path))


# ---- without the libraries ----------------------------------------------------------------------------
@pytest.mark.parametrize("library", ["jinja2", "matplotlib"])
def test_a_missing_library_is_named_with_what_to_do(
    assets: AssetLake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    for given in ({"output": str(tmp_path / "page.html")}, {"plots": str(tmp_path)}):
        with pytest.raises(ConfigurationError, match=rf"{library}: pip install 'nessie-gc-core\[report\]'"):
            assets.show(**given)
    add_run(assets, [{"name": "a"}])
    report = assets.show()
    assert 1 == report.to_dict()["latest"]["files"]  # figures need no library
    with pytest.raises(ConfigurationError, match=library):
        _ = report.html


# ---- from outside -------------------------------------------------------------------------------------
def arguments(assets: AssetLake) -> list[str]:
    lake = f"lake={assets.lake.name}"
    return ["report", "--repository", "memory", "-r", lake, "--engine", "local", "--table-catalog", "memory"]


@pytest.fixture
def shown(filled: AssetLake) -> AssetLake:
    """The same table where the command line looks for it."""
    with MemoryTableCatalog.from_options({}) as tables, tables.open(filled.lake.name) as catalog:
        assert catalog.state(("gc", "assets")) is not None
    return filled


def test_the_command_prints_one_json_object(shown: AssetLake, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    more = ["--table", f"{shown.lake.name}.gc.assets", "--seen-count", "2", "--no-own-branch", "--json"]
    result = CliRunner().invoke(cli, [*arguments(shown), *more, "--output", str(page), "--plots", str(tmp_path)])
    assert 0 == result.exit_code, result.output
    found = json.loads(result.stdout)
    expected = shown.show(table=f"{CATALOG}.gc.assets").figures.to_dict()
    assert {**expected, "table": f"{shown.lake.name}.gc.assets"} == {
        name: value for name, value in found.items() if name not in ("format", "page", "plots", "exit_code")
    }
    assert (str(page), 6, 0) == (found["page"], len(found["plots"]), found["exit_code"])
    assert {"files": 3, "bytes": 3 * 1024**3 + 200} == {name: found["latest"][name] for name in ("files", "bytes")}
    assert [2, 2, 3] == [run["files"] for run in found["trend"]]


def test_the_command_prints_a_few_lines(shown: AssetLake) -> None:
    more = ["--table", f"{shown.lake.name}.gc.assets", "--no-own-branch"]
    result = CliRunner().invoke(cli, [*arguments(shown), *more])
    assert 0 == result.exit_code, result.output
    assert "run 3: 3 files, 3.0 GiB" in result.stdout
    assert "next deletion (seen in 10 or more runs): at most 0 files, 0 B" in result.stdout


def test_the_command_writes_the_page_to_standard_output_alone(shown: AssetLake, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    more = ["--table", f"{shown.lake.name}.gc.assets", "--no-own-branch", "--output"]
    assert 0 == CliRunner().invoke(cli, [*arguments(shown), *more, str(page)]).exit_code
    result = CliRunner().invoke(cli, [*arguments(shown), *more, "-"])
    assert (0, page.read_bytes()) == (result.exit_code, result.stdout_bytes)
    assert "run 3: 3 files" in result.stderr
    assert "written: standard output\n" in result.stderr


def test_the_page_and_its_figures_cannot_both_come_to_standard_output(shown: AssetLake) -> None:
    more = ["--table", f"{shown.lake.name}.gc.assets", "--no-own-branch", "--output", "-", "--json"]
    result = CliRunner().invoke(cli, [*arguments(shown), *more])
    assert 2 == result.exit_code
    assert "--output - and --json both write to standard output" in result.stderr


def test_python_shows_the_same(shown: AssetLake, tmp_path: Path) -> None:
    lake: MemoryLake = shown.lake
    with Collector(
        engine="local",
        inmemory=True,
        repository="memory",
        repository_option={"lake": lake.name},
        table_catalog="memory",
    ) as gc:
        assets = gc.unreferenced_assets(f"{lake.name}.gc.assets", own_branch=False, seenCount=2, history=True)
        report = assets.report(output=str(tmp_path / "page.html"))
    assert shown.show().figures.latest == report.figures.latest
    assert "3 files" in str(report)
    notebook = report._repr_html_()
    assert notebook.startswith("<iframe srcdoc=")
    assert seen(notebook).elements[0][1]["srcdoc"] == report.html
