"""The figures of a run's page: its size, the time until it is interactive, its printed pages, where its parts begin.

`python -m tests.support.page_figures` makes the runs of the situations and one of twenty faults, and prints the figures
of each page; `python -m tests.support.page_figures REPORTS...` those of finished runs.
"""

from __future__ import annotations

import base64
import math
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.browser import DESKTOP, LACKS, PHONE, Browser, opened
from tests.support.commands import Desk, run_json, shared_reference
from tests.support.situations import SITUATIONS, make_run

TWENTY_FAULTS = (
    *("F006", "F022", "F026", "F028", "F030", "F037", "F041", "F051", "F055", "F056"),
    *("F059", "F067", "F079", "F101", "F119", "F131", "F133", "F146", "F161", "F169"),
)
LATE_MS = 1_000
_MOST_OPENINGS = 10
RUNS = ("conformant", "incomplete", "one-fault", "ten-faults", "waived", "interrupted")
PARTS: Mapping[str, str] = {
    "verdict": "h1",
    "scope": ".lead",
    "first cause": ".leading li",
    "its card": ".failure h3",
    "clause": ".failure .clause",
    "exchange": ".failure .compared, .failure .exchange.decisive",
    "command": ".failure > .command",
}
"""What a reader looks for -> the elements that show it, the first of which counts."""


@dataclass(frozen=True)
class Figures:
    causes: int
    requests: int
    size: int
    """Bytes."""
    ready_ms: float
    printed: int
    """Sheets of A4, with all evidence folded as it is when the page is loaded."""
    desktop: Mapping[str, int]
    """Each part -> the screen on which it begins, 1 for the first; parts that are not there are left out."""
    phone: Mapping[str, int]


def figures_of(browser: Browser, name: str, folder: Path) -> Figures:
    run = run_json(folder)
    ready_ms = _least_ready_ms(browser, name)
    printed = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", {"paperWidth": 8.27})["data"])
    return Figures(
        causes=len(run["causes"]),
        requests=run["traffic"]["requests"],
        size=(folder / "report.html").stat().st_size,
        ready_ms=ready_ms,
        printed=len(re.findall(rb"/Type\s*/Page\b", printed)),
        desktop=_screens(browser, name, DESKTOP),
        phone=_screens(browser, name, PHONE),
    )


def _least_ready_ms(browser: Browser, name: str) -> float:
    """The least of three; of ten where each was late, since another process may have had the processor."""
    least = math.inf
    for number in range(_MOST_OPENINGS):
        if number >= 3 and least < LATE_MS:
            break
        least = min(least, browser.open(name).ready_ms())
    return least


def _screens(browser: Browser, name: str, size: tuple[int, int]) -> dict[str, int]:
    browser.open(name, size=size).ready_ms()
    tops = browser.run(
        "return Object.fromEntries(Object.entries(arguments[0]).map(([part, place]) => [part,"
        "[...document.querySelectorAll(place)].find(e => e.getClientRects().length)]).filter(([, e]) => e)"
        ".map(([part, e]) => [part, e.getBoundingClientRect().top + scrollY]))",
        dict(PARTS),
    )
    return {part: int(tops[part] // size[1]) + 1 for part in PARTS if part in tops}


def make_runs(desk: Desk) -> dict[str, Path]:
    """The page of each run."""
    pages = {name: SITUATIONS[name](desk) for name in RUNS}
    return {**pages, "twenty-faults": make_run(desk, "twenty-faults", prefix="+".join(TWENTY_FAULTS))}


def lines_of(name: str, figures: Figures) -> Iterable[str]:
    """Rows of a Markdown table: the figures, and the screens at both sizes."""
    screens = (
        f"{part} {figures.desktop.get(part, '-')}/{figures.phone.get(part, '-')}"
        for part in PARTS
        if part in figures.desktop or part in figures.phone
    )
    yield (
        f"| {name} | {figures.causes} causes, {figures.requests:,} requests | {figures.size:,} bytes "
        f"| {figures.ready_ms:.0f} ms | {figures.printed} sheets | {', '.join(screens)} |"
    )


def main(names: list[str]) -> None:
    if LACKS:
        sys.exit(f"no figures without {', '.join(LACKS)}")
    with tempfile.TemporaryDirectory() as text:
        place = Path(text)
        (place / "desk").mkdir()
        given = {Path(name).name: Path(name).resolve() / "report.html" for name in names}
        pages = given or make_runs(Desk(place / "desk", shared_reference()))
        with opened(dict(pages), place / "browser") as browser:
            for name, page in pages.items():
                print(*lines_of(name, figures_of(browser, name, page.parent)), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
