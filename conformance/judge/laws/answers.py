"""What answers show of the profile's facts: token types and lifetimes, scopes, installations (OA-17, IDN-1, TEN-2)."""

from __future__ import annotations

import re
from typing import Any, Final

from conformance.core import json_pointer as pointer
from conformance.core.law_facts import AnswerRule, CredentialRule
from conformance.judge.laws import comparison
from conformance.judge.laws.judgement import Judgements, confirmation, violation
from conformance.judge.laws.traffic import Call, Traffic

SCOPES: Final = frozenset({"webhooks:write", "webhooks:read", "catalog:read", "checkout:quote"})
_ROUNDING_S: Final = 1.0
SCOPE_SEPARATORS: Final = re.compile(r"[\s,;|]+")


def a_token_is_as_stated(traffic: Traffic) -> Judgements:
    """OA-17. A token answer has the stated token type, and the stated lifetime."""
    yield from _judge_answers(traffic, "OA-17")


def identity_shows_the_scopes(traffic: Traffic) -> Judgements:
    """IDN-1. Identity shows the interface's scopes of the calling key, where the profile says at which place."""
    yield from _judge_answers(traffic, "IDN-1")


def _judge_answers(traffic: Traffic, requirement: str) -> Judgements:
    for rule in traffic.facts.answers:
        for call in traffic.of(rule.operation) if rule.requirement == requirement else ():
            value = traffic.answer_value(call) if call.ok else comparison.NO_VALUE
            if not isinstance(value, dict) or not pointer.has(value, rule.pointer):
                continue
            found = pointer.get(value, rule.pointer)
            expected = _expected_value(traffic, rule, call, found)
            if expected:
                message = f"the answer has another value at {rule.pointer} than the profile states"
                yield violation(message, call, expected=expected, observed=str(found)[:200])
            elif expected is not None:
                yield confirmation(call)


def _expected_value(traffic: Traffic, rule: AnswerRule, call: Call, found: Any) -> str | None:
    """The stated value; empty where the answer has it, None where it is not known."""
    if rule.kind == "text":
        return None if str(found).lower() != rule.value.lower() else "" if found == rule.value else rule.value
    if rule.kind == "seconds":
        return "" if _is_lifetime(found, float(rule.value), call.end - call.at) else f"{rule.value} s"
    credential = traffic.facts.credentials.get(call.caller) if call.is_named else None
    if credential is None or credential.status != "active" or not traffic.facts.is_current:
        return None
    observed = _scopes(found)
    stated = set(credential.scopes) & SCOPES
    return None if observed is None else "" if observed == stated else ", ".join(sorted(stated)) or "no scope"


def _is_lifetime(found: Any, stated_s: float, duration_s: float) -> bool:
    if isinstance(found, str) and found.isdecimal():
        found = float(found)
    if not isinstance(found, int | float) or isinstance(found, bool):
        return False
    return stated_s - duration_s - _ROUNDING_S <= found <= stated_s


def _scopes(found: Any) -> set[str] | None:
    """The interface's scopes in a list, or in a text with separators; None for another form."""
    if isinstance(found, str):
        return {*SCOPE_SEPARATORS.split(found)} & SCOPES
    if isinstance(found, list) and all(isinstance(item, str) for item in found):
        return {*found} & SCOPES
    return None


def an_installation_is_that_of_the_key(traffic: Traffic) -> Judgements:
    """TEN-2. Keys of one installation are by_installation one installation, and keys of two are shown two."""
    for rule in traffic.facts.answers:
        if rule.kind != "installation":
            continue
        by_installation: dict[str, tuple[str, Call]] = {}
        for call in traffic.of(rule.operation):
            credential = traffic.facts.credentials.get(call.caller) if call.is_named else None
            value = traffic.answer_value(call) if call.ok else comparison.NO_VALUE
            if not _is_known(credential) or not isinstance(value, dict) or not pointer.has(value, rule.pointer):
                continue
            assert credential is not None
            yield from _compare(by_installation, credential.installation, str(pointer.get(value, rule.pointer)), call)


def _is_known(credential: CredentialRule | None) -> bool:
    return credential is not None and credential.status == "active" and bool(credential.installation)


def _compare(by_installation: dict[str, tuple[str, Call]], installation: str, found: str, call: Call) -> Judgements:
    for other, (value, first) in by_installation.items():
        if (other == installation) != (value == found):
            message = f"keys of {'one installation' if other == installation else 'two installations'} are shown"
            message += f" {'two installations' if other == installation else 'one installation'}"
            yield violation(
                message, first, call, expected=value if other == installation else "another", observed=found
            )
            return
    by_installation.setdefault(installation, (found, call))
    yield confirmation(call)
