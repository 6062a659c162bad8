"""The identity of the calling key (IDN-1)."""

from __future__ import annotations

from itertools import combinations

from conformance.checks.support.authorization import ALLOWED, cases, has_category, names
from conformance.checks.support.case import Case
from conformance.checks.support.concurrent_keys import expect_own_answers
from conformance.checks.support.context import control_failed
from conformance.checks.support.identity import SCOPES, candidates, extra_scopes, missing_scopes, scopes_at
from conformance.checks.support.registry import check
from conformance.checks.support.signals import Inconclusive
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.outcomes import Level
from conformance.profile.installations import are_of_two_installations


async def _identity(case: Case, credential: str) -> Answer:
    await case.runtime.controls.prove(case.operation)
    answer = await case.answer_to(credential)
    if not answer.ok:
        raise control_failed(answer)
    if not isinstance(answer.data, dict):
        raise Inconclusive("the answer has no data object", answer, cause="ENV-2")
    return answer


@check("IDN-1", cases=cases(ALLOWED))
async def identity_shows_the_scopes_of_the_calling_key(case: Case, credential: str) -> None:
    """Identity shows exactly those of the interface's scopes that the calling key has.

    A place that is not stated, and shows the same to keys of different scopes, may list all scopes that there are,
    where the answers differ in form: those of the key may stand in what differs.
    """
    case.need_credential(credential, "an active key is needed", has_category(case.profile, case.operation, ALLOWED))
    broadest = case.runtime.arranger.credential_for(case.operation)
    broadest_scopes, scopes = (
        found & set(SCOPES) for found in (broadest.scopes, case.profile.credentials[credential].scopes)
    )
    scope_fact = "an active key with one of the interface's scopes is needed"
    case.need_credential(broadest_scopes, scope_fact, lambda first: first.active and bool(first.scopes & set(SCOPES)))
    reference = await _identity(case, broadest.name)
    declared_place = case.profile.identity.scopes
    places = [declared_place] if declared_place else candidates(reference.value, broadest_scopes)
    case.need(places, "identity.scopes", "no place in the answer shows all scopes of the broadest key")
    answer = reference if credential == broadest.name else await _identity(case, credential)
    if not declared_place and scopes != broadest_scopes and _form(answer) != _form(reference):
        places = [place for place in places if scopes_at(answer.value, place) != scopes_at(reference.value, place)]
        case.need(places, "identity.scopes", "what shows all scopes of the broadest key shows the same to other keys")
    observed = ""
    for place in places:
        signs, reference_signs = scopes_at(answer.value, place), scopes_at(reference.value, place)
        if not (missing_scopes(signs, scopes) or extra_scopes(signs, reference_signs, scopes, broadest_scopes)):
            return
        observed = observed or f"{', '.join(sorted(signs)) or 'none'} at {place}"
    expected = ", ".join(sorted(scopes)) or "none of the interface's scopes"
    message = f"identity does not show the scopes of the key {credential!r}"
    raise case.violation(message, reference, answer, expected=expected, observed=observed)


def _form(answer: Answer) -> set[str]:
    """The places of all values."""
    return {where for where, _ in pointer.leaves(answer.value)}


@check("IDN-1")
async def identity_differs_from_key_to_key(case: Case) -> None:
    """Keys of different scopes or installations get different answers from identity.

    A warning where identity need not show what they differ in: the scopes, which the profile may exclude, or the
    installation, whose place it may not state.
    """
    keys = case.profile.credentials
    allowed = names(case.profile, case.operation, ALLOWED)
    shows_scopes = not {"identity", "identity.scopes"} & case.profile.exclusions.keys()
    shows_installation = bool(case.profile.tenancy.installation_in_identity)
    differing = {
        (first, second): (shows_scopes and keys[first].scopes != keys[second].scopes)
        or (shows_installation and are_of_two_installations(case.profile, keys[first], keys[second]))
        for first, second in combinations(allowed, 2)
        if keys[first].scopes != keys[second].scopes
        or are_of_two_installations(case.profile, keys[first], keys[second])
    }
    need_text = "two active keys of different scopes or installations are needed"
    case.need_credential(differing, need_text, lambda first: first.active)
    answers = {name: await _identity(case, name) for name in dict.fromkeys(name for pair in differing for name in pair)}
    for (first, second), is_shown in sorted(differing.items(), key=lambda item: not item[1]):
        signs = [pointer.remove_matching(answers[name].value, case.volatile)["data"] for name in (first, second)]
        if strictjson.is_equal(*signs):
            message = f"identity answers the keys {first!r} and {second!r} alike"
            expected, level = "another identity for each key", None if is_shown else Level.RECOMMENDED
            raise case.violation(message, answers[first], answers[second], expected=expected, level=level)


@check("IDN-1")
async def keys_at_once_get_their_own_identities(case: Case) -> None:
    """Of keys that ask at the same time, none gets the identity of another one."""
    await expect_own_answers(case)
