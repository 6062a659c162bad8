"""Shared functions of the idempotency checks: equality of replays, and bodies that differ in one meaningful leaf."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import Any, Final

from msgspec.structs import replace

from conformance.checks.support.answer_times import is_time, is_within_data
from conformance.checks.support.case import Case
from conformance.checks.support.signals import Inconclusive, Violation, require_whole
from conformance.client.redaction.fragments import truncate_for_redaction
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import NO_VALUE, Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

PLAIN_REPLAY: Final = "check_idempotency::the_same_call_is_answered_the_same"
"""The check of what every other question about stored keys rests on."""
KEY_ENDS: Final = "check_idempotency_keys::keys_that_differ_at_the_end_are_different_keys"
"""The check of what questions about almost equal keys rest on."""
_SETTLE_S: Final = 1.5
"""Seconds, plus twice the duration of a call, for which an answered key may still be reported as in use."""
_LONGEST_PAUSE_S = 0.8
_MAX_DIFFERENCES = 12
_MAX_VALUE = 200
"""Maximum number of members that a violation shows, and of characters of each value."""


def have_equal_values(first: Answer, second: Answer, volatile: tuple[str, ...]) -> bool:
    """Whether two answers have the same JSON value, except volatile members. Inconclusive where one was cut off."""
    require_whole(first, second)
    first_value, second_value = (pointer.remove_matching(answer.value, volatile) for answer in (first, second))
    return strictjson.is_equal(first_value, second_value)


def are_alike(case: Case, first: Answer, second: Answer) -> bool:
    """Whether two answers have equal status and JSON value, except volatile members."""
    return first.status == second.status and have_equal_values(first, second, case.volatile)


def fix_proof_id(request: Request) -> Request:
    """A token request whose proof has a fixed jti, so that it can be repeated exactly.

    The jti that was answered is in the answer's request: after a 429 the sender retries with another one.
    """
    if request.proof is None:
        return request
    return request.with_proof(dataclasses.replace(request.proof, new_id_on_retry=True).for_retry())


async def replay(case: Case, request: Request, purpose: str = "replay") -> Answer:
    """Repeats a request that was answered 200, as `repeat` does.

    How old its code or ticket is does not matter any more, since the record of the key answers it.
    """
    return await repeat(case, replace(request, arranged_at=None), purpose)


async def repeat(case: Case, request: Request, purpose: str, *, lease_s: float = 0.0) -> Answer:
    """Sends a request again that may have been carried out; a 409 is given a moment to settle, or `lease_s` seconds.

    A retry of the token exchange has a fresh proof. Where a target treats that as another call (see OA-11), the same
    proof is tried; inconclusive where the target then refuses the used jti.
    """
    if request.proof is None:
        return await send_until_settled(case, request, purpose, lease_s)
    fresh_proof = request.with_proof(dataclasses.replace(request.proof, claims={}, new_id_on_retry=False))
    fresh = await send_until_settled(case, fresh_proof, purpose)
    if fresh.status not in (400, 401, 409):
        return fresh
    used_proof = request.with_proof(dataclasses.replace(request.proof, new_id_on_retry=False))
    repeated = await send_until_settled(case, used_proof, f"{purpose}, same proof", lease_s)
    if repeated.status == 401 and fresh.status == 409:
        fresh = await send_until_settled(case, fresh_proof, purpose, lease_s) if lease_s else fresh
        if not fresh.ok:
            raise Inconclusive(
                "a retry needs a fresh proof, and with one it counts as another call (OA-11)", fresh, repeated
            )
    return repeated if repeated.ok else fresh


async def send_until_settled(case: Case, request: Request, purpose: str, lease_s: float = 0.0) -> Answer:
    """Sends a request again, for a moment or `lease_s` seconds, while its answer is 409."""
    answer = await case.send(request, purpose)
    remaining_s = max(_SETTLE_S, lease_s) + 2 * min(
        case.runtime.sender.slowest_s.get(request.operation.id, 0.0), case.profile.limits.timeout_s
    )
    pause_s = 0.1
    while answer.status == 409 and remaining_s > 0:
        await asyncio.sleep(pause_s)
        remaining_s, pause_s = remaining_s - pause_s, min(_LONGEST_PAUSE_S, 2 * pause_s)
        answer = await case.send(request, purpose)
    return answer


def expect_same(case: Case, first: Answer, repeat: Answer) -> None:
    """Violated unless `repeat` replays `first`."""
    if repeat.status != first.status:
        note = f" ({repeat.purpose})" if repeat.purpose else ""
        violation = case.violation(f"the replay has another status{note}", first, repeat, expected=first.summary)
    elif not are_alike(case, first, repeat):
        expect_stated(case, first, repeat)
        violation = difference(case, "the replay differs from the first answer", first, repeat)
        violation.message += ", which idempotency.volatile does not name"  # the remedy where it is a time or the like
    else:
        return
    violation.kind = "not replayed"  # how a lost record shows depends on the state of the resource
    raise violation


def expect_stated(case: Case, first: Answer, repeat: Answer) -> None:
    """Raises MissingFact where two answers differ in times and beside `data` only, and no fact says whether they may.

    That a call is idempotent does not say that a repetition shows no time of its own.
    """
    rules = case.profile.idempotency
    if rules is None or rules.volatile is not None or case.facts.volatile or first.status != repeat.status:
        return
    found = strictjson.differences(first.value, repeat.value, _MAX_DIFFERENCES + 1)
    if len(found) > _MAX_DIFFERENCES:  # the rest is not known
        return
    if all(not is_within_data(place) or (is_time(value) and is_time(later)) for place, value, later in found):
        reason = f"the replay differs at {found[0][0]}, and whether it may is needed"
        raise MissingFact("idempotency.volatile", reason)


def is_replayed(case: Case, first: Answer, repeat: Answer) -> bool:
    """Whether `repeat` replays `first`. Raises MissingFact as `expect_stated` does.

    That another call is replayed does not show that answers have no time of their own: it may come within one second.
    """
    if are_alike(case, first, repeat):
        return True
    expect_stated(case, first, repeat)
    return False


def difference(case: Case, message: str, *answers: Answer) -> Violation:
    """The violation that the last two answers have different values: it shows the differing members of each."""
    first, second = (pointer.remove_matching(answer.value, case.volatile) for answer in answers[-2:])
    found = strictjson.differences(first, second, _MAX_DIFFERENCES + 1)
    first_place = found[0][0] or "its root" if found else "its root"
    expected, observed = (_lines([(place, pair[side]) for place, *pair in found]) for side in (0, 1))
    violation = case.violation(f"{message} at {first_place}", *answers, expected=expected, observed=observed)
    violation.identity = f"another value at {first_place}"
    return violation


def _lines(members: list[tuple[str, Any]]) -> str:
    """`/data/id: "a"`, a line for each place."""
    lines = [f"{place or 'the body'}: {_json(value)}" for place, value in members[:_MAX_DIFFERENCES]]
    return "\n".join([*lines, *(["and more"] if len(members) > _MAX_DIFFERENCES else [])])


def _json(value: Any) -> str:
    if value is strictjson.ABSENT:
        return "absent"
    if value is NO_VALUE:
        return "no JSON"
    return truncate_for_redaction(json.dumps(value, ensure_ascii=False), _MAX_VALUE)


async def require_replay(case: Case, first: Answer) -> None:
    """Inconclusive where the same call is not even replayed at once, which is the question of IDEM-1."""
    repeat = await replay(case, first.request, "the same call, for comparison")
    if not is_replayed(case, first, repeat):
        raise Inconclusive("the same call is not replayed either", first, repeat, cause="IDEM-1")


def free_leaves(request: Request) -> list[tuple[str, Any]]:
    """The places and values of the body's leaves that may be changed: no placeholders, and not the key."""
    placeholder_values, key_pointer = request.scope.values(), request.idempotency.place if request.idempotency else ""
    leaves = pointer.leaves(request.body)
    return [
        (where, leaf) for where, leaf in leaves if where and leaf not in placeholder_values and where != key_pointer
    ]


async def variations(case: Case, request: Request, where: str) -> list[Any]:
    """Bodies that differ in the leaf at `where` only and are likely to be valid, the likeliest first."""
    leaf = pointer.get(request.body, where)
    templates = [pointer.get(template, where) for template in case.facts.bodies if pointer.has(template, where)]
    others = [await case.runtime.arranger.render_body(request, template) for template in templates]
    from_others = [
        pointer.replace(request.body, where, other) for other in others if not strictjson.is_equal(other, leaf)
    ]
    likely = [*from_others, *case.runtime.alternatives(case.operation.request_schema).variants_at(request.body, where)]
    last_resort = (
        f"{leaf}x" if isinstance(leaf, str) else "x"
    )  # certainly refused alone, which shows that the leaf is read
    return [*likely, pointer.replace(request.body, where, last_resort)]


async def other_body(case: Case, request: Request) -> Any:
    """Another valid body for the same resource. Inapplicable where none is known."""
    rendered = [await case.runtime.arranger.render_body(request, template) for template in case.facts.bodies]
    candidates = [body for body in rendered if not strictjson.is_equal(body, request.body)]
    for where, _ in reversed(free_leaves(request)):
        candidates += (await variations(case, request, where))[:-1]
        if candidates:
            break
    case.require_case(candidates, "no other valid body is known")
    return candidates[0]
