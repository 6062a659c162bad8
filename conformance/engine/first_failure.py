"""Detects the first failure of a run in the engine's thread, and signals the thread that waits for results."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence

from conformance.core.model import Exchange, Requirement, Result, Waiver
from conformance.core.outcomes import Outcome
from conformance.judge.invariant_results import is_binding

Work = Callable[..., Awaitable[Result]]


class Alarm:
    """For a run that ends at its first failure. Triggers once for a check and once for an invariant."""

    def __init__(self, requirements: Mapping[str, Requirement], waivers: Sequence[Waiver]) -> None:
        self._requirements = requirements
        self._waiver_scopes = {(waiver.requirement, waiver.operation) for waiver in waivers}
        self.event = threading.Event()
        """Set when a check failed, an invariant was violated, or the awaited job ended."""
        self.failed_instance = ""
        """The id of the first failed instance."""
        self.violation = ""
        """The first violated invariant and its finding, as text."""
        self.violation_sender = ""
        """The sender of the violating exchange: an instance's id, or another label."""

    @property
    def is_triggered(self) -> bool:
        return bool(self.failed_instance or self.violation)

    def wrap(self, key: str, work: Work) -> Work:
        """Wraps the work of an instance: its failure triggers the alarm."""

        async def watched_work(runtime: object) -> Result:
            try:
                result = await work(runtime)
            except Exception:
                self._trigger(key)  # an error of the suite ends the run too
                raise
            if result.outcome in (Outcome.FAILED, Outcome.BROKEN):
                self._trigger(key)
            return result

        return watched_work

    def _trigger(self, key: str) -> None:
        self.failed_instance = self.failed_instance or key
        self.event.set()

    def examine_exchange(self, exchange: Exchange) -> None:
        """Examines the findings of an exchange that the invariants have judged.

        A finding that a waiver may cover does not trigger: waivers are applied when the run is assembled.
        """
        if self.violation:
            return
        for finding in exchange.findings:
            requirement = self._requirements.get(finding.requirement)
            if requirement is None or exchange.operation not in requirement.operations or not is_binding(finding):
                continue
            if not self._waiver_scopes & {(finding.requirement, ""), (finding.requirement, exchange.operation)}:
                self.violation_sender = exchange.check
                self.violation = f"{finding.requirement} on {exchange.operation}: {finding.message}"
                self.event.set()
                return
