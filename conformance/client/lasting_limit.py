"""A rate limit that did not end, as the watch of limits has found it."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.client.response import Answer


@dataclass(frozen=True)
class LastingLimit:
    """A limit that persisted after a time in which nothing was sent."""

    first: Answer
    last: Answer
    count: int
    waited_s: float
    key_used_up: bool
    """It applies to one idempotency key, while its caller gets other answers."""
    binding: bool
    """The whole declared recovery has passed, for a caller with a credential that the profile calls active."""

    @property
    def requirement(self) -> str:
        """The requirement that reports it; empty where nothing is violated."""
        return ("IDEM-8" if self.key_used_up else "RATE-3") if self.binding else ""

    @property
    def message(self) -> str:
        request = self.first.request
        caller = f"the key {request.credential}" if request.credential else "a request without a known key"
        subject = f"{caller}, under one idempotency key," if self.key_used_up else caller
        wait_text = f", again after {self.waited_s:.1f} s in which nothing was sent" if self.waited_s else ""
        return f"{subject} was answered 429 to {request.operation.id} {self.count} times{wait_text}"
