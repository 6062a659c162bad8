"""How the Authorization header is read: what the profile states of its scheme and of public operations (AUTH-5)."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Final

from conformance.checks.support.authorization import INACTIVE, home_of, names
from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.profile.behavior import Authorization

_UNKNOWN_KEY: Final = "no-key-of-anyone-0000"
_COMMON_SCHEMES: Final = ("Bearer", "ApiKey", "Token")


def _other_schemes(stated: Authorization) -> Mapping[str, str]:
    """By name, formats with another scheme than the stated one, or with none. `{key}` stands for the key."""
    scheme, form = stated.scheme_name, stated.format.lstrip()
    common = next(name for name in _COMMON_SCHEMES if name.casefold() != scheme.casefold())
    return {"no scheme": "{key}", "another scheme": common + form[len(scheme) :]}


def _rare_schemes(stated: Authorization) -> Mapping[str, str]:
    """A format whose scheme begins with the stated one, and Basic credentials with the key as user or password.

    `{user}` and `{password}` stand for them.
    """
    scheme, form = stated.scheme_name, stated.format.lstrip()
    longer = {"a longer scheme": f"{scheme}s{form[len(scheme) :]}"}
    basic = {f"the key as the {part} of Basic": f"Basic {{{part}}}" for part in ("user", "password")}
    return longer if scheme.casefold() == "basic" else {**longer, **basic}


def _other_cases(stated: Authorization) -> Mapping[str, str]:
    """Formats with the stated scheme in capitals and in lower case."""
    scheme, form = stated.scheme_name, stated.format.lstrip()
    spellings = [spelling for spelling in (scheme.upper(), scheme.lower()) if spelling != scheme]
    return {f"the scheme {spelling}": spelling + form[len(scheme) :] for spelling in spellings}


def _with_form(case: Case, request: Request, form: str) -> Request:
    key, name = case.runtime.arranger.key_of(request.credential), request.credential
    encoded = {part: base64.b64encode(text.encode()).decode() for part, text in _basic(key).items()}
    value, evidence = form.replace("{key}", key), form.replace("{key}", f"«credential:{name}»")
    for part, text in encoded.items():
        value, evidence = value.replace(f"{{{part}}}", text), evidence.replace(f"{{{part}}}", f"«credential:{name}»")
    return request.with_authorization(value, credential=name, evidence=(evidence,))


def _basic(key: str) -> Mapping[str, str]:
    """Basic credentials (RFC 7617, section 2) with a key in either place."""
    return {"user": f"{key}:", "password": f"api:{key}"}


async def _expect_accepted(case: Case, forms: Mapping[str, str], fact: str) -> None:
    for name, form in forms.items():
        request = await case.arrange()
        answer = await case.send_with_retry(_with_form(case, request, form), name, request)
        if not answer.ok:
            message = f"a good key with {name} was refused, and {fact} says that it is accepted"
            raise case.violation(message, answer, expected="200")


async def _expect_refused(case: Case, forms: Mapping[str, str], fact: str) -> None:
    """Refused with 401. Inconclusive where an unknown key is accepted in the same form: that is AUTH-1's question."""

    async def refuse(request: Request) -> Answer:
        for name, form in forms.items():
            bad = _with_form(case, request, form)
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
    case.need(stated.scheme, "authorization.scheme", "whether the key needs its scheme is needed")
    forms = {**_other_schemes(stated), **({} if case.operation.scope else _rare_schemes(stated))}
    if stated.scheme == "required":
        await _expect_refused(case, forms, "authorization.scheme = 'required'")
    else:
        await _expect_accepted(case, {"no scheme": forms["no scheme"]}, "authorization.scheme = 'optional'")


@check("AUTH-5", on="api-key")
async def the_case_of_the_scheme_is_treated_as_stated(case: Case) -> None:
    """A good key with the scheme in another case is accepted, or answered 401, as stated."""
    stated = case.profile.authorization
    forms = dict(list(_other_cases(stated).items())[: 1 if case.operation.scope else 2])
    case.require_case(forms, f"{stated.format!r} has no scheme with letters")
    case.need(stated.scheme_case, "authorization.scheme_case", "whether the scheme's case counts is needed")
    if stated.scheme_case == "any":
        await _expect_accepted(case, forms, "authorization.scheme_case = 'any'")
    else:
        await _expect_refused(case, forms, "authorization.scheme_case = 'exact'")


@check("AUTH-4", on="getApiKeyIdentity")
async def a_revoked_key_is_refused_in_every_spelling(case: Case) -> None:
    """A revoked or expired key is answered 401 with the scheme in another case too, where a good one is accepted."""
    stated, forms = case.profile.authorization, _other_cases(case.profile.authorization)
    inactive = names(case.profile, case.operation, INACTIVE)
    case.require_case(stated.scheme_case == "any" and forms and inactive, "one spelling, or no revoked key, is stated")

    async def refuse(request: Request) -> Answer:
        for name, form in forms.items():
            revoked = case.as_credential(request, inactive[0])
            purpose = f"the key {inactive[0]!r} with {name}"
            answer = await case.refusal(_with_form(case, revoked, form), {401}, purpose, control=request)
        return answer

    await case.share_control(refuse, "another spelling of the scheme")


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
    home = home_of(case.profile)
    foreign = [c.name for c in case.profile.credentials.values() if c.active and c.installation != home]
    for name in dict.fromkeys([*([fewest.name] if fewest else []), *foreign[:1]]):
        yield f"the key {name!r}", arranger.authorization(name)


@check("AUTH-5", on="public")
async def a_public_operation_treats_a_bad_credential_as_stated(case: Case) -> None:
    """A public operation answers the header of an unknown key as it answers none, or with 401, as stated."""
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
            message = f"a public operation refused {name} in the Authorization header, which it ignores as stated"
            raise case.violation(message, answer, expected="200")
