"""The page of real runs: small, soon ready, printed on few sheets, and what a reader looks for stands near its top."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.browser import NEEDED, opened
from tests.support.commands import Desk, shared_reference
from tests.support.page_figures import LATE_MS, PARTS, RUNS, TWENTY_FAULTS, Figures, figures_of, make_runs

pytestmark = [NEEDED, pytest.mark.slow]


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, Figures]]:
    pages: dict[str, Path] = make_runs(Desk(tmp_path_factory.mktemp("runs"), shared_reference()))
    with opened(pages, tmp_path_factory.mktemp("chromium")) as browser:
        yield {name: figures_of(browser, name, page.parent) for name, page in pages.items()}


def test_a_page_is_small_soon_ready_and_printed_on_few_sheets(figures: Mapping[str, Figures]) -> None:
    """Below 1.5 MB, within 1 s, in under 15 sheets: also with 20 causes."""
    assert list(figures) == [*RUNS, "twenty-faults"]
    assert len(set(TWENTY_FAULTS)) == 20
    assert figures["twenty-faults"].causes >= 20
    assert {name: one.size for name, one in figures.items() if one.size >= 1_500_000} == {}
    assert {name: one.ready_ms for name, one in figures.items() if one.ready_ms >= LATE_MS} == {}
    assert {name: one.printed for name, one in figures.items() if not 0 < one.printed < 15} == {}


def test_what_a_reader_looks_for_is_on_the_first_three_screens(figures: Mapping[str, Figures]) -> None:
    """Verdict, scope and first cause on the first; the cause's evidence and command by the third, on a phone too."""
    for name in ("one-fault", "ten-faults", "twenty-faults"):
        for screens in (figures[name].desktop, figures[name].phone):
            assert list(screens) == list(PARTS), name
            assert [screens[part] for part in ("verdict", "scope", "first cause")] == [1, 1, 1], name
            assert max(screens.values()) <= 3, (name, screens)
