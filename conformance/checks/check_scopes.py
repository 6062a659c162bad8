"""Authentication, the table of scopes (SCO-1 to SCO-3)."""

from __future__ import annotations

from conformance.checks.support.authorization import ALLOWED, LACKS_SCOPE, cases, has_category
from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.registry import check
from conformance.client.response import Answer


@check("SCO-1", cases=cases(LACKS_SCOPE))
async def a_key_without_the_scope_is_answered_403(case: Case, credential: str) -> None:
    """A valid key without the operation's scope is answered 403, whatever other scopes it has."""
    absent = has_category(case.profile, case.operation, LACKS_SCOPE)
    case.need_credential(credential, f"a key without the scope {case.operation.scope} is needed", absent)
    await case.shared_negative(
        lambda request: case.as_credential(request, credential), {403}, f"the key {credential!r}"
    )


@check("SCO-2", cases=cases(ALLOWED))
async def the_named_scope_suffices(case: Case, credential: str) -> None:
    """A key with the operation's scope is not answered 403, even if it has no other scope."""
    _need_allowed(case, credential)
    request = await case.arrange(credential=credential, prove_control=False)
    _expect_permission(case, credential, await case.send(request, f"the key {credential!r}"))


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
