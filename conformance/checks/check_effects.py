"""What is refused has no effect, and what is repeated has one (SCO-4, TEN-1, BODY-8, IDEM-2)."""

from __future__ import annotations

from conformance.checks.support.authorization import LACKING, SPENT, lacking, suits
from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle, has_no_effect
from conformance.checks.support.invalid_bodies import contract_breaks
from conformance.checks.support.registry import check
from conformance.checks.support.replays import replay
from conformance.checks.support.signals import Inconclusive
from conformance.core import json_pointer as pointer

_KEYED = ("api-key idempotent",)


@check("SCO-4", on=_KEYED, cases={"401": "no key", "401-spent": "a revoked key", "403": "a key without the scope"})
async def a_refused_write_has_no_effect(case: Case, held: str) -> None:
    """A write that is refused with 401 or 403 leaves everything as it was."""
    spent = [credential.name for credential in case.profile.credentials.values() if not credential.active]
    names = {"no key": [""], "a revoked key": spent}.get(held, lacking(case.profile, case.operation))
    absent = suits(case.profile, case.operation, SPENT if held == "a revoked key" else LACKING)
    case.need_credential(names, f"{held} is needed; the scope is {case.operation.scope or 'none'}", absent)
    request = await case.arrange()
    bad = case.as_credential(request, names[0]) if names[0] else request.with_authorization()
    await has_no_effect(case, request, bad.with_fresh_key(), f"a write with {held}")


@check("TEN-1", on=("api-key path idempotent",))
async def a_key_of_another_installation_changes_nothing_here(case: Case) -> None:
    """However a stranger's write on an object of this installation is answered, everything is left as it was."""
    stranger = case.stranger()
    request = await case.arrange()
    bad = case.as_credential(request, stranger).with_fresh_key()
    await has_no_effect(case, request, bad, "a write with the key of another installation")


@check("BODY-8")
async def a_bad_request_has_no_effect(case: Case) -> None:
    """A request that is answered 400 leaves everything as it was, so that its repaired form still works."""
    request = await case.arrange()
    bad = request.without_body().with_fresh_key()
    await has_no_effect(case, request, bad, "a write without its body")


@check("BODY-8")
async def a_body_that_turns_bad_at_its_end_has_no_effect(case: Case) -> None:
    """What stands before the member that breaks the schema is not carried out either."""
    breaks = [told for told in contract_breaks(case.profile, case.operation).values() if told]
    schema = case.operation.request_schema
    case.need(schema in case.profile.schemas.by_name, f"schemas.{schema}", "a schema of the body is needed")
    request = await case.arrange()
    for where, change in reversed(breaks):
        bad = change(request)
        if pointer.has(bad.body, where) and case.runtime.validators.problem(schema, bad.document):
            await has_no_effect(case, request, bad.with_fresh_key(), f"a write that breaks {schema} at {where}")
            return
    case.further(False, f"{schema} types no member of the body")


@check("IDEM-2")
async def a_repeated_call_takes_effect_once(case: Case) -> None:
    """The same key with the same bytes, three times: one effect."""
    request = await case.arrange()
    oracle = await Oracle.watching(case, request)
    first = await case.control(request)
    if not await oracle.happened_soon():
        raise Inconclusive("the effect of the first call cannot be seen", first, cause=f"effects.{case.operation.id}")
    again = first
    for _ in range(2):
        again = await replay(case, first.request)
    if more := await oracle.happened():
        raise case.violated("a replay took effect again", first, again, expected="one effect", observed=f"{more} more")
