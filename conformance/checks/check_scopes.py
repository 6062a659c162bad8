"""What a caller may do: Authentication, the table of scopes (SCO-1 to SCO-3)."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.checks.case import Case
from conformance.checks.registry import check
from conformance.checks.runtime import control_failed
from conformance.contract import Operation
from conformance.profile.model import Profile


def _home(profile: Profile) -> str:
    return next((c.installation for c in profile.credentials.values() if c.active), "")


def lacking(profile: Profile, operation: Operation) -> list[str]:
    """The valid keys of the home installation that lack an operation's scope."""
    home = _home(profile)
    return [
        name
        for name, credential in profile.credentials.items()
        if credential.active and credential.installation == home and operation.scope not in credential.scopes
    ]


def _without_scope(profile: Profile, operation: Operation) -> Mapping[str, str]:
    return {name: name for name in lacking(profile, operation)} or {"": ""}


@check("SCO-1", cases=_without_scope)
async def a_key_without_the_scope_is_answered_403(case: Case, credential: str) -> None:
    """A valid key that lacks the operation's scope is refused with 403, whatever other scopes it has."""
    case.need(credential, "credentials", f"a key without the scope {case.operation.scope} is needed")
    request = await case.arrange()
    await case.negative(request, case.as_credential(request, credential), {403}, f"the key {credential!r}")


@check("SCO-2")
async def the_named_scope_alone_suffices(case: Case) -> None:
    """A key with exactly the operation's scope is not refused for lack of one."""
    scope = case.operation.scope
    only = [c.name for c in case.runtime.arranger.credentials(scope=scope) if c.scopes == {scope}]
    case.need(only, "credentials", f"a key with the scope {scope} and no other is needed")
    request = await case.arrange(credential=only[0], proven=False)
    answer = await case.send(request, "least privilege")
    if answer.status == 403:
        raise case.violated(f"a key with exactly {scope} was answered 403", answer, expected="not 403")
    if not answer.ok:
        raise control_failed(answer)


def _every_active(profile: Profile, operation: Operation) -> Mapping[str, str]:
    home = _home(profile)
    return {n: n for n, c in profile.credentials.items() if c.active and c.installation == home} or {"": ""}


@check("SCO-3", cases=_every_active)
async def any_valid_key_may_introspect(case: Case, credential: str) -> None:
    """Identity and readiness demand no scope."""
    case.need(credential, "credentials", "an active key is needed")
    request = await case.arrange(credential=credential, proven=False)
    answer = await case.send(request, f"the key {credential!r}")
    if answer.status == 403:
        raise case.violated(f"the valid key {credential!r} was answered 403", answer, expected="200")
    if not answer.ok:
        raise control_failed(answer)
