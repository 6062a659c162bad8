"""Who may call what: keys, their status and scopes, installations, public operations (Authentication)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from conformance.core.law_facts import CredentialRule, OperationRule
from conformance.judge.laws.judgement import Judgements, confirmation, violation
from conformance.judge.laws.reused_keys import is_unique, repetitions_without_access
from conformance.judge.laws.traffic import Call, Traffic

_PLAIN_QUERY: Final = re.compile(r"[\w.,:&=+-]{0,400}", re.ASCII)
"""A query that nothing in front of the service refuses."""


def _repetitions(traffic: Traffic) -> set[int]:
    """The calls that IDEM-9 is about: a fault of replays is not one of authentication."""
    return {other.number for _, other, _ in repetitions_without_access(traffic)}


def _calls_with_profile_keys(traffic: Traffic) -> Iterator[tuple[Call, OperationRule, CredentialRule]]:
    """The calls to operations with an API key that is one of the profile's."""
    for call, rule in traffic.on(auth="api_key"):
        credential = traffic.facts.credentials.get(call.caller) if call.is_named else None
        if credential is not None:
            yield call, rule, credential


def no_credential_no_answer(traffic: Traffic) -> Judgements:
    """AUTH-1. A call without a key is not answered 200.

    Sure where the recording holds Authorization headers at all, and nothing else in the request may name a caller.
    """
    if not traffic.sees_authorization:
        return
    repetitions = _repetitions(traffic)
    for call, _ in traffic.on(auth="api_key"):
        if call.caller or call.shows_secret or call.number in repetitions:
            continue
        if call.ok:
            yield violation("a call without API key was answered 200", call, expected="401")
        elif call.status == 403 and traffic.is_accepted(call):
            yield violation("a call whose only defect is the missing key was answered 403", call, expected="401")
        elif call.status == 401:
            yield confirmation(call)


def a_key_counts_in_its_header_only(traffic: Traffic) -> Judgements:
    """AUTH-2. A key of the profile in the query, a cookie or another header is not accepted there."""
    for call, _ in traffic.on(auth="api_key"):
        if call.caller or call.has_authorization or not call.shows_secret or not traffic.sees_authorization:
            continue
        exchange = traffic.exchange(call.number)
        if not any(
            "«credential:" in text for text in (exchange.url, *(value for _, value in exchange.request.headers))
        ):
            continue
        if call.ok:
            message = "an API key outside of the Authorization header was accepted"
            yield violation(message, call, expected="401")
        elif call.status == 401:
            yield confirmation(call)


def a_revoked_key_is_refused(traffic: Traffic) -> Judgements:
    """AUTH-4. A key that the profile states as revoked or expired is not answered 200.

    Where the profile may be younger than the recording, sure only after the key was refused.
    """
    repetitions, refused_since = _repetitions(traffic), _first_refusals(traffic, 401)
    for call, _, credential in _calls_with_profile_keys(traffic):
        if credential.status == "active" or call.at < traffic.facts.propagation_s or call.number in repetitions:
            continue
        if call.ok and (traffic.facts.is_current or call.at > refused_since.get((call.caller, ""), call.at)):
            message = f"the {credential.status} key {call.caller!r} was answered 200"
            yield violation(message, call, expected="401")
        elif call.status == 401:
            yield confirmation(call)


def a_key_needs_the_scope(traffic: Traffic) -> Judgements:
    """SCO-1. An active key of the profile without the scope of the operation is not answered 200.

    Where the profile may be younger than the recording, sure only after the key was refused for that scope.
    """
    repetitions, refused_since = _repetitions(traffic), _first_refusals(traffic, 403)
    for call, rule, credential in _calls_with_profile_keys(traffic):
        lacks = rule.scope and rule.scope not in credential.scopes
        if not lacks or credential.status != "active" or call.number in repetitions:
            continue
        if call.ok and (traffic.facts.is_current or call.at > refused_since.get((call.caller, rule.scope), call.at)):
            message = f"the key {call.caller!r}, which has not the scope {rule.scope}, was answered 200"
            yield violation(message, call, expected="403")
        elif call.status == 403:
            yield confirmation(call)
        elif call.status in (401, 404) and traffic.is_accepted(call, before=True) and _is_served(traffic, call):
            message = f"a key without the scope {rule.scope} was answered {call.status}"
            yield violation(message, call, expected="403")


def _is_served(traffic: Traffic, call: Call) -> bool:
    """Whether the key and the object were good after the call: both were served."""
    of_key = (other for other in traffic.calls if other.caller == call.caller and other.status in (200, 403))
    is_valid = any(other.at >= call.end for other in of_key)
    return is_valid and (
        call.status == 401
        or any(other.ok and other.path == call.path and other.at >= call.end for other in traffic.of(call.operation))
    )


def _first_refusals(traffic: Traffic, status: int) -> dict[tuple[str, str], float]:
    """(credential, scope; empty for a 401) -> when it was first refused."""
    found: dict[tuple[str, str], float] = {}
    for call, rule, _ in _calls_with_profile_keys(traffic):
        if call.status == status:
            found.setdefault((call.caller, rule.scope if status == 403 else ""), call.end)
    return found


def a_scope_is_sufficient(traffic: Traffic) -> Judgements:
    """SCO-2. An active key with the scope is not answered 403.

    Sure where the very request was answered 200 to another key, and it names no object of another installation.
    """
    is_told_apart = traffic.facts.foreign_status not in (None, 403)
    for call, rule, credential in _calls_with_profile_keys(traffic):
        if credential.status != "active" or not rule.scope or rule.scope not in credential.scopes:
            continue
        is_good = traffic.is_accepted(call, anywhere=True) and (is_told_apart or not call.path)
        if call.status == 403 and is_good and not call.shows_secret and traffic.facts.is_current:
            message = f"the key {call.caller!r}, which has the scope {rule.scope}, was answered 403"
            yield violation(message, call, expected="200")
        elif call.ok:
            yield confirmation(call)


def identity_needs_no_scope(traffic: Traffic) -> Judgements:
    """SCO-3. Identity and readiness are not answered 403 to an active key."""
    for call, rule, credential in _calls_with_profile_keys(traffic):
        if rule.scope or credential.status != "active" or call.shows_secret or not _PLAIN_QUERY.fullmatch(call.query):
            continue
        if call.status == 403:
            yield violation(f"the active key {call.caller!r} was answered 403", call, expected="200")
        elif call.ok:
            yield confirmation(call)


def a_public_read_needs_no_key(traffic: Traffic) -> Judgements:
    """PUB-1. A public read without Authorization header is answered neither 401 nor 403."""
    for call in _catalog(traffic):
        if call.has_authorization:
            continue
        if call.status in (401, 403):
            yield violation("a public operation was refused without a key", call, expected="200")
        elif call.ok:
            yield confirmation(call)


def a_public_read_ignores_keys(traffic: Traffic) -> Judgements:
    """AUTH-5. A public read with any Authorization header is not refused, where the profile states that."""
    for call in _catalog(traffic):
        if not call.has_authorization or not traffic.facts.public_ignores_keys:
            continue
        if call.status in (401, 403):
            message = "a public operation did not ignore the Authorization header, as authorization.public states"
            yield violation(message, call, expected="200")
        elif call.ok:
            yield confirmation(call)


def _catalog(traffic: Traffic) -> Iterator[Call]:
    for call, rule in traffic.on(auth="none"):
        if rule.is_catalog and not call.shows_secret and _PLAIN_QUERY.fullmatch(call.query):
            yield call


def installations_are_separate(traffic: Traffic) -> Judgements:
    """TEN-1. A resource that one installation's key reaches is out of reach for a key of another installation.

    Sure where the profile states the installations of both keys, and the id is not a number that each may count for
    itself: it has 16 letters and digits in a row, or is a UUID.
    """
    owners: dict[tuple[str, str], tuple[str, Call]] = {}
    for call, rule, credential in _calls_with_profile_keys(traffic):
        if not call.path or not credential.installation or not is_unique(call.path[0]):
            continue
        if any(other.ok and other.caller != call.caller for other in traffic.by_key.get(call.key, ())):
            continue  # what a key of another caller brings back is the question of IDEM-6
        place = (rule.path.partition("{")[0], call.path[0])
        if call.ok:
            installation, first = owners.setdefault(place, (credential.installation, call))
            if installation != credential.installation:
                message = f"keys of the installations {installation!r} and {credential.installation!r} reach one object"
                yield violation(message, first, call, expected="401, 403 or 404 for one of them")
        elif place in owners and owners[place][0] != credential.installation and call.status in (401, 403, 404):
            yield confirmation(owners[place][1], call)
