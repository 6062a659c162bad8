"""Calls of public operations without a credential (PUB-1, HO-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.signals import Violation
from conformance.client.request import Request
from conformance.client.response import Answer

OTHER_COOKIE: Final = "session=of-another-service"
"""A session of another service of the domain."""


async def needs_no_credential(case: Case) -> None:
    """The control without Authorization is not refused for lack of a credential.

    A generated body shows nothing where it is refused: it names no ticket that the target has issued. Another request
    is sent, since what the first one named, as a ticket, may have been used up or expired.
    """
    answer = await case.send((await case.arrange(prove_control=False)).with_authorization(), "no Authorization")
    if answer.status in (401, 403) and not case.has_generated_body:
        answer = await _without_credential(case, await case.arrange(prove_control=False), "no Authorization")
    if not answer.ok:
        raise control_failed(answer)


async def needs_no_credential_with(case: Case, parameters: Mapping[str, str]) -> None:
    """The same with further query parameters: they may be refused, but not for lack of a key."""
    await accepts_without_credential(case, (await case.arrange()).with_query(**parameters), ", ".join(parameters))


async def accepts_without_credential(case: Case, request: Request, addition: str) -> None:
    """A control with an addition may be refused, but not for lack of a key."""
    answer = await _without_credential(case, request, f"no Authorization, with {addition}")
    case.note(f"with {addition}: {answer.summary}")


async def _without_credential(case: Case, request: Request, purpose: str) -> Answer:
    answer = await case.send(request.with_authorization(), purpose)
    if answer.status in (401, 403):
        message = f"a public operation was answered {answer.status} without Authorization"
        raise Violation(message, answer, expected="200", observed=answer.summary)
    return answer
