"""What is refused has no effect, and what is repeated has one (SCO-4, BODY-8, IDEM-2)."""

from __future__ import annotations

from conformance.checks.case import Case
from conformance.checks.check_bodies import contract_breaks
from conformance.checks.check_scopes import lacking
from conformance.checks.effects import Oracle, has_no_effect
from conformance.checks.registry import check
from conformance.checks.replays import replay
from conformance.profile import pointer

_KEYED = ("api-key idempotent",)


@check("SCO-4", on=_KEYED, cases={"401": False, "403": True})
async def a_refused_write_has_no_effect(case: Case, unscoped: bool) -> None:
    """A write that is refused with 401 or 403 leaves everything as it was."""
    names = lacking(case.profile, case.operation)
    case.need(not unscoped or names, "credentials", f"a key without the scope {case.operation.scope} is needed")
    request = await case.arrange()
    bad = case.as_credential(request, names[0]) if unscoped else request.with_authorization()
    await has_no_effect(
        case, request, bad.with_fresh_key(), "a write without the scope" if unscoped else "a write without a key"
    )


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
    case.need(breaks, f"schemas ({schema})", "a schema that types a member of the body is needed")
    request = await case.arrange()
    for where, change in reversed(breaks):
        bad = change(request)
        if pointer.has(bad.body, where) and case.runtime.validators.problem(schema, bad.document):
            await has_no_effect(case, request, bad.with_fresh_key(), f"a write that breaks {schema} at {where}")
            return
    case.need(False, f"schemas ({schema})", "a schema that types a member of the body is needed")


@check("IDEM-2")
async def a_repeated_call_takes_effect_once(case: Case) -> None:
    """The same key with the same bytes, three times: one effect."""
    request = await case.arrange()
    oracle = await Oracle.watching(case, request)
    first = await case.control(request)
    if not await oracle.happened():
        case.need(False, f"effects.{case.operation.id}", "the effect of the first call cannot be seen")
    again = first
    for _ in range(2):
        again = await replay(case, first.request)
    if more := await oracle.happened():
        raise case.violated("a replay took effect again", first, again, expected="one effect", observed=f"{more} more")
