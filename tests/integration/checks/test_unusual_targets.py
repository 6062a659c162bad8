"""Targets that conform in ways that few do, and next to each the broken one that looks like it."""

from __future__ import annotations

import itertools
import time
from typing import Any

import pytest

from conformance.checks.check_concurrency import a_call_left_unanswered_can_be_repeated, duplicates_at_once_are_one_call
from conformance.checks.check_generated import _spelled_alike
from conformance.checks.check_hosted import a_ticket_opens_its_own_session_only
from conformance.checks.check_idempotency import a_key_on_another_operation_is_another_call
from conformance.checks.support.case import Case
from conformance.checks.support.replays import replay
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT, key_of

QUOTE, REVOKE = CONTRACT.operations["quotePublicCart"], CONTRACT.operations["revokePublicCart"]
CARTS = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(40)))}}


def cart_of(arrived: Any) -> str:
    return str(arrived.target.rpartition("/carts/")[2].partition("/")[0])


# Idempotency keys


@pytest.mark.parametrize("says", ["its state", "nothing of its state"])
@pytest.mark.parametrize("scoped", [True, False], ids=["a key an operation", "one key for all"])
def test_answers_need_not_tell_which_operation_they_are_of(
    judged: Any, answer: Any, says: str, *, scoped: bool
) -> None:
    """Two operations may answer the same of one cart; what then was answered for which key cannot be seen."""
    known: dict[tuple[str, ...], bytes] = {}

    def script(arrived: Any) -> bytes:
        what = arrived.target.rpartition("/")[2]
        shown = {"id": cart_of(arrived)} | ({"last": what} if says == "its state" else {})
        made = bytes(answer(200, {"data": shown}))
        return known.setdefault((key_of(arrived), *((what, cart_of(arrived)) if scoped else ())), made)

    async def law(case: Case) -> None:
        await a_key_on_another_operation_is_another_call(case, REVOKE.id)

    facts = OperationFacts(body={"reason": "{unique}"}, path={"cartId": "{cart.id}"})
    result, _ = judged(script, law, QUOTE, operations={QUOTE.id: facts, REVOKE.id: facts}, fixtures=CARTS)
    seen = says == "its state" and not scoped
    assert result.outcome is (Outcome.FAILED if seen else Outcome.PASSED), result


@pytest.mark.parametrize("status", [400, 409])
@pytest.mark.parametrize("quota", [True, False], ids=["enough of them", "keys that never settle"])
def test_what_there_are_enough_of_is_not_held_against_duplicates(
    judged: Any, answer: Any, status: int, *, quota: bool
) -> None:
    """A target may refuse to make any more, however it was asked."""
    seen: set[str] = set()

    def script(arrived: Any) -> bytes:
        fresh = key_of(arrived) not in seen
        seen.add(key_of(arrived))
        good = len(seen) == 1 or (fresh and not quota)
        return bytes(answer(200 if good else status, {"data": {}} if good else {"error": "no"}))

    async def law(case: Case) -> None:
        await duplicates_at_once_are_one_call(case, 1)

    result, _ = judged(script, law, QUOTE, fixtures=CARTS)
    assert result.outcome is (Outcome.INCONCLUSIVE if quota else Outcome.FAILED), result


@pytest.mark.parametrize("slow", [True, False])
def test_a_slow_call_may_be_in_use_for_as_long_as_it_takes(judged: Any, answer: Any, *, slow: bool) -> None:
    """Of a call that takes its time the key is in use for longer than a moment."""
    tried: dict[str, int] = {}

    def script(arrived: Any) -> bytes:
        if key_of(arrived) not in tried:
            time.sleep(0.8 if slow else 0)
            return bytes(answer(200, {"data": {}}))
        tried[key_of(arrived)] += 1
        done = tried[key_of(arrived)] > 6  # pauses that were cut short for the tests are counted, and not measured
        return bytes(answer(200, {"data": {}}) if done else answer(409, {"error": "under way"}))

    async def law(case: Case) -> None:
        request = await case.arrange()  # whose control has shown how long a call takes
        tried[str(request.key)] = 0
        again = await replay(case, request)
        if not again.ok:
            raise case.violation("it did not settle", again)

    result, _ = judged(script, law, QUOTE, fixtures=CARTS)
    assert result.outcome is (Outcome.PASSED if slow else Outcome.FAILED), result


# Effects


@pytest.mark.parametrize(
    ("number", "lag", "outcome"),
    [
        (1, 0, Outcome.PASSED),
        (1.0, 0, Outcome.PASSED),
        (1, 2, Outcome.PASSED),
        (2, 0, Outcome.FAILED),
        (0, 0, Outcome.INCONCLUSIVE),
        ("1", 0, Outcome.INCONCLUSIVE),
        (True, 0, Outcome.INCONCLUSIVE),
    ],
    ids=["once", "as a fraction", "seen later", "twice", "never", "a text", "no number"],
)
def test_one_effect_is_one_however_it_is_shown(
    judged: Any, answer: Any, number: Any, lag: int, outcome: Outcome
) -> None:
    """A number is one as `1.0` too, and what counts effects may be a moment behind; what never moves says nothing."""
    looks = itertools.count()

    def script(arrived: Any) -> bytes:
        if arrived.method == "GET":
            shown = number if next(looks) > lag else type(number)()
            return bytes(answer(200, {"count": shown}))
        return bytes(answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        url = case.profile.base_url + "/count"
        case.profile.effects[QUOTE.id] = (Effect("/count", http=HttpCall(url), step=1),)  # type: ignore[index]
        await a_call_left_unanswered_can_be_repeated(case, "after-last-byte")

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, effects={})
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("unreached", "outcome"), [(2, Outcome.PASSED), (100, Outcome.INCONCLUSIVE)], ids=["twice", "never"]
)
def test_a_call_that_was_not_sent_was_not_left_unanswered(
    judged: Any, answer: Any, unreached: int, outcome: Outcome
) -> None:
    """Where no connection reaches the moment at which it is closed, nothing was asked of the target (IDEM-7)."""
    moments = iter([*[False] * unreached, *[True] * 100])

    async def law(case: Case) -> None:
        async def abandon(*_: Any) -> bool:
            return next(moments)

        case.runtime.sender.abandon = abandon  # type: ignore[method-assign]
        await a_call_left_unanswered_can_be_repeated(case, "mid-answer")

    result, _ = judged(lambda _: answer(200, {"data": {}}), law, QUOTE, fixtures=CARTS)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("refusals", "outcome"), [(12, Outcome.PASSED), (100, Outcome.FAILED)], ids=["a lease", "for ever"]
)
def test_the_key_of_a_lost_call_may_be_held_for_a_lease(
    judged: Any, answer: Any, refusals: int, outcome: Outcome
) -> None:
    """A worker that died may have left a lease on the key, which ends; a key that stays in use is a fault (IDEM-7)."""
    remaining: dict[str, int] = {}

    def script(arrived: Any) -> bytes:
        key = key_of(arrived)
        remaining[key] = remaining.get(key, refusals + 1) - 1
        in_use = 0 <= remaining[key] < refusals and list(remaining)[1:2] == [key]  # after the control
        return bytes(answer(409, {"error": "in use"}) if in_use else answer(200, {"data": {}}))

    async def law(case: Case) -> None:
        await a_call_left_unanswered_can_be_repeated(case, "after-last-byte")

    result, _ = judged(script, law, QUOTE, fixtures=CARTS)
    assert result.outcome is outcome, result


def test_no_marker_stands_in_another_one(judged: Any, answer: Any) -> None:
    """A test API may look for what was made by a part of a text."""

    async def law(case: Case) -> None:
        await case.control(await case.arrange())
        made = [case.runtime.arranger.unique() for _ in range(1500)]
        assert not any(one != other and one in other for one in made[:130] for other in made)

    result, _ = judged(lambda arrived: bytes(answer(200, {"data": {}})), law, QUOTE)
    assert result.outcome is Outcome.PASSED, result


# Answers and keys


def test_an_answer_may_have_many_headers(judged: Any, answer: Any) -> None:
    many = {f"X_Part_{number}": str(number) for number in range(600)}

    async def law(case: Case) -> None:
        await case.control(await case.arrange())

    result, _ = judged(lambda arrived: bytes(answer(200, {"data": {}}, **many)), law)
    assert result.outcome is Outcome.PASSED, result


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("QUJDREVGRw==", "QUJDREVGRx==", True),
        ("QUJDREVGRw==", "QUJDREVGRw", True),
        ("QUJDREVGRw==", "QUJDREVGRw==QUJD", True),
        ("QUJD-_VG", "QUJD+/VG", True),
        ("QUJDREVGRw==", "QUJDREVGSw==", False),
        ("QUJDREVGRw==", "QUJDREVGRwA=", False),
        ("sk_abc.def", "sk_abc.deg", False),
        ("sk_abc.def", "sk_abcdef", False),
        ("key-0123", "key-0124", False),
        ("k.QUJDREVGRw", "k.QUJDREVGRx", True),
        ("k_live_QUJDREVGRw", "k_live_QUJDREVGRx", True),
        ("k_live_QUJDREVGRw", "k_live_QUJDREVGSw", False),
        ("01ARZ3NDEKTSV4RR", "01ARZ3NDEKTSV4rr", True),
        ("sk_0llo1", "sk_O11O1", True),
    ],
)
def test_what_decodes_to_the_same_bytes_is_the_same_key(one: str, other: str, *, alike: bool) -> None:
    """Spare bits and padding of base64 are nothing to common readers (RFC 4648 section 3.5)."""
    assert _spelled_alike(one, other) is alike


# Hosted checkout


@pytest.mark.parametrize(
    ("name", "body", "outcome"),
    [
        ("cancelHostedCheckoutBrowser", {}, Outcome.INAPPLICABLE),
        ("cancelHostedCheckoutBrowser", None, Outcome.UNSTATED),
        ("consumeHostedCheckoutBrowserTicket", {"ticket": "the one"}, Outcome.UNSTATED),
    ],
)
def test_a_session_may_be_cancelled_without_its_ticket(
    judged: Any, answer: Any, name: str, body: Any, outcome: Outcome
) -> None:
    """Where the stated body shows it. A ticket is consumed with one, and a body that is not stated shows nothing."""
    sessions = {"session": {"open": Fixture("session", "open", values=tuple({"id": f"s{n}"} for n in range(9)))}}
    facts = OperationFacts(body=body, path={"sessionId": "{session.id}"})
    result, _ = judged(
        lambda _: answer(200, {"data": {}}),
        a_ticket_opens_its_own_session_only,
        CONTRACT.operations[name],
        operations={name: facts},
        fixtures=sessions,
    )
    assert result.outcome is outcome, result
