"""What a run leaves to its second process (`elsewhere`): what hypothesis draws, and a share of the reports."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from conformance.client import journal
from conformance.elsewhere import Elsewhere, Unavailable
from conformance.exchanges import HELD
from conformance.judge.run import load
from conformance.model import Run

if TYPE_CHECKING:
    from conformance.reports import Beside

BEFOREHAND: Final = (
    *("hypothesis.stateful", "conformance.checks.check_walks", "conformance.checks.check_generated"),
    *("conformance.aside", "conformance.reports.allure", "conformance.reports.har", "conformance.reports.html"),
)
"""What takes its time to be imported there."""
LONG: Final = 2 * HELD
"""Of a run whose journal has more bytes all reports are written here: it would be held in the memory twice, and what is
won is little beside what it took."""


def foretell(elsewhere: Elsewhere | None, directory: Path) -> None:
    """The journal in a folder has come to its end: it is read there while it is read here."""
    if elsewhere is not None and not _is_long(directory):
        Thread(target=_read, args=(elsewhere, directory), daemon=True).start()


def writer(elsewhere: Elsewhere | None, directory: Path) -> Beside | None:
    """What writes reports of the run in a folder there, into it, for `reports.write_reports`."""
    if elsewhere is None or _is_long(directory):
        return None
    return lambda name: elsewhere.call(_write, name, directory)


def _is_long(directory: Path) -> bool:
    try:
        return (directory / journal.NAME).stat().st_size > LONG
    except OSError:
        return True


def _read(elsewhere: Elsewhere, directory: Path) -> None:
    with contextlib.suppress(Unavailable):
        elsewhere.call(_known, directory)


def _known(directory: Path) -> None:
    """Reads it, and gives nothing that would have to be sent back."""
    _run(directory)


@lru_cache(maxsize=1)
def _run(directory: Path) -> Run:
    return load(directory)


def _write(name: str, directory: Path) -> Path:
    from conformance.reports import write_reports

    return write_reports(_run(directory), directory, [name])[0]
