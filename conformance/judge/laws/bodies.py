"""One write at a time: its body, its idempotency key, its proof (Endpoints, rules 2 and 4; Authentication)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from conformance.client.request import is_read_as_uuid
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.law_facts import OperationRule
from conformance.judge.laws import comparison
from conformance.judge.laws.judgement import Judgements, confirmation, violation
from conformance.judge.laws.repeats import answers_are_known, answers_differ, meaningful_difference, retention_s
from conformance.judge.laws.traffic import UNKNOWN, Call, Traffic, only_header

_ESCAPED_BYTE: Final = "\\x"
"""How a journal writes a byte that is not UTF-8."""


def _writes(traffic: Traffic) -> Iterator[tuple[Call, OperationRule]]:
    """The calls of operations with a body that were answered, and not compressed on their way."""
    for call in traffic.calls:
        rule = traffic.facts.operations[call.operation]
        if rule.has_body and call.status and traffic.request_header(call, "Content-Encoding") is None:
            yield call, rule


def a_body_is_sent(traffic: Traffic) -> Judgements:
    """BODY-1. A call without its body is not answered 200. Sure where no header announces a body."""
    for call, _ in _writes(traffic):
        headers = [traffic.request_header(call, name) for name in ("Content-Length", "Transfer-Encoding")]
        if call.body_bytes or headers[0] not in (None, "0") or headers[1] is not None:
            continue
        if call.ok:
            yield violation("a call without body was answered 200", call, expected="400")
        elif call.status == 400:
            yield confirmation(call)


def a_body_is_json(traffic: Traffic) -> Judgements:
    """BODY-2. A body that no reader takes for JSON is not answered 200. Bodies that are cut are left out."""
    for call, _ in _writes(traffic):
        request = traffic.exchange(call.number).request
        if not call.body_bytes or request.truncated or not request.body.strip() or _ESCAPED_BYTE in request.body:
            continue
        if not _is_no_json(request.body):
            continue
        if call.ok:
            yield violation("a body that is not JSON was answered 200", call, expected="400")
        elif call.status == 400:
            yield confirmation(call)


def _is_no_json(text: str) -> bool:
    try:
        strictjson.parse_leniently(text.encode("utf-8", "surrogatepass"))
    except strictjson.JsonLimitError:
        return False
    except strictjson.JsonError:
        return True
    return False


def a_body_is_as_stated(traffic: Traffic) -> Judgements:
    """BODY-9. Bodies are refused and accepted as the profile states."""
    yield from a_body_beyond_what_is_stated_is_refused(traffic)
    yield from a_body_without_media_type_is_accepted(traffic)


def a_body_without_media_type_is_accepted(traffic: Traffic) -> Judgements:
    """BODY-9. A body without Content-Type is not answered 400, where the profile states that it is accepted.

    Sure where the caller was answered 200 to the same body, its key is of the stated format, and its path and query
    were part of a request that was answered 200: then nothing else about the request breaks the contract.
    """
    if not traffic.facts.bodies.absent_media_type_is_accepted:
        return
    bare = [call for call, _ in _writes(traffic) if call.body_bytes and call.status in (200, 400) and call.payload]
    bare = [call for call in bare if traffic.request_header(call, "Content-Type") is None]
    operations = {call.operation for call in bare}
    good = [call for call in traffic.calls if call.ok and call.operation in operations]
    bodies = {(call.operation, call.caller, call.query, traffic.request_text(call)) for call in good if call.payload}
    paths = {call.path for call in traffic.calls if call.ok}
    for call in bare:
        if call.ok:
            yield confirmation(call)
            continue
        is_known = (call.operation, call.caller, call.query, traffic.request_text(call)) in bodies
        if is_known and call.path in paths and not call.shows_secret and _is_good_key(traffic, call):
            message = "a body without Content-Type was answered 400, and is stated as accepted"
            yield violation(message, call, expected="200")


def _is_good_key(traffic: Traffic, call: Call) -> bool:
    """Whether nothing about a call's idempotency key can be the reason for a 400."""
    rule = traffic.facts.idempotency
    if not traffic.facts.operations[call.operation].idempotent:
        return True
    return rule is not None and bool(rule.accepted) and re.fullmatch(rule.accepted, call.key, re.DOTALL) is not None


def a_body_beyond_what_is_stated_is_refused(traffic: Traffic) -> Judgements:
    """BODY-9. A body of another media type, of more bytes or levels than the profile states is not answered 200."""
    rule = traffic.facts.bodies
    for call, _ in _writes(traffic):
        if not call.body_bytes:
            continue
        media_type = traffic.request_header(call, "Content-Type")
        problem = ""
        if rule.max_bytes is not None and call.body_bytes > rule.max_bytes:
            problem = f"a body of {call.body_bytes:,} bytes"
        elif media_type is None and rule.absent_media_type_is_refused:
            problem = "a body without Content-Type"
        elif media_type and rule.media_types and not _is_listed(media_type, rule.media_types):
            problem = f"a body of the type {media_type[:100]}"
        elif rule.max_depth is not None and (depth := _depth(traffic.request_value(call))) > rule.max_depth:
            problem = f"a body of {depth} levels"
        if problem and call.ok:
            yield violation(f"{problem} was answered 200, and is stated as refused", call, expected="400")
        elif problem and call.status == 400:
            yield confirmation(call)


def _is_listed(media_type: str, ranges: tuple[str, ...]) -> bool:
    name = media_type.partition(";")[0].strip().lower()
    forms = [re.escape(item.lower()).replace(r"\*", "[^/]*") for item in ranges]
    return any(re.fullmatch(form, name) for form in forms)


def _depth(value: Any) -> int:
    """How many objects and arrays are within each other; 0 where the value is not known."""
    if value is comparison.NO_VALUE:
        return 0
    level, depth = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        depth += 1
        level = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
    return depth


def a_missing_key_is_refused(traffic: Traffic) -> Judgements:
    """IDEM-3. A call without idempotency key is not answered 200, where the profile states that it is refused."""
    rule = traffic.facts.idempotency
    if rule is None or not rule.missing_is_refused:
        return
    for call in traffic.calls:
        if call.key or not traffic.facts.operations[call.operation].idempotent:
            continue
        if call.ok:
            yield violation("a call without idempotency key was answered 200", call, expected="400")
        elif call.status == 400:
            yield confirmation(call)


def keys_are_as_stated(traffic: Traffic) -> Judgements:
    """IDEM-13. Keys of another format are refused, and keys in capitals are the same keys, where that is stated."""
    yield from a_key_of_another_format_is_refused(traffic)
    yield from keys_in_capitals_are_the_same(traffic)


def a_key_of_another_format_is_refused(traffic: Traffic) -> Judgements:
    """IDEM-13. A key of another format is not answered 200, where the profile states that it is refused."""
    rule = traffic.facts.idempotency
    if rule is None or not rule.format:
        return
    form = re.compile(rule.format, re.DOTALL)
    for call in traffic.calls:
        is_plain = call.key not in ("", UNKNOWN) and "«" not in call.key and call.key.isascii()
        if not is_plain or not traffic.facts.operations[call.operation].idempotent or form.fullmatch(call.key):
            continue
        if call.ok and not is_read_as_uuid(call.key):
            yield violation("an idempotency key of another format was answered 200", call, expected="400")
        elif call.status == 400:
            yield confirmation(call)


def a_key_of_the_format_is_accepted(traffic: Traffic) -> Judgements:
    """IDEM-10. A key of the stated format is not refused.

    Sure where the very request was answered 200 with another key, and no resource has a state that may have changed.
    """
    rule = traffic.facts.idempotency
    form = re.compile(rule.accepted, re.DOTALL) if rule and rule.accepted else None
    used_keys: set[tuple[str, str]] = set()
    for call in traffic.calls if form else ():
        stated = traffic.facts.operations[call.operation]
        if not stated.idempotent or stated.auth == "oauth" or "«" in call.key or call.shows_secret:
            continue
        assert form is not None
        if not form.fullmatch(call.key):
            continue
        is_used = (call.caller, call.key) in used_keys  # its answer may be stored
        used_keys.add((call.caller, call.key))
        if call.ok:
            yield confirmation(call)
        elif not is_used and call.status == 400 and not call.path and call.payload and traffic.is_accepted(call):
            yield violation("a call with an idempotency key of the stated format was refused", call, expected="200")


def keys_in_capitals_are_the_same(traffic: Traffic) -> Judgements:
    """IDEM-13. Keys that differ in case only are one key, where the profile states that.

    So the second call brings back the first answer, or with another payload none of its own. Sure where both answers
    are 200, whole and different, and the bodies are the same or mean different things.
    """
    rule = traffic.facts.idempotency
    first_uses: dict[tuple[object, ...], Call] = {}
    for call in traffic.calls if rule and rule.is_case_insensitive and rule.stores_success else ():
        stated = traffic.facts.operations[call.operation]
        is_known = call.key not in ("", UNKNOWN) and "«" not in call.key and call.caller != UNKNOWN and call.payload
        if not (is_known and call.ok and stated.idempotent and stated.auth != "oauth"):
            continue
        place = (call.operation, call.caller, call.path, call.query, call.key.casefold())
        first = first_uses.setdefault(place, call)
        if first.key == call.key or call.at < first.end or call.end - first.at >= retention_s(traffic):
            continue
        if not answers_are_known(traffic, first, call):
            continue
        is_same = first.payload == call.payload
        if not is_same and meaningful_difference(traffic, first, call) is None:
            continue
        if (where := answers_differ(traffic, first, call)) is None:
            if is_same:
                yield confirmation(first, call)
        else:
            message = "an idempotency key in other letters of case was taken for another key"
            expected = "the first answer" if is_same else "409"
            yield violation(message, first, call, expected=expected, observed=f"another value at {where or '/'}")


def an_exchange_has_a_verifier(traffic: Traffic) -> Judgements:
    """OA-2. A token exchange whose body has no verifier is not answered 200."""
    where = traffic.facts.verifier
    for call, _ in traffic.on(auth="oauth") if where else ():
        value = traffic.request_value(call)
        if not isinstance(value, dict) or pointer.has(value, where):
            continue
        if call.ok:
            yield violation("a token was given without a PKCE verifier", call, expected="400 or 401")
        elif call.status in (400, 401):
            yield confirmation(call)


def a_token_is_not_cached(traffic: Traffic) -> Judgements:
    """OA-10. A token answer forbids caching (RFC 6749 section 5.1). Silent where the answer's headers are missing."""
    for call, _ in traffic.on(auth="oauth"):
        headers = traffic.exchange(call.number).response.headers
        if not call.ok or not headers:
            continue
        stated = ",".join(value for name, value in headers if name.lower() == "cache-control").lower()
        if "no-store" in stated:
            yield confirmation(call)
        else:
            yield violation("a token answer does not forbid caching", call, expected="Cache-Control: no-store")


def an_exchange_has_a_proof(traffic: Traffic) -> Judgements:
    """OA-6. A token exchange without a DPoP header is not answered 200."""
    for call, _ in traffic.on(auth="oauth"):
        if only_header(traffic.exchange(call.number).request, "DPoP") is not None:
            continue
        if call.ok:
            yield violation("a token was given without a DPoP proof", call, expected="400 or 401")
        elif call.status in (400, 401):
            yield confirmation(call)
