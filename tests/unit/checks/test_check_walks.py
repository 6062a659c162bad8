"""Random walks find what no single step shows, and mind nothing that a profile does not tell of."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

from conformance.checks import check_walks
from conformance.checks.support import properties
from conformance.client.fixtures import Fixtures
from conformance.contract import load_contract
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Transition
from conformance.profile.resources import Fixture, OperationFacts

QUOTE, REVOKE = (load_contract().operations[name] for name in ("quotePublicCart", "revokePublicCart"))
KEY = "key-0123456789"
TOLD = (
    Transition("quotePublicCart", "cart.open", leads_to="cart.quoted"),
    Transition("revokePublicCart", "cart.open", leads_to="cart.revoked"),
    Transition("quotePublicCart", "cart.revoked"),
)


class Shop:
    """Carts that can be quoted any number of times and revoked once. `slip` is what goes wrong with one call."""

    def __init__(self, answer: Any, slip: Any = None, since: int = 0) -> None:
        """`since`: so many carts are treated well before."""
        self.answer, self.slip, self.since = answer, slip, since
        self.states: dict[str, str] = {}
        self.asked: list[str] = []
        """The cart of each call, in order."""
        self.known: dict[str, bytes] = {}

    def __call__(self, arrived: Any) -> bytes:
        cart, verb = arrived.target.split("/")[-2:]
        key = arrived.all("Idempotency-Key")[0]
        self.asked.append(cart)
        if arrived.all("Authorization") != [f"Bearer {KEY}"]:
            reply = self.answer(401, {"code": "who"})
        elif key in self.known and not (self.slip == "forgets" and self.states.get(cart) == "revoked"):
            return self.known[key]
        elif not arrived.body or not cart.startswith("cart-"):
            reply = self.answer(400 if cart.startswith("cart-") else 404, {"code": "what"})
        elif self.states.get(cart) == "revoked":
            reply = self.answer(409, {"code": "revoked"})
        else:
            self.states[cart] = "revoked" if verb == "revoke" else "quoted"
            self.known[key] = reply = self.answer(200, {"data": {"id": cart, "at": len(self.known)}})
        late = len(self.states) >= self.since
        if self.slip == "trace" and late and reply.startswith(b"HTTP/1.1 401") and self.states.get(cart) == "quoted":
            self.states[cart] = "revoked"
        return bytes(reply)


@pytest.fixture
def walked(judged: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The result of a walk's check on a shop, with carts that are made as they are needed."""

    def run(shop: Any, check: Any, operation: Any, **changes: Any) -> Any:
        made = iter(range(10_000))

        async def fresh(self: Any, fixture: Any, scope: Any) -> dict[str, str]:
            return {"id": f"cart-{next(made)}"}

        monkeypatch.setattr(Fixtures, "get_fresh", fresh)
        facts = OperationFacts(body={"reason": "x"}, path={"cartId": "{cart.id}"})
        told: dict[str, Any] = {
            "fixtures": {"cart": {"open": Fixture("cart", "open", python="made.py:cart")}},
            "operations": {"quotePublicCart": facts, "revokePublicCart": facts},
            "transitions": TOLD,
        }
        return judged(shop, check, operation, **{"examples": 40, **told, **changes})[0]

    return run


STATE, REPLAY = check_walks.what_left_no_trace_changes_no_state, check_walks.a_replay_outlives_what_came_after


@pytest.mark.parametrize("check", [STATE, REPLAY])
@pytest.mark.parametrize("operation", [QUOTE, REVOKE], ids=["quote", "revoke"])
@pytest.mark.parametrize("transitions", [TOLD, ()], ids=["told", "untold"])
def test_a_good_shop_passes(walked: Any, answer: Any, check: Any, operation: Any, transitions: Any) -> None:
    """Whatever the walk does, a resource that keeps its state passes: with a model, and without one."""
    assert walked(Shop(answer), check, operation, transitions=transitions).outcome is Outcome.PASSED


def test_several_walks_are_under_way_at_once(walked: Any, answer: Any) -> None:
    """A target far away is not waited for by one walk after the other: three carts and more are in use at a time."""
    shop = Shop(answer)
    assert walked(shop, STATE, QUOTE).outcome is Outcome.PASSED
    last = {cart: at for at, cart in enumerate(shop.asked)}
    in_use = [len({cart for cart in shop.asked[: at + 1] if last[cart] >= at}) for at in range(len(shop.asked))]
    assert max(in_use) > 2, "a walk and its twin would be two"


@pytest.mark.parametrize("transitions", [TOLD, ()], ids=["told", "untold"])
def test_a_refused_call_that_leaves_a_trace_is_found(walked: Any, answer: Any, transitions: Any) -> None:
    """A 401 that spoils a quoted cart shows only after a quote, and only to the next call: the walk finds both."""
    result = walked(Shop(answer, "trace"), STATE, QUOTE, transitions=transitions)
    assert result.outcome is Outcome.FAILED
    assert "without a credential 401" in result.message
    assert result.cause in {"effect:SCO-4:quotePublicCart", "effect:SCO-4:revokePublicCart"}


def test_a_walk_ends_where_a_call_that_must_be_refused_succeeds(walked: Any, answer: Any) -> None:
    """It changed the state as any successful call: whether it may is the question of another requirement."""
    shop = Shop(answer)

    def lenient(arrived: Any) -> bytes:
        return bytes(shop(replace(arrived, body=arrived.body or b"{}")))

    assert walked(lenient, STATE, QUOTE, transitions=()).outcome is Outcome.PASSED


def test_a_walk_that_goes_wrong_twice_is_found_however_slow_the_machine_is(
    walked: Any, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No clock decides whether what went wrong is walked again: without any time to shrink it, it still fails."""
    monkeypatch.setattr(properties, "_SHRINK_S", -1.0)
    result = walked(Shop(answer, "trace"), STATE, QUOTE)
    assert result.outcome is Outcome.FAILED
    assert "without a credential 401" in result.message


def test_a_walk_that_goes_wrong_once_alone_is_no_failure(walked: Any, answer: Any) -> None:
    """What is not seen a second time may be of the network's or another caller's doing: inconclusive."""
    shop = Shop(answer, "trace")

    def once(arrived: Any) -> bytes:
        quoted = [cart for cart, state in shop.states.items() if state == "quoted"]
        reply = shop(arrived)
        if reply.startswith(b"HTTP/1.1 401") and any(shop.states[cart] == "revoked" for cart in quoted):
            shop.slip = None
        return reply

    result = walked(once, STATE, QUOTE)
    assert result.outcome is Outcome.INCONCLUSIVE
    assert "once, and not when it was repeated" in result.message


def test_what_only_later_walks_come_upon_is_found(walked: Any, answer: Any) -> None:
    """Many walks are drawn in batches, the later ones others than the first, and shrunk as those are."""
    good, shop = Shop(answer), Shop(answer, "trace", since=50)
    assert walked(good, STATE, QUOTE, examples=120).outcome is Outcome.PASSED
    assert len(good.states) > 100, "two carts for most of 90 walks"
    result = walked(shop, STATE, QUOTE, examples=120)
    assert result.outcome is Outcome.FAILED
    assert "without a credential 401" in result.message


def test_a_replay_that_is_lost_later_is_found(walked: Any, answer: Any) -> None:
    """A record that is gone once the cart was revoked shows to no replay that follows at once."""
    result = walked(Shop(answer, "forgets"), REPLAY, REVOKE)
    assert result.outcome is Outcome.FAILED
    assert "revokePublicCart 200" in result.message


def test_a_state_that_the_profile_tells_wrong_is_found(walked: Any, answer: Any) -> None:
    """A conflict that is told and does not come is a violation, by whatever way the walk came there."""
    wrong = (*TOLD, Transition("quotePublicCart", "cart.quoted"))
    result = walked(Shop(answer), STATE, QUOTE, transitions=wrong)
    assert (result.outcome, result.expected) == (Outcome.FAILED, "409")


def test_carts_that_are_used_up_are_not_walked_on(judged: Any, answer: Any) -> None:
    """Where the profile has a list of carts, walking would use it up: a further case that is not there."""
    result, target = judged(Shop(answer), STATE, QUOTE)
    assert (result.outcome, result.further) == (Outcome.INAPPLICABLE, True)
    assert target.arrived == []


class Lock(Shop):
    """A shop in which a cart is in use for a moment after a call on it, which the number of calls stands for."""

    def __init__(self, answer: Any, clock: Any) -> None:
        super().__init__(answer)
        self.clock, self.until = clock, {}

    def __call__(self, arrived: Any) -> bytes:
        cart = arrived.target.split("/")[-2]
        if self.clock() < self.until.get(cart, 0.0) and arrived.all("Idempotency-Key")[0] not in self.known:
            return bytes(self.answer(409, {"code": "in use"}))
        reply = super().__call__(arrived)
        if reply.startswith(b"HTTP/1.1 200"):
            self.until[cart] = self.clock() + 0.005
        return reply


@pytest.mark.parametrize("operation", [QUOTE, REVOKE], ids=["quote", "revoke"])
def test_a_cart_may_be_in_use_for_a_moment(walked: Any, answer: Any, operation: Any) -> None:
    """The twin gets its calls sooner: what is refused is asked for again."""
    assert walked(Lock(answer, time.monotonic), STATE, operation, transitions=()).outcome is Outcome.PASSED


class BusyAfterRefusals(Shop):
    """A shop in which a cart is in use for the call that follows one that was refused."""

    def __init__(self, answer: Any) -> None:
        super().__init__(answer)
        self.busy: set[str] = set()

    def __call__(self, arrived: Any) -> bytes:
        cart = arrived.target.split("/")[-2]
        if cart in self.busy and arrived.all("Idempotency-Key")[0] not in self.known:
            self.busy.remove(cart)
            return bytes(self.answer(409, {"code": "in use"}))
        reply = super().__call__(arrived)
        if reply.startswith((b"HTTP/1.1 400", b"HTTP/1.1 401")):
            self.busy.add(cart)
        return reply


@pytest.mark.parametrize("operation", [QUOTE, REVOKE], ids=["quote", "revoke"])
def test_a_call_that_succeeds_later_changes_the_state_like_any_other(walked: Any, answer: Any, operation: Any) -> None:
    """A cart that was in use is revoked by the second attempt: the next conflict is due to that, not to a trace."""
    assert walked(BusyAfterRefusals(answer), STATE, operation, transitions=()).outcome is Outcome.PASSED
