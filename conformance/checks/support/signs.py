"""The signs of a run: which have moved, how late, and what was written recently."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from conformance.client.request import Request
from conformance.client.response import Answer

LADDER_S: Final = (0.1, 0.2, 0.4, 0.8, 1.5)
"""The pauses between observations where the profile does not state how long an effect may take to show."""
_DEFAULT_WITHIN_S: Final = sum(LADDER_S)
_MARGIN: Final = 2.0
_SOON_S: Final = 0.05
"""A shorter lag cannot be measured, and counts as none."""


@dataclass
class Signs:
    """The signs of one run, each named by the operation whose effect it shows."""

    lag_s: dict[str, float] = field(default_factory=dict)
    """The longest lag of each sign that has moved. Other signs are absent."""
    _write_times: dict[str, float] = field(default_factory=dict)
    """Path value -> time of the last write on it that was answered 200."""

    def note_move(self, operation: str, lag_s: float) -> None:
        """Records that the operation's sign has moved, with its lag."""
        self.lag_s[operation] = max(self.lag_s.get(operation, 0.0), 0.0 if lag_s < _SOON_S else lag_s)

    def has_moved(self, operation: str) -> bool:
        return operation in self.lag_s

    def note_write(self, answer: Answer) -> None:
        """Records the path values of a write that was answered 200."""
        request = answer.request
        if answer.ok and request.operation.idempotent:
            self._write_times.update(dict.fromkeys(request.path.values(), time.monotonic()))

    def observed_lag_s(self, operation: str) -> float:
        """The lag to expect of a sign: twice its longest lag in this run, or that of any other sign."""
        lag_s = self.lag_s.get(operation, max(self.lag_s.values(), default=0.0))
        return _MARGIN * lag_s

    def unsettled_s(self, request: Request, within_s: float | None) -> float:
        """Seconds that an earlier write on the request's object may still take to show."""
        since = max((self._write_times.get(value, 0.0) for value in request.path.values()), default=0.0)
        if not since:
            return 0.0
        if within_s is None:
            within_s = self.observed_lag_s(request.operation.id) if self.lag_s else _DEFAULT_WITHIN_S
        return max(0.0, since + within_s - time.monotonic())
