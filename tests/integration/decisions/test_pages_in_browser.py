"""The pages of comparison and history in a real Chromium: no request, no complaint, nothing in anyone's way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.decisions import comparison_report as sidebyside
from conformance.decisions import history_report as trends
from conformance.decisions.comparison import compare
from conformance.decisions.history import history
from conformance.reports import runjson
from tests.support.browser import DESKTOP, NEEDED, PHONE, Browser, opened
from tests.support.runs import PAYLOADS, result, run_of
from tests.support.values import replace

pytestmark = [NEEDED, pytest.mark.slow]


def other(run: Run, number: int) -> Run:
    """The same run, of which every seventh result came out otherwise."""
    changed = tuple(
        replace(one, outcome=Outcome.FAILED, message="it was served", signature="s") if index % 7 == number % 3 else one
        for index, one in enumerate(run.results)
    )
    return run_of(changed, run.exchanges, started_at=f"2025-11-{number + 1:02}T00:00:00+00:00")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory, small: Run) -> Iterator[Browser]:
    place = tmp_path_factory.mktemp("pages")
    runs = [small, *(other(small, number) for number in range(9))]
    text = " ".join(PAYLOADS)
    evil = run_of([result("AUTH-1", "getApiKeyIdentity", Outcome.FAILED, message=text, case=text)], target=text)
    for number, run in enumerate(runs):
        (place / f"run-{number}").mkdir()
        runjson.write_file(run, place / f"run-{number}")
    written = {
        "comparison": sidebyside.html(compare(runs, [f"environment {n}" for n in range(10)])),
        "hostile": sidebyside.html(compare([run_of([]), evil], [text, text])),
        "history": trends.html(history(place)[0]),
    }
    pages = {name: place / f"{name}.html" for name in written}
    for name, page in written.items():
        pages[name].write_text(page, encoding="utf-8")
    with opened(pages, tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.mark.parametrize("name", ["comparison", "hostile", "history"])
def test_a_page_asks_for_nothing_and_complains_of_nothing(browser: Browser, name: str) -> None:
    """No request, no error, no violation of its own policy, and nothing of the target's acts."""
    browser.open(name)
    assert browser.driver.get_log("browser") == []
    assert browser.requests() == []
    assert browser.js("window.pwned") is None


def test_only_differences_are_shown_until_asked(browser: Browser) -> None:
    """The switch shows the rest, and hides it again."""
    browser.open("comparison")
    count = "[...document.querySelectorAll('#matrix tbody tr')].filter(row => row.offsetParent).length"
    few = browser.js(count)
    browser.run("document.querySelector('[data-only]').click()")
    assert 0 < few < browser.js(count)


@pytest.mark.parametrize("name", ["comparison", "history"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_a_page_fits_its_window(browser: Browser, name: str, size: tuple[int, int]) -> None:
    """Ten environments scroll in their own box, never the whole page sideways."""
    browser.open(name, size=size)
    assert browser.js("document.documentElement.scrollWidth") <= size[0]


@pytest.mark.parametrize("name", ["comparison", "history"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser: Browser, name: str, scheme: str) -> None:
    """For whoever reads with a screen reader or a keyboard."""
    found = browser.open(name, scheme=scheme).axe()
    assert ["passed", "color-contrast"] in found
    assert [v for v in found if v[0] in ("serious", "critical")] == []
