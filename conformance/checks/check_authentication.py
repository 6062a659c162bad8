"""Authentication, rules 1 and 3 (AUTH-1 to AUTH-4, STA-1)."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Callable, Mapping
from typing import Final

from msgspec import structs

from conformance.checks.support.authorization import (
    INACTIVE,
    cases,
    has_category,
    with_scope_headers,
    with_undeclared_parameter,
)
from conformance.checks.support.authorization_forms import with_form
from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import every_nth
from conformance.checks.support.forged_secrets import end_of_label, end_of_secret
from conformance.checks.support.installation_names import name_of_home, with_installation_headers
from conformance.checks.support.path_spellings import PLAIN_SPELLINGS, SPELLINGS, with_spelling
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.survival import expect_survival
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.key_change import KeyChange
from conformance.core.outcomes import Level
from conformance.profile.model import Profile

_KEY_NAMES = (
    "api_key",
    "apikey",
    "apiKey",
    "api-key",
    "key",
    "token",
    "access_token",
    "authorization",
    "Authorization",
)


def _one_change(key: str) -> KeyChange:
    """In the middle of the longest part between marks, since a service may not read a label."""
    parts = [found.span() for found in _PART.finditer(key, end_of_label(key))] or [(0, len(key))]
    start, end = max(parts, key=lambda part: part[1] - part[0])
    middle = (start + end) // 2
    return KeyChange("replace", middle, next(c for c in "7aB" if c != key[middle]))


def _with_suffix(key: str) -> KeyChange:
    """More at the end; before a place, which may not be read, and before the padding of base64, where decoders stop."""
    end = end_of_secret(key)
    return KeyChange("append", text="x1") if end == len(key) else KeyChange("insert", end, "x1y2")


def _random(key: str) -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in key)


_PART: Final = re.compile("[A-Za-z0-9]+")
_TRUNCATED: Final = "truncated"
_SCHEME_ONLY: Final = "scheme-only"
NEAR_MISSES: Mapping[str, Callable[[str], KeyChange]] = {
    "one-character-changed": _one_change,
    _TRUNCATED: lambda key: KeyChange("drop", max(1, len(key) // 4)),
    "extended": _with_suffix,
    "case-flipped": lambda _: KeyChange("swapcase"),
}
_WITHOUT_KEY = {"absent": "no Authorization header", "empty": "an empty Authorization header"}


def _defects(profile: Profile, operation: Operation) -> Mapping[str, str]:
    """No header, a random key, a beginning of the good one, and some of the other near misses.

    One parser of the service reads them all, but a single operation may compare keys by itself.
    """
    misses = [name for name in NEAR_MISSES if name != _TRUNCATED]
    almost = ["empty", *([_SCHEME_ONLY] if profile.authorization.header("").strip() else []), *misses]
    return {name: name for name in ["absent", "random-key", _TRUNCATED, *every_nth(almost, profile, operation)]}


@check("AUTH-1", cases=_defects)
async def a_defective_credential_is_answered_401(case: Case, defect: str) -> None:
    """A request that differs from a good one only in its credential is answered 401.

    A key in the other case is an unknown one where the profile says so; a warning where it says nothing. A random key
    is sent with a query parameter that no operation declares. A scheme alone may be a malformed request, which is
    answered 400 (RFC 6750 section 3.1).
    """
    key_case = case.profile.authorization.key_case
    if defect == "case-flipped":
        case.require_case(key_case != "any", "authorization.key_case = 'any': a key in the other case is the same")
        level = Level.DECLARED if key_case == "sensitive" else Level.RECOMMENDED
    else:
        level = None
    if defect == "absent":
        await _refusal_without_header(case)
        return
    change, purpose = _defect(case, case.runtime.arranger.credential_for(case.operation).name, defect)
    message, statuses = _not_refused(case), {400, 401} if defect == _SCHEME_ONLY else {401}

    async def refuse(request: Request) -> Answer:
        bad = change(request)
        if defect == "random-key":
            odd = with_undeclared_parameter(bad).with_fresh_key()
            answer = await case.send_with_retry(odd, f"{purpose}, an undeclared parameter", request.with_fresh_key())
            if answer.ok:
                raise case.violation(f"{message}, with an undeclared parameter", answer, expected="401")
            if answer.status == 401:
                return answer  # otherwise the parameter may be refused
        control = request.with_fresh_key()
        return await case.refusal(bad, statuses, purpose, message=message, control=control, level=level)

    await case.share_control(refuse, purpose)


def _not_refused(case: Case) -> str:
    return f"{case.operation.id} with a defective credential was not answered 401"


async def _refusal_without_header(case: Case) -> Answer:
    """The 401 to a good request without Authorization, which the checks of an operation share.

    Violated, for each of them, where it is not 401.
    """

    async def refuse() -> Answer:
        change, purpose = Request.with_authorization, _WITHOUT_KEY["absent"]
        return await case.shared_negative(change, {401}, purpose, message=_not_refused(case))

    return await case.runtime.known_answers[f"no credential on {case.operation.id}"].get_from(case, refuse)


def _defect(case: Case, credential: str, defect: str) -> tuple[Callable[[Request], Request], str]:
    """How a credential's request gets a defective one, and in words. Inapplicable where its change changes nothing."""
    arranger, header = case.runtime.arranger, case.profile.authorization.header
    key = arranger.key_of(credential)
    if defect == "empty":
        return lambda request: request.with_authorization(""), _WITHOUT_KEY["empty"]
    if defect == _SCHEME_ONLY:
        scheme = header("").strip()
        return lambda request: request.with_made_up_authorization(scheme), "the scheme without a key"
    if defect == "random-key":
        random_key = _random(key)
        case.require_case(random_key not in arranger.keys, "the random key is that of a credential")
        wrong = header(random_key)
        return lambda request: request.with_made_up_authorization(wrong), "a random key of the same length"
    change = NEAR_MISSES[defect](key)
    case.require_case(change.apply(key) != key, f"the key {credential!r} has no letters")
    case.require_case(change.apply(key) not in arranger.keys, "the changed key is that of another credential")
    return lambda request: arranger.with_changed_key(request, change), f"the key {credential!r}, {change.words}"


@check("AUTH-1", on="getApiKeyIdentity", deep_on="api-key")
async def a_key_of_other_characters_is_refused(case: Case) -> None:
    """A key with a byte that is not ASCII is answered 401, or 400 as a malformed header."""
    key = case.runtime.arranger.key_of(case.runtime.arranger.credential_for(case.operation).name)
    header = case.profile.authorization.header(f"{_random(key)[:-1]}\u00e9")
    message = "a key with a byte that is not ASCII was not refused"
    await case.shared_negative(
        lambda request: request.with_made_up_authorization(header),
        {400, 401},
        "a key with a byte that is not ASCII",
        message=message,
        any_refusal=True,
    )


@check("AUTH-1", on="getApiKeyIdentity", deep_on="api-key")
async def a_key_with_a_word_behind_it_is_refused(case: Case) -> None:
    """A good key with a word behind it is no credential (RFC 9110 section 11.4). A warning: some read one word."""
    form = f"{case.profile.authorization.format} more"
    await case.shared_negative(
        lambda request: with_form(case, request, form),
        {400, 401},
        "a word behind the key",
        message="a good key with a word behind it was not refused",
        any_refusal=True,
        level=Level.RECOMMENDED,
    )


_PATTERNS = ("' OR '1'='1", "%", "*", "null", "undefined", "true", "0", "[]")
"""Texts that match any key where a key is pasted into a query, or compared as a pattern or with an absent value."""


@check("AUTH-1", on="getApiKeyIdentity", deep_on="api-key")
async def a_key_is_no_pattern(case: Case) -> None:
    """A text that a query or a program may read as any key is not answered 200. A firewall may refuse it with 403."""

    async def refuse(request: Request) -> Answer:
        for text in _PATTERNS:
            bad = request.with_made_up_authorization(case.profile.authorization.header(text))
            answer = await case.send_with_retry(bad, f"the key {text!r}", request)
            if answer.ok:
                raise case.violation(f"the key {text!r} is taken for a valid one", answer, expected="401")
        return answer

    await case.share_control(refuse, "a pattern for a key")


_GATEWAY_HEADERS = (
    ("X-Original-URL", "/api/v1/runtime-config"),
    ("X-Rewrite-URL", "/api/v1/runtime-config"),
    ("X-Forwarded-For", "127.0.0.1"),
    ("X-Real-IP", "127.0.0.1"),
    ("X-Forwarded-Host", "localhost"),
    ("X-Forwarded-User", "admin"),
    ("X-Authenticated", "true"),
    ("X-Authenticated-Userid", "admin"),
    ("X-Consumer-Username", "admin"),
    ("X-User-Id", "1"),
    ("Forwarded", "for=127.0.0.1;host=localhost"),
)


_LONG_KEY: Final = 1_500
"""Characters: more than a database's usual column has, and well within what a server accepts as a header."""


@check("STA-1", on="getApiKeyIdentity", deep_on="api-key")
async def an_odd_authorization_header_is_survived(case: Case) -> None:
    """A long key, and a second Authorization header, get a declared status, or the refusal of what stands in front."""
    request = await case.arrange()
    header = case.profile.authorization.header
    unknown, long = header("x" * 20), header("x" * _LONG_KEY)
    usual = [f"the key {request.credential!r}"] * len(request.authorization)
    odd = {
        "a long key": request.with_made_up_authorization(long),
        "two Authorization headers": request.with_authorization(
            *request.authorization, unknown, credential=request.credential, evidence=(*usual, unknown)
        ),
    }
    for name, bad in odd.items():
        expect_survival(case, name, await case.send_with_retry(bad, name, request), oversize=True)


@check("AUTH-1")
async def headers_of_a_gateway_open_no_way_around_authentication(case: Case) -> None:
    """Headers of forwarded, original and authenticated requests do not make one without a credential succeed.

    They name the caller's installation, too, and the operation's scope.

    A warning where it is answered as the public operation that they name: a framework may rely on a gateway for them.
    """

    home, scope = await name_of_home(case), case.operation.scope or ""

    async def refuse(request: Request) -> Answer:
        bare = with_scope_headers(with_installation_headers(request.with_authorization(), home), scope)
        detour = structs.replace(bare, headers=(*bare.headers, *_GATEWAY_HEADERS))
        purpose, statuses = "headers of a gateway and no credential", (400, 401, 403, 404)
        answer = await case.send_with_retry(detour, purpose, request)
        is_redirect = answer.status in range(300, 400)  # to the host that a header names, for one: STA-1 judges that
        if answer.status in statuses or is_redirect or (answer.is_refused and not answer.has_declared_status):
            return answer
        config = await case.good_answer(case.contract.operations["getPublicRuntimeConfig"]) if answer.ok else answer
        are_objects = isinstance(answer.data, dict) and isinstance(config.data, dict)
        is_config = answer.ok and are_objects and answer.data.keys() == config.data.keys()
        level = Level.RECOMMENDED if is_config else None
        message = f"{case.operation.id} with {purpose} was not refused"
        raise case.violation(message, answer, expected="401", level=level)

    await case.share_control(refuse, "headers of a gateway and no credential")


@check("AUTH-1")
async def another_spelling_of_the_path_opens_no_way_around_authentication(case: Case) -> None:
    """Other spellings of the operation's path do not succeed without a credential."""
    is_plain_read = case.operation.is_read and not case.operation.path_parameters  # one place decodes all paths
    spellings = {**SPELLINGS, **(PLAIN_SPELLINGS if is_plain_read else {})}

    async def refuse(request: Request) -> Answer:
        for name, spell in spellings.items():
            detour = with_spelling(request.with_authorization(), spell, name)
            purpose = f"the path with {name}, no credential"
            answer = await case.send_with_retry(detour.with_fresh_key(), purpose, request)
            if answer.ok and isinstance(answer.data, dict):
                raise case.violation(f"the path with {name} led past authentication", answer, expected="401 or 404")
        return answer

    await case.share_control(refuse, "another spelling of the path")


def _in_query(request: Request, key: str, _name: str) -> Request:
    return request.with_query(**dict.fromkeys(_KEY_NAMES, key))


def _in_cookie(request: Request, key: str, name: str) -> Request:
    texts = (key, f"«credential:{name}»")
    cookies, evidence = ("; ".join(f"{member}={text}" for member in _KEY_NAMES) for text in texts)
    return request.with_header("Cookie", cookies, evidence=evidence)


def _in_other_header(request: Request, key: str, _name: str) -> Request:
    for header in ("X-Api-Key", "X-Auth-Token", "Api-Key", "X-Authorization"):
        request = request.with_header(header, key)
    return request


def _in_cookie_and_headers(request: Request, key: str, name: str) -> Request:
    return _in_other_header(_in_cookie(request, key, name), key, name)


_Move = Callable[[Request, str, str], Request]
"""Takes a request without Authorization, a key and its credential's name."""


_MOVES: Mapping[str, _Move] = {"query": _in_query, "cookie-and-headers": _in_cookie_and_headers}


@check("AUTH-2", on="api-key", cases=_MOVES)
async def a_key_outside_authorization_counts_for_nothing(case: Case, move: _Move) -> None:
    """The good key, sent anywhere but in the Authorization header, does not authenticate."""

    def without_header(request: Request) -> Request:
        key = case.runtime.arranger.key_of(request.credential)
        return move(request.with_authorization(), key, request.credential)

    await case.shared_negative(without_header, {400, 401, 403}, "the key outside Authorization", any_refusal=True)


@check("AUTH-2", on="api-key read")
async def a_cookie_of_an_answer_counts_for_nothing(case: Case) -> None:
    """Where a good answer sets a cookie, that one does not authenticate in place of the key."""
    cookie = ((await case.good_answer()).header("Set-Cookie") or "").partition(";")[0].strip()
    case.require_case(cookie, "no good answer sets a cookie")

    def with_cookie(request: Request) -> Request:
        return request.with_authorization().with_header("Cookie", cookie, evidence="the cookie of a good answer")

    await case.shared_negative(with_cookie, {400, 401, 403}, "a cookie and no key", any_refusal=True)


@check("AUTH-3", on="api-key")
async def a_401_names_its_scheme(case: Case) -> None:
    """A 401 carries WWW-Authenticate (RFC 9110 section 11.6.1)."""
    _expect_scheme(case, await _refusal_without_header(case))


@check("AUTH-3", on="getApiKeyIdentity", deep_on="api-key", cases=cases(INACTIVE))
async def a_401_to_an_inactive_key_names_its_scheme(case: Case, credential: str) -> None:
    """The 401 to a revoked or expired key carries WWW-Authenticate, too."""
    absent = has_category(case.profile, case.operation, INACTIVE)
    case.need_credential(credential, "a key with status revoked or expired is needed", absent)
    answer = await case.send(case.as_credential(await case.arrange(), credential), f"the key {credential!r}")
    if answer.status != 401:
        raise Inconclusive(f"the key {credential!r} was answered {answer.summary}", answer, cause="AUTH-4")
    _expect_scheme(case, answer)


def _expect_scheme(case: Case, answer: Answer) -> None:
    if answer.header("WWW-Authenticate") is None:
        raise case.violation("the 401 has no WWW-Authenticate", answer, expected="WWW-Authenticate", observed="none")


@check("AUTH-4", cases=cases(INACTIVE))
async def a_revoked_or_expired_key_is_answered_401(case: Case, credential: str) -> None:
    """A revoked or expired key of the profile is refused on every operation."""
    absent = has_category(case.profile, case.operation, INACTIVE)
    case.need_credential(credential, "a key with status revoked or expired is needed", absent)
    await case.shared_negative(
        lambda request: case.as_credential(request, credential), {401}, f"the key {credential!r}"
    )
