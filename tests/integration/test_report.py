"""A report in a real browser: it needs nothing but itself, and is legible wide, narrow, dark and
printed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser, Page

from browser import browser_or_reason, opened
from perf.made_up import write_made_up
from unit.report.made_up import write_report

pytestmark = pytest.mark.xdist_group("report")
WIDE, NARROW, A4 = 1280, 400, 718
"""Pixels; A4 is what is left between margins of 10 mm."""

_OVERFLOWING = """() => [...document.body.querySelectorAll('*')].filter(element =>
  !element.closest('.wide, pre, svg') && element.getBoundingClientRect().right > innerWidth + 1
).map(element => element.outerHTML.slice(0, 120))"""
"""What reaches beyond the window; tables and commands scroll in a frame of their own."""

_CUT_TEXT = """() => [...document.querySelectorAll('figure svg')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    const beside = box.left < frame.left - 1 || box.right > frame.right + 1;
    return beside || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  }).map(text => svg.getAttribute('aria-label') + ': ' + text.textContent);
})"""

_EMPTY_CHARTS = """() => [...document.querySelectorAll('figure svg')].filter(svg => {
  const marks = [...svg.querySelectorAll('path:not(.grid):not(.level), circle')];
  return !marks.some(mark => { const box = mark.getBoundingClientRect(); return box.width + box.height > 1; });
}).map(svg => svg.getAttribute('aria-label'))"""  # noqa: E501


@dataclass
class Opened:
    """A page in a browser, with what it said and what it asked for."""

    page: Page
    complaints: list[str]
    requests: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The machine's own; skipped with the reason where it has none and none can be installed."""
    path, reason = browser_or_reason()
    if path is None:
        pytest.skip(reason)
    with opened(path) as browser:
        yield browser


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a made-up matrix: 20 cells and a canary, 6 blocks."""
    result = write_made_up(tmp_path_factory.mktemp("results"), 126)
    return write_report(result)[0]


def open_page(browser: Browser, path: Path, width: int, scheme: Any = "light") -> Opened:
    """The page as a reader meets it."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    opened = Opened(page, [], [])
    page.on("console", lambda message: opened.complaints.append(message.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("request", lambda request: opened.requests.append(request.url))
    page.goto(path.as_uri())
    return opened


def unfold(page: Page) -> None:
    """Opens all that is folded."""
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true })")


@pytest.mark.parametrize(("width", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
def test_it_needs_nothing_but_itself_and_everything_fits(
    browser: Browser, report: Path, tmp_path: Path, width: int, scheme: str
) -> None:
    opened = open_page(browser, report, width, scheme)
    page = opened.page
    page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
    unfold(page)
    assert opened.complaints == []
    assert opened.requests == [report.as_uri()]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(_OVERFLOWING) == []
    assert page.evaluate(_EMPTY_CHARTS) == []
    assert page.evaluate(_CUT_TEXT) == []
    assert page.locator("figure svg").count() > 100
    page.close()


def test_dark_is_dark_and_light_is_light(browser: Browser, report: Path, tmp_path: Path) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        page = open_page(browser, report, WIDE, scheme).page
        page.screenshot(path=tmp_path / f"{scheme}.png")
        style = "getComputedStyle(document.querySelector('{}')).{}"
        places = {
            "body": "backgroundColor",
            "td": "color",
            "figure circle": "fill",
            "figure text": "fill",
        }
        seen[scheme] = {
            place: page.evaluate(style.format(place, name)) for place, name in places.items()
        }
        page.close()
    assert not set(seen["light"].items()) & set(seen["dark"].items()), "every colour follows"
    assert seen["light"]["body"] == "rgb(255, 255, 255)"


def test_every_figure_is_there_with_its_panels(browser: Browser, report: Path) -> None:
    page = open_page(browser, report, WIDE).page
    wanted = {
        "levels-tps": 2,
        "levels-latency_p95_ms": 2,
        "levels-latency_p99_ms": 2,
        "relative-tps": 2,
        "seconds": 10,
    }
    for name, panels in wanted.items():
        assert page.locator(f"figure[id='{name}'] svg").count() == panels, name
    circles = page.locator("figure[id='levels-tps'] svg circle")
    assert circles.count() == 20, "a dot a cell"
    bars = page.locator(
        "figure[id='levels-tps'] svg path.thick, figure[id='levels-tps'] svg path.thin"
    )
    assert bars.count() == 40, "an interval and a spread for each"
    assert page.locator("figure[id='relative-tps'] svg path.area").count() == 10, (
        "±δ behind each comparison"
    )
    titles = page.locator("figure[id='servers-1'] h4").all_inner_texts()
    assert {"Com_select", "Threads_running", "Innodb_row_lock_time", "Innodb_rows_read"} <= set(
        titles
    )
    assert not [title for title in titles if "wsrep" in title], "no server of this result has those"
    page.close()


def test_on_paper_tables_are_whole_and_white(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    page = open_page(browser, report, A4, "dark").page
    page.emulate_media(media="print", color_scheme="dark")
    page.screenshot(path=tmp_path / "print.png", full_page=True)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("document.documentElement.scrollWidth") <= A4
    tables = page.locator("#verdicts table, #configuration table, #machine table")
    assert tables.count() >= 5
    for index in range(tables.count()):
        box = tables.nth(index).bounding_box()
        assert box and 0 < box["width"] <= A4 and box["height"] > 0
    assert not page.locator("nav").is_visible()
    page.emulate_media(media=None)
    assert len(page.pdf(format="A4")) > 20_000
    page.close()


def test_every_link_leads_to_a_file(browser: Browser, report: Path) -> None:
    page = open_page(browser, report, WIDE).page
    links = page.locator("a[href]").evaluate_all(
        "all => all.map(each => each.getAttribute('href'))"
    )
    files = [unquote(link) for link in links if not link.startswith("#")]
    assert len(files) > 126 * 4
    assert [path for path in files if not (report.parent / path).is_file()] == []
    assert [
        link
        for link in links
        if link.startswith("#") and not page.locator(f"[id='{link[1:]}']").count()
    ] == []
    page.close()
