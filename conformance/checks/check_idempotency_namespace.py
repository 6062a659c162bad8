"""What a key belongs to: credential, installation, operation, path (IDEM-14)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle
from conformance.checks.support.other_installations import other_key
from conformance.checks.support.other_path_calls import key_on_another_path
from conformance.checks.support.races import expect_one_effect, expect_overlap, send_together
from conformance.checks.support.registry import check
from conformance.checks.support.replays import PLAIN_REPLAY, are_alike, is_replayed, other_body, replay, require_replay
from conformance.checks.support.sign_reader import fixtures_of
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.transitions import CONFLICT, SETTLE_S, Place, States, stated_otherwise
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import strict_json as strictjson
from conformance.profile.installations import is_of_home

_PAIRS: Final = 2
_PATH = ("api-key idempotent path", "public idempotent path")
_CARTS: Final = ("quotePublicCart", "revokePublicCart", "removePublicCartPromotion")
_BEFORE: Final = {
    "quotePublicCart": "removePublicCartPromotion",
    "removePublicCartPromotion": "quotePublicCart",
    "revokePublicCart": "quotePublicCart",
    "checkoutPublicCart": "quotePublicCart",
    "createInstallationWebhook": "updateInstallationWebhook",
    "updateInstallationWebhook": "createInstallationWebhook",
    "requestStorefrontOrderAfterSales": "quotePublicCart",
    "consumeHostedCheckoutBrowserTicket": "cancelHostedCheckoutBrowser",
    "cancelHostedCheckoutBrowser": "consumeHostedCheckoutBrowserTicket",
}
"""Operation -> another one, whose key it gets."""


def _is_separate(case: Case, *parts: str) -> bool:
    """Whether a key belongs to one of these parts, by the profile."""
    idempotency = case.profile.idempotency
    case.need(idempotency, "idempotency", "the key's carrier is needed")
    assert idempotency is not None
    case.need(idempotency.namespace is not None, "idempotency.namespace", "what a key belongs to is needed")
    return not {*parts}.isdisjoint(idempotency.namespace or ())


@check("IDEM-14", on=_PATH, rests_on=PLAIN_REPLAY)
async def a_key_on_another_path_is_treated_as_stated(case: Case) -> None:
    """A used key with another path value is a key of its own where it belongs to the path, otherwise 409."""
    is_separate = _is_separate(case, "path")
    await _judge(case, "path", is_separate, *await key_on_another_path(case))


@check("IDEM-14", on=tuple(_BEFORE), rests_on=PLAIN_REPLAY)
async def a_key_on_another_operation_is_treated_as_stated(case: Case) -> None:
    """A used key on another operation is a key of its own where it belongs to operation or path, otherwise 409."""
    is_separate = _is_separate(case, "operation", "path")
    before = case.contract.operations[_BEFORE[case.operation.id]]
    subject = await case.arrange()
    first = await case.control(await case.arrange(before), f"control of {before.id}")
    if is_separate and {before.id, case.operation.id} <= {*_CARTS}:
        request = await case.arrange(preset=fixtures_of(first.request))
        request = request.with_body(first.request.body).with_key(first.request.key)
        second = await case.send(request, f"the key of {before.id} on its resource")
        if second.ok or (await case.send(request.with_fresh_key(), "another key")).ok:
            return await _judge(case, "operation", True, first, second)
        # the refused call may have used the key up
        first = await case.control(await case.arrange(before), f"another control of {before.id}")
    is_other_caller = (
        not is_separate and _is_separate(case, "credential") and subject.credential != first.request.credential
    )
    case.require_case(not is_other_caller, "the two operations need two credentials")
    second = await case.send(subject.with_key(first.request.key), f"the key of {before.id}")
    return await _judge(case, "operation", is_separate, first, second)


@check(
    "IDEM-14", on=("createInstallationWebhook", "updateInstallationWebhook", "quotePublicCart"), rests_on=PLAIN_REPLAY
)
async def a_key_of_another_credential_is_treated_as_stated(case: Case) -> None:
    """Another payload under the key of another credential of the installation: its own call, or 409, as stated.

    Where it is its own, it leaves the first one's record as it is.
    """
    is_separate = _is_separate(case, "credential")
    request = await case.arrange()
    name = _other_credential(case, request)
    first = await case.control(request)
    other = await case.arrange(preset=_same_resource(case, first.request))
    if strictjson.is_equal(other.body, first.request.body):
        other = other.with_body(await other_body(case, other))
    other = case.as_credential(other, name)
    second = await case.send(other.with_key(first.request.key), "the same key of another credential")
    if not is_separate and second.status == 409:
        await case.control(other, "the same call under a key of its own")
    await _judge(case, "credential", is_separate, first, second)
    if is_separate and second.ok:
        await _expect_record(case, first, second)


def _same_resource(case: Case, request: Request) -> Mapping[str, Members] | None:
    """The fixtures of a request that was answered 200; None where its operation then conflicts with the state.

    A further case where it conflicts and a key on another resource would be a key of its own anyway.
    """
    if not case.operation.path_parameters:
        return None
    place = Place(next(iter(request.fixtures.members), ""), (case.operation.id,))
    if States(case.profile.transitions).expected_outcome(place, case.operation.id) != CONFLICT:
        return fixtures_of(request)
    case.require_case(not _is_separate(case, "path"), "a second call on the same resource conflicts with its state")
    return None


def _other_credential(case: Case, request: Request) -> str:
    """Another active credential of the installation that has the scope. Unstated without one."""
    spare = case.profile.rate_limit.credential
    candidates = [
        credential.name
        for credential in case.runtime.arranger.credentials(scope=case.operation.scope)
        if credential.name != request.credential
    ]
    case.need_credential(
        candidates,
        "two active keys of one installation with the scope of the operation are needed",
        lambda c: c.active and is_of_home(case.profile, c) and case.operation.scope in c.scopes,
    )
    return min(candidates, key=lambda candidate: candidate == spare)


@check(
    "IDEM-14",
    on=(
        "removePublicCartPromotion",
        "checkoutPublicCart",
        "revokePublicCart",
        "requestStorefrontOrderAfterSales",
    ),
    rests_on=PLAIN_REPLAY,
)
async def a_repeat_by_another_credential_is_no_new_call(case: Case) -> None:
    """Where a key belongs to no credential, another one gets the first answer again, or 409, and never a new call.

    A new call shows where the state that the first one has led to is answered with another status than 409.
    """
    case.require_case(not _is_separate(case, "credential"), "the key belongs to the credential")
    stated = stated_otherwise(case.profile, case.operation).values()
    is_visible = any(transition.after == (case.operation.id,) for transition in stated)
    case.require_case(is_visible, "a new call after the first one would be answered 409 too")

    async def change(request: Request) -> Request:
        return case.as_credential(request, _other_credential(case, request))

    first, repeat = await case.repeat_changed(change, "the same call by another credential")
    if repeat.status == 409 or is_replayed(case, first, repeat):
        return
    await require_replay(case, first)
    if repeat.status in (401, 403):
        raise Inconclusive(f"the other credential was answered {repeat.summary}", first, repeat)
    message = "the key belongs to no credential, and the same call by another one was a new call"
    raise case.violation(message, first, repeat, expected="the first answer, or 409")


@check(
    "IDEM-14", on=("createInstallationWebhook", "updateInstallationWebhook", "quotePublicCart"), rests_on=PLAIN_REPLAY
)
async def duplicates_of_two_credentials_are_one_call(case: Case) -> None:
    """Where a key belongs to no credential, concurrent equal calls of two credentials are one call."""
    case.require_case(not _is_separate(case, "credential"), "the key belongs to the credential")
    request = await case.arrange()
    other = case.as_credential(request, _other_credential(case, request))
    oracle = await Oracle.watch_if_visible(case, request)
    answers = await send_together(case, [request, other] * _PAIRS, "concurrent duplicate of two credentials")
    good = [answer for answer in answers if answer.ok]
    if len({answer.request.credential for answer in good}) < 2:
        return  # one of them was refused, which the other checks of this requirement judge
    single = [await replay(case, request), await replay(case, other)]
    if not is_replayed(case, *single):
        raise Inconclusive("one after the other they are not one call either", *single, cause="IDEM-14")
    if unlike := next((answer for answer in good if not is_replayed(case, good[0], answer)), None):
        equal = await send_together(case, [await case.arrange()] * len(answers), "concurrent equal calls")
        if any(answer.ok and not are_alike(case, equal[0], answer) for answer in equal[1:]):
            raise Inconclusive("concurrent equal calls are not one call either", *equal[:2], cause="IDEM-7")
        message = "concurrent equal calls of two credentials were answered differently"
        raise case.violation(message, good[0], unlike, expected="the same answer, or 409")
    if oracle is not None:
        await expect_one_effect(case, oracle, request, "the one call of two credentials", *good[:2])
    expect_overlap(case, answers)


@check("IDEM-14", on="createInstallationWebhook", rests_on=PLAIN_REPLAY)
async def a_key_of_another_installation_is_treated_as_stated(case: Case) -> None:
    """A used key of another installation is a key of its own where it belongs to the caller, otherwise 409.

    As any key, its own one brings back the answer of its call.
    """
    is_separate = _is_separate(case, "credential", "installation")
    foreign = other_key(case)
    first = await case.first_call()
    second = await case.send(case.as_credential(first.request, foreign), "the same key of another installation")
    await _judge(case, "installation", is_separate, first, second)
    if is_separate and not is_replayed(case, second, repeat := await replay(case, second.request)):
        await require_replay(case, first)
        message = "the call of another installation is not repeated under its key"
        raise case.violation(message, second, repeat, expected=second.summary)
    if is_separate and second.ok:
        await _expect_record(case, first, second)


async def _expect_record(case: Case, first: Answer, second: Answer) -> None:
    """Violated where the first call is not repeated under its key after the other caller's call under the same one.

    It must be repeated after the same two calls where the other caller's has a key of its own.
    """
    repeat = await replay(case, first.request, "the first call again")
    if is_replayed(case, first, repeat):
        return
    third = await case.control(first.request.with_fresh_key(), "the first call under a fresh key")
    await case.control(second.request.with_fresh_key(), "the other caller's call under a key of its own")
    known = await replay(case, third.request, "the call under the fresh key again")
    if not is_replayed(case, third, known):
        raise Inconclusive("a call is not repeated after the other caller's call in any way", third, known)
    message = "the same key of another caller, to whom it belongs alone, replaced the record of the first call"
    raise case.violation(message, first, second, repeat, expected=first.summary)


async def _judge(case: Case, part: str, is_separate: bool, first: Answer, second: Answer) -> None:
    """Violated unless the second call was answered 200 where its key is its own, and 409 where it is the first one's.

    That the first answer is replayed for another call is the question of IDEM-5 and IDEM-6.
    """
    if second.status == (200 if is_separate else 409):
        return
    if second.ok and are_alike(case, first, second):
        raise Inconclusive("the first answer was replayed for another call", first, second, cause="IDEM-5")
    if not (second.ok or second.status == 409):
        raise Inconclusive(f"the same key under another {part} was answered {second.summary}", first, second)
    if not is_separate:
        await require_replay(case, first)
        message = f"the key belongs to no {part}, and the same key under another {part} was not answered 409"
        raise case.violation(message, first, second, expected="409")
    fresh = await case.send(second.request.with_fresh_key(), "another key")
    if not fresh.ok:
        raise Inconclusive(f"another key is answered {fresh.summary} as well", first, second, fresh)
    await asyncio.sleep(SETTLE_S)
    later = await case.send(second.request, "the same call once more, some time later")
    if later.ok and not are_alike(case, first, later):
        raise Inconclusive("the resource was in use for a moment", first, second, later)
    message = f"the key belongs to the {part}, and the same key under another {part} was answered 409"
    raise case.violation(message, first, fresh, second, expected="200")
