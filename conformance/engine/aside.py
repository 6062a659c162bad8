"""What a run leaves to its second process (`elsewhere`): what hypothesis draws, and a share of the reports."""

from __future__ import annotations

import contextlib
from functools import lru_cache
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from conformance.core.elsewhere import Elsewhere, Unavailable
from conformance.core.model import Run
from conformance.journal import journal
from conformance.journal.exchange_store import HELD
from conformance.judge.assemble import Growing

if TYPE_CHECKING:
    from conformance.reports import ParallelWriter

BEFOREHAND: Final = (
    *("hypothesis.stateful", "conformance.checks.check_walks", "conformance.checks.check_generated"),
    *("conformance.engine.aside", "conformance.reports.allure", "conformance.reports.har", "conformance.reports.html"),
)
"""What takes its time to be imported there."""
LONG: Final = 2 * HELD
"""Of a run whose journal has more bytes all reports are written here: it would be held in the memory twice, and what is
won is little beside what it took."""


class Reading:
    """The journal in a folder, which is read here and in the second process: what stands there while there is time."""

    def __init__(self, elsewhere: Elsewhere | None, directory: Path) -> None:
        self._elsewhere = elsewhere
        self._directory = directory
        self._growing = Growing(directory / journal.NAME)
        self._ahead: Thread | None = None

    def ahead(self) -> None:
        """Begins with what stands there by now, if nobody has, and holds nobody up."""
        if self._ahead is None:
            self._foretell()
            self._ahead = Thread(target=self._go_on, daemon=True)
            self._ahead.start()

    def run(self) -> Run:
        """Once the journal has come to its end. Raises JournalError."""
        if self._ahead is not None:
            self._ahead.join()
        self._foretell()
        return self._growing.run()

    def writer(self) -> ParallelWriter | None:
        """What writes reports of the run there, into its folder, for `reports.write_reports`."""
        other = self._elsewhere
        if other is None or _is_long(self._directory):
            return None
        return lambda name: other.call(_write, name, self._directory)

    def _foretell(self) -> None:
        if self._elsewhere is not None and not _is_long(self._directory):
            Thread(target=_read, args=(self._elsewhere, self._directory), daemon=True).start()

    def _go_on(self) -> None:
        from conformance import reports

        with contextlib.suppress(Exception):  # whatever it is, it is met again in the end
            self._growing.go_on()
            reports.load(reports.FORMATS)  # not sooner: hypothesis draws constants of what a checkout has loaded


def _is_long(directory: Path) -> bool:
    try:
        return (directory / journal.NAME).stat().st_size > LONG
    except OSError:
        return True


def _read(elsewhere: Elsewhere, directory: Path) -> None:
    with contextlib.suppress(Unavailable):
        elsewhere.call(_known, directory)


def _known(directory: Path) -> None:
    """Reads what stands there, and gives nothing that would have to be sent back."""
    _growing(directory).go_on()


@lru_cache(maxsize=1)
def _growing(directory: Path) -> Growing:
    return Growing(directory / journal.NAME)


@lru_cache(maxsize=1)
def _run(directory: Path) -> Run:
    return _growing(directory).run()


def _write(name: str, directory: Path) -> Path:
    from conformance.reports import write_reports

    return write_reports(_run(directory), directory, [name])[0]
