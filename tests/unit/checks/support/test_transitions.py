"""The model of states that a profile's transitions describe."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from conformance.checks.check_hosted import consume_and_cancel_keep_their_order
from conformance.checks.support import transitions
from conformance.checks.support.case import Case
from conformance.checks.support.transitions import ALLOWED, CONFLICT, UNKNOWN, Place, States, expect_conflict
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Transition
from conformance.profile.model import Limits
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

CART = States(
    [
        Transition("quote", "cart.open", leads_to="cart.quoted"),
        Transition("checkout", "cart.quoted", leads_to="cart.done"),
        Transition("checkout", "cart.open"),
        Transition("checkout", "cart.quoted", after=("revoke",)),
        Transition("revoke", "cart.quoted", after=("checkout",)),
        Transition("checkout", "cart.done"),
    ]
)


@pytest.mark.parametrize(
    ("fixture", "after", "operation", "expected"),
    [
        ("cart.open", (), "quote", ALLOWED),
        ("cart.open", (), "checkout", CONFLICT),
        ("cart.open", ("quote",), "checkout", ALLOWED),
        ("cart.open", ("quote", "checkout"), "checkout", CONFLICT),
        ("cart.open", ("quote", "checkout"), "revoke", CONFLICT),
        ("cart.done", (), "revoke", CONFLICT),
        ("cart.quoted", (), "revoke", ALLOWED),
        ("cart.quoted", ("revoke",), "checkout", CONFLICT),
        ("cart.open", ("quote", "revoke"), "checkout", CONFLICT),
        ("cart.quoted", ("revoke",), "revoke", UNKNOWN),
        ("cart.open", ("paint",), "checkout", UNKNOWN),
        ("order.open", (), "quote", UNKNOWN),
    ],
)
def test_what_is_expected(fixture: str, after: tuple[str, ...], operation: str, expected: str) -> None:
    """What is told is found by whatever way a resource came there; what is not told is unknown, never guessed."""
    assert CART.expected_outcome(Place(fixture, after), operation) == expected


def test_an_operation_that_others_come_after_is_allowed() -> None:
    """`after` says that the operation succeeds there, or nothing could come after it."""
    states = States([Transition("consume", "session.open", after=("consume",))])
    assert states.expected_outcome(Place("session.open"), "consume") == ALLOWED
    assert states.expected_outcome(Place("session.open", ("consume",)), "consume") == CONFLICT


@pytest.mark.parametrize(
    ("calls", "explained"),
    [
        ([("checkout", True), ("revoke", False)], True),
        ([("checkout", False), ("revoke", True)], True),
        ([("checkout", True), ("revoke", True)], False),
        ([("checkout", True), ("checkout", True)], False),
        ([("checkout", False)] * 9, True),
        ([("revoke", True)] * 10, True),
        ([("quote", True)] * 5 + [("checkout", True)], True),
    ],
)
def test_a_history_is_explained_by_some_order(calls: list[tuple[str, bool]], explained: bool) -> None:
    """Calls at once are judged as if they had come one after the other, in whichever order suits them best."""
    assert CART.explains("cart.quoted", calls) is explained


@pytest.mark.parametrize(
    ("names", "operation", "expected"),
    [
        (["revoke"], "checkout", {CONFLICT}),
        (["revoke", "quote"], "checkout", {UNKNOWN}),
        (["checkout"], "revoke", {CONFLICT}),
        (["checkout", "revoke"], "revoke", set()),
        ([], "checkout", {ALLOWED}),
    ],
)
def test_what_follows_calls_at_once_is_what_each_order_leaves(
    names: list[str], operation: str, expected: set[str]
) -> None:
    """An order that the states rule out leaves nothing, and one that they do not know leaves nothing known."""
    assert CART.outcomes_after("cart.quoted", names, operation) == expected


def test_a_circle_of_states_has_an_end() -> None:
    """A state that leads to itself, and two that lead to each other, are not a trap."""
    states = States(
        [
            Transition("quote", "c.a", leads_to="c.a"),
            Transition("go", "c.a", leads_to="c.b"),
            Transition("go", "c.b", leads_to="c.a"),
            Transition("end", "c.b"),
        ]
    )
    assert states.expected_outcome(Place("c.a", ("quote", "go", "go", "go")), "end") == CONFLICT


@pytest.mark.parametrize("lifted_by", ["nothing", "another attempt", "a repeat under the same key"])
def test_a_further_call_does_not_lift_a_conflict(judged: Any, answer: Any, lifted_by: str) -> None:
    """What the state of a resource refuses is refused again, under another key and under the same one."""
    tried: dict[str, set[str]] = {}

    def script(arrived: Any) -> bytes:
        cart, key = arrived.target.split("/")[-2], arrived.all("Idempotency-Key")[0]
        keys = tried.setdefault(cart, set())
        lifting_keys = {"nothing": set(), "another attempt": keys - {key}, "a repeat under the same key": keys & {key}}
        status = 200 if cart.startswith("c0") or lifting_keys[lifted_by] else 409
        keys.add(key)
        return bytes(answer(status, {"data": {}} if status == 200 else {"error": "revoked"}))

    async def law(case: Case) -> None:
        await expect_conflict(case, Transition("quotePublicCart", "cart.revoked"))

    states = {
        name: Fixture("cart", name, values=({"id": f"{text}"},) * 2)
        for name, text in (("open", "c0"), ("revoked", "r1"))
    }
    result, _ = judged(script, law, CONTRACT.operations["quotePublicCart"], fixtures={"cart": states})
    assert result.outcome is (Outcome.PASSED if lifted_by == "nothing" else Outcome.FAILED), result
    assert lifted_by == "nothing" or lifted_by in result.message


FIRST = Transition("quotePublicCart", "cart.revoked")
LAST = Transition("quotePublicCart", "cart.open", after=("revokePublicCart",))


@pytest.mark.parametrize(
    ("transition", "depth", "waits"), [(LAST, "standard", True), (LAST, "quick", False), (FIRST, "standard", False)]
)
@pytest.mark.parametrize("later", [200, 404, 409])
def test_a_state_that_a_call_led_to_is_tried_later(
    judged: Any,
    answer: Any,
    monkeypatch: pytest.MonkeyPatch,
    transition: Transition,
    depth: Any,
    waits: bool,
    later: int,
) -> None:
    """One case of each operation, and none in quick depth. A cart that has ended meanwhile is not a failure."""
    pauses: list[float] = []
    quotes: dict[str, set[str]] = {"r0": set()}

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    def script(arrived: Any) -> bytes:
        cart, name = arrived.target.split("/")[-2:]
        if name == "revoke" or cart not in quotes:
            quotes.update({cart: set()} if name == "revoke" else {})
            return bytes(answer(200, {"data": {}}))
        quotes[cart].update(arrived.all("Idempotency-Key"))
        status = 409 if len(quotes[cart]) == 1 else later
        return bytes(answer(status, {"data": {}} if status == 200 else {"error": "revoked"}))

    async def law(case: Case) -> None:
        await case.runtime.controls.prove(case.operation)
        with monkeypatch.context() as patch:
            patch.setattr(transitions.asyncio, "sleep", pause)
            await expect_conflict(case, transition)

    ids = {"open": [f"c{n}" for n in range(9)], "revoked": ["r0"]}
    carts = {name: Fixture("cart", name, values=tuple({"id": text} for text in ids[name])) for name in ids}
    facts = {name: OperationFacts(body={}, path={"cartId": "{cart.id}"}) for name in (LAST.operation, *LAST.after)}
    limits = Limits(timeout_s=2, patience_s=0.2, depth=depth)
    stated = {"fixtures": {"cart": carts}, "operations": facts, "limits": limits, "transitions": (FIRST, LAST)}
    result, _ = judged(script, law, CONTRACT.operations[LAST.operation], **stated)
    assert result.outcome is (Outcome.FAILED if later == 200 else Outcome.PASSED), result
    assert (max(pauses, default=0.0) > 1.0) is waits, pauses


FREE = {f"session.{state}": "session.cancelled" for state in ("open", "cancelled")}
ALSO_GONE = [Transition("consumeHostedCheckoutBrowserTicket", "session.cancelled", status=404)]


@pytest.mark.parametrize("expect", [consume_and_cancel_keep_their_order, expect_conflict])
@pytest.mark.parametrize(
    ("operation", "transitions", "outcome"),
    [
        ("cancelHostedCheckoutBrowser", FREE, Outcome.INAPPLICABLE),
        ("cancelHostedCheckoutBrowser", {"session.open": "session.cancelled"}, Outcome.UNSTATED),
        ("cancelHostedCheckoutBrowser", {}, Outcome.UNSTATED),
        ("consumeHostedCheckoutBrowserTicket", {}, Outcome.INAPPLICABLE),
    ],
    ids=["allowed in each state", "allowed in one of two", "of an unknown state", "stated with 404"],
)
def test_a_stated_order_needs_no_further_fact(
    judged: Any, answer: Any, expect: Any, operation: str, transitions: dict[str, str], outcome: Outcome
) -> None:
    """An operation that each state allows has no conflict, and one that is refused with 404 is CONF-3's question."""
    stated = [Transition(operation, fixture, leads_to=leads_to) for fixture, leads_to in transitions.items()]
    states = {name: Fixture("session", name, values=({"id": name},)) for name in ("open", "cancelled", "foreign")}
    result, target = judged(
        lambda _arrived: answer(200, {"data": {}}),
        partial(expect, transition=None),
        CONTRACT.operations[operation],
        fixtures={"session": states},
        transitions=(*stated, *ALSO_GONE),
    )
    assert result.outcome is outcome, result
    assert not target.arrived
