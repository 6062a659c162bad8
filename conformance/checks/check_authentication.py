"""Authentication, rules 1 and 3 (AUTH-1 to AUTH-4)."""

from __future__ import annotations

import re
import secrets
import string
from collections.abc import Callable, Mapping
from dataclasses import replace

from conformance.checks.support.authorization import INACTIVE, cases, has_category
from conformance.checks.support.case import Case
from conformance.checks.support.registry import check
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.profile.model import Profile

_ANY_CASE = re.compile(r"[0-9a-fA-F-]+")
"""Hexadecimal keys mean the same in either case."""
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

Change = Callable[[str], str]


def _with_one_change(key: str) -> str:
    middle = len(key) // 2
    replacement = next(c for c in "7aB" if c != key[middle])
    return key[:middle] + replacement + key[middle + 1 :]


def _random(key: str) -> str:
    return "".join(secrets.choice(string.ascii_letters + string.digits) for _ in key)


NEAR_MISSES: Mapping[str, Change] = {
    "random-key": _random,
    "one-character-changed": _with_one_change,
    "truncated": lambda key: key[: -max(1, len(key) // 4)],
    "extended": lambda key: key + "x1",
    "case-flipped": str.swapcase,
}


def _defects(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, ...] | Change]:
    """An absent and an empty header, near misses of the key, and the bare scheme where the profile's format has one."""
    scheme = profile.authorization.header("").strip()
    bare: dict[str, tuple[str, ...] | Change] = {"absent": (), "empty": ("",)}
    if scheme:
        bare["scheme-only"] = (scheme,)
    return {**bare, **NEAR_MISSES}


@check("AUTH-1", cases=_defects)
async def a_defective_credential_is_answered_401(case: Case, defect: tuple[str, ...] | Change) -> None:
    """A request that differs from a good one only in its credential is answered 401."""
    values = _near_miss(case, defect) if callable(defect) else defect
    await case.shared_negative(lambda request: request.with_authorization(*values), {401}, "a defective credential")


def _near_miss(case: Case, defect: Change) -> tuple[str, ...]:
    """The header of a defective key; none where the profile's keys include it, or it may mean the same."""
    arranger = case.runtime.arranger
    key = arranger.key_of(arranger.credential_for(case.operation).name)
    wrong = defect(key)
    if defect is str.swapcase and (_ANY_CASE.fullmatch(key) or wrong == key):
        case.note("the key means the same in either case")
    elif wrong in arranger.keys:
        case.note("it would be the key of another credential")
    else:
        return (case.profile.authorization.header(wrong),)
    return ()


_GATEWAY_HEADERS = (
    ("X-Original-URL", "/api/v1/runtime-config"),
    ("X-Rewrite-URL", "/api/v1/runtime-config"),
    ("X-Forwarded-For", "127.0.0.1"),
    ("X-Real-IP", "127.0.0.1"),
    ("X-Forwarded-Host", "localhost"),
    ("X-Forwarded-User", "admin"),
    ("X-Authenticated", "true"),
    ("Forwarded", "for=127.0.0.1;host=localhost"),
)


@check("AUTH-1")
async def headers_of_a_gateway_open_no_way_around_authentication(case: Case) -> None:
    """Forwarding and original-URL headers in a request without a credential do not make it succeed."""

    def pass_gateway(request: Request) -> Request:
        return replace(request.with_authorization(), headers=(*request.headers, *_GATEWAY_HEADERS))

    await case.shared_negative(
        pass_gateway, {400, 401, 403, 404}, "headers of a gateway and no credential", any_refusal=True
    )


def _upper(path: str) -> str:
    return "/".join(part if part.startswith("{") else part.upper() for part in path.split("/"))


_SPELLINGS: Mapping[str, Callable[[str], str]] = {
    "a slash behind it": lambda path: f"{path}/",
    "a slash before it": lambda path: f"/{path}",
    "capitals": _upper,
}


@check("AUTH-1")
async def another_spelling_of_the_path_opens_no_way_around_authentication(case: Case) -> None:
    """Other spellings of the operation's path do not succeed without a credential."""
    request = await case.arrange()
    for name, spell in _SPELLINGS.items():
        other_operation = replace(case.operation, path=spell(case.operation.path))
        # with a `raw_path` the request is no operation of the interface, and the invariants do not judge its answer
        detour = replace(request.with_authorization(), operation=other_operation, raw_path={"": name})
        answer = await case.send_with_retry(detour.with_fresh_key(), f"the path with {name}, no credential", request)
        if answer.ok and isinstance(answer.data, dict):
            raise case.violation(f"the path with {name} led past authentication", answer, expected="401 or 404")
    await case.reprove_control(request)


def _in_query(request: Request, key: str) -> Request:
    return request.with_query(**dict.fromkeys(_KEY_NAMES, key))


def _in_cookie(request: Request, key: str) -> Request:
    return request.with_header("Cookie", "; ".join(f"{name}={key}" for name in _KEY_NAMES))


def _in_other_header(request: Request, key: str) -> Request:
    for name in ("X-Api-Key", "X-Auth-Token", "Api-Key", "X-Authorization"):
        request = request.with_header(name, key)
    return request


@check("AUTH-2", cases={"query": _in_query, "cookie": _in_cookie, "other-header": _in_other_header})
async def a_key_outside_authorization_counts_for_nothing(case: Case, move: Callable[[Request, str], Request]) -> None:
    """The good key, sent anywhere but in the Authorization header, does not authenticate."""

    def moved(request: Request) -> Request:
        return move(request.with_authorization(), case.runtime.arranger.key_of(request.credential))

    await case.shared_negative(moved, {400, 401, 403}, "the key outside Authorization", any_refusal=True)


@check("AUTH-3", on="api-key")
async def a_401_names_its_scheme(case: Case) -> None:
    """A 401 carries WWW-Authenticate (RFC 9110 section 11.6.1)."""
    answer = await case.shared_negative(Request.with_authorization, {401}, "no credential")
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
