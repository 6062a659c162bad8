"""The live line of observed traffic: exchanges, operations seen, findings."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from rich.console import Console

from conformance.core.messages import plural
from conformance.reports.shaping.text import console_text

if TYPE_CHECKING:
    from conformance.runner.observe.traffic_run import TrafficRun

_EVERY_S: Final = 5.0
_TERMINAL_EVERY_S: Final = 0.25
_NAMES: Final = 6


def figures(traffic: TrafficRun) -> str:
    """`1,204 exchanges, 12 of 20 operations, 3 findings (ENV-1, STA-1), 40 left out`."""
    requirements = sorted(traffic.findings)
    count = sum(traffic.findings.values())
    names = ", ".join(requirements[:_NAMES]) + (", …" if len(requirements) > _NAMES else "")
    parts = [
        plural(traffic.count, "exchange"),
        f"{len(traffic.operations)} of {len(traffic.contract.all)} operations",
        f"{plural(count, 'finding')} ({names})" if count else "no findings",
    ]
    parts += [f"{traffic.left_out:,} left out"] if traffic.left_out else []
    return ", ".join(parts)


class LiveLine:
    """Prints it while `following`: in place on a terminal, else every few seconds; nothing where `quiet`."""

    def __init__(self, console: Console, *, quiet: bool = False) -> None:
        self.console = console
        self._quiet = quiet

    def print(self, text: str) -> None:
        if not self._quiet:
            self.console.print(console_text(text), highlight=False, markup=False, soft_wrap=True)

    @contextmanager
    def following(self, traffic: TrafficRun) -> Iterator[None]:
        if traffic.absent_keys:
            self.print(f"keys whose secrets are not there are not recognised: {', '.join(traffic.absent_keys)}")
        if self._quiet:
            yield
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._follow, args=(traffic, ended), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _follow(self, traffic: TrafficRun, ended: threading.Event) -> None:
        started = time.monotonic()
        if self.console.is_terminal:
            with self.console.status("") as status:
                while not ended.wait(_TERMINAL_EVERY_S):
                    status.update(console_text(f"{figures(traffic)}, {time.monotonic() - started:.0f} s"))
            return
        last = ""
        while not ended.wait(_EVERY_S):
            if (text := figures(traffic)) != last:
                self.print(f"  {text}, {time.monotonic() - started:.0f} s")
                last = text
