"""Scope of keys: credentials, refusals, formats (IDEM-6, IDEM-8, IDEM-9, IDEM-10, IDEM-11)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from conformance.checks.support.authorization import INACTIVE, LACKS_SCOPE, credentials_without_scope, has_category
from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.effects import Oracle, read_change, shows_change
from conformance.checks.support.key_forms import MakeKey, forms_of_keys
from conformance.checks.support.oauth_exchange import oauth_of, proof_of
from conformance.checks.support.other_installations import other_key
from conformance.checks.support.registry import check
from conformance.checks.support.replays import are_alike, other_body, send_until_settled
from conformance.checks.support.sign_reader import fixtures_of
from conformance.checks.support.sign_watch import pauses
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.transitions import stated_lag_s
from conformance.checks.support.unusual_calls import unusual_call
from conformance.checks.support.uuid_versions import level_of_version
from conformance.client.request import Request, is_well_formed, malformed_key, new_key
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.outcomes import Level
from conformance.profile.behavior import Effect, Idempotency
from conformance.profile.model import Profile

_OPERATIONS = ("api-key idempotent",)
_SCOPED = ("scoped idempotent",)
_PAUSES_S = (0.2, 0.4, 0.8)
_PAIRS = 3
"""Times that two calls are compared before a difference of theirs counts as one of the calls and not of the clock."""


@check("IDEM-6", on=_OPERATIONS)
async def a_key_of_another_installation_is_another_call(case: Case) -> None:
    """The same key and body from another installation do not return the first installation's answer."""
    other = other_key(case)
    first = await case.first_call()
    foreign_answer = await case.send(
        case.as_credential(first.request, other), "the same call from another installation"
    )
    namespace = case.profile.idempotency.namespace if case.profile.idempotency else None
    is_conflict = foreign_answer.status == 409 and not case.operation.path_parameters and namespace is None
    # a second endpoint of that kind may be a conflict with another installation too
    if is_conflict and (await case.send(foreign_answer.request.with_fresh_key(), "with another key")).ok:
        case.warn(
            "another installation's key conflicts with this one's", first, foreign_answer, expected="a separate call"
        )
    if not foreign_answer.ok:
        return
    own_answer = await case.control(await case.arrange(), "a separate call")
    if are_alike(case, first, foreign_answer) and not are_alike(case, first, own_answer):
        for _ in range(_PAIRS):  # answers may differ by the second of the clock alone
            pair = [case.control(await case.arrange(), "two separate calls at once") for _ in range(2)]
            if are_alike(case, *await asyncio.gather(*pair)):
                case.note("answers do not show which call they are about")
                return
        raise case.violation(
            "another installation got the first one's answer", first, foreign_answer, expected="another answer"
        )


def _no_credential(case: Case, request: Request) -> Request:
    return request.with_authorization()


def _bad_credential(case: Case, request: Request) -> Request:
    return request.with_made_up_authorization(case.profile.authorization.header("no-key-of-anyone-0000"))


def _scopeless_credential(case: Case, request: Request) -> Request:
    names = credentials_without_scope(case.profile, case.operation)
    absent = has_category(case.profile, case.operation, LACKS_SCOPE)
    case.need_credential(names, f"a key without the scope {case.operation.scope} is needed", absent)
    return case.as_credential(request, names[0])


def _revoked_credential(case: Case, request: Request) -> Request:
    names = [c.name for c in case.profile.credentials.values() if not c.active]
    absent = has_category(case.profile, case.operation, INACTIVE)
    case.need_credential(names, "a key with status revoked or expired is needed", absent)
    return case.as_credential(request, names[0])


Refuse = Callable[[Case, Request], Request]


@check(
    "IDEM-8",
    on=_OPERATIONS,
    cases={"401-none": _no_credential, "401-bad": _bad_credential, "403": _scopeless_credential},
)
async def a_refusal_does_not_use_the_key_up(case: Case, refuse: Refuse) -> None:
    """After a 401 or 403 the same key, with the good credential, still executes."""
    await _expect_free_key(case, refuse)


@check("IDEM-8", on="revokePublicCart", deep_on=_OPERATIONS)
async def a_revoked_credential_does_not_use_the_key_up(case: Case) -> None:
    """After a 401 to a revoked API key the same idempotency key, with the good credential, still executes."""
    await _expect_free_key(case, _revoked_credential)


async def _expect_free_key(case: Case, refuse: Refuse) -> None:
    request = await case.arrange()
    refusal = await case.send(refuse(case, request), "refused with the key")
    if not refusal.is_refused:
        raise Inconclusive("the defective credential was not refused", refusal, cause=f"control:{case.operation.id}")
    good = await send_until_settled(case, request, "the same key, good credential")  # it may be released later
    if good.ok:
        return
    await case.control(await case.arrange())
    if good.status not in (401, 403, 409) or good.gateway_trouble:
        raise Inconclusive(f"the good credential was answered {good.summary}", refusal, good)
    raise case.violation("a refusal has used the key up", refusal, good, expected="200")


@check("IDEM-8", on="exchangeOAuthToken", cases={"401-no-proof": True, "401-bad-proof": False})
async def a_refused_proof_does_not_use_the_key_up(case: Case, is_absent: bool) -> None:
    """After a 401 for a missing or forged proof, the same key with a good proof still executes.

    A 400 may be stored under the key, and a failure may use the code up.
    """
    case.require_case(not oauth_of(case).failure_burns_code, "a failure may use the code up")
    request = await case.arrange()
    proof = None if is_absent else replace(proof_of(request), signing="other")
    refusal = await case.send(request.with_proof(proof), "refused with the key")
    if refusal.ok:
        raise Inconclusive("the defective proof was not refused", refusal, cause="OA-6")
    case.require_case(refusal.status == 401, f"a defective proof is answered {refusal.summary}")
    good = await send_until_settled(case, request, "the same key, good proof")
    if good.ok:
        return
    fresh = await case.send(request.with_fresh_key(), "another key, good proof")
    case.require_case(fresh.ok, "a failed exchange uses its code up")
    if good.status not in (400, 401, 403, 409):
        raise Inconclusive(f"the good proof was answered {good.summary}", refusal, good, fresh)
    raise case.violation("a refusal has used the key up", refusal, good, fresh, expected="200")


_UNAUTHORIZED: Mapping[str, tuple[Refuse, int]] = {
    "none": (_no_credential, 401),
    "bad": (_bad_credential, 401),
    "revoked": (_revoked_credential, 401),
    "unscoped": (_scopeless_credential, 403),
}


@check("IDEM-9", on=_OPERATIONS, cases=_UNAUTHORIZED)
async def a_known_key_is_no_credential(case: Case, refusal_case: tuple[Refuse, int]) -> None:
    """A known key is replayed only for an authorized caller.

    409 passes as well: that the key is another caller's may be found before the scope is checked.
    """
    refuse, expected = refusal_case

    async def change(good: Request) -> Request:
        return refuse(case, good)

    first, repeat = await case.repeat_changed(change, "a known key", defect="credential")
    if repeat.status in (expected, 409):
        return
    lone_answer = await case.send(refuse(case, await case.arrange()), "an unknown key")
    if lone_answer.status != expected:
        message = f"the defective credential is answered {lone_answer.summary} anyway"
        raise Inconclusive(message, lone_answer, cause=f"control:{case.operation.id}")
    raise case.violation("a known key was answered without a good credential", first, repeat, expected=str(expected))


def _well_formed(profile: Profile, operation: Operation) -> Mapping[str, tuple[MakeKey | None, bool]]:
    """What makes a key of each form, and whether other checks share the call with it, as they do with the first one."""
    forms = forms_of_keys(profile)
    return {name: (make, number == 0) for number, (name, make) in enumerate(forms.items())}


@check("IDEM-10", cases=_well_formed)
async def every_well_formed_key_is_accepted(case: Case, form: tuple[MakeKey | None, bool]) -> None:
    """A key in the declared format is accepted; the answer to another format is recorded."""
    make, is_shared = form
    case.need(make, "idempotency.format", "the key's format is needed")
    assert make is not None
    key, idempotency = make(), case.profile.idempotency
    assert idempotency is not None
    case.require_case(is_well_formed(idempotency, key), "no key of the stated pattern could be made")
    if not (is_shared and await unusual_call(case)):
        await _expect_accepted(case, idempotency, key, make)
    is_recorded = idempotency.format != "any" and not idempotency.other_format  # IDEM-13 judges it where it is stated
    if other := malformed_key(idempotency) if is_recorded else "":
        odd = await case.send((await case.arrange()).with_key(other), "a key of another format")
        case.note(f"a key of another format is answered {odd.summary}")


async def _expect_accepted(case: Case, idempotency: Idempotency, key: str, make: MakeKey) -> None:
    answer = await case.send((await case.arrange()).with_key(key), "a well-formed key")
    if answer.ok:
        return
    await case.control(await case.arrange())
    # what the first request named may have expired while a limit was waited for
    repeat = await case.send((await case.arrange()).with_key(make()), "another well-formed key")
    if not repeat.ok:
        message, level = "a well-formed idempotency key was refused", level_of_version(idempotency, key)
        raise case.violation(message, answer, repeat, expected="200", level=level)


async def _counts_of(case: Case, purpose: str, *, turns: bool, pause_s: float = 0.0) -> tuple[dict[str, int], Answer]:
    """By sign: the effects of three calls at once on one resource, each under a key of its own; and the last answer.

    The first and the second have different payloads; the third, after the pause, has that of the first where they take
    turns, otherwise that of the second.
    """
    request = await case.arrange()
    other = request.with_body(await other_body(case, request)).with_fresh_key()
    oracle = await Oracle.watch(case, request)
    for number, call in enumerate((request, other, (request if turns else other).with_fresh_key())):
        await asyncio.sleep(pause_s if number == _CALLS - 1 else 0.0)
        answer = await case.send(call, purpose)
        case.require_case(answer.ok, f"{purpose}: a further call is answered {answer.summary}")
    await oracle.effects_within()
    if any(watch.effects < _CALLS for watch in oracle.readable_signs):
        await asyncio.sleep(max(watch.lag_s for watch in oracle.readable_signs))
        await oracle.effects_within()
    return {watch.key: watch.effects for watch in oracle.readable_signs if watch.effect.step}, answer


_CALLS = 3
_LATER_S = 2.5
"""Seconds after which an equal call is not a double click any more."""


@check("IDEM-10", on="quotePublicCart")
async def equal_calls_with_two_keys_are_two_calls(case: Case) -> None:
    """At once after a call, an equal one under a key of its own takes effect as it does later.

    Where it takes none later either, it asks for the state that is there already.
    """
    signs = case.profile.effects.get(case.operation.id, ())
    case.require_case(any(sign.step for sign in signs), "no sign counts the effects")
    few: set[str] = set()
    for _ in range(2):  # the second time only where the first one is in doubt
        counts, last = await _counts_of(case, "equal calls at once", turns=False)
        few = {key for key, count in counts.items() if count == _CALLS - 1} & (few or counts.keys())
        if not few:
            return
    counts, answer = await _counts_of(case, "different calls at once", turns=True)
    few = {key for key in few if counts.get(key) == _CALLS}
    later, _ = await _counts_of(case, "an equal call later", turns=False, pause_s=_LATER_S) if few else ({}, None)
    if any(later.get(key) == _CALLS for key in few):
        message = "an equal call under a key of its own took no effect, and one with another payload does"
        raise case.violation(message, answer, last, expected="3 effects", observed="2 effects")
    case.note("a further call need not take effect")


def _with_key(read_request: Request, idempotency: Idempotency) -> Request:
    """A request without idempotency, with a key added where other operations carry theirs."""
    key = idempotency.write(new_key(idempotency))
    if idempotency.carrier == "header":
        return read_request.with_header(idempotency.name, key)
    return read_request.with_query(**{idempotency.name: key})


@check("IDEM-11", on="plain")
async def a_plain_operation_needs_no_key(case: Case) -> None:
    """An operation without idempotency does not demand an idempotency key: its control, which has none, was good."""
    with suppress(Inconclusive):
        await case.good_answer()
        return
    request = await case.arrange(prove_control=False)
    answer = await case.send(request, "no idempotency key")
    if answer.ok:
        return
    idempotency = case.profile.idempotency
    if idempotency is None or idempotency.carrier == "body":
        raise control_failed(answer)
    keyed_answer = await case.send(_with_key(request, idempotency), "an idempotency key")
    repeat = await case.send(request, "no idempotency key again")
    if repeat.ok or not keyed_answer.ok:
        raise control_failed(answer)
    raise case.violation("an idempotency key is demanded", keyed_answer, repeat, expected="200", level=Level.REQUIRED)


@check("IDEM-11", on=("api-key read",))
async def a_key_on_a_read_changes_nothing(case: Case) -> None:
    """A read with an idempotency key is not replayed after the state has changed, nor is its refusal for a state."""
    idempotency = case.profile.idempotency
    case.need(idempotency, "idempotency", "the key's carrier is needed")
    assert idempotency is not None
    case.require_applicable(idempotency.carrier != "body", "a read has no body to carry a key")
    case.need(case.profile.effects, "effects", "a way to see an effect is needed")
    places = {name: places for name, signs in case.profile.effects.items() if (places := _shown_at(case, signs))}
    case.require_applicable(places, "no effect that the profile names is seen through this read")
    *others, last = places.items()
    for writer, shown_at in others:
        with suppress(_NoChange):
            await _expect_no_replay(case, idempotency, writer, shown_at)
            return
    await _expect_no_replay(case, idempotency, *last)


def _shown_at(case: Case, signs: Iterable[Effect]) -> tuple[str, ...]:
    """The pointers at which an answer to this read shows an effect."""
    return tuple(sign.pointer for sign in signs if sign.operation == case.operation.id and not sign.path)


class _NoChange(Inconclusive):
    """The read shows the same before and after a write."""


async def _expect_no_replay(case: Case, idempotency: Idempotency, writer: str, shown_at: Iterable[str]) -> None:
    """Violated where the keyed read shows the state before a write, and the read without a key that after it."""
    write = await case.arrange(case.contract.operations[writer])
    read_request = await case.arrange(preset=fixtures_of(write), prove_control=False)
    keyed_request = _with_key(read_request, idempotency)
    first = await case.send(keyed_request, "a read with a key")
    if not first.ok:
        plain = await case.send(read_request, "the same read without a key")
        if plain.ok:
            raise Inconclusive(f"a read with an idempotency key is answered {first.summary}", plain, first)
        if plain.status != first.status:
            raise control_failed(plain)
    await case.control(write, "a change")
    fresh = await read_change(case, write, read_request, first, shown_at)
    if not shows_change(first, fresh, shown_at):
        raise _NoChange(f"the read does not show the effect of {writer}", first, fresh, cause=f"effects.{writer}")
    lag_s = stated_lag_s(case.profile, [writer])
    for pause_s in (*_PAUSES_S, *pauses(lag_s - sum(_PAUSES_S)), 0.0):
        repeat = await case.send_with_retry(keyed_request, "the keyed read again", read_request)
        if shows_change(first, repeat, shown_at):
            break
        await asyncio.sleep(pause_s)  # another copy of the store, or of the answer, may be older than the one just read
    else:
        message = "a read with a key was replayed"
        raise case.violation(message, first, fresh, repeat, expected="the state after the change")
    if not repeat.ok:
        raise control_failed(repeat)
