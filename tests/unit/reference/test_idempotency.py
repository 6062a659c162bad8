"""One effect a key, and its answer for whoever asks again (interface, Endpoints, rule 2)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.reference_api import CHECKOUT, KEY, REASON, WRITES, Api, P, fresh, proof


def leaves(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        return [leaf for name, item in value.items() for leaf in leaves(item, (*at, name))]
    if isinstance(value, list):
        return [leaf for index, item in enumerate(value) for leaf in leaves(item, (*at, index))]
    return [at]


def changed(body: Any, leaf: tuple[Any, ...]) -> Any:
    copied = copy.deepcopy(body)
    place = copied
    for step in leaf[:-1]:
        place = place[step]
    old = place[leaf[-1]]
    place[leaf[-1]] = not old if isinstance(old, bool) else old + 1 if isinstance(old, int) else f"{old}x"
    return copied


@pytest.mark.parametrize("operation", WRITES)
def test_a_repeated_call_gets_the_first_answer_and_has_no_second_effect(api: Api, operation: str) -> None:
    first, second = api.twice(operation)
    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json() == second.json()
    assert api.effects(operation) == 1


@pytest.mark.parametrize("operation", WRITES)
def test_a_key_is_required_and_must_be_one_uuid(api: Api, operation: str) -> None:
    ready = api.prepare(operation)
    for key in (None, "", "x", f"{fresh()}, {fresh()}", fresh()[:-1]):
        assert (key, api.raw(operation, **{**ready, "key": key}).status_code) == (key, 400)
    assert api.raw(operation, **ready).status_code == 200


@pytest.mark.parametrize("operation", WRITES)
def test_another_payload_under_a_known_key_conflicts(api: Api, operation: str) -> None:
    ready = api.prepare(operation)
    assert api.raw(operation, **ready).status_code == 200
    for leaf in leaves(ready["body"]):
        if leaf[-1] in ("ticket", "code", "clientId", "grantType"):
            continue
        again = {**ready, "body": changed(ready["body"], leaf)}
        if ready.get("dpop"):
            again["dpop"] = proof(f"{api.base}{P}/oauth/token")
        assert (leaf, api.raw(operation, **again).status_code) == (leaf, 409)
    assert api.effects(operation) == 1


def test_member_order_and_spacing_are_no_other_payload(api: Api) -> None:
    ready = api.prepare("checkoutPublicCart")
    first = api.raw("checkoutPublicCart", **ready)
    content = b'{ "payment":{"installments":2.0,"method":"card"},\n"buyer":{"email":"a@client.example"}}'
    assert api.raw("checkoutPublicCart", **{**ready, "content": content}).json() == first.json()


def test_a_key_counts_for_its_operation_its_id_and_its_installation(api: Api) -> None:
    key = fresh()
    assert api.send("quotePublicCart", key=key, body=REASON).status_code == 200
    assert api.send("quotePublicCart", key=key, body=REASON).status_code == 200
    assert api.send("revokePublicCart", key=key, body=REASON).status_code == 200
    assert [api.effects("quotePublicCart"), api.effects("revokePublicCart")] == [2, 1]
    ids = {
        api.send("createInstallationWebhook", key=key, caller=who).json()["data"]["id"]
        for who in ("full", "other-installation")
    }
    assert len(ids) == 2


@pytest.mark.parametrize("caller", [None, "revoked", "none", "other-installation"])
def test_authorization_comes_before_the_replay(api: Api, caller: str | None) -> None:
    expected = {None: 401, "revoked": 401, "none": 403, "other-installation": 404}[caller]
    first, second = api.twice("checkoutPublicCart", {"caller": caller})
    assert (first.status_code, second.status_code) == (200, expected)


def test_what_was_refused_can_be_tried_again_under_the_same_key(api: Api) -> None:
    ready = api.prepare("checkoutPublicCart")
    for defect in ({"caller": "revoked"}, {"caller": "none"}, {"body": {}}, {"id": "cart_x"}):
        assert api.raw("checkoutPublicCart", **{**ready, **defect}).status_code in (400, 401, 403, 404)
    api.http.post(f"{api.control}/rate-limit", json={"limit": 0, "window_s": 60})
    assert api.raw("checkoutPublicCart", **ready).status_code == 429
    api.http.delete(f"{api.control}/rate-limit")
    assert api.raw("checkoutPublicCart", **ready).status_code == 200
    assert api.effects("checkoutPublicCart", id=ready["id"]) == 1


def test_a_conflict_is_not_remembered(api: Api) -> None:
    ready = api.prepare("checkoutPublicCart", id=api.make("cart", "open")["id"])
    assert api.raw("checkoutPublicCart", **ready).status_code == 409
    assert api.status("quotePublicCart", id=ready["id"]) == 200
    assert api.raw("checkoutPublicCart", **ready).status_code == 200


def test_parallel_duplicates_have_one_effect(api: Api) -> None:
    answers = api.parallel("createInstallationWebhook", 8, one_key=True)
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["data"]["id"] for answer in answers}) == 1
    assert api.effects("createInstallationWebhook") == 1


def test_parallel_checkouts_have_one_winner(api: Api) -> None:
    answers = api.parallel("checkoutPublicCart", 8, one_key=False)
    assert sorted(answer.status_code for answer in answers) == [200] + [409] * 7


def test_a_token_is_replayed_to_its_own_key_only(api: Api) -> None:
    ready = api.prepare("exchangeOAuthToken")
    url = f"{api.base}{P}/oauth/token"
    first = api.raw("exchangeOAuthToken", **ready)
    assert api.raw("exchangeOAuthToken", **ready).json() == first.json(), "the very same request, proof included"
    other = KEY.generate_key("P-256")
    assert api.raw("exchangeOAuthToken", **{**ready, "dpop": proof(url, key=other)}).status_code == 409
    assert api.raw("exchangeOAuthToken", **{**ready, "dpop": None}).status_code == 401


def test_effects_are_counted_by_id_and_by_marker(api: Api) -> None:
    api.send("createInstallationWebhook", body={"url": "https://hooks.example/m_1%", "events": ["e"]})
    assert api.effects("createInstallationWebhook", marker="m_1%") == 1
    assert api.effects("createInstallationWebhook", marker="mx1") == 0
    cart = api.send("checkoutPublicCart", body=CHECKOUT).json()["data"]["id"]
    assert [api.effects("checkoutPublicCart", id=name) for name in (cart, "other")] == [1, 0]
