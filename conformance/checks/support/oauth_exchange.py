"""Shared functions of the token exchange checks: the profile's facts, members of the body, the token of an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import copysign, inf
from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.proof_age import sent_proof
from conformance.client.dpop import Proof, ProofKey, decode
from conformance.client.redaction.learn import guard_key
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.profile.behavior import OAuth
from conformance.profile.model import Profile

CODE_AGE = "oauth.code_age_s"
"""The placeholder that tells a source of codes how old the code should be."""
PROOF_STATUSES = (400, 401)
"""Of a bad proof: RFC 6749 section 5.2 and RFC 9449 section 5; the interface does not choose between the two."""

_CLIENT_AUTHENTICATION = ("secret", "assertion", "password")
"""Parts of the names of members that authenticate a client."""


def oauth_of(case: Case) -> OAuth:
    case.need(case.profile.oauth, "oauth", "a client is needed")
    assert case.profile.oauth is not None
    return case.profile.oauth


def token_url_of(case: Case) -> str:
    """The URL that proofs of the token exchange are for: the stated one, or that of the requests."""
    return oauth_of(case).token_url or case.profile.base_url + case.operation.path


def source_of_codes(profile: Profile) -> str:
    """What the profile states of the source, as text. Its placeholders are what the source knows of each code."""
    return str(next(iter(profile.fixtures.get("oauth", {}).values()), ""))


def takes_code_age(profile: Profile) -> bool:
    """Whether the source of codes makes them as old as it is asked to."""
    return f"{{{CODE_AGE}}}" in source_of_codes(profile)


def makes_codes_on_demand(profile: Profile) -> bool:
    """Whether a code is made when it is needed, so that its age is known."""
    source = next(iter(profile.fixtures.get("oauth", {}).values()), None)
    return source is not None and source.items is None and not source.values


def proof_of(request: Request) -> Proof:
    assert request.proof is not None
    return request.proof


def with_used_proof(request: Request, first: Answer) -> Request:
    """The request with the very proof of the request of an answer."""
    text = sent_proof(first)
    return request.with_proof(replace(proof_of(request), alter=lambda _: text))


def member_place(case: Case, request: Request, name: str) -> str:
    """Where the fact `name` of [oauth] says that a member of the request's body is. Unstated where it is not there."""
    where: str = getattr(oauth_of(case), name)
    case.need(where, f"oauth.{name}", "the place of the member in the body is needed")
    key = f"oauth.{name} (where the body has it)"
    case.need(pointer.has(request.body, where), key, f"the body has no member at {where}: its place is needed")
    return where


def has_same_code(case: Case, request: Request, other: Request) -> bool:
    """Whether another body exchanges the same code: that of another grant, such as a refresh token, does not."""
    where = oauth_of(case).code
    if not where:
        return True
    found = [pointer.get(body, where) for body in (request.body, other.body) if pointer.has(body, where)]
    return len(found) == 2 and found[0] == found[1]


def with_member(case: Case, request: Request, name: str, change: Callable[[str], object]) -> Request:
    """The request with another value of the member that the fact `name` of [oauth] places."""
    where = member_place(case, request, name)
    value = change(str(pointer.get(request.body, where)))
    return request.with_body(pointer.replace(request.body, where, value))


def access_token(case: Case, answer: Answer) -> str:
    """The token of an answer, or the empty string."""
    where = oauth_of(case).access_token
    found = pointer.get(answer.value, where) if where and pointer.has(answer.value, where) else ""
    return found if isinstance(found, str) else ""


def claims_of(token: str) -> dict[str, Any] | None:
    """The claims of a JWT, unverified; None where the token is opaque, as a signed text of another form is."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        header, payload = (strictjson.parse_leniently(decode(part)) for part in parts[:2])
    except ValueError:
        return None
    return payload if isinstance(payload, dict) and isinstance(header, dict) and "alg" in header else None


async def exchange_with(case: Case, algorithm: str) -> Answer:
    """The answer, of any status, to a good exchange with a proof of an algorithm: it is sent once in a run."""
    return await case.runtime.known_answers[f"a proof of {algorithm}"].get_from(
        case, lambda: another_exchange_with(case, algorithm)
    )


async def another_exchange_with(case: Case, algorithm: str) -> Answer:
    """As `exchange_with`, each time with another code."""
    key = await new_key(case, algorithm)
    await case.runtime.controls.prove(case.operation)
    return await case.send(await arrange_with_key(case, key), f"a proof of {algorithm}")


async def new_key(case: Case, algorithm: str) -> ProofKey:
    """A key of its own for proofs of an algorithm, which is redacted from now on."""
    key = await asyncio.to_thread(ProofKey.new, algorithm)
    guard_key(case.runtime.settings.secrets, key)
    return key


async def arrange_with_key(case: Case, key: ProofKey) -> Request:
    """An exchange of a code that was issued for a key, with a good proof of it."""
    request = await case.runtime.arranger.arrange(case.operation, scope={"dpop.jkt": key.thumbprint})
    return request.with_proof(Proof(key))


def need_public_client(case: Case) -> None:
    """Inapplicable where the stated call authenticates its client: no fact says how another client does.

    RFC 6749 section 2.3, RFC 7521 section 4.2.
    """
    names = (
        {pointer.tokens(where)[-1] for where, _ in pointer.leaves(case.facts.body)} if case.facts.body else set[str]()
    )
    is_named = any(word in name.lower() for name in names for word in _CLIENT_AUTHENTICATION)
    is_in_header = any(name.lower() == "authorization" for name in case.facts.headers)
    case.require_case(not (is_named or is_in_header), "the stated call authenticates the first client alone")


async def arrange_for_other_client(case: Case, scope: Mapping[str, object] | None = None) -> Request:
    """A good exchange of the other client: a code of its own, with its redirect URI.

    Inapplicable where the body or the source of codes does not take the client from [oauth].
    """
    oauth = oauth_of(case)
    need_public_client(case)
    has_other_client = oauth.other_client_id and oauth.other_client_redirect_uri
    case.require_case(
        has_other_client, "the profile states no other client and its URI (oauth.other_client_id, _redirect_uri)"
    )
    templates = (str(case.facts.body), source_of_codes(case.profile))
    takes_both = all(f"{{oauth.{name}}}" in text for name in ("client_id", "redirect_uri") for text in templates)
    case.require_case(takes_both, "the body and the source of codes do not take the client from [oauth]")
    await case.runtime.controls.prove(case.operation)
    client = {"oauth.client_id": oauth.other_client_id, "oauth.redirect_uri": oauth.other_client_redirect_uri}
    return await case.runtime.arranger.arrange(case.operation, scope={**client, **(scope or {})})


def seconds_of(value: object) -> float | None:
    """A number of seconds, which may be a text of digits; infinity where it is too large; None for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number and not (isinstance(value, str) and value.isascii() and value.isdecimal()):
        return None
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return copysign(inf, -1 if isinstance(value, int) and value < 0 else 1)


def other_algorithms(profile: Profile, _: Operation) -> Mapping[str, str]:
    """The first one signs every other proof of the run."""
    return {name: name for name in profile.oauth.algorithms[1:]} if profile.oauth else {}
