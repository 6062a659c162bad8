"""The first and the last use of each idempotency key of a run: a target may forget a key after its retention time."""

from __future__ import annotations

from conformance.client.request import Request


class KeyUses:
    """Notes the requests that are sent with a key, also those whose connection is closed before the answer."""

    def __init__(self) -> None:
        self._times: dict[tuple[str, str], tuple[float, float]] = {}
        """(operationId, key) -> when it was sent first, and when its last answer came, in seconds of the run."""

    def note(self, request: Request, began_s: float, ended_s: float) -> None:
        if request.key is not None:
            name = request.operation.id, request.key
            first_s, last_s = self._times.get(name, (began_s, ended_s))
            self._times[name] = min(first_s, began_s), max(last_s, ended_s)

    def age_s(self, request: Request) -> float:
        """Seconds between the first and the last use of a request's key; 0 without a key."""
        first_s, last_s = self._times.get((request.operation.id, request.key or ""), (0.0, 0.0))
        return last_s - first_s
