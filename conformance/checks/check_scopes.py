"""Authentication, the table of scopes (SCO-1 to SCO-3)."""

from __future__ import annotations

from conformance.checks.support.authorization import (
    ALLOWED,
    LACKS_SCOPE,
    cases,
    credentials_without_scope,
    has_category,
    names,
)
from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.registry import check
from conformance.checks.support.sign_reader import fixtures_of
from conformance.client.request import Request
from conformance.client.response import Answer


@check("SCO-1", cases=cases(LACKS_SCOPE))
async def a_key_without_the_scope_is_answered_403(case: Case, credential: str) -> None:
    """A valid key without the operation's scope is answered 403, whatever other scopes it has."""
    absent = has_category(case.profile, case.operation, LACKS_SCOPE)
    case.need_credential(credential, f"a key without the scope {case.operation.scope} is needed", absent)
    await case.shared_negative(
        lambda request: case.as_credential(request, credential), {403}, f"the key {credential!r}"
    )


_READ = "quotePublicCartCheckout"
"""The read that needs another scope than these operations on the same cart."""


@check("SCO-1", on=("quotePublicCart", "checkoutPublicCart", "revokePublicCart"))
async def a_scope_for_a_cart_is_none_for_its_other_operations(case: Case) -> None:
    """A key that was just answered the quote of a cart is still answered 403 to what it lacks the scope of."""
    read = case.contract.operations[_READ]
    lacking = credentials_without_scope(case.profile, case.operation)
    able = [name for name in lacking if read.scope in case.profile.credentials[name].scopes]
    case.require_case(able, f"no key has the scope {read.scope} without {case.operation.scope}")

    async def refuse(request: Request) -> Answer:
        quote = await case.arrange(read, preset=fixtures_of(request), credential=able[0], prove_control=False)
        allowed = await case.send(quote, "what the key may do")
        case.require_case(allowed.ok, f"{read.id} is answered {allowed.summary} on such a cart")
        return await case.refusal(
            case.as_credential(request, able[0]), {403}, f"the key {able[0]!r} after it", control=request
        )

    await case.share_control(refuse, f"the key {able[0]!r} after what it may do")


@check("SCO-2", cases=cases(ALLOWED))
async def the_named_scope_suffices(case: Case, credential: str) -> None:
    """A key with the operation's scope is not answered 403, even if it has no other scope."""
    _need_allowed(case, credential)
    request = await case.arrange(credential=credential, prove_control=False)
    _expect_permission(case, credential, await case.send(request, f"the key {credential!r}"))


@check("SCO-2", on="scoped body")
async def the_named_scope_suffices_for_every_body(case: Case) -> None:
    """The key with the fewest scopes that suffice is not answered 403 to any other valid body of the profile."""
    able = names(case.profile, case.operation, ALLOWED)
    case.require_case(able and case.facts.bodies, "the profile states no key or no second valid body")
    least = min(able, key=lambda name: len(case.profile.credentials[name].scopes))
    for index, template in enumerate(case.facts.bodies):
        request = await case.arrange(credential=least)
        body = await case.runtime.arranger.render_body(request, template)
        answer = await case.send(request.with_body(body), f"the key {least!r}, body {index + 2}")
        if answer.status == 403:
            message = f"the key {least!r} was answered 403 to another valid body"
            raise case.violation(message, answer, expected="not 403")


@check("SCO-3", cases=cases(ALLOWED))
async def any_valid_key_may_introspect(case: Case, credential: str) -> None:
    """Identity and readiness demand no scope."""
    _need_allowed(case, credential)
    _expect_permission(case, credential, await case.answer_to(credential))


def _need_allowed(case: Case, credential: str) -> None:
    scope = case.operation.scope
    absent = has_category(case.profile, case.operation, ALLOWED)
    message = f"an active key{f' with the scope {scope}' if scope else ''} is needed"
    case.need_credential(credential, message, absent)


def _expect_permission(case: Case, credential: str, answer: Answer) -> None:
    if answer.status == 403:
        raise case.violation(f"the key {credential!r} was answered 403", answer, expected="not 403")
    if not answer.ok:
        raise control_failed(answer)
