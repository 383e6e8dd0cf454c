from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from docs.commands import of_line, of_text, parse
from docs.pages import DOCS, NO_CODE, ROOT, Block, blocks, is_run, name_of, pages, wants_database, wants_lake
from docs.servers import nessie_database, small_lake

_ALL = [pytest.param(page, id=name_of(page)) for page in pages()]
_RUN = [pytest.param(page, id=name_of(page)) for page in pages() if is_run(page)]


@pytest.mark.parametrize("page", _ALL)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    silent = [block.line for block in blocks(page) if not block.language]
    assert [] == silent, "blocks without a language (use text for what is no code)"
    for block in blocks(page):
        assert not block.directive.startswith("not run") or re.match(r"not run: \w", block.directive), block.line


@pytest.mark.parametrize("page", _ALL)
def test_blocks_that_show_a_file_are_part_of_it(page: Path) -> None:
    for block in blocks(page):
        if block.file is not None:
            assert block.text in block.file.read_text(encoding="utf-8"), f"{name_of(page)}, line {block.line}"


@pytest.mark.parametrize("page", _ALL)
def test_commands_that_are_not_run_have_options_that_exist(page: Path) -> None:
    for block in blocks(page):
        if not block.is_run and block.language in ("console", "bash", "crontab"):
            for arguments in _our_commands(block):
                parse(arguments, f"{name_of(page)}, line {block.line}")


@pytest.mark.parametrize("page", _ALL)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{name_of(page)} links to {target}"
        if anchor and file.suffix == ".md":
            assert anchor in _anchors(file), f"{name_of(page)} links to {target}"


@pytest.mark.parametrize("page", _ALL)
def test_pages_name_no_place_on_the_machine_that_they_were_written_on(page: Path) -> None:
    assert [] == re.findall(r"(?:/root|/work|/Users/\w+)\b/\S*", page.read_text(encoding="utf-8"))


def test_every_page_is_reachable_from_the_readme() -> None:
    found, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in found or page.suffix != ".md":
            continue
        found.add(page)
        links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", page.read_text(encoding="utf-8"))
        waiting.extend((page.parent / link).resolve() for link in links if not re.match(r"[a-z]+:", link))
    assert [] == [name_of(page) for page in sorted(set(DOCS.rglob("*.md")) - found)]


@pytest.mark.server
@pytest.mark.spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", _RUN)
def test_a_page_runs_from_top_to_bottom(page: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    if wants_lake(page):
        with small_lake(tmp_path) as uri:
            _run(page, tmp_path, {**environment, "NESSIE_GC_URI": uri, "NESSIE_GC_ENGINE": "local"})
    elif wants_database(page):
        with nessie_database(tmp_path) as url:
            _run(page, tmp_path, {**environment, "NESSIE_GC_NESSIE_JDBC_URL": url})
    else:
        _run(page, tmp_path, environment)


def test_the_page_about_python_needs_nothing_that_the_extra_of_the_local_engine_does_not_bring(tmp_path: Path) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith("NESSIE_GC_")}
    _run(DOCS / "how-to" / "python.md", tmp_path, {**own, "TZ": "UTC"}, without=("pandas", "pyspark"))


def _run(page: Path, folder: Path, environment: dict[str, str], *, without: Sequence[str] = ()) -> None:
    command = [sys.executable, str(Path(__file__).with_name("run_page.py")), str(page), *without]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stderr[-6000:]


def _our_commands(block: Block) -> Iterator[list[str]]:
    if block.language == "console":
        yield from filter(None, (of_line(command) for command, _ in block.commands()))
    else:
        yield from of_text(block.text)


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_python_and_console_blocks_are_not_hidden_as_text() -> None:
    hidden = [
        f"{name_of(page)}, line {block.line}"
        for page in pages()
        for block in blocks(page)
        if block.language in NO_CODE and re.search(r"^(\$ |import |from \w+ import)", block.text, re.MULTILINE)
    ]
    assert [] == hidden
