"""A used idempotency key with another operation, resource or caller (IDEM-5, IDEM-9, IDEM-14)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from conformance.core import json_pointer as pointer
from conformance.judge.laws import comparison
from conformance.judge.laws.judgement import Judgements, confirmation, is_after, violation
from conformance.judge.laws.repeats import answers_differ, meaningful_difference, retention_s
from conformance.judge.laws.traffic import UNKNOWN, Call, Traffic

_LONG_RUN: Final = re.compile(r"[0-9A-Za-z]{16,}|[0-9a-fA-F-]{36}")


def _used_keys(traffic: Traffic) -> Iterator[tuple[Call, Call]]:
    """A call that was answered 200, and a later one with its key, while the key is certainly stored."""
    rule = traffic.facts.idempotency
    if rule is None or not rule.stores_success:
        return
    for calls in traffic.by_key.values():
        for first in calls:
            if not first.ok or first.caller == UNKNOWN:
                continue
            for other in calls:
                if is_after(other, first) and other.end - first.at < retention_s(traffic) and other.caller != UNKNOWN:
                    yield first, other


def _same_resource(first: Call, other: Call) -> bool:
    return (first.operation, first.path) == (other.operation, other.path)


def a_key_elsewhere_is_another_call(traffic: Traffic) -> Judgements:
    """IDEM-5. A used key on another resource or operation never brings back the first answer.

    Sure where the first answer names its resource, and the second is the same and does not name its own; or where it
    has members that no other answer of the second operation has.
    """
    for first, other in _used_keys(traffic):
        if first.caller != other.caller or _same_resource(first, other) or not other.ok:
            continue
        if answers_differ(traffic, first, other) is not None:
            yield confirmation(first, other)
        elif _names_the_first(traffic, first, other) or _has_members_of_the_first(traffic, first, other):
            message = "the first answer of an idempotency key was repeated for another call"
            yield violation(message, first, other, expected="an answer of its own, or 409")


def _names_the_first(traffic: Traffic, first: Call, other: Call) -> bool:
    """Whether the answers, which may be equal, hold the path value of the first call and not that of the second."""
    foreign_values, own_values = set(first.path) - set(other.path), set(other.path) - set(first.path)
    texts = _texts(traffic.answer_value(other))
    return bool(foreign_values and own_values) and foreign_values <= texts and not own_values & texts


def _texts(value: Any) -> set[str]:
    return set() if value is comparison.NO_VALUE else {str(leaf) for _, leaf in pointer.leaves(value)}


def _has_members_of_the_first(traffic: Traffic, first: Call, other: Call) -> bool:
    """Whether the answer has the members of the first, which no other answer of the operation has."""
    if first.operation == other.operation:
        return False
    observed = _members(traffic, other)
    keys = traffic.by_key
    own_answers = [
        call
        for call in traffic.of(other.operation)
        if call.ok and all(sibling.operation == call.operation for sibling in keys.get(call.key, ()))
    ]
    shapes = [_members(traffic, call) for call in own_answers[:50]]
    return len(shapes) > 1 and observed == _members(traffic, first) and observed not in shapes


def _members(traffic: Traffic, call: Call) -> frozenset[str]:
    """The names of the members of an answer, at any depth."""
    value = traffic.answer_value(call)
    leaves = [] if value is comparison.NO_VALUE else pointer.leaves(value)
    return frozenset(name for where, _ in leaves for name in where.split("/") if not name.isdecimal())


def a_key_of_another_installation_is_another_call(traffic: Traffic) -> Judgements:
    """IDEM-6. A used key never brings back the first answer for a key of another installation.

    Sure where the answers are equal, and hold an id that cannot have been given out twice.
    """
    for first, other in _used_keys(traffic):
        if first.operation != other.operation or not other.ok or len(_installations(traffic, first, other)) < 2:
            continue
        if answers_differ(traffic, first, other) is not None:
            yield confirmation(first, other)
        elif any(map(is_unique, _texts(traffic.answer_value(other)))):
            message = "the answer of an idempotency key was repeated for a key of another installation"
            yield violation(message, first, other, expected="an answer of its own, 404 or 409")


def _installations(traffic: Traffic, *calls: Call) -> set[str]:
    """The stated installations of the callers."""
    found = (traffic.facts.credentials.get(call.caller) for call in calls if call.is_named)
    return {credential.installation for credential in found if credential and credential.installation}


def is_unique(text: str) -> bool:
    """Whether an id cannot have been given out twice: letters and digits in a long run."""
    return any(
        len(set(run)) >= 8 and sum(c.isdigit() for c in run) >= 3 and sum(c.isalpha() for c in run) >= 3
        for run in _LONG_RUN.findall(text)
    )


def bypasses(traffic: Traffic, other: Call, first: Call) -> str:
    """What the second call lacks that the first one had: a credential, an active one, the scope; else empty."""
    rule = traffic.facts.operations[other.operation]
    if rule.auth != "api_key" or first.caller == other.caller or other.shows_secret:
        return ""
    if not other.caller:
        return "no credential" if traffic.sees_authorization else ""
    credential = traffic.facts.credentials.get(other.caller) if other.is_named else None
    if credential is None:
        return ""
    if credential.status != "active":
        return f"the {credential.status} key {other.caller!r}" if other.at >= traffic.facts.propagation_s else ""
    if rule.scope and rule.scope not in credential.scopes:
        return f"the key {other.caller!r}, which has not the scope {rule.scope}"
    return ""


def repetitions_without_access(traffic: Traffic) -> Iterator[tuple[Call, Call, str]]:
    """A call that was answered 200, the same call again with less access, and what it lacks."""
    for first, other in _used_keys(traffic):
        is_same = _same_resource(first, other) and first.payload and first.payload == other.payload
        lack = bypasses(traffic, other, first) if is_same else ""
        if lack and not bypasses(traffic, first, other):
            yield first, other, lack


def a_known_key_gives_no_access(traffic: Traffic) -> Judgements:
    """IDEM-9. A call that was answered 200 is not answered to a caller who may not make it."""
    for first, other, lack in repetitions_without_access(traffic):
        if other.ok:
            message = f"the same call and idempotency key with {lack} was answered 200"
            yield violation(message, first, other, expected="401 or 403")
        elif other.status in (401, 403):
            yield confirmation(first, other)


def a_key_belongs_to_what_is_stated(traffic: Traffic) -> Judgements:
    """IDEM-14. A used key under another credential, operation or path that it does not belong to is answered 409."""
    rule = traffic.facts.idempotency
    namespace = set(rule.namespace or ()) if rule else set()
    for first, other in _used_keys(traffic):
        parts = _differing_parts(traffic, first, other)
        if not parts or other.status not in (200, 409) or rule is None or rule.namespace is None:
            continue
        if namespace & parts:
            yield from _judge_separate(traffic, first, other)
            continue
        if parts <= {"credential", "installation"} and meaningful_difference(traffic, first, other) is None:
            continue
        if other.ok and answers_differ(traffic, first, other) is not None:
            parts_text = " and ".join(sorted(parts))
            message = (
                f"the key belongs to no {parts_text}, and the same key under another {parts_text} was answered 200"
            )
            yield violation(message, first, other, expected="409")
        elif not other.ok:
            yield confirmation(first, other)


def _judge_separate(traffic: Traffic, first: Call, other: Call) -> Judgements:
    """A key of its own: no conflict with the first call. Sure where no resource can conflict, and the body is good."""
    if other.ok:
        yield confirmation(first, other)
    elif not other.path and other.payload and traffic.is_accepted(other):
        message = "the key belongs to its caller, operation or path, and was answered 409 under another one"
        yield violation(message, first, other, expected="200")


def _differing_parts(traffic: Traffic, first: Call, other: Call) -> set[str]:
    """What may separate two calls with one key; empty where they are one call, or where it is not known."""
    parts: set[str] = set()
    if first.operation != other.operation:
        parts |= {"operation", "path"}
    elif first.path != other.path:
        parts.add("path")
    if first.caller == other.caller:
        return parts
    credentials = [traffic.facts.credentials.get(call.caller) for call in (first, other) if call.is_named]
    installations = [credential.installation for credential in credentials if credential]
    if len(installations) < 2 or not all(installations):
        return set()
    return parts | {"credential"} | ({"installation"} if len(set(installations)) > 1 else set())
