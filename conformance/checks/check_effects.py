"""Refused requests have no effect, repeated ones have one (SCO-4, TEN-1, BODY-8, IDEM-2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from conformance.checks.support.authorization import INACTIVE, LACKS_SCOPE, credentials_without_scope, has_category
from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import (
    Change,
    contract_breaks,
    fixed_places,
    fixture_values,
    schema_of,
)
from conformance.checks.support.other_installations import other_key
from conformance.checks.support.plain_replays import plain_replays
from conformance.checks.support.refused_effects import expect_no_effect
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY
from conformance.checks.support.schema_bounds import BoundViolation, last_upper_bound, values_beyond_bounds
from conformance.checks.support.signs import UNMOVED
from conformance.client.request import Request
from conformance.core import json_pointer as pointer

_OPERATIONS = ("api-key idempotent",)
_BOUNDED: Final = (
    *("createInstallationWebhook", "requestStorefrontOrderAfterSales", "quotePublicCart"),
    "cancelHostedCheckoutBrowser",
)
"""Of each kind of resource one operation."""
_WRONG: tuple[object, ...] = (7, "x", [])
"""Of any type, one of these is of another."""


@check("SCO-4", on=_OPERATIONS, cases={"401": "no key", "401-spent": "a revoked key", "403": "a key without the scope"})
async def a_refused_write_has_no_effect(case: Case, credential_kind: str) -> None:
    """A write refused with 401 or 403 changes nothing."""
    inactive = [credential.name for credential in case.profile.credentials.values() if not credential.active]
    names = {"no key": [""], "a revoked key": inactive}.get(
        credential_kind, credentials_without_scope(case.profile, case.operation)
    )
    absent = has_category(case.profile, case.operation, INACTIVE if credential_kind == "a revoked key" else LACKS_SCOPE)
    case.need_credential(names, f"{credential_kind} is needed; the scope is {case.operation.scope or 'none'}", absent)
    request = await case.arrange()

    def refuse(good: Request) -> Request:
        return case.as_credential(good, names[0]) if names[0] else good.with_authorization()

    await expect_no_effect(case, request, refuse, f"a write with {credential_kind}")


@check("TEN-1", on=("api-key path idempotent",))
async def a_key_of_another_installation_changes_nothing_here(case: Case) -> None:
    """A write by another installation's key on an object of this installation changes nothing, whatever its status."""
    stranger = other_key(case)
    request = await case.arrange()
    purpose = "a write with the key of another installation"
    await expect_no_effect(case, request, lambda good: case.as_credential(good, stranger), purpose)


@check("BODY-8")
async def a_bad_request_has_no_effect(case: Case) -> None:
    """A request answered 400 changes nothing, so that its corrected form still works."""
    request = await case.arrange()
    await expect_no_effect(case, request, Request.without_body, "a write without its body")


Break = tuple[str, Change]
"""Where a body breaks its schema, and the change that does it."""


@check("BODY-8")
async def a_body_that_turns_bad_at_its_end_has_no_effect(case: Case) -> None:
    """The members before the one that breaks the schema are not applied either.

    A member that holds what the call is about, such as a ticket, comes last: without it nothing could be carried out.
    """
    breaks = [schema_break for schema_break in contract_breaks(case.profile, case.operation).values() if schema_break]
    schema = case.operation.request_schema
    case.need(schema in case.profile.schemas.by_name, f"schemas.{schema}", "a schema of the body is needed")
    request = await case.arrange()
    subjects = fixture_values(case, request)
    found = [item for item in reversed(breaks) if pointer.has(request.body, item[0])]
    last_breaks = [item for item in found if pointer.get(request.body, item[0]) in subjects]
    for where, change in [
        *(item for item in found if item not in last_breaks),
        *_optional_breaks(case, request),
        *last_breaks,
    ]:
        bad = change(request)
        if pointer.has(bad.body, where) and case.runtime.validators.problem(schema, bad.document):
            await expect_no_effect(case, request, change, f"a write that breaks {schema} at {where}")
            return
    case.require_case(False, f"{schema} types no member of the body")


@check("BODY-8", on=_BOUNDED)
async def a_body_beyond_a_bound_has_no_effect(case: Case) -> None:
    """A value beyond its upper bound, which a database may be the last to refuse, changes nothing."""
    schema = schema_of(case)
    case.need(schema is not None, f"schemas.{case.operation.request_schema}", "a schema of the body is needed")
    request = await case.arrange()

    def violation_in(good: Request) -> BoundViolation | None:
        found = values_beyond_bounds(good.body, schema, fixed_places(case), fixture_values(case, good))
        return last_upper_bound(found)

    def break_bound(good: Request) -> Request:
        other = violation_in(good)
        return good if other is None else good.with_body(other.body)

    violation = violation_in(request)
    case.require_case(violation, f"{case.operation.request_schema} has no upper bound")
    assert violation is not None
    await expect_no_effect(case, request, break_bound, f"a write beyond {violation.bound} of {violation.where}")


def _optional_breaks(case: Case, request: Request) -> Iterator[Break]:
    """The members that the schema names and the body has not, each with values of which one may be of a wrong type."""
    schema = case.profile.body_schema(case.operation.request_schema)
    members = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(request.body, dict) and isinstance(members, Mapping):
        for name in [name for name in members if name not in request.body]:
            for wrong in _WRONG:
                yield pointer.join(name), partial(_with_member, name, wrong)


def _with_member(name: str, value: object, request: Request) -> Request:
    return request.with_body({**request.body, name: value})


@check("IDEM-2", rests_on=PLAIN_REPLAY, shares="replays")
async def a_repeated_call_takes_effect_once(case: Case) -> None:
    """The same key with the same bytes, sent once or several times, has one effect.

    A warning where one stated sign of the call does not move, while another one does: a part of it may be missing.
    """
    name = case.operation.id
    case.need(case.profile.effects.get(name), f"effects.{name}", "a way to see the effect is needed")
    replays = await plain_replays(case, needs_effects=True)
    if isinstance(replays.effects, Exception):
        raise replays.effects
    if replays.single_effects > 1:
        observed = f"{replays.single_effects} effects"
        raise case.violation("one call took effect several times", replays.first, expected="one", observed=observed)
    if replays.effects:
        observed = f"{replays.effects} more"
        answers = replays.first, replays.repeats[-1]
        raise case.violation("a replay took effect again", *answers, expected="one effect", observed=observed)
    for key in case.runtime.signs.find_unmoved(name):
        case.warn(f"{key} {UNMOVED}", replays.first, expected="an effect that all stated signs show")
