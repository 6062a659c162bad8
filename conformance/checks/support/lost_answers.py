"""Lost answers at the end of a check: whether it is the request that brings them (interface, Endpoints, rule 1)."""

from __future__ import annotations

import re
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import OBSTACLES, Inconclusive
from conformance.client.request import RawBody, Request
from conformance.client.response import LAST_ATTEMPT, Answer
from conformance.client.send_errors import BudgetExhausted

_MAX_EXAMINATIONS: Final = 2
"""For each operation in a run: a target that hangs takes the time-out for each attempt."""
_UNANSWERED: Final = frozenset({0})
"""For a lost answer, which has no status: the request is not repeated."""
_PLAIN_BODY: Final = re.compile(rb'[\w\s\[\]{}:,."@/+-]{0,4000}')
"""Nothing that a firewall, which drops the connection, could take for an attack."""


async def examine_loss(case: Case, signal: Inconclusive) -> None:
    """Sends a call that was never answered twice more, each time after its operation's control was answered 200.

    What is lost again then is tied to the request, which STA-1 judges by the purpose of its last attempt. Only calls
    with a key are examined: with them, another attempt changes nothing.
    """
    answer = signal.answers[-1] if signal.answers else None
    if signal.cause != "no answer" or answer is None or not _is_plain(answer):
        return
    name = f"lost answers of {answer.request.operation.id}"
    count = case.runtime.memory.get(name, 0)
    assert isinstance(count, int)
    if count < _MAX_EXAMINATIONS:
        case.runtime.memory[name] = count + 1
        try:
            await _repeat(case, answer.request)
        except (Inconclusive, *OBSTACLES, BudgetExhausted):  # that is not an answer to the question
            return


async def _repeat(case: Case, request: Request) -> None:
    for purpose in ("never answered, again", LAST_ATTEMPT):
        control = await case.runtime.sender.send(await case.arrange(request.operation), "control")
        if not control.ok:
            return
        if (await case.runtime.sender.send(request, purpose, accept_statuses=_UNANSWERED)).status is not None:
            return


def _is_plain(answer: Answer) -> bool:
    """Whether a call with a key is made as the profile says, so that nothing between here and the target minds it."""
    request = answer.request
    is_changed = request.headers or request.raw_path or request.raw_query or request.method
    has_key = request.operation.idempotent and request.key is not None
    is_raw = isinstance(request.body, RawBody)
    return has_key and answer.status is None and not (is_changed or is_raw) and _is_plain_body(answer.sent_body)


def _is_plain_body(content: bytes) -> bool:
    return _PLAIN_BODY.fullmatch(content) is not None and b".." not in content
