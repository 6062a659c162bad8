"""Services whose conditions are unusual: tickets that end, copies that lag, caches, limits by caller, poor gateways.

Next to each is the broken one that looks like it.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from conformance.checks import check_answers, check_conflicts, check_hosted, check_rate_limit
from conformance.checks.check_hosted import both_hosted_operations_answer_one_projection as one_projection
from conformance.checks.check_not_found import an_id_with_more_behind_it_is_answered_404
from conformance.checks.check_webhooks import (
    a_created_endpoint_can_be_updated,
    an_update_that_changes_nothing_finds_its_endpoint,
)
from conformance.checks.support import rate_limits
from conformance.checks.support.bursts import Burst, is_from_cache, measure, send_burst
from conformance.checks.support.case import Case
from conformance.checks.support.effects import Oracle
from conformance.checks.support.provocation import Preparation, Provocation
from conformance.checks.support.races import without_accidents
from conformance.checks.support.rate_limits import expect_counted
from conformance.checks.support.recovery_steps import repeat_spare
from conformance.checks.support.signals import Inapplicable
from conformance.checks.support.state_walk import REFUSALS
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import RateLimit, Transition, Webhooks
from conformance.profile.model import Credential, Schemas, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

OPERATIONS = CONTRACT.operations
CONSUME, CANCEL = (OPERATIONS[name] for name in check_hosted._HOSTED)
CREATE, UPDATE = (OPERATIONS[name] for name in ("createInstallationWebhook", "updateInstallationWebhook"))
SESSIONS = {
    "session": {
        "open": Fixture(
            "session", "open", values=tuple({"id": f"session-{n}", "ticket": f"t{n:09}x"} for n in range(60))
        )
    }
}
ENDPOINTS: dict[str, Any] = {
    "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({CREATE.scope}))},
    "fixtures": {"webhook": {"active": Fixture("webhook", "active", values=({"id": "wh-old"},), reusable=True)}},
    "operations": {
        CREATE.id: OperationFacts(body={"url": "https://example.com/{unique}"}),
        UPDATE.id: OperationFacts(body={"note": "x"}, path={"id": "{webhook.id}"}),
    },
    "webhooks": Webhooks(id="/data/id"),
}
TICKET = OperationFacts(body={"ticket": "{session.ticket}"}, path={"sessionId": "{session.id}"})


def _body(good: bool) -> dict[str, Any]:
    return {"data": {}} if good else {"error": "no"}


# Tickets


@pytest.mark.parametrize("ends", ["nowhere", "at another session", "everywhere"])
def test_a_ticket_may_end_where_it_is_presented_to_another_session(judged: Any, answer: Any, ends: str) -> None:
    """A store may read and delete it in one step. One that ends all tickets makes no other one good."""
    ended: set[str] = set()

    def script(arrived: Any) -> bytes:
        session, ticket = arrived.target.split("/")[-2], arrived.json["ticket"]
        own = f"t{int(session.removeprefix('session-').removesuffix('zz')):09}x"
        good = ticket == own and not session.endswith("zz") and ticket not in ended and "all" not in ended
        if not good and ends != "nowhere":
            ended.add(ticket if ends == "at another session" else "all")
        return bytes(answer(200 if good else 404, _body(good)))

    facts = {"fixtures": SESSIONS, "operations": {CONSUME.id: TICKET}}
    result, _ = judged(script, an_id_with_more_behind_it_is_answered_404, CONSUME, **facts)
    assert result.outcome is (Outcome.INCONCLUSIVE if ends == "everywhere" else Outcome.PASSED), result


@pytest.mark.parametrize("operation", [CONSUME, OPERATIONS["quotePublicCart"]], ids=lambda operation: operation.id)
def test_a_walk_presents_no_ticket_to_another_session(operation: Any) -> None:
    """What that does to the ticket is not stated; a cart has none."""
    name = operation.path_parameters[0]
    request = Request(operation, path={name: "thing-1234abcd"}, body={"ticket": "t"})
    other = REFUSALS["with another id"](None, request)  # type: ignore[arg-type]
    assert (other.path == request.path) is (operation is CONSUME)
    assert other.body != request.body or other.path != request.path


@pytest.mark.parametrize(
    ("schema", "outcome"),
    [("optional", Outcome.PASSED), ("required", Outcome.WARNED), ("not named", Outcome.WARNED), ("", Outcome.WARNED)],
)
def test_one_projection_may_have_optional_members(judged: Any, answer: Any, schema: str, outcome: Outcome) -> None:
    """As the time of a cancellation. Without a statement that the projection is shared, a difference is a warning."""

    def script(arrived: Any) -> bytes:
        shown = {"cancelledAt": "2026-11-23"} if arrived.target.endswith("/cancel") else {}
        return bytes(answer(200, {"data": {"state": "done", **shown}}))

    names = ["state", *(["cancelledAt"] if schema != "not named" else [])]
    required = names if schema == "required" else ["state"]
    data: dict[str, Any] = {"properties": {name: {"type": "string"} for name in names}, "required": required}
    root = {"type": "object", "properties": {"data": {"$ref": "#/$defs/Data"}}, "$defs": {"Data": data}}
    schemas = Schemas({CONSUME.response_schema: root} if schema else {})
    facts = {"fixtures": SESSIONS, "operations": {CONSUME.id: TICKET, CANCEL.id: TICKET}, "schemas": schemas}
    result, _ = judged(script, one_projection, CONSUME, **facts)
    assert result.outcome is outcome, result


# Copies that lag


@pytest.mark.parametrize(("lag", "outcome"), [(0, Outcome.PASSED), (2, Outcome.PASSED), (99, Outcome.FAILED)])
def test_a_new_endpoint_may_be_found_a_moment_later(judged: Any, answer: Any, lag: int, outcome: Outcome) -> None:
    looks = {"wh-new": 0}

    def script(arrived: Any) -> bytes:
        if arrived.method == "POST":
            return bytes(answer(200, {"data": {"id": "wh-new"}}))
        name = arrived.target.rpartition("/")[2]
        looks[name] = looks.get(name, 99) + 1
        good = looks[name] > lag
        return bytes(answer(200 if good else 404, _body(good)))

    result, _ = judged(script, a_created_endpoint_can_be_updated, UPDATE, **ENDPOINTS)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("lag", "outcome"), [(0, Outcome.PASSED), (2, Outcome.PASSED), (99, Outcome.FAILED)])
def test_the_second_update_may_meet_an_older_copy(judged: Any, answer: Any, lag: int, outcome: Outcome) -> None:
    """The first one went to the copy that the endpoint was made on."""
    looks = 0

    def script(arrived: Any) -> bytes:
        nonlocal looks
        if arrived.method == "POST":
            return bytes(answer(200, {"data": {"id": "wh-new"}}))
        looks += arrived.target.endswith("wh-new")
        good = looks < 2 or looks > 1 + lag
        return bytes(answer(200 if good else 404, _body(good)))

    result, _ = judged(script, an_update_that_changes_nothing_finds_its_endpoint, UPDATE, **ENDPOINTS)
    assert result.outcome is outcome, result


# States


@pytest.mark.parametrize("is_complete", [True, False])
def test_an_order_without_lines_need_not_be_called(judged: Any, answer: Any, *, is_complete: bool) -> None:
    """The body of the call names a line, which an order has in its usual state."""
    after_sales = OPERATIONS["requestStorefrontOrderAfterSales"]
    line = {"lineId": "line-1"}
    orders = {
        "eligible": Fixture("order", "eligible", values=({"id": "order-1", **line},), reusable=True),
        "cancelled": Fixture("order", "cancelled", values=({"id": "order-2", **(line if is_complete else {})},)),
    }
    facts = {
        "fixtures": {"order": orders},
        "operations": {after_sales.id: OperationFacts(body={"line": "{order.lineId}"}, path={"orderId": "{order.id}"})},
    }

    async def law(case: Case) -> None:
        await check_answers.a_resource_of_every_state_is_changed(case, ("order", "cancelled"))

    result, _ = judged(lambda _: bytes(answer(200, {"data": {}})), law, after_sales, **facts)
    assert result.outcome is (Outcome.PASSED if is_complete else Outcome.INAPPLICABLE), result
    assert result.further is not is_complete


@pytest.mark.parametrize(
    ("named", "outcome"),
    [
        ({"etag": "{cart.etag}"}, Outcome.INCONCLUSIVE),
        ({"revision": "{cart.revision}"}, Outcome.INCONCLUSIVE),
        ({"cart": "{cart.id}"}, Outcome.FAILED),
        ({"note": "x"}, Outcome.FAILED),
    ],
    ids=["a digest", "a number", "the cart", "nothing"],
)
def test_a_body_may_name_the_revision_of_a_cart(judged: Any, answer: Any, named: Any, outcome: Outcome) -> None:
    """A quote makes another one: the checkout that names the one before is refused."""
    quote, checkout, revoke = (
        OPERATIONS[name] for name in ("quotePublicCart", "checkoutPublicCart", "revokePublicCart")
    )
    quoted: set[str] = set()

    def script(arrived: Any) -> bytes:
        cart, name = arrived.target.split("/")[-2:]
        good = name != "checkout" or cart not in quoted
        if name == "quote":
            quoted.add(cart)
        return bytes(answer(200 if good else 409, _body(good)))

    states = ("open", "quoted")
    carts = {
        state: Fixture(
            "cart",
            state,
            values=tuple(
                {"id": f"{state}-cart-{n:03}x", "etag": f"5f3c9e{n:04}ab-{state}x", "revision": n} for n in range(40)
            ),
        )
        for state in states
    }
    path = {"cartId": "{cart.open.id}"}
    operations = {
        quote.id: OperationFacts(body={"note": "x"}, path=path),
        revoke.id: OperationFacts(body={}, path=path),
    }
    operations[checkout.id] = OperationFacts(body=named, path={"cartId": "{cart.quoted.id}"})
    chain = (
        Transition(quote.id, "cart.open", leads_to="cart.quoted"),
        Transition(checkout.id, "cart.quoted", leads_to="cart.done"),
    )

    async def law(case: Case) -> None:
        await check_conflicts.a_sequence_of_allowed_transitions_is_allowed(case, chain)

    facts = {"fixtures": {"cart": carts}, "operations": operations, "transitions": chain}
    result, _ = judged(script, law, quote, **facts)
    assert result.outcome is outcome, result


# Limits and gateways


def _answered(status: int, *headers: tuple[str, str]) -> Answer:
    return Answer("x1", Request(OPERATIONS["getPublicRuntimeConfig"]), "u", (), b"", status, headers)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("Age", "0", True),
        ("Cache-Status", "edge; hit", True),
        ("Cache-Status", "edge; fwd=miss", False),
        ("X-Cache", "Hit from cloudfront", True),
        ("X-Cache", "MISS", False),
        ("CF-Cache-Status", "HIT", True),
        ("X-Cache-Status", "EXPIRED", False),
        ("X-Hits", "hit", False),
    ],
)
def test_a_cache_says_in_one_of_several_ways_that_it_answered(name: str, value: str, expected: bool) -> None:
    assert is_from_cache(_answered(200, (name, value))) is expected


@pytest.mark.parametrize("operation", ["getPublicRuntimeConfig", "exchangeOAuthToken", "getApiKeyIdentity"])
@pytest.mark.parametrize("per", ["key", "installation", "operation", "address", ""])
@pytest.mark.parametrize("limited_count", [0, 2, 30])
def test_a_limit_by_caller_need_not_count_what_has_none(operation: str, per: Any, limited_count: int) -> None:
    """Nobody has stated that it does; many 429s are judged as any, and a few are those of a service that sheds load."""
    burst = _burst(is_limited=limited_count > 0, successes=40 - limited_count)
    case = _limited_case(per, operation, {"searchPublicProducts": Provocation(burst, burst.limited_answer)})
    if limited_count < 30 and per in ("key", "installation") and operation != "getApiKeyIdentity":
        with pytest.raises(Inapplicable, match="the operation takes no key"):
            expect_counted(case, burst)
    else:
        expect_counted(case, burst)


@pytest.mark.parametrize("is_limited", [True, False])
def test_where_one_call_without_a_key_is_limited_all_are(*, is_limited: bool) -> None:
    """One operation that the limiter forgot is found by the others; where it counts none of them, nothing is."""
    other = Provocation(_burst(is_limited=is_limited), _answered(429) if is_limited else None)
    keyed = Provocation(_burst(is_limited=True), _answered(429))
    outcomes = {"searchPublicProducts": other, "getApiKeyIdentity": keyed}
    case, burst = _limited_case("key", "getPublicRuntimeConfig", outcomes), _burst(is_limited=False)
    if is_limited:
        expect_counted(case, burst)
    else:
        with pytest.raises(Inapplicable):
            expect_counted(case, burst)


@pytest.mark.parametrize("is_limited_alone", [True, False])
def test_a_duplicate_that_is_told_to_wait_shows_no_limit(*, is_limited_alone: bool) -> None:
    """Of calls under one key, all but the first may be answered 429; a call under another key shows a limit."""
    limited = replace(_answered(429), request=Request(OPERATIONS["exchangeOAuthToken"], key="k1"))
    token = Provocation(_burst(is_limited=True), limited, spare=limited if is_limited_alone else None)
    case = _limited_case("key", "searchPublicProducts", {"exchangeOAuthToken": token})
    if is_limited_alone:
        expect_counted(case, _burst(is_limited=False))
    else:
        with pytest.raises(Inapplicable):
            expect_counted(case, _burst(is_limited=False))


def _limited_case(per: Any, operation: str, outcomes: dict[str, Provocation]) -> Case:
    profile = SimpleNamespace(rate_limit=RateLimit(provoke=True, limit=5, window_s=1, per=per))
    runtime: Any = SimpleNamespace(settings=SimpleNamespace(profile=profile, contract=CONTRACT), memory={})
    runtime.memory[rate_limits.MEMORY] = outcomes
    return Case(runtime, OPERATIONS[operation])


def _burst(*, is_limited: bool, cached: int = 0, successes: int = 10) -> Burst:
    return Burst(_answered(429) if is_limited else None, _answered(200), 40, successes, 0.1, cached=cached)


@pytest.mark.parametrize(("cached", "is_judged"), [(0, True), (20, True), (38, False)])
def test_what_a_cache_answers_is_not_counted(cached: int, *, is_judged: bool) -> None:
    """A limit behind it does not see those requests; a few of them leave enough."""
    case, burst = _limited_case("operation", "searchPublicProducts", {}), _burst(is_limited=False, cached=cached)
    if is_judged:
        expect_counted(case, burst)
    else:
        with pytest.raises(Inapplicable, match="38 of 40"):
            expect_counted(case, burst)


@pytest.mark.parametrize(
    ("lost", "remaining"), [(0, 4), (1, 4), (250, 2)], ids=["never", "once", "one request in twenty"]
)
def test_rivals_may_meet_what_every_other_request_meets(lost: int, remaining: int) -> None:
    """Two of four, where the gateway loses as many of those that are alone."""
    sender = SimpleNamespace(requests=5000, wait_stats=SimpleNamespace(counts={"lost": lost}))
    case: Any = SimpleNamespace(runtime=SimpleNamespace(sender=sender))
    answers = [_answered(503)] * 2 + [_answered(200)] * 2
    assert len(without_accidents(case, answers)) == remaining


@pytest.mark.parametrize(
    ("alone", "outcome"), [(200, Outcome.INCONCLUSIVE), (429, Outcome.INCONCLUSIVE), (503, Outcome.FAILED)]
)
def test_a_gateway_may_take_no_more_than_some_at_once(judged: Any, answer: Any, alone: int, outcome: Outcome) -> None:
    """One that answers 503 to a single request, too, has a limit that is not answered 429."""
    arrived = []

    def script(_: Any) -> bytes:
        arrived.append(1)
        status = 503 if len(arrived) <= 10 else alone
        return bytes(answer(status, _body(status == 200)))

    async def law(case: Case) -> None:
        await send_burst(case, await case.arrange(prove_control=False))

    facts = RateLimit(provoke=True, max_requests=20, limit=5, window_s=60)
    result, _ = judged(script, law, OPERATIONS["getApiKeyIdentity"], rate_limit=facts)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("has_ended", "outcome"), [(False, Outcome.FAILED), (True, Outcome.INCONCLUSIVE)])
def test_a_ticket_may_end_before_the_limit_does(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, outcome: Outcome, *, has_ended: bool
) -> None:
    """Then the call that was limited is refused for its ticket, as one is that is as old and was never limited."""
    refused: set[str] = set()

    def script(arrived: Any) -> bytes:
        good = arrived.json["ticket"] not in refused
        return bytes(answer(200 if good else 404, _body(good)))

    async def law(case: Case) -> None:
        spare, twin = await case.arrange(), await case.arrange()
        refused.update(request.body["ticket"] for request in ([spare, twin] if has_ended else [spare]))
        limited = replace(_answered(429), request=spare)
        prep = Preparation(Case(case.runtime, case.operation), spare, spare, twin=twin)
        found = await repeat_spare(prep, Provocation(measure([limited]), limited, recovered_after_s=0.1, spare=limited))

        async def known(_: Case) -> Provocation:
            return found

        monkeypatch.setattr(check_rate_limit, "provoke", known)
        await check_rate_limit.a_limit_does_not_use_the_key_up(case)

    result, _ = judged(script, law, CONSUME, fixtures=SESSIONS, operations={CONSUME.id: TICKET})
    assert result.outcome is outcome, result


def test_effects_are_not_waited_for_twice(judged: Any, answer: Any) -> None:
    """A code may end meanwhile. The limit has lasted for as long as an effect may take to show."""
    counts: list[int] = []

    async def look() -> int:
        return 0

    async def law(case: Case) -> None:
        spare = await case.arrange(prove_control=False)
        watch: Any = SimpleNamespace(lag_s=50.0, obstacle=None, effects=0, has_moved=True, look=look)
        prep = Preparation(case, spare, spare, Oracle(case, spare, [watch]))
        limited = replace(_answered(429), request=spare, at=-60.0)
        provocation = Provocation(measure([limited]), limited, recovered_after_s=0.1, spare=limited)
        async with asyncio.timeout(5):
            found = await repeat_spare(prep, provocation)
        assert found.effects_while_limited is not None
        counts.append(found.effects_while_limited)

    refuse = lambda _: bytes(answer(404, _body(good=False)))
    judged(refuse, law, CONSUME, fixtures=SESSIONS, operations={CONSUME.id: TICKET})
    assert counts == [0]
