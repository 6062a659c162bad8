"""What a caller may do: Authentication, the table of scopes (SCO-1 to SCO-3)."""

from __future__ import annotations

from conformance.checks.support.authorization import ALLOWED, LACKING, cases, suits
from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.registry import check


@check("SCO-1", cases=cases(LACKING))
async def a_key_without_the_scope_is_answered_403(case: Case, credential: str) -> None:
    """A valid key that lacks the operation's scope is refused with 403, whatever other scopes it has."""
    absent = suits(case.profile, case.operation, LACKING)
    case.need_credential(credential, f"a key without the scope {case.operation.scope} is needed", absent)
    request = await case.arrange()
    await case.negative(request, case.as_credential(request, credential), {403}, f"the key {credential!r}")


@check("SCO-2", cases=cases(ALLOWED))
async def the_named_scope_suffices(case: Case, credential: str) -> None:
    """No key that holds the operation's scope is refused for lack of one, nor the one that holds no other."""
    await _is_not_forbidden(case, credential)


@check("SCO-3", cases=cases(ALLOWED))
async def any_valid_key_may_introspect(case: Case, credential: str) -> None:
    """Identity and readiness demand no scope."""
    await _is_not_forbidden(case, credential)


async def _is_not_forbidden(case: Case, credential: str) -> None:
    scope = case.operation.scope
    absent = suits(case.profile, case.operation, ALLOWED)
    what = f"an active key{f' with the scope {scope}' if scope else ''} is needed"
    case.need_credential(credential, what, absent)
    request = await case.arrange(credential=credential, proven=False)
    answer = await case.send(request, f"the key {credential!r}")
    if answer.status == 403:
        raise case.violated(f"the key {credential!r} was answered 403", answer, expected="not 403")
    if not answer.ok:
        raise control_failed(answer)
