"""What identity shows of the calling key (IDN-1)."""

from __future__ import annotations

from itertools import combinations

from conformance.checks.support.authorization import ALLOWED, cases, names, suits
from conformance.checks.support.case import Case
from conformance.checks.support.identity import SCOPES, candidates, omitted, shown_at, unheld
from conformance.checks.support.registry import check
from conformance.checks.support.replays import without
from conformance.checks.support.signals import Inconclusive
from conformance.client.response import Answer
from conformance.core import strict_json as strictjson


async def _identity(case: Case, credential: str) -> Answer:
    answer = await case.control(await case.arrange(credential=credential), f"the key {credential!r}")
    if not isinstance(answer.data, dict):
        raise Inconclusive("the answer has no data to look at", answer, cause="ENV-2")
    return answer


@check("IDN-1", cases=cases(ALLOWED))
async def identity_shows_the_scopes_of_the_calling_key(case: Case, credential: str) -> None:
    """Of the interface's scopes, identity shows those that the calling key has, and no other."""
    case.need_credential(credential, "an active key is needed", suits(case.profile, case.operation, ALLOWED))
    broadest = case.runtime.arranger.credential_for(case.operation)
    held, scopes = (found & set(SCOPES) for found in (broadest.scopes, case.profile.credentials[credential].scopes))
    scoped = "an active key with one of the interface's scopes is needed"
    case.need_credential(held, scoped, lambda one: one.active and bool(one.scopes & set(SCOPES)))
    yardstick = await _identity(case, broadest.name)
    stated = case.profile.identity.scopes
    places = [stated] if stated else candidates(yardstick.value, held)
    case.need(places, "identity.scopes", "no place in the answer shows all the scopes of the key that has most")
    answer = yardstick if credential == broadest.name else await _identity(case, credential)
    observed = ""
    for place in places:
        shown, known = shown_at(answer.value, place), shown_at(yardstick.value, place)
        if not (omitted(shown, scopes) or unheld(shown, known, scopes, held)):
            return
        observed = observed or f"{', '.join(sorted(shown)) or 'none'} at {place}"
    expected = ", ".join(sorted(scopes)) or "none of the interface's scopes"
    message = f"identity does not show the scopes of the key {credential!r}"
    raise case.violated(message, yardstick, answer, expected=expected, observed=observed)


@check("IDN-1")
async def identity_differs_from_key_to_key(case: Case) -> None:
    """Keys of different scopes or installations get different answers from identity."""
    keys = case.profile.credentials
    known = names(case.profile, case.operation, ALLOWED)
    unlike = [
        (one, other)
        for one, other in combinations(known, 2)
        if (keys[one].scopes, keys[one].installation) != (keys[other].scopes, keys[other].installation)
    ]
    two = "two active keys of different scopes or installations are needed"
    case.need_credential(unlike, two, lambda one: one.active)
    answers = {name: await _identity(case, name) for name in dict.fromkeys(name for pair in unlike for name in pair)}
    for one, other in unlike:
        shown = [without(answers[name].value, case.volatile)["data"] for name in (one, other)]
        if strictjson.same(*shown):
            message = f"identity answers the keys {one!r} and {other!r} alike"
            raise case.violated(message, answers[one], answers[other], expected="another identity for each key")
