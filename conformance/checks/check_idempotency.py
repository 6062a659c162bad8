"""Repeated calls: Endpoints, rule 2 (IDEM-1, IDEM-3, IDEM-5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.lifetimes import LONGEST_WAIT_S, ROUNDING_S, age_at_end
from conformance.checks.support.oauth_exchange import CODE_AGE, takes_code_age
from conformance.checks.support.other_path_calls import key_on_another_path
from conformance.checks.support.plain_replays import plain_replays
from conformance.checks.support.refused_effects import examine_failed_control
from conformance.checks.support.registry import check
from conformance.checks.support.replays import (
    PLAIN_REPLAY,
    are_alike,
    expect_same,
    expect_stated,
    fix_proof_id,
    free_leaves,
    replay,
    require_replay,
    variations,
)
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.checks.support.survival import require_other_alone
from conformance.client.request import Request, is_well_formed
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core.outcomes import Level
from conformance.profile.behavior import Idempotency
from conformance.profile.model import Profile

_OTHER_KEYS = 12
_PAIRS = 3
"""Times that two calls are compared before a difference of theirs counts as one of the calls and not of the clock."""
_PAUSE_S = 1.5
_LONGEST_PAUSE_S = 5.0
"""For codes, tickets and proofs, which may end on their own in a longer one, and where the run ends soon."""
_PAUSES_OF_DEPTHS_S: Final[Mapping[str, float]] = {"standard": 5.5, "deep": 31.0}
"""Where keys are stated to be kept for longer than a run waits: caches mostly forget after 5, 10, 30 or 60 s."""
_BEFORE_THE_END_S = 0.5
"""Before a key may be forgotten."""
_TEXTS = 2
"""Maximum number of leaves tried in a body."""
_HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")
_UNKNOWN_KEY = "no-key-of-anyone-0000"


@check("IDEM-1", shares="replays")
async def the_same_call_is_answered_the_same(case: Case) -> None:
    """The same key with the same bytes gets the same status and JSON value every time."""
    replays = await plain_replays(case)
    for repeat in replays.repeats:
        expect_same(case, replays.first, repeat)


@check("IDEM-1", chain=True, rests_on=PLAIN_REPLAY)
async def a_replay_outlives_other_calls(case: Case) -> None:
    """After some seconds and a dozen other keys, also of other checks, the same call still gets the same answer.

    On one operation, one of the other calls has its key and no credential. A short retention time that the profile
    states is waited for until just before its end, a part of a longer one. The code of an exchange ends between both
    calls, if it can.
    """
    first, pause_s = await _first_of_a_pair(case)
    retention_s = case.profile.idempotency.retention_s if case.profile.idempotency else None
    refused_request = (
        first.request.with_authorization() if case.operation.auth == "api_key" else first.request.without_body()
    )
    calls_before = case.runtime.calls_with_key[case.operation.id]
    other = await case.arrange()
    await case.control(other, "another key")
    await asyncio.sleep(pause_s if pause_s == _PAUSE_S else pause_s / 2)  # a pause up to a bound must not get longer
    if case.operation.id == "createInstallationWebhook":
        await case.send(refused_request, "its key, without a credential")
    for _ in range(_OTHER_KEYS - (case.runtime.calls_with_key[case.operation.id] - calls_before)):
        if retention_s is not None and case.runtime.sender.elapsed_s > first.at + max(pause_s, retention_s / 2):
            break  # a slow target would forget the key meanwhile
        await case.send(refused_request.with_fresh_key(), "another key, refused")
    await asyncio.sleep(max(0.0, first.at + pause_s - case.runtime.sender.elapsed_s))
    expect_same(case, first, await replay(case, first.request))


@check(
    "IDEM-1",
    on=("quotePublicCart", "updateInstallationWebhook"),
    deep_on="path idempotent",
    rests_on=PLAIN_REPLAY,
)
async def a_replay_outlives_another_call_on_its_resource(case: Case) -> None:
    """After an equal call on its resource, under another key, a repeat of the first is not a third call.

    It is answered as the first was, or as the second: a service may answer with the present state. Judged where the two
    differ, as by a version.
    """
    first = await case.control(await case.arrange(), "the first call")
    second = await case.send(first.request.with_fresh_key(), "the same on its resource, another key")
    case.require_case(second.ok, f"a second call on its resource is answered {second.summary}")
    case.require_case(not are_alike(case, first, second), "two calls on one resource are answered alike")
    repeat = await replay(case, first.request)
    if repeat.ok and not any(are_alike(case, known, repeat) for known in (first, second)):
        for known in (first, second):
            expect_stated(case, known, repeat)
        message = "a repeat was carried out after another call on its resource"
        raise case.violation(message, first, second, repeat, expected="the first answer, or the present state")


async def _first_of_a_pair(case: Case) -> tuple[Answer, float]:
    """A good answer, and the seconds until its replay: those until its code ends, where a code can be made as old."""
    pause_s, stated = _pause_s(case), case.profile.idempotency
    retention_s = stated.retention_s if stated else None
    lifetime_s = case.profile.oauth.code_lifetime_s if case.profile.oauth else None
    if case.operation.auth == "oauth" and lifetime_s and takes_code_age(case.profile):
        age_s = int(age_at_end(lifetime_s, is_old=False))
        end_s = lifetime_s - age_s + ROUNDING_S
        if end_s <= _LONGEST_PAUSE_S and (retention_s is None or retention_s > 2 * end_s):
            request = await case.runtime.arranger.arrange(case.operation, scope={CODE_AGE: age_s})
            first = await case.send(fix_proof_id(request), f"a code {age_s} s old")
            if first.ok:  # OA-14 asks whether it is good
                return first, max(pause_s, end_s)
    return await case.control(fix_proof_id(await case.arrange())), pause_s


def _pause_s(case: Case) -> float:
    """Seconds between a call and its replay."""
    retention_s = case.profile.idempotency.retention_s if case.profile.idempotency else None
    if retention_s is None:
        return _PAUSE_S
    end_s = max(retention_s / 2, retention_s - _BEFORE_THE_END_S)
    if end_s <= _LONGEST_PAUSE_S:
        return end_s
    depth = case.profile.limits.depth
    if depth == "quick" or case.operation.auth != "api_key":
        return _PAUSE_S
    pause_s = end_s if end_s <= LONGEST_WAIT_S else _PAUSES_OF_DEPTHS_S[depth]
    remaining_s = case.runtime.settings.remaining_s
    return pause_s if remaining_s is None or remaining_s > 2 * pause_s else _PAUSE_S


@check("IDEM-1", rests_on=PLAIN_REPLAY)
async def a_conflict_does_not_replace_the_record(case: Case) -> None:
    """After a conflicting payload under its key, that one still conflicts, and the original call is still replayed."""
    request = fix_proof_id(await case.arrange())
    leaves = _leaves_of(request)
    case.require_case(leaves, "the body has no member that may be changed")
    other = (await variations(case, request, leaves[0]))[0]
    first = await case.control(request)
    conflict, second = [
        await case.send(first.request.with_body(other), f"another payload under the same key, {times}")
        for times in ("once", "twice")
    ]
    if second.ok and not conflict.ok:
        raise case.violation("a conflict replaced the record", first, conflict, second, expected="another conflict")
    expect_same(case, first, await replay(case, first.request))


_SCRIPTS = " \u00e9\u00df \u4e2d \U0001f6d2"
"""Two, three and four bytes of UTF-8, and the fourth beyond the Basic Multilingual Plane."""
_ESCAPED = ' "\\'
"""JSON has both with a backslash before them (RFC 8259 section 7): an answer that repeats them shows who writes it."""


@check("IDEM-1", rests_on=PLAIN_REPLAY)
async def a_text_of_any_script_is_replayed(case: Case) -> None:
    """Text with characters of two, three and four UTF-8 bytes, and with those that JSON escapes, is replayed unchanged.

    Several members have it at once; where that is refused, one of them may take no such text, and each has it alone.
    """
    case.need_unlimited_fixtures()
    usual = await case.arrange()
    texts = [where for where in _leaves_of(usual) if isinstance(pointer.get(usual.body, where), str)][:_TEXTS]
    is_accepted = bool(texts) and await _is_replayed_with(case, texts, _SCRIPTS + _ESCAPED)
    is_accepted = is_accepted or (bool(texts) and await _is_replayed_with(case, texts, _SCRIPTS))
    if not is_accepted and len(texts) > 1:
        is_accepted = any([await _is_replayed_with(case, [where], _SCRIPTS) for where in texts])
    case.require_case(is_accepted, "no member of the body accepts text of every script")


async def _is_replayed_with(case: Case, texts: Sequence[str], characters: str) -> bool:
    """Whether a body with these characters in these texts is accepted; then it is replayed, too."""
    request = fix_proof_id(await case.arrange())
    body = request.body
    for where in texts:
        body = pointer.replace(body, where, pointer.get(body, where) + characters)
    first = await case.send(request.with_body(body), f"another script in {' and '.join(texts)}")
    if first.ok:
        expect_same(case, first, await replay(case, first.request))
    return first.ok


def _leaves_of(request: Request) -> list[str]:
    """The places that may be changed, the last first, since it is most likely a detail."""
    return [where for where, _ in reversed(free_leaves(request))]


@check("IDEM-1", on=_HOSTED, rests_on=PLAIN_REPLAY)
async def a_header_that_is_ignored_makes_no_other_call(case: Case) -> None:
    """With an Authorization header, which a public operation ignores as stated, a call is repeated as without it."""
    stated = case.profile.authorization
    case.require_case(stated.public == "ignored", "it is not stated that the header is ignored (authorization.public)")

    async def change(request: Request) -> Request:
        return request.with_made_up_authorization(stated.header(_UNKNOWN_KEY))

    first, repeat = await case.repeat_changed(change, "the same call with an Authorization header")
    if are_alike(case, first, repeat):
        return
    await require_replay(case, first)
    if repeat.status in (401, 403):
        raise Inconclusive("the header is not ignored", repeat, cause="AUTH-5")
    expect_same(case, first, await replay(case, repeat.request))


def _without_key(request: Request, empty: bool) -> Request:
    return request.with_key("" if empty else None)


def _need_keys(case: Case) -> Idempotency:
    """What is stated of keys, where a call without one is not accepted."""
    idempotency = case.profile.idempotency
    case.need(idempotency, "idempotency", "the key's carrier is needed")
    assert idempotency is not None
    case.require_applicable(idempotency.missing_key != "accepted", "the profile says that a missing key is accepted")
    return idempotency


@check("IDEM-3", cases={"absent": False, "empty": True})
async def a_call_without_a_key_is_answered_400(case: Case, empty: bool) -> None:
    """An idempotent operation refuses a call without a key, where the profile says that it does.

    An empty one is a warning where it may be a key as well, since any text is one.
    """
    idempotency = _need_keys(case)
    is_key = empty and idempotency.format == "any" and idempotency.written != "{key}"
    case.require_case(not is_key, f"{idempotency.write('')} is a key of any format")
    is_any_accepted = idempotency.format in ("", "any") or idempotency.other_format == "accepted"
    may_be_empty = is_any_accepted or (idempotency.format == "pattern" and is_well_formed(idempotency, ""))
    is_declared = idempotency.missing_key == "refused" and not (empty and may_be_empty)
    level = Level.DECLARED if is_declared else None
    message = "an empty idempotency key" if empty else "no idempotency key"

    async def defect(request: Request) -> Request:
        return _without_key(request, empty)

    try:
        async with examine_failed_control(case, defect, message, level=level):
            await case.shared_negative(
                lambda request: _without_key(request, empty), {400}, message, any_refusal=True, level=level
            )
    except Violation as violation:
        if empty and violation.answers[-1].status == 409:  # an earlier call was answered 200 under the empty key
            violation.kind = "status:200"
        raise


@check("IDEM-3", on=("quotePublicCart", "updateInstallationWebhook"), deep_on="path idempotent")
async def a_second_call_on_its_resource_needs_a_key_too(case: Case) -> None:
    """Without a key an operation is not answered 200 either where it was carried out on that resource before."""
    idempotency = _need_keys(case)
    first = await case.good_answer()
    bad = first.request.with_key(None)
    answer = await case.send_with_retry(bad, "no key, on the resource of a good call", first.request)
    if answer.ok:
        level = Level.DECLARED if idempotency.missing_key == "refused" else None
        message = "a second call on its resource needed no key"
        raise case.violation(message, first, answer, expected="400", level=level)


@check("IDEM-5")
async def a_key_on_another_resource_is_another_call(case: Case) -> None:
    """A key used with one path id does not replay its answer for another."""
    case.require_applicable(case.operation.path_parameters, "the operation names no resource in its path")
    first, second = await key_on_another_path(case)

    async def send_separately() -> tuple[Answer, Answer]:
        requests = [_with_like_body(case, await case.arrange(), second.request).with_fresh_key() for _ in range(2)]
        if requests[0].path == requests[1].path:
            return first, await case.control(requests[1], "a separate call")
        answers = await asyncio.gather(*(case.control(request, "a separate call") for request in requests))
        return answers[0], answers[1]

    await _expect_own_answer(case, (first, second), send_separately)


def _siblings(profile: Profile, operation: Operation) -> Mapping[str, str]:
    """Operations on the same kind of resource with the same request schema: only their names distinguish calls."""
    family = {
        "PublicCartTransitionRequest": ("quotePublicCart", "revokePublicCart", "removePublicCartPromotion"),
    }.get(operation.request_schema, ())
    return {other: other for other in family if other != operation.id}


@check("IDEM-5", on=("quotePublicCart", "revokePublicCart", "removePublicCartPromotion"), cases=_siblings)
async def a_key_on_another_operation_is_another_call(case: Case, sibling: str) -> None:
    """A key used on one operation does not replay its answer on another one with the same path id and body."""
    sibling_request = await case.arrange(case.contract.operations[sibling])
    request = await case.arrange()
    first = await case.control(sibling_request, f"control of {sibling}")
    request = request.with_path(**sibling_request.path).with_body(sibling_request.body).with_key(first.request.key)
    second = await case.send(request, f"the key of {sibling}")

    async def send_separately() -> tuple[Answer, Answer]:
        """Both calls on one new resource, each under a key of its own."""
        send_separately = await case.arrange(case.contract.operations[sibling])
        other = await case.control(send_separately, f"another control of {sibling}")
        separate = request.with_path(**send_separately.path).with_body(send_separately.body).with_fresh_key()
        return other, await case.send(separate, "a separate call")  # the first one may have made it impossible

    await _expect_own_answer(case, (first, second), send_separately)


@check("IDEM-5", on=_HOSTED)
async def a_key_of_the_other_hosted_operation_is_another_call(case: Case) -> None:
    """A key used to consume a ticket, or to cancel, does not replay its answer on the other operation of that session.

    The body has the members that both operations take.
    """
    other = case.contract.operations[_HOSTED[1 - _HOSTED.index(case.operation.id)]]
    request, sent_before = await case.arrange(), await case.arrange(other)
    case.require_case(
        isinstance(sent_before.body, dict) and isinstance(request.body, dict), "the bodies are not objects"
    )

    def both(like: Request) -> dict[str, object]:
        return {name: value for name, value in like.body.items() if name in request.body}

    first = await case.send(sent_before.with_body(both(sent_before)), f"{other.id} with a body of both operations")
    case.require_case(first.ok, "no body is known that both operations take")
    same_call = request.with_path(**first.request.path).with_body(first.request.body)
    second = await case.send(same_call.with_key(first.request.key), f"the key of {other.id}")

    async def send_separately() -> tuple[Answer, Answer]:
        separate = await case.arrange(other)
        answer = await case.control(separate.with_body(both(separate)), f"another control of {other.id}")
        own_call = request.with_path(**separate.path).with_body(answer.request.body).with_fresh_key()
        return answer, await case.send(own_call, "a separate call")

    await _expect_own_answer(case, (first, second), send_separately)


def _with_like_body(case: Case, request: Request, like: Request) -> Request:
    """With the body of another request, so that only the resource differs, unless the body names fixtures."""
    return request if case.named_in_body else request.with_body(like.body)


async def _expect_own_answer(
    case: Case, pair: tuple[Answer, Answer], send_separately: Callable[[], Awaitable[tuple[Answer, Answer]]]
) -> None:
    """Violated if a 200 to the re-used key repeats the first answer although a separate call is answered differently.

    `send_separately` returns the answers to both calls with keys of their own.
    """
    first, second = pair
    if not second.ok:
        if second.status not in (400, 409) and not second.is_refused:
            message = "a re-used key broke the answer"
            await require_other_alone(case, second, message)
            raise case.violation(message, first, second, expected="200, 400 or 409")
        return
    if not are_alike(case, first, second):
        return
    for _ in range(_PAIRS):  # answers may differ by the second of the clock alone
        other, separate_answer = await send_separately()
        if are_alike(case, other, separate_answer):
            case.note("answers do not show which resource they are about")
            return
    expect_stated(case, other, separate_answer)
    raise case.violation(
        "the key's first answer was replayed for another call",
        first,
        separate_answer,
        second,
        expected="an answer of its own, or 409",
    )
