"""Calls where the profile excludes idempotency keys: an equal one may be a retry of the first, or another call."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer

_SAME_WITH_ANY_BODY: Final = frozenset(
    {"checkoutPublicCart", "consumeHostedCheckoutBrowserTicket", "exchangeOAuthToken", "quotePublicCart"}
)
"""What they conflict with does not depend on their body: a state, a used ticket, a used code."""


def may_be_replay(case: Case, answer: Answer) -> bool:
    """Whether no key tells a call from an equal one that got the same 200 before."""
    volatile = case.runtime.arranger.facts(answer.request.operation).volatile
    return case.runtime.sender.content_uses.may_be_replay(answer, volatile)


def equal_call(message: str) -> MissingFact:
    """Nothing can be judged: only a key would tell two equal calls from one and its retry."""
    return MissingFact("idempotency", message)


def expect_another_call(case: Case, answer: Answer) -> None:
    """Inapplicable, by the profile's exclusion of keys, where an answer may be a replay of an equal call."""
    if may_be_replay(case, answer):
        raise equal_call(f"the call of {answer.request.operation.id} equals an earlier one")


def is_about_equal_call(case: Case, signal: Violation | Inconclusive) -> bool:
    """Whether the decisive answer of a signal may be a replay, so that the call that it is about may be none."""
    return bool(signal.answers) and may_be_replay(case, signal.answers[-1])


async def another_call(case: Case, request: Request) -> Request:
    """The request as another call: with another key, or where there are none with another valid body, if one is known.

    Of one body of the profile, {unique} makes two.
    """
    template = case.facts.body
    if request.idempotency is not None or template is None:
        return request.with_fresh_key()
    arranger = case.runtime.arranger
    renewed = replace(request, scope={**request.scope, "unique": arranger.unique()})
    others = case.facts.bodies if request.operation.id in _SAME_WITH_ANY_BODY else ()
    for candidate in (template, *others):
        body = await arranger.render_body(renewed, candidate)
        if body != request.body:
            return renewed.with_body(body)
    return request
