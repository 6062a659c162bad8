"""How the Authorization header is read: what the profile states of its scheme and of public operations (AUTH-5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from conformance.checks.support.authorization import INACTIVE, names
from conformance.checks.support.authorization_forms import (
    equal_forms,
    key_in_other_case,
    other_cases,
    other_schemes,
    rare_schemes,
    with_form,
)
from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.profile.installations import is_foreign

_UNKNOWN_KEY: Final = "no-key-of-anyone-0000"


async def _expect_accepted(case: Case, forms: Mapping[str, str], fact: str) -> None:
    for name, form in forms.items():
        request = await case.arrange()
        answer = await case.send_with_retry(with_form(case, request, form), name, request)
        if not answer.ok:
            await case.control(request.with_fresh_key())  # its resource may have ended meanwhile
            message = f"a good key with {name} was refused, and {fact} says that it is accepted"
            raise case.violation(message, answer, expected="200")


async def _expect_refused(case: Case, forms: Mapping[str, str], fact: str) -> None:
    """Refused with 401. Inconclusive where an unknown key is accepted in the same form: that is AUTH-1's question."""

    async def refuse(request: Request) -> Answer:
        for name, form in forms.items():
            bad = with_form(case, request, form)
            answer = await case.send_with_retry(bad.with_fresh_key(), name, request)
            if answer.status == 401:
                continue
            if answer.ok and (await _send_unknown_key(case, form)).ok:
                raise Inconclusive(f"an unknown key with {name} is accepted", answer, cause="AUTH-1")
            message = f"a good key with {name} was not refused, and {fact} says that it is"
            raise case.violation(message, answer, expected="401")
        return answer

    await case.share_control(refuse, "another form of the header")


async def _send_unknown_key(case: Case, form: str) -> Answer:
    request = await case.arrange()
    header = form.replace("{key}", _UNKNOWN_KEY)
    return await case.send(request.with_made_up_authorization(header), "an unknown key in that form")


@check("AUTH-5", on="api-key")
async def another_scheme_is_treated_as_stated(case: Case) -> None:
    """A good key with another scheme or none is answered 401, or the key alone is accepted, as stated."""
    stated = case.profile.authorization
    case.require_case(stated.scheme_name, f"{stated.format!r} has no scheme")
    case.need(stated.scheme, "authorization.scheme", "the treatment of a key without its scheme is needed")
    forms = {**other_schemes(stated), **({} if case.operation.scope else rare_schemes(stated))}
    if stated.scheme == "required":
        await _expect_refused(case, forms, "authorization.scheme = 'required'")
    else:
        await _expect_accepted(case, {"no scheme": forms["no scheme"]}, "authorization.scheme = 'optional'")


@check("AUTH-5", on="api-key")
async def the_case_of_the_scheme_is_treated_as_stated(case: Case) -> None:
    """A good key with the scheme in another case is accepted, or answered 401, as stated."""
    stated = case.profile.authorization
    forms = dict(list(other_cases(stated).items())[: 1 if case.operation.scope else 2])
    case.require_case(forms, f"{stated.format!r} has no scheme with letters")
    case.need(stated.scheme_case, "authorization.scheme_case", "whether the scheme's case counts is needed")
    if stated.scheme_case == "any":
        await _expect_accepted(case, forms, "authorization.scheme_case = 'any'")
    else:
        await _expect_refused(case, forms, "authorization.scheme_case = 'exact'")


@check("AUTH-5", on="api-key")
async def a_key_of_any_case_is_accepted_in_the_other_one(case: Case) -> None:
    """A good key with its letters in the other case is accepted, where that is stated; AUTH-1 asks the opposite."""
    stated = case.profile.authorization
    case.require_case(stated.key_case == "any", "authorization.key_case = 'any' is not stated")
    key = case.runtime.arranger.key_of(case.runtime.arranger.credential_for(case.operation).name)
    case.require_case(key.swapcase() != key, "the key has no letters")
    await _expect_accepted(case, key_in_other_case(stated), "authorization.key_case = 'any'")


@check("AUTH-4", on="getApiKeyIdentity", deep_on="api-key")
async def a_revoked_key_is_refused_in_every_spelling(case: Case) -> None:
    """A revoked or expired key is answered 401 in another case of scheme or key too, where a good one is accepted."""
    forms, inactive = equal_forms(case.profile.authorization), names(case.profile, case.operation, INACTIVE)
    case.require_case(forms and inactive, "one spelling, or no revoked key, is stated")

    async def refuse(request: Request) -> Answer:
        for name, form in forms.items():
            revoked = case.as_credential(request, inactive[0])
            purpose = f"the key {inactive[0]!r} with {name}"
            answer = await case.refusal(with_form(case, revoked, form), {401}, purpose, control=request)
        return answer

    await case.share_control(refuse, "another spelling of scheme or key")


def _ignored_headers(case: Case) -> Iterator[tuple[str, str]]:
    """Headers that a public operation has no reason to read: of unknown, inactive and good keys, and of no key."""
    stated, arranger = case.profile.authorization, case.runtime.arranger
    identity = case.contract.operations["getApiKeyIdentity"]
    yield "an unknown key", stated.header(_UNKNOWN_KEY)
    yield "an empty value", ""
    yield "another scheme", "Basic bm8tdXNlcjpuby1wYXNzd29yZA=="
    for name in names(case.profile, identity, INACTIVE)[:1]:
        yield f"the key {name!r}", arranger.authorization(name)
    fewest = min((c for c in case.profile.credentials.values() if c.active), key=lambda c: len(c.scopes), default=None)
    foreign = [c.name for c in case.profile.credentials.values() if c.active and is_foreign(case.profile, c)]
    for name in dict.fromkeys([*([fewest.name] if fewest else []), *foreign[:1]]):
        yield f"the key {name!r}", arranger.authorization(name)


@check("AUTH-5", on="public")
async def a_public_operation_treats_a_bad_credential_as_stated(case: Case) -> None:
    """A public operation answers any header as it answers none, or that of an unknown key with 401, as stated."""
    stated = case.profile.authorization
    case.need(stated.public, "authorization.public", "what public operations do with a bad credential is needed")
    if stated.public == "checked":
        await case.shared_negative(
            lambda request: request.with_made_up_authorization(stated.header(_UNKNOWN_KEY)),
            {401},
            "the header of an unknown key",
        )
        return
    for name, header in _ignored_headers(case):
        request = await case.arrange()
        answer = await case.send_with_retry(request.with_made_up_authorization(header), name, request)
        if not answer.ok:
            await case.control(request.with_fresh_key())
            message = f"a public operation refused {name} in the Authorization header, which it ignores as stated"
            raise case.violation(message, answer, expected="200")
