"""What ends the sending of a run, or of one caller's requests."""

from __future__ import annotations

from conformance.client.lasting_limit import LastingLimit


class BudgetExhausted(Exception):
    """No more requests may be sent in this run; the message names the limit."""


class TargetSilent(BudgetExhausted):
    """The target has not answered for a long time; the message says what happened instead."""


class LimitPersists(BudgetExhausted):
    """Nothing more is sent for a caller, or with an idempotency key, whose limit does not end."""

    def __init__(self, limit: LastingLimit) -> None:
        super().__init__(limit.message)
        self.limit = limit
