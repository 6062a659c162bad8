"""What a run has learnt of its signs: which of them were seen to move, how late, and what was written lately."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Final

from conformance.client.request import Request
from conformance.client.response import Answer

LADDER_S: Final = (0.1, 0.2, 0.4, 0.8, 1.5)
"""The pauses between looks where the profile does not say how long an effect may take to show."""
_DEFAULT_WITHIN_S: Final = sum(LADDER_S)
_MARGIN: Final = 2.0
_SOON_S: Final = 0.05
"""An effect that was there when it was first looked for has no lag that anybody could have measured."""


@dataclass
class Signs:
    """The memory of one run. A sign is named by the operation whose effect it shows."""

    lag_s: dict[str, float] = field(default_factory=dict)
    """The longest that a sign which moved took to show it. A sign that is not in here was never seen to move."""
    _written: dict[str, float] = field(default_factory=dict)
    """A value of a path -> when the last write on it that was answered 200 was over."""

    def saw(self, operation: str, lag_s: float) -> None:
        """The operation's sign has moved, so long after it was first looked at."""
        self.lag_s[operation] = max(self.lag_s.get(operation, 0.0), 0.0 if lag_s < _SOON_S else lag_s)

    def has_moved(self, operation: str) -> bool:
        return operation in self.lag_s

    def wrote(self, answer: Answer) -> None:
        """An answer of the run: where it is the 200 of a write, what it names has changed."""
        request = answer.request
        if answer.ok and request.operation.idempotent:
            self._written.update(dict.fromkeys(request.path.values(), time.monotonic()))

    def seen_lag_s(self, operation: str) -> float:
        """How late the sign may be, as far as this run has seen: twice what it was, or what any other was."""
        seen = self.lag_s.get(operation, max(self.lag_s.values(), default=0.0))
        return _MARGIN * seen

    def unsettled_s(self, request: Request, within_s: float | None) -> float:
        """How much longer an earlier write on the request's object may take to show."""
        since = max((self._written.get(value, 0.0) for value in request.path.values()), default=0.0)
        if not since:
            return 0.0
        if within_s is None:
            within_s = self.seen_lag_s(request.operation.id) if self.lag_s else _DEFAULT_WITHIN_S
        return max(0.0, since + within_s - time.monotonic())
