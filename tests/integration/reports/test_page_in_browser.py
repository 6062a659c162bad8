"""`report.html` in a real Chromium: it acts as its users expect, and the target's text does not act at all.

Where no Chromium is, these are skipped; with CI=true that is a failure.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.contract import load_contract
from conformance.core.changes import CauseChange, Changes, PreviousRun
from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.reports import html
from tests.support.browser import DESKTOP, NEEDED, PHONE, Browser, opened
from tests.support.runs import REQUIREMENTS, small
from tests.support.values import replace

RESULTS = len(small().results)

pytestmark = [NEEDED, pytest.mark.slow]
OUTCOMES = [outcome.value for outcome in Outcome]


def short(run: Run) -> Run:
    """Every part of the page, and few rows of each: axe-core looks at every element."""
    names = {result.requirement for result in run.results[-30:]}
    rows = tuple(row for row in run.requirements if row.id in names)
    return replace(run, results=run.results[-30:], requirements=rows)


def compared(run: Run) -> Run:
    """After a previous run, with one new cause on all operations."""
    cause = CauseChange("c1", "IDEM-1", "not replayed", tuple(load_contract().operations))
    changes = Changes("before", "", "2026-01-02T03:04:05Z", "conformant", "20 of 20", "1 new cause", new=(cause,))
    return replace(run, previous=PreviousRun(changes))


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory, small: Run, big: Run, hostile: Run) -> Iterator[Browser]:
    runs = {"small": small, "big": big, "hostile": hostile, "short": short(small), "compared": compared(small)}
    pages = {name: html.write_file(run, tmp_path_factory.mktemp(name)) for name, run in runs.items()}
    with opened(pages, tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.mark.parametrize("name", ["small", "big", "hostile"])
def test_the_page_works_without_a_word_of_complaint_or_a_request(browser: Browser, name: str) -> None:
    """No error, no policy violation, no request; the script went to its end."""
    browser.open(name)
    assert browser.ready_ms() > 0
    assert browser.driver.get_log("browser") == []
    assert browser.requests() == []


def test_a_request_would_be_noticed(browser: Browser, tmp_path: Path) -> None:
    """The instrument of the test above sees what a careless page does."""
    browser.pages["careless"] = tmp_path / "careless.html"
    browser.pages["careless"].write_text("<img src='http://127.0.0.1:9/x.png'>", encoding="utf-8")
    assert browser.open("careless").requests() == ["http://127.0.0.1:9/x.png"]


def test_hostile_text_does_not_act(browser: Browser) -> None:
    """Not on load, not in opened rows, not under the pointer; and no dialogue opens."""
    browser.open("hostile")
    browser.run("for (const link of document.querySelectorAll('.open')) link.click();")
    browser.run(
        "for (const cell of document.querySelectorAll('td'))"
        "  cell.dispatchEvent(new Event('mouseover', {bubbles: true}));"
    )
    browser.run("for (const box of document.querySelectorAll('details')) box.open = true;")
    assert browser.js("window.pwned") is None
    assert browser.js("document.querySelectorAll('.detail').length") == 2 * len(Outcome)
    assert browser.js("document.querySelectorAll('img, iframe, body script').length") == 2
    assert browser.driver.get_log("browser") == []


def test_the_big_page_is_interactive_within_1500_ms(browser: Browser) -> None:
    """1,000 results of a run of 20,000 exchanges: parsed, laid out and ready."""
    took = min(browser.open("big").ready_ms() for _ in range(3))
    assert took < 1_500
    filtering = browser.js(
        "(() => { const t = performance.now(); const q = document.querySelector('[name=q]'); q.value = 'message 7';"
        "q.dispatchEvent(new Event('input', {bubbles: true})); document.body.offsetHeight;"
        "return performance.now() - t; })()"
    )
    assert filtering < 500
    assert 0 < browser.visible_rows() <= 100


def test_filters_narrow_the_results_and_are_in_the_address(browser: Browser) -> None:
    """By outcome, operation, requirement and words; a filtered view can be sent to someone."""
    browser.open("small")
    assert browser.visible_rows() == RESULTS
    browser.run("document.querySelector('.chip.o-warned input').click()")
    assert browser.visible_rows() == 5
    browser.run("document.querySelector('.chip.o-failed input').click()")
    assert browser.visible_rows() == 10, "the failure that is waived is not among the failed"
    pick = (
        "const field = document.querySelector(arguments[0]); field.value = arguments[1];"
        "field.dispatchEvent(new Event('input', {bubbles: true}))"
    )
    browser.run(pick, "[name=operation]", "getApiKeyIdentity")
    assert browser.visible_rows() == 2
    browser.run(pick, "[name=requirement]", "AUTH-1")
    assert browser.visible_rows() == 1
    assert browser.js("document.querySelector('.filters output').textContent") == f"1 of {RESULTS} results"
    sent = browser.js("location.hash")
    assert browser.open("small", sent).visible_rows() == 1
    browser.run("document.querySelector('.filters').reset()")
    browser.driver.execute_async_script("setTimeout(arguments[0], 50)")
    assert browser.visible_rows() == RESULTS
    browser.run(pick, "[name=q]", "static list")
    assert browser.visible_rows() == 3


def test_the_matrix_shows_only_what_did_not_pass_when_asked(browser: Browser) -> None:
    """A row for each requirement becomes the eleven that matter."""
    count = "[...document.querySelectorAll('.matrix tbody tr')].filter(r => r.offsetParent).length"
    assert browser.open("small").js(count) == len(REQUIREMENTS)
    browser.run("document.getElementById('unbad').click()")
    assert browser.js(count) == 11


def test_a_deep_link_opens_its_row(browser: Browser) -> None:
    """The detail is shown with clause, expected, observed, the decisive exchange and both commands."""
    anchor = browser.open("small").js("document.querySelector('.row').id")
    browser.open("small", f"#{anchor}")
    assert browser.js("document.querySelectorAll('.detail').length") == 1
    text = browser.js("document.querySelector('.detail').innerText")
    for needed in (
        "A request whose authentication fails is answered 401",
        "Expected",
        "200 with data",
        "decisive",
        "curl -sS",
        "conformance run",
    ):
        assert needed in text
    assert "false" not in text
    assert "undefined" not in text
    box = browser.js("(b => [b.top, b.bottom])(document.querySelector('.row').getBoundingClientRect())")
    assert 0 <= box[0] < DESKTOP[1]


def test_a_cell_of_the_matrix_leads_to_its_result(browser: Browser) -> None:
    """One click from the red cell to the evidence."""
    browser.open("small").run("document.querySelector('.matrix td.o-failed a').click()")
    browser.driver.execute_async_script("setTimeout(arguments[0], 100)")
    assert browser.js("document.querySelectorAll('.detail').length") == 1
    assert browser.js("document.activeElement.className").startswith("open")


def test_the_keyboard_is_enough(browser: Browser) -> None:
    """Skip link first, `/` searches, arrows walk rows and cells, Enter and Space open, and focus is seen."""
    from selenium.webdriver.common.keys import Keys

    browser.open("small").press(Keys.TAB)
    assert browser.js("document.activeElement.className") == "skip"
    browser.press("/", *"no authorization")
    assert browser.visible_rows() == 4
    browser.run("document.querySelector('.row .open').focus()")
    browser.press(Keys.ENTER)
    assert browser.js("document.activeElement.getAttribute('aria-expanded')") == "true"
    browser.press(Keys.ARROW_DOWN, Keys.SPACE)
    assert browser.js("document.querySelectorAll('.detail').length") == 2
    assert browser.js("getComputedStyle(document.activeElement).outlineStyle") == "solid"


def test_arrow_keys_tell_why_a_cell_is_empty(browser: Browser) -> None:
    """One stop in the tab order for the heat map; the tip follows the focus and Escape hides it."""
    from selenium.webdriver.common.keys import Keys

    browser.open("small")
    assert browser.js("document.querySelectorAll('.heat [tabindex=\"0\"]').length") == 1
    browser.run("document.querySelector('.heat [tabindex=\"0\"]').focus()")
    browser.press(*[Keys.ARROW_RIGHT] * 6)
    tip = "document.getElementById('tip')"
    assert "no check that provokes it was selected" in browser.js(f"{tip}.textContent")
    assert browser.js(f"{tip}.hidden") is False
    browser.run("scrollBy(0, 20)")
    browser.driver.execute_async_script("setTimeout(arguments[0], 100)")
    assert browser.js(f"{tip}.hidden") is False
    browser.press(Keys.ESCAPE)
    assert browser.js(f"{tip}.hidden") is True


@pytest.mark.parametrize("width", [PHONE[0], 780, 1000, DESKTOP[0]])
@pytest.mark.parametrize("name", ["small", "hostile", "big", "compared"])
def test_no_page_scrolls_sideways(browser: Browser, name: str, width: int) -> None:
    """Wide tables scroll in their own focusable regions; opened rows too stay within the page."""
    browser.open(name, size=(width, PHONE[1]))
    browser.run("[...document.querySelectorAll('.open')].slice(0, 8).forEach(link => link.click())")
    assert browser.js("document.documentElement.scrollWidth") <= width
    assert browser.js(
        "[...document.querySelectorAll('.scroll')].every(r => r.tabIndex === 0 && r.getAttribute('aria-label'))"
    )


def test_dark_mode_is_dark(browser: Browser) -> None:
    """The page follows prefers-color-scheme."""

    def background(scheme: str) -> int:
        rgb = browser.open("small", scheme=scheme).js("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in rgb[4:-1].split(","))

    assert background("dark") < 120
    assert background("light") > 600


def test_copy_buttons_copy_the_command(browser: Browser) -> None:
    """Or select it, where the browser gives no clipboard."""
    browser.open("small").run("document.querySelector('.command button').click()")
    browser.driver.execute_async_script("setTimeout(arguments[0], 100)")
    assert browser.js("document.querySelector('.command button').textContent") in ("Copied", "Selected")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_text_contrasts_with_its_ground(browser: Browser, scheme: str, size: tuple[int, int]) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1, measured on the tokens that text and grounds are made of."""
    browser.open("small", size=size, scheme=scheme)
    tokens = ["ink", "muted", "accent", *OUTCOMES]
    pairs = [(text, ground) for text in tokens for ground in ("bg", "surface", "code")]
    pairs += [(t, f"{t}-t") for t in tokens[3:]] + [("heat-ink", f"h{n}") for n in range(1, 6)] + [("ink", "warned-t")]
    names = sorted({name for pair in pairs for name in pair})
    style = browser.run(
        "const style = getComputedStyle(document.documentElement);"
        "return Object.fromEntries(arguments[0].map(name => [name, style.getPropertyValue('--' + name).trim()]))",
        names,
    )
    low = {pair: contrast(style[pair[0]], style[pair[1]]) for pair in pairs}
    assert {pair: round(ratio, 2) for pair, ratio in low.items() if ratio < 4.5} == {}


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours written as #rgb or #rrggbb (WCAG 2.2, relative luminance)."""
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, scheme: str) -> None:
    """axe-core, where AXE_CORE names its script (npm's `axe-core`, file axe.min.js)."""
    browser.open("short", scheme=scheme)
    browser.run("[...document.querySelectorAll('.open')].slice(0, 3).forEach(link => link.click())")
    found = browser.axe()
    assert ["passed", "color-contrast"] in found
    assert [v for v in found if v[0] in ("serious", "critical")] == []
