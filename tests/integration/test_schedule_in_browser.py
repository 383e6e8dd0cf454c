"""The page of a schedule in a real browser: wide, on a phone, in the light and in the dark."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from browsing import ELSEWHERE, browser
from playwright.sync_api import Browser, Page
from schedule_pages import NOW, a_year, page, quarantines

from nessie_gc_core.connectors import ScheduleStore
from nessie_gc_core.model.schedule import RunStatus, TableBytes
from nessie_gc_core.services.schedule.page import serve
from nessie_gc_core.services.schedule.page.figures import figures_of
from nessie_gc_core.services.schedule.page.render import render_schedule
from nessie_gc_core.services.schedule.page.serve import PageServer
from nessie_gc_core.testing.schedule_samples import done, job, run_of

pytestmark = pytest.mark.server

PHONE, SMALL, WIDE = 360, 320, 1100
SCHEMES = ("light", "dark")
LONG = "job-" + "x" * 116
LONG_PLACE = f"s3://lake/{'quarantine' * 20}/2026-03-01/"
ELEMENT, BREAKING = "<img src=x onerror=alert(1)>", "\"><img src='x' onerror='alert(1)'>"
LEAST_CONTRAST = 4.5
"""What WCAG 2 asks of text (AA)."""
LEAST_TEXT_PIXELS = 12
LEAST_BAR_PIXELS = 3

_OVERFLOWING = """() => [...document.querySelectorAll('body *')]
    .filter(each => each.getBoundingClientRect().right > innerWidth + 0.5 && !each.closest('.wide'))
    .map(each => each.outerHTML.slice(0, 80))"""
_TEXTS = """() => {
    const channels = text => text.match(/[\\d.]+/g).map(Number)
    const light = ([red, green, blue]) => {
        const [r, g, b] = [red, green, blue].map(each => each / 255)
            .map(each => each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    const behind = each => {
        for (; each; each = each.parentElement) {
            const found = channels(getComputedStyle(each).backgroundColor)
            if (found.length < 4 || found[3] > 0) return found
        }
        return [255, 255, 255]
    }
    const hasText = each => [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())
    return [...document.querySelectorAll('main *')].filter(hasText).map(each => {
        const style = getComputedStyle(each)
        const [front, back] = [light(channels(style.color)), light(behind(each))]
        const contrast = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05)
        return {text: each.textContent.trim().slice(0, 40), contrast, pixels: parseFloat(style.fontSize)}
    })
}"""


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """The page of a month, of a year, of many jobs, and with names that a browser may take for something else."""
    store = a_year()
    return {
        "month": page(store),
        "year": page(store, 400),
        "many": page(a_year(days=2, jobs=40)),
        "odd": page(with_odd_names()),
        "long": with_long_names(),
    }


def with_odd_names() -> ScheduleStore:
    """A job, its error and a table with names that are elements, and that end the attribute in which they are."""
    store, found = a_year(days=2), job(ELEMENT * 9)
    store.add_job("lake", found)
    run = run_of(found)
    assert store.start_run("lake", run, then=None, lease=timedelta(hours=1))
    ended = replace(done(run, RunStatus.FAILED), error=f"it failed: {BREAKING}", report=None)
    assert store.finish_run("lake", ended, tables=[TableBytes(table=BREAKING, garbage=2**50)])
    return store


def with_long_names() -> str:
    """The page of a job, an error and a quarantine with names that nothing breaks into lines."""
    store, found = a_year(days=2), job(LONG)
    store.add_job("lake", found)
    run = run_of(found)
    assert store.start_run("lake", run, then=None, lease=timedelta(hours=1))
    ended = replace(done(run, RunStatus.FAILED), error=f"cannot read {LONG_PLACE}", report=None)
    assert store.finish_run("lake", ended)
    held = [replace(each, place=LONG_PLACE) for each in quarantines()]
    return render_schedule(figures_of(store, "lake", now=NOW, quarantines=held))


@pytest.fixture(scope="module")
def served(pages: dict[str, str]) -> Iterator[PageServer]:
    server = PageServer(lambda: pages["month"], host="127.0.0.1", port=0)
    yield server
    server.close()


@contextmanager
def showing(opened: Browser, html: str, *, width: int = WIDE, scheme: Any = "light") -> Iterator[Page]:
    tab = opened.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    try:
        tab.set_content(html)
        yield tab
    finally:
        tab.close()


def test_it_is_opened_from_its_server_without_a_complaint_and_asks_for_nothing_else(
    opened: Browser, served: PageServer
) -> None:
    said, asked = list[str](), list[str]()
    tab = opened.new_page()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.on("request", lambda request: asked.append(request.url))
    address = f"http://127.0.0.1:{served.port}/"
    answer = tab.goto(address, wait_until="networkidle")
    assert answer is not None
    assert (200, "Schedule: lake") == (answer.status, tab.title())
    assert ([], [address]) == (said, asked)
    tab.close()


def test_a_stranger_who_gives_this_machine_a_name_cannot_read_it(opened: Browser, served: PageServer) -> None:
    tab = opened.new_page()
    answer = tab.goto(f"http://{ELSEWHERE}:{served.port}/")
    assert answer is not None
    assert (421, False) == (answer.status, "lake" in tab.content())
    tab.close()


def test_it_stays_up_to_date_while_it_is_open(opened: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(serve._HEADERS, "Refresh", "1")
    server = PageServer(lambda: "<title>a</title>", host="127.0.0.1", port=0)
    tab = opened.new_page()
    tab.goto(server.address)
    with tab.expect_navigation(url=server.address, timeout=20_000):
        pass
    tab.close()
    server.close()


@pytest.mark.parametrize("width", [SMALL, PHONE, WIDE])
@pytest.mark.parametrize("name", ["month", "year", "odd", "long"])
def test_nothing_is_wider_than_the_screen(opened: Browser, pages: dict[str, str], name: str, width: int) -> None:
    with showing(opened, pages[name], width=width) as tab:
        unfold(tab)
        assert [] == tab.evaluate(_OVERFLOWING)
        assert width == tab.evaluate("() => document.documentElement.scrollWidth")


@pytest.mark.parametrize("width", [PHONE, WIDE])
@pytest.mark.parametrize("name", ["month", "long"])
def test_no_table_is_wider_than_the_screen(opened: Browser, pages: dict[str, str], name: str, width: int) -> None:
    with showing(opened, pages[name], width=width) as tab:
        unfold(tab)
        widths = tab.eval_on_selector_all(".wide", "all => all.map(each => each.scrollWidth - each.clientWidth)")
    assert [0] * len(widths) == widths


def test_a_long_name_of_a_job_leaves_room_for_its_status_and_its_error(opened: Browser, pages: dict[str, str]) -> None:
    with showing(opened, pages["long"]) as tab:
        row = tab.locator("tr", has_text=LONG).filter(has=tab.locator(".says")).first
        ends = [
            box["x"] + box["width"] for each in (".badge", ".says") if (box := row.locator(each).first.bounding_box())
        ]
    assert [True, True] == [end <= WIDE for end in ends]


def test_a_name_of_usual_length_is_one_line(opened: Browser, pages: dict[str, str]) -> None:
    lines = """all => all.filter(each => each.textContent.length < 18).map(each => {
        const range = document.createRange()
        range.selectNodeContents(each)
        return range.getClientRects().length
    })"""
    with showing(opened, pages["long"]) as tab:
        unfold(tab)
        found = tab.eval_on_selector_all(".wide tbody th", lines)
    assert [1] * len(found) == found
    assert len(found) > 20


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [PHONE, WIDE])
def test_all_text_can_be_read(opened: Browser, pages: dict[str, str], width: int, scheme: str) -> None:
    with showing(opened, pages["month"], width=width, scheme=scheme) as tab:
        unfold(tab)
        texts = tab.evaluate(_TEXTS)
    assert len(texts) > 100
    assert [] == [each for each in texts if each["contrast"] < LEAST_CONTRAST or each["pixels"] < LEAST_TEXT_PIXELS]


def test_in_the_dark_it_is_dark(opened: Browser, pages: dict[str, str]) -> None:
    lightness = []
    for scheme in SCHEMES:
        with showing(opened, pages["month"], scheme=scheme) as tab:
            color = tab.evaluate("() => getComputedStyle(document.body).backgroundColor")
            lightness.append(max(map(int, re.findall(r"\d+", color))))
    assert [True, True] == [lightness[0] > 200, lightness[1] < 50]


def test_bars_of_a_year_can_be_told_apart_on_a_phone(opened: Browser, pages: dict[str, str]) -> None:
    with showing(opened, pages["year"], width=PHONE) as tab:
        widths = tab.eval_on_selector_all(".bars li", "all => all.map(each => each.getBoundingClientRect().width)")
    assert 58 == len(widths)
    assert min(widths) >= LEAST_BAR_PIXELS


def test_more_jobs_and_runs_are_unfolded(opened: Browser, pages: dict[str, str]) -> None:
    with showing(opened, pages["many"]) as tab:
        hidden = tab.get_by_text("compact-039", exact=True)
        assert not hidden.is_visible()
        tab.get_by_text("15 more jobs").click()
        assert hidden.is_visible()


def test_the_command_that_shows_the_report_of_a_run_is_unfolded(opened: Browser, pages: dict[str, str]) -> None:
    with showing(opened, pages["month"]) as tab:
        command = tab.locator(".says code").first
        assert not command.is_visible()
        tab.locator(".says summary").first.click()
        assert command.is_visible()
        assert re.fullmatch(r"nessie-gc schedule history [0-9a-f-]{36}", command.inner_text())


def test_each_picture_of_a_table_is_drawn(opened: Browser, pages: dict[str, str]) -> None:
    size = "all => all.map(each => each.getBoundingClientRect()).map(each => each.width > 50 && each.height > 1)"
    with showing(opened, pages["month"], width=PHONE) as tab:
        drawn = [tab.eval_on_selector_all(f".multiples path.{kind}", size) for kind in ("bar", "line")]
    assert [[True] * 7] * 2 == drawn


def test_names_that_look_like_elements_are_text(opened: Browser, pages: dict[str, str]) -> None:
    with showing(opened, pages["odd"]) as tab:
        unfold(tab)
        assert 0 == tab.locator("img").count()
        heads = tab.locator("th[scope=row]").all_text_contents()
        assert 3 == heads.count(ELEMENT * 9)  # among the jobs, what went wrong, and the latest runs
        assert 2 == tab.locator(".says .error").all_text_contents().count(f"it failed: {BREAKING}")
        assert 1 == tab.locator(".multiples h3").all_text_contents().count(BREAKING)
        labels = tab.eval_on_selector_all("svg", "all => all.map(each => each.getAttribute('aria-label'))")
    assert [True] == [label.startswith(f"{BREAKING}: 1.0 PiB of garbage") for label in labels if "<" in label]


def unfold(tab: Page) -> None:
    """Opens all that is folded."""
    act: Callable[..., Any] = tab.eval_on_selector_all
    act("details", "all => all.forEach(each => each.open = true)")
