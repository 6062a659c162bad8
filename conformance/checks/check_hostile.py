"""Hostile bodies and paths (BODY-5, NF-1): every answer has a declared status."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import alternate_cases
from conformance.checks.support.invalid_bodies import template_of
from conformance.checks.support.registry import check
from conformance.checks.support.replays import free_leaves
from conformance.checks.support.survival import MARKUP, expect_survival
from conformance.client.request import METHOD_OVERRIDES, Request
from conformance.client.response import Answer
from conformance.contract import Operation, load_contract
from conformance.core import json_pointer as pointer
from conformance.core.model import REFUSAL_STATUSES
from conformance.judge.answer_scope import LARGE_BODY, LONG_URL
from conformance.profile.model import Profile

_DEPTH = 10_000
_DEPTHS = (_DEPTH, 500, 100)
_SHARE = 3
"""Each operation is sent every third hostile body."""
_SENTENCE = re.compile(r"\S*[^\W\d]\S* +\S")
_MEBIBYTE = 1 << 20
_WIDE = {"x": [0] * 1_000, "y": {f"{number}": 0 for number in range(1_000)}, "z" * 500: 0}
"""More items and members than some stores and parsers take, and a longer name."""
_AUTHORITY = re.compile(r"(https?://[^/:?#]+)(:\d+)?")


def _with_raw_leaf(request: Request, raw: bytes) -> bytes:
    """The body with its first string leaf replaced by raw JSON bytes, or with an extra member."""
    marker = "x-conformance-marker-x"
    leaves = [where for where, value in pointer.leaves(request.body) if isinstance(value, str)]
    document = pointer.replace(request.document, leaves[0], marker) if leaves else {**request.document, "x": marker}
    return json.dumps(document).encode().replace(json.dumps(marker).encode(), raw, 1)


def _leaf(raw: bytes) -> Callable[[Request], bytes]:
    return lambda request: _with_raw_leaf(request, raw)


def _text(request: Request) -> bytes:
    return json.dumps(request.document).encode()


def _duplicate(request: Request) -> bytes:
    text = _text(request)
    return text[:-1] + (b", " if len(text) > 2 else b"") + text[1:]


def _is_url(leaf: Any) -> bool:
    return isinstance(leaf, str) and _AUTHORITY.match(leaf) is not None


def _with_url(change: Callable[[str], str]) -> Callable[[Request], bytes]:
    """The body with its first URL changed."""

    def make(request: Request) -> bytes:
        where, url = next(((at, leaf) for at, leaf in pointer.leaves(request.body) if _is_url(leaf)), ("", ""))
        return _text(request.with_body(pointer.replace(request.body, where, change(url))) if where else request)

    return make


def _depth(request: Request) -> int:
    """Another depth for each operation that is sent a nested body: parsers have limits of any size."""
    return _DEPTHS[load_contract().all.index(request.operation) // _SHARE % len(_DEPTHS)]


HOSTILE: Mapping[str, Callable[[Request], bytes]] = {
    "duplicate-members": _duplicate,
    "deep-arrays": lambda request: _with_raw_leaf(request, b"[" * _depth(request) + b"]" * _depth(request)),
    "deep-objects": lambda request: _with_raw_leaf(request, b'{"a":' * _depth(request) + b"1" + b"}" * _depth(request)),
    "unclosed-arrays": lambda request: b"[" * (10 * _DEPTH),
    "number-1e400": _leaf(b"1e400"),
    "number-40-digits": _leaf(b"1" * 40),
    "number-million-digits": _leaf(b"1" * 1_000_000),
    "number-tiny": _leaf(b"-1e-400"),
    "nan": _leaf(b"NaN"),
    "lone-surrogate": _leaf(b'"\\ud800"'),
    "lone-low-surrogate": _leaf(b'"\\udc00"'),
    "swapped-surrogates": _leaf(b'"\\udd1e\\ud834"'),
    "nul-raw": _leaf(b'"a\x00b"'),
    "invalid-utf-8": _leaf(b'"\xff\xfe"'),
    "overlong-utf-8": _leaf(b'"\xc0\xaf"'),
    "utf-16": lambda request: _text(request).decode().encode("utf-16"),
    "byte-order-mark": lambda request: b"\xef\xbb\xbf" + _text(request),
    "string-1-mib": _leaf(b'"' + b"a" * _MEBIBYTE + b'"'),
    "control-characters": _leaf(b'"\\r\\nSet-Cookie: a=b\\u001b[2J"'),
    "empty-member-names": lambda request: b'{"": {"": [null]}}',
    "proto": lambda request: b'{"__proto__": {"admin": true}, "constructor": {"prototype": {}}}',
    "injection": _leaf(b"\"' OR '1'='1'; --${7*7}{{7*7}}<script>\""),
    "only-white-space": lambda request: b" \r\n\t ",
    "wide": lambda request: json.dumps({**request.document, **_WIDE}, separators=(",", ":")).encode(),
}
URLS: Mapping[str, Callable[[Request], bytes]] = {
    "url-with-open-bracket": _with_url(lambda url: "https://["),
    "url-with-port-99999": _with_url(lambda url: _AUTHORITY.sub(r"\1:99999", url)),
}
"""Texts that resemble a URL, and that many parsers of URLs take for an error."""


def _hostile_bodies(profile: Profile, operation: Operation) -> Mapping[str, Callable[[Request], bytes]]:
    """Some of the bodies, and a part of the URLs where the body has one."""
    bodies = dict(alternate_cases(HOSTILE, _SHARE)(profile, operation))
    sharing = [other for other in load_contract().select("body") if _has_url(profile, other)]
    if operation in sharing:
        is_deep = profile.limits.depth == "deep"
        start, step = (0, 1) if is_deep else (sharing.index(operation), len(sharing))
        bodies |= {name: URLS[name] for name in list(URLS)[start::step]}
    return bodies


def _has_url(profile: Profile, operation: Operation) -> bool:
    return any(_is_url(leaf) for _, leaf in pointer.leaves(template_of(profile, operation)))


@check("BODY-5", cases=_hostile_bodies)
async def a_hostile_body_is_survived(case: Case, make: Callable[[Request], bytes]) -> None:
    """JSON made to break parsers is accepted or refused with a declared status."""
    request = await case.arrange()
    content = make(request)
    answer = await case.send_with_retry(request.with_raw_body(content).with_fresh_key(), "hostile body")
    expect_survival(case, "a hostile body", answer, oversize=len(content) > LARGE_BODY)


@check("BODY-5", on="body")
async def nul_in_a_sentence_is_survived(case: Case) -> None:
    """NUL in each text of several words, which no format is likely to refuse; in the last text where there is none.

    Each operation is sent it: each may store a text of its own, and databases refuse NUL (PostgreSQL).
    """
    request = await case.arrange()
    texts = [(at, leaf) for at, leaf in free_leaves(request) if isinstance(leaf, str) and not _is_url(leaf)]
    case.require_case(texts, "the body has no text that may be changed")
    places = [at for at, text in texts if _SENTENCE.search(text)] or [texts[-1][0]]
    body = request.body
    for where in places:
        body = pointer.replace(body, where, "a\0b")
    answer = await case.send_with_retry(request.with_body(body).with_fresh_key(), f"NUL in {', '.join(places)}")
    expect_survival(case, f"NUL in {', '.join(places)}", answer, oversize=False)


@check("ERR-3", on="scoped body")
async def markup_in_a_text_is_no_matter_of_authorization(case: Case) -> None:
    """A text with markup and the like is stored or refused, but not answered 401 or 403 to a caller who may call."""
    texts = [(where, leaf) for where, leaf in free_leaves(await case.arrange()) if isinstance(leaf, str)]
    case.require_case(texts, "the body has no text that may be changed")
    where, leaf = texts[-1]
    request = await case.arrange()
    changed = request.with_body(pointer.replace(request.body, where, f"{leaf} {MARKUP}"))
    answer = await case.send(changed, f"markup in {where}")
    if answer.status in (401, 403):
        await case.control(await case.arrange())
        raise case.violation(f"a text with markup was answered {answer.status}", answer, expected="200 or 400")


_NUL_IN_ID = "encoded-nul"
_TEXT = "'\"`<b>{{7}}[$]()*|^ -- #&=+,@!"
_SYNTAX = "%zz\\:?"
PATHS: Mapping[str, Callable[[str], str]] = {
    "encoded-slash": lambda value: f"{value}%2F{value}",
    "encoded-parent": lambda value: f"..%2f{value}",
    "encoded-dots": lambda value: "%2e%2e%2f%2e%2e%2fidentity%3f",
    "plain-parent": lambda value: f"../{value}",
    "double-slash": lambda value: f"/{value}",
    "trailing-dot-segment": lambda value: f"{value}/.",
    _NUL_IN_ID: lambda value: f"{value}%00",
    "encoded-crlf": lambda value: f"{value}%0d%0aX-Injected:%201",
    "invalid-escape": lambda value: f"{value}%zz",
    "invalid-utf-8": lambda value: f"{value}%ff%fe",
    "over-long": lambda value: value + "a" * 7000,
    "dot": lambda value: ".",
    "encoded-blank": lambda value: "%20",
}
COMBINATIONS: Mapping[str, Callable[[str], str]] = {
    "text": lambda value: value + quote(_TEXT, safe="'"),
    "syntax": lambda value: f"{value};x=1{quote(_SYNTAX, safe='')}",
}
"""What may break a query or a page, and what may be read as a part of a path, which is refused more often."""
_DESCRIPTIONS: Mapping[str, str] = {
    "text": f"an id that ends with the characters {_TEXT}",
    "syntax": f"an id that ends with the characters ;x=1{_SYNTAX}",
}


def _hostile_ids(profile: Profile, operation: Operation) -> Mapping[str, str]:
    """Both combinations, NUL, and some of the other ids; of the hosted operations the combinations alone."""
    is_short = "hosted" in operation.words and profile.limits.depth != "deep"
    others = {} if is_short else {_NUL_IN_ID: "", **alternate_cases(PATHS, 4)(profile, operation)}
    return {name: name for name in (*COMBINATIONS, *others)}


@check("NF-1", on="path", cases=_hostile_ids)
async def a_hostile_id_is_no_way_anywhere(case: Case, kind: str) -> None:
    """An id that resembles a path reaches no other route, does not bypass authorization, and breaks nothing.

    Each operation gets all odd characters that may stand together in one id, since each operation may have a query of
    its own.
    """
    request = await case.arrange()
    name, change = case.operation.path_parameters[0], {**COMBINATIONS, **PATHS}[kind]
    hostile = replace(request, raw_path={name: change(quote(request.path[name], safe=""))}).with_fresh_key()
    answer = await case.send_with_retry(hostile, "hostile id")
    description = _DESCRIPTIONS.get(kind, "a hostile id")
    expect_survival(case, description, answer, oversize=len(answer.url) > LONG_URL)
    if answer.ok and case.operation.auth == "api_key":
        bare = await case.send(hostile.with_authorization().with_fresh_key(), "hostile id, no credential")
        if bare.ok:
            raise case.violation("a hostile id gets past authentication", answer, bare, expected="401")
    if answer.ok and _is_another_route(case, answer, await case.control(await case.arrange())):
        raise case.violation("a hostile id reached another route", answer, expected="404")


def _is_another_route(case: Case, answer: Answer, control: Answer) -> bool:
    """Whether a 200 shares no member with the operation's own answer."""
    hostile_names, control_names = _names(answer.value), _names(control.value)
    return bool(control_names) and not hostile_names & control_names


def _names(value: Any) -> set[str]:
    data = value.get("data") if isinstance(value, dict) else None
    return set(data) if isinstance(data, dict) else {"[]"} if isinstance(data, list) else set()


@check("NF-1", on=("api-key read path", "catalog path"))
async def an_encoded_slash_is_no_path_separator(case: Case) -> None:
    """An id that resolves to the resource by encoded slashes is an unknown id: a success is a warning.

    A server that decodes a path before it splits it ignores RFC 3986 (sections 2.2 and 3.3), not the interface.
    """
    request = await case.arrange()
    name = case.operation.path_parameters[0]
    collection = case.operation.path.partition(f"/{{{name}}}")[0].rpartition("/")[2]
    own_id = quote(request.path[name], safe="")
    detour = replace(request, raw_path={name: f"..%2f{collection}%2f{own_id}"}).with_fresh_key()
    answer = await case.send_with_retry(detour, "an id with encoded slashes")
    if answer.ok and answer.data != []:
        case.warn("encoded slashes in an id were read as a path", answer, expected="404 or 400")


_OVERRIDES = {name: name for name in METHOD_OVERRIDES}


@check("NF-1", on=("api-key path",), cases=alternate_cases(_OVERRIDES))
async def a_method_override_opens_no_other_operation(case: Case, header: str) -> None:
    """A method override header does not bypass authentication and does not break the answer."""
    method = "GET" if case.operation.method != "GET" else "DELETE"
    await case.shared_negative(
        lambda request: request.with_authorization().with_header(header, method).with_fresh_key(),
        REFUSAL_STATUSES,
        "a method override, no credential",
        any_refusal=True,
    )
