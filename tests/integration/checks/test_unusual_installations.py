"""Installations that conform in ways that few do: ids that each counts for itself, fixtures that show much, lists."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.checks.check_scopes import the_named_scope_suffices_for_what_is_listed
from conformance.checks.check_tenancy import a_key_of_another_installation_reaches_nothing_here as reaches_nothing
from conformance.checks.check_tenancy import (
    a_list_shows_nothing_of_another_installation,
    a_member_of_a_body_chooses_no_installation,
)
from conformance.checks.check_tenant_changes import (
    an_order_that_a_checkout_made_is_out_of_reach,
    what_its_owner_has_changed_is_out_of_reach,
)
from conformance.checks.check_tenant_lists import a_request_chooses_no_other_installation
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Tenancy, Webhooks
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

READ, REVOKE = CONTRACT.operations["quotePublicCartCheckout"], CONTRACT.operations["revokePublicCart"]
CREATE = CONTRACT.operations["createInstallationWebhook"]
LIST, UPDATE = CONTRACT.operations["listInstallationWebhookDeliveries"], "updateInstallationWebhook"
SCOPES = frozenset({"catalog:read", "checkout:quote", "webhooks:read", "webhooks:write"})
KEYS = {"b": "key-b-0123456789"}
FACTS: dict[str, Any] = {
    "keys": KEYS,
    "credentials": {
        "full": Credential("full", SecretSource(env="X"), SCOPES, "A"),
        "b": Credential("b", SecretSource(env="X"), SCOPES, "B"),
    },
    "fixtures": {"cart": {"open": Fixture("cart", "open", values=tuple({"id": str(n)} for n in range(10, 30)))}},
    "operations": {
        READ.id: OperationFacts(path={"cartId": "{cart.id}"}),
        REVOKE.id: OperationFacts(path={"cartId": "{cart.id}"}, body={"reason": "x"}),
    },
}


def is_of_b(arrived: Any) -> bool:
    return KEYS["b"] in "".join(arrived.all("authorization"))


@pytest.mark.parametrize("operation", [READ, REVOKE], ids=lambda operation: operation.id)
@pytest.mark.parametrize("shared", [False, True], ids=["numbers of each installation", "no tenants at all"])
def test_each_installation_may_number_its_own_carts(judged: Any, answer: Any, operation: Any, *, shared: bool) -> None:
    """Cart 17 of one is not cart 17 of the other: a 200 alone says nothing, and equal contents do."""

    def script(arrived: Any) -> bytes:
        cart = arrived.target.split("/carts/")[1].split("/")[0]
        owner = "A" if shared or not is_of_b(arrived) else "B"
        return bytes(answer(200, {"data": {"id": cart, "total": int(cart) * (7 if owner == "A" else 5)}}))

    async def law(case: Case) -> None:
        await reaches_nothing(case, "b")

    result, _ = judged(script, law, operation, **FACTS)
    seen = shared and operation is READ  # no sign of the write is stated
    assert result.outcome is (Outcome.FAILED if seen else Outcome.INCONCLUSIVE), result


@pytest.mark.parametrize("shown", ["active", "wh_8c21f0a9"])
def test_only_the_id_of_a_foreign_endpoint_must_not_be_listed(judged: Any, answer: Any, shown: str) -> None:
    """A fixture may say more of an endpoint: what state it is in, where its events go."""
    members = {"id": "wh_8c21f0a9", "state": "active", "url": "https://hooks.example/all"}
    facts = FACTS | {
        "fixtures": {"webhook": {"foreign": Fixture("webhook", "foreign", values=(members,), reusable=True)}},
        "operations": {UPDATE: OperationFacts(path={"id": "{webhook.id}"}, body={"note": "x"})},
    }
    item = {"id": "dl_1", "state": shown}
    law = a_list_shows_nothing_of_another_installation
    result, _ = judged(lambda _arrived: answer(200, {"data": {"deliveries": [item]}}), law, LIST, **facts)
    assert result.outcome is (Outcome.PASSED if shown == "active" else Outcome.FAILED), result


@pytest.mark.parametrize("order", ["ORD-001001", "ord_8c21f0a9d7"])
def test_each_installation_may_number_its_own_orders(judged: Any, answer: Any, order: str) -> None:
    """Two shops have an order 1001 each, and both may be eligible."""

    def script(arrived: Any) -> bytes:
        return bytes(answer(200, {"data": {"orderId": order} if arrived.method == "POST" else {"eligible": True}}))

    read = CONTRACT.operations["getStorefrontOrderAfterSalesEligibility"]
    facts = FACTS | {
        "fixtures": FACTS["fixtures"] | {"order": {"open": Fixture("order", "open", values=({"id": "ord_x"},) * 3)}},
        "operations": {
            "checkoutPublicCart": OperationFacts(path={"cartId": "{cart.id}"}, body={"email": "a@example.com"}),
            read.id: OperationFacts(path={"orderId": "{order.id}"}),
        },
    }
    result, _ = judged(script, an_order_that_a_checkout_made_is_out_of_reach, read, **facts)
    assert result.outcome is (Outcome.INAPPLICABLE if "-" in order else Outcome.FAILED), result


_REQUESTED = {
    "orders of no installation": Outcome.FAILED,
    "numbers of each installation": Outcome.INCONCLUSIVE,
    "an own order is changed at the same time": Outcome.INCONCLUSIVE,
    "an own order of that number is made at the same time": Outcome.INCONCLUSIVE,
    "shows changed orders to all": Outcome.FAILED,
    "refuses": Outcome.PASSED,
}


_HIDING = ["refuses", "shows changed orders to all", "an own order of that number is made at the same time"]


@pytest.mark.parametrize("service", _REQUESTED)
def test_a_change_that_both_are_shown_is_one_of_the_same_order(judged: Any, answer: Any, service: str) -> None:
    """Order 17 of one is not order 17 of the other, though both look alike; what one changes tells them apart."""
    changed: set[tuple[str, str]] = set()

    def script(arrived: Any) -> bytes:
        owner = "B" if is_of_b(arrived) else "A"
        number = arrived.target.split("/orders/")[1].split("/")[0]
        if arrived.method == "POST":
            if service == "an own order is changed at the same time" and not changed:
                changed.add(("A", number))
            changed.add((owner, number))
            return bytes(answer(200, {"data": {}}))
        is_made = service.startswith("an own order of that number") and number == min(
            n for _, n in changed or {("", "")}
        )
        is_open = service == "shows changed orders to all" and ("B", number) in changed
        if owner == "A" and int(number) >= 50 and service in _HIDING and not (is_made or is_open):
            return bytes(answer(404, {"code": "c", "message": "m"}))
        owners = "AB" if service in ("orders of no installation", "shows changed orders to all") else owner
        return bytes(answer(200, {"data": {"eligible": not any((name, number) in changed for name in owners)}}))

    def orders(start: int) -> Any:
        return tuple({"id": str(number)} for number in range(start, start + 9))

    read, request = (
        CONTRACT.operations[name]
        for name in ("getStorefrontOrderAfterSalesEligibility", "requestStorefrontOrderAfterSales")
    )
    facts = FACTS | {
        "fixtures": {
            "order": {
                "open": Fixture("order", "open", values=orders(10)),
                "foreign": Fixture("order", "foreign", values=orders(50)),
            }
        },
        "operations": {
            read.id: OperationFacts(path={"orderId": "{order.id}"}),
            request.id: OperationFacts(path={"orderId": "{order.id}"}, body={"reason": "x"}),
        },
    }

    async def law(case: Case) -> None:
        await what_its_owner_has_changed_is_out_of_reach(case, request.id)

    result, _ = judged(script, law, read, **facts)
    assert result.outcome is _REQUESTED[service], result


@pytest.mark.parametrize("name", ["Filiale K\u00f6ln \u5317", "two\nlines", "\U0001f6d2"])
def test_an_installation_may_have_any_name(judged: Any, answer: Any, name: str) -> None:
    """It is sent in headers and parameters, whatever letters it has."""

    def script(arrived: Any) -> bytes:
        return bytes(answer(200, {"data": {"installation": name if is_of_b(arrived) else "own"}}))

    tenancy = Tenancy(installation_in_identity="/data/installation", installation_in_readiness="/data/installation")
    operation = CONTRACT.operations["getApiKeyIdentity"]
    result, target = judged(script, a_request_chooses_no_other_installation, operation, **FACTS, tenancy=tenancy)
    assert result.outcome is Outcome.PASSED, result
    assert all("\n" not in json.dumps(value) for arrived in target.arrived for _, value in arrived.headers)


@pytest.mark.parametrize("shown", ["numbers alone", "nothing"])
def test_a_key_may_be_told_less_of_each_delivery(judged: Any, answer: Any, shown: str) -> None:
    """What is listed is what the scope is for; how much of it each key is told is not stated."""
    items = {"numbers alone": [{"number": 1}, {"number": 2}], "nothing": []}

    def script(arrived: Any) -> bytes:
        full = [{"number": n, "order": f"order-of-somebody-{n}x"} for n in (1, 2)]
        return bytes(answer(200, {"data": {"deliveries": items[shown] if is_of_b(arrived) else full}}))

    reader = Credential("b", SecretSource(env="X"), frozenset({"webhooks:read"}), "A")
    facts = FACTS | {"credentials": FACTS["credentials"] | {"b": reader}, "operations": {}}
    result, _ = judged(script, the_named_scope_suffices_for_what_is_listed, LIST, **facts)
    assert result.outcome is (Outcome.FAILED if shown == "nothing" else Outcome.PASSED), result


_OWNERS = {
    "ignores it": Outcome.PASSED,
    "refuses it": Outcome.PASSED,
    "keeps it": Outcome.PASSED,
    "has copies that lag": Outcome.PASSED,
    "counts for each installation": Outcome.INAPPLICABLE,
    "has no names": Outcome.INAPPLICABLE,
    "obeys it": Outcome.FAILED,
    "shares it": Outcome.FAILED,
    "obeys its own member": Outcome.PASSED,
}


@pytest.mark.parametrize("service", _OWNERS)
def test_a_body_may_name_an_installation_and_chooses_none(judged: Any, answer: Any, service: str) -> None:
    """What a member of the stated body means is the target's own, and a number may be one of each installation."""
    owners: dict[str, set[str]] = {"old-endpoint": {"A"}}
    looks = 0

    def script(arrived: Any) -> bytes:
        nonlocal looks
        owner = "B" if is_of_b(arrived) else "A"
        if arrived.target.endswith("/identity"):
            return bytes(answer(200, {"data": {} if service == "has no names" else {"installation": f"inst-{owner}"}}))
        if arrived.method == "POST":
            chosen = arrived.json.get("tenant", f"inst-{owner}").removeprefix("inst-")
            if "tenant" in arrived.json and service == "refuses it":
                return bytes(answer(400, {"error": "no"}))
            new_id = f"{len(owners)}" if service == "counts for each installation" else f"endpoint-{len(owners):x}-of"
            owners[new_id] = {chosen} if "obeys" in service else {owner, chosen} if service == "shares it" else {owner}
            shown = {"tenant": chosen} if service == "keeps it" else {}
            return bytes(answer(200, {"data": {"id": new_id, **shown}}))
        looks += 1
        is_late = service == "has copies that lag" and looks % 2 == 0
        name = arrived.target.rpartition("/")[2]
        good = owner in owners[name] and not (is_late and name != "old-endpoint")
        return bytes(answer(200 if good else 404, {"data": {}} if good else {"error": "no"}))

    own = {"tenant": "inst-A"} if service == "obeys its own member" else {}
    endpoints = {"webhook": {"active": Fixture("webhook", "active", values=({"id": "old-endpoint"},), reusable=True)}}
    facts = FACTS | {
        "fixtures": endpoints,
        "operations": {
            CREATE.id: OperationFacts(body={"url": "https://example.com/{unique}", **own}),
            UPDATE: OperationFacts(path={"id": "{webhook.id}"}, body={"note": "x"}),
        },
        "webhooks": Webhooks(id="/data/id"),
        "tenancy": Tenancy(installation_in_identity="/data/installation"),
    }
    result, _ = judged(script, a_member_of_a_body_chooses_no_installation, CONTRACT.operations[UPDATE], **facts)
    assert result.outcome is _OWNERS[service], result
