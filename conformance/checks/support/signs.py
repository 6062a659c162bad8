"""The signs of a run: which have moved, how late, which are private, and what was written recently."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol
from weakref import WeakSet

from conformance.client.response import Answer

LADDER_S: Final = (0.1, 0.2, 0.4, 0.8, 1.5)
"""The pauses between observations where the profile does not state how long an effect may take to show."""
_DEFAULT_WITHIN_S: Final = sum(LADDER_S)
_MARGIN: Final = 2.0
_SOON_S: Final = 0.05
"""A shorter lag cannot be measured, and counts as none."""


UNMOVED: Final = "did not move with an effect that another sign showed"


class AnswerObserver(Protocol):
    """Is notified of each 200 to a request of one scope, whatever was changed in the request."""

    scope: Mapping[str, Any]

    def note_answer(self, answer: Answer) -> None: ...


@dataclass
class Signs:
    """The signs of one run, each named by its key in the profile, such as `effects.quotePublicCart[1]`."""

    lag_s: dict[str, float] = field(default_factory=dict)
    """The longest lag of each sign that has moved. Other signs are absent."""
    doubts: dict[str, str] = field(default_factory=dict)
    """Each sign that was examined -> why it decides nothing; empty where it does."""
    _write_times: dict[str, float] = field(default_factory=dict)
    """Path value -> time of the last write on it that was answered 200."""
    _observers: WeakSet[Any] = field(default_factory=WeakSet)

    def note_move(self, key: str, lag_s: float) -> None:
        """Records that the sign has moved, with its lag."""
        self.lag_s[key] = max(self.lag_s.get(key, 0.0), 0.0 if lag_s < _SOON_S else lag_s)

    def has_moved(self, operation: str) -> bool:
        """Whether any sign of the operation has moved."""
        name = f"effects.{operation}"
        return any(key == name or key.startswith(f"{name}[") for key in self.lag_s)

    def find_unmoved(self, operation: str) -> list[str]:
        """The keys of the operation's signs that did not move with an effect that another sign showed."""
        found = [key for key, doubt in self.doubts.items() if doubt == UNMOVED and key not in self.lag_s]
        return sorted(key for key in found if key.startswith(f"effects.{operation}["))

    def observe_answers(self, observer: AnswerObserver) -> None:
        """Notifies the observer as long as it exists."""
        self._observers.add(observer)

    def note_write(self, answer: Answer) -> None:
        """Records the path values of a write that was answered 200."""
        request = answer.request
        if answer.ok and request.operation.idempotent:
            self._write_times.update(dict.fromkeys(request.path.values(), time.monotonic()))
            for observer in tuple(self._observers):
                if observer.scope is request.scope:
                    observer.note_answer(answer)

    def observed_lag_s(self, key: str) -> float:
        """The lag to expect of a sign: twice its longest lag in this run, or that of any other sign."""
        lag_s = self.lag_s.get(key, max(self.lag_s.values(), default=0.0))
        return _MARGIN * lag_s

    def unsettled_s(self, values: Collection[str], key: str, within_s: float | None) -> float:
        """Seconds that an earlier write on an object with one of these path values may still take to show."""
        since = max((self._write_times.get(value, 0.0) for value in values), default=0.0)
        if not since:
            return 0.0
        if within_s is None:
            within_s = self.observed_lag_s(key) if self.lag_s else _DEFAULT_WITHIN_S
        return max(0.0, since + within_s - time.monotonic())


def sign_key(operation: str, index: int, count: int) -> str:
    """The key of a sign: `effects.OPERATION`, with its index where the operation has several."""
    return f"effects.{operation}[{index}]" if count > 1 else f"effects.{operation}"
