"""The first thing that makes a run's verdict "no", noticed in the engine's thread, told to the one that waits."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence

from conformance.core.model import Exchange, Outcome, Requirement, Result, Waiver
from conformance.judge.invariant_results import is_binding

Work = Callable[..., Awaitable[Result]]


class Alarm:
    """Of a run that ends at its first failure. Rings once for a check, and once for an invariant."""

    def __init__(self, requirements: Mapping[str, Requirement], waivers: Sequence[Waiver]) -> None:
        self._requirements = requirements
        self._waived = {(waiver.requirement, waiver.operation) for waiver in waivers}
        self.event = threading.Event()
        """Set whenever it may be worth while to look."""
        self.failed = ""
        """The id of the instance that failed first."""
        self.violated = ""
        """Which invariant was violated, and how."""
        self.by = ""
        """On whose behalf the exchange was sent that shows it: an instance's id, or another word."""

    @property
    def rung(self) -> bool:
        return bool(self.failed or self.violated)

    def heard(self, key: str, work: Work) -> Work:
        """The work of an instance, whose failure is told."""

        async def listened(runtime: object) -> Result:
            try:
                result = await work(runtime)
            except Exception:
                self._fail(key)  # the suite's own fault is no reason to go on either
                raise
            if result.outcome in (Outcome.FAILED, Outcome.BROKEN):
                self._fail(key)
            return result

        return listened

    def _fail(self, key: str) -> None:
        self.failed = self.failed or key
        self.event.set()

    def saw(self, exchange: Exchange) -> None:
        """An exchange after the invariants looked at it.

        What a waiver may be for does not ring: whether it excuses the failure is known when the run is assembled.
        """
        if self.violated:
            return
        for finding in exchange.findings:
            requirement = self._requirements.get(finding.requirement)
            if requirement is None or exchange.operation not in requirement.operations or not is_binding(finding):
                continue
            if not self._waived & {(finding.requirement, ""), (finding.requirement, exchange.operation)}:
                self.by = exchange.check
                self.violated = f"{finding.requirement} on {exchange.operation}: {finding.message}"
                self.event.set()
                return
