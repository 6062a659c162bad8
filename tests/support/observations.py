"""What to look at to see a fault: functions Api -> something comparable, or makers of such functions."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx

from tests.support.reference_api import CHECKOUT, OPERATIONS, QUERY, Api, P, client, fresh

Look = Callable[[Api], Any]
LISTS = ("searchPublicProducts", "listPublicMerchantCategories", "listPublicMerchantProducts")


def _look(take: Callable[[httpx.Response], Any], operation: str, changes: dict[str, Any]) -> Look:
    return lambda api: take(api.send(operation, **changes))


def status(operation: str, **changes: Any) -> Look:
    return _look(lambda answer: answer.status_code, operation, changes)


def has(operation: str, member: str) -> Look:
    return _look(lambda answer: member in answer.json(), operation, {})


def data_type(operation: str, **changes: Any) -> Look:
    return _look(lambda answer: type(answer.json()["data"]).__name__, operation, changes)


def media(operation: str, **changes: Any) -> Look:
    return _look(lambda answer: answer.headers["content-type"], operation, changes)


def text_of(operation: str, part: str, **changes: Any) -> Look:
    return _look(lambda answer: part in answer.text, operation, changes)


def length(operation: str, **changes: Any) -> Look:
    return _look(lambda answer: len(answer.content) > 0, operation, changes)


def meta_types(api: Api) -> list[str]:
    return [type(api.send(name).json()["meta"]).__name__ for name in LISTS]


def first_bytes(api: Api) -> bytes:
    return api.send("getApiKeyIdentity").content[:1]


def error_type(api: Api) -> str:
    return type(api.send("getApiKeyIdentity", caller=None).json()).__name__


def validation_members(api: Api) -> list[str]:
    assert api.send("checkoutPublicCart", id="x").json().keys() == {"error", "requestId"}
    return sorted(api.send("checkoutPublicCart", body={}).json())


def truncated_key(api: Api) -> int:
    return api.status("getApiKeyIdentity", caller=api.server.credentials["full"][:-3])


def key_in_query(api: Api) -> int:
    return api.status("getApiKeyIdentity", caller=None, query={"api_key": api.server.credentials["full"]})


def effect_of_forbidden(api: Api) -> tuple[int, int]:
    return api.status("revokePublicCart", caller="none"), api.effects("revokePublicCart")


def foreign(operation: str, kind: str) -> Look:
    return lambda api: api.status(operation, id=api.make(kind, "foreign")["id"])


def dotted_path(api: Api) -> int:
    key = {"Authorization": f"Bearer {api.server.credentials['full']}"}
    return api.http.get(f"{api.base}{P}/open/storefront/carts/x%2f..%2f..%2f..%2fidentity", headers=key).status_code


def replay_of(operation: str) -> Look:
    def looked(api: Api) -> tuple[int, int, bool, int]:
        one, two = api.twice(operation)
        return one.status_code, two.status_code, one.json() == two.json(), api.effects(operation)

    return looked


def key_on_other_operation(api: Api) -> str:
    key, cart = fresh(), api.make("cart", "open")["id"]
    api.send("quotePublicCart", id=cart, key=key)
    return str(api.send("revokePublicCart", id=cart, key=key).json()["data"]["state"])


def key_on_other_id(api: Api) -> bool:
    key = fresh()
    answers = [api.send("quotePublicCart", key=key).json()["data"]["id"] for _ in range(2)]
    return answers[0] != answers[1]


def key_of_other_installation(api: Api) -> bool:
    one, two = api.twice("createInstallationWebhook", {"caller": "other-installation"})
    return bool(one.json() != two.json())


def mismatch(operation: str) -> Look:
    """The second body differs in one letter."""
    bodies = {
        "createInstallationWebhook": [{"url": f"https://hooks.example/{x}", "events": ["e"]} for x in "ab"],
        "checkoutPublicCart": [{**CHECKOUT, "notes": [x]} for x in "ab"],
        "removePublicCartPromotion": [{"reason": x} for x in "ab"],
    }[operation]

    def looked(api: Api) -> tuple[int, int]:
        _, second = api.twice(operation, {"body": bodies[1]}, body=bodies[0])
        return second.status_code, api.effects(operation)

    return looked


def nested_mismatch(api: Api) -> int:
    other = {**CHECKOUT, "buyer": {"email": "b@client.example"}}
    return api.twice("checkoutPublicCart", {"body": other})[1].status_code


def empty_key(api: Api) -> tuple[int, int]:
    answers = api.twice("createInstallationWebhook", key="")
    return answers[1].status_code, api.effects("createInstallationWebhook")


def _limit(api: Api, limit: int, window_s: float = 60) -> None:
    api.http.post(f"{api.control}/rate-limit", json={"limit": limit, "window_s": window_s})


def after_429(api: Api) -> int:
    ready = api.prepare("revokePublicCart")
    _limit(api, 0)
    assert api.raw("revokePublicCart", **ready).status_code == 429
    api.http.delete(f"{api.control}/rate-limit")
    return api.raw("revokePublicCart", **ready).status_code


def after_403(api: Api) -> int:
    ready = api.prepare("revokePublicCart")
    assert api.raw("revokePublicCart", **{**ready, "caller": "none"}).status_code == 403
    return api.raw("revokePublicCart", **ready).status_code


def parallel_duplicates(api: Api) -> tuple[set[int], bool]:
    answers = api.parallel("createInstallationWebhook", 6, one_key=True)
    return {answer.status_code for answer in answers}, api.effects("createInstallationWebhook") == 1


def parallel_worst(api: Api) -> int:
    return max(answer.status_code for answer in api.parallel("createInstallationWebhook", 6, one_key=True))


def parallel_winners(api: Api) -> bool:
    answers = api.parallel("checkoutPublicCart", 4, one_key=False)
    return [answer.status_code for answer in answers].count(200) == 1


def replay_after_others(api: Api) -> bool:
    ready = api.prepare("createInstallationWebhook")
    first = api.raw("createInstallationWebhook", **ready).json()
    for _ in range(5):
        api.send("createInstallationWebhook")
    return bool(api.raw("createInstallationWebhook", **ready).json() == first)


def replay_on_other_connections(api: Api) -> int:
    ready = api.prepare("createInstallationWebhook")
    for _ in range(12):
        with client() as http:
            api.raw("createInstallationWebhook", **ready, http=http)
    return api.effects("createInstallationWebhook")


def replay_to(caller: str) -> Look:
    return lambda api: api.twice("revokePublicCart", {"caller": caller})[1].status_code


def after(first: str, second: str, state: str) -> Look:
    def looked(api: Api) -> int:
        cart = api.make("cart", state)["id"]
        assert api.status(first, id=cart) == 200
        return api.status(second, id=cart)

    return looked


def session(first: str, second: str) -> Look:
    def looked(api: Api) -> int:
        made = api.make("session", "open")
        own = {"id": made["id"], "body": {"ticket": made["ticket"]}}
        assert api.status(first, **own) == 200
        return api.status(second, **own)

    return looked


def _limited(api: Api) -> httpx.Response:
    _limit(api, 1)
    answers = [api.send("getApiKeyIdentity") for _ in range(2)]
    assert answers[0].status_code == 200
    return answers[1]


def limited_status(api: Api) -> int:
    return _limited(api).status_code


def limited_media(api: Api) -> str:
    return str(_limited(api).headers["content-type"])


def retry_after(api: Api) -> bool:
    return str(_limited(api).headers["retry-after"]).isdigit()


def recovers(api: Api) -> bool:
    _limit(api, 1, 0.05)
    deadline = time.monotonic() + 0.5
    for _ in range(3):
        api.send("getApiKeyIdentity")
    while time.monotonic() < deadline:
        if api.status("getApiKeyIdentity") == 200:
            return True
    return False


def passed(limit: int, times: int) -> Look:
    """How many of some requests are answered 200 where that is the limit."""

    def look(api: Api) -> int:
        _limit(api, limit)
        return [api.status("getApiKeyIdentity") for _ in range(times)].count(200)

    return look


def beside_a_limited_one(operation: str = "getApiKeyIdentity", caller: str = "limited") -> Look:
    """What another key, or another operation, is answered while one is limited."""

    def look(api: Api) -> int:
        assert _limited(api).status_code == 429
        return api.status(operation, caller=caller)

    return look


def has_retry_after(api: Api) -> bool:
    return "retry-after" in _limited(api).headers


def limited_of(times: int) -> Look:
    """How many of some requests are answered 429, where no limit was set."""
    return lambda api: [api.status("getPublicRuntimeConfig") for _ in range(times)].count(429)


def refilled_early(api: Api) -> bool:
    """Whether one more passes before the window is over."""
    _limit(api, 4, 4)
    assert [api.status("getApiKeyIdentity") for _ in range(5)].count(429) == 1
    time.sleep(1.5)
    return api.status("getApiKeyIdentity") == 200


def recovers_while_asked(api: Api) -> bool:
    _limit(api, 1, 0.8)
    asked = []
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and asked.count(200) < 2:
        asked.append(api.status("getApiKeyIdentity"))
    return asked.count(200) == 2


def _query(**changes: str | None) -> dict[str, str]:
    return {name: value for name, value in {**QUERY, **changes}.items() if value is not None}


def searched(**changes: str | None) -> Look:
    return status("searchPublicProducts", query=_query(**changes))


def searched_items(**changes: str | None) -> Look:
    """The status of a search, and the number of its items where it is 200."""

    def looks(api: Api) -> tuple[int, int | None]:
        answer = api.http.get(f"{api.base}{OPERATIONS['searchPublicProducts'].path}", params=_query(**changes))
        return answer.status_code, len(answer.json()["data"]) if answer.status_code == 200 else None

    return looks


def cursor_of(place: str) -> Look:
    """The type of the cursor that leads from the first page to the second one; None without one."""

    def looks(api: Api) -> type | None:
        value = api.send("searchPublicProducts", query=_query()).json()
        for name in place.split("."):
            value = value.get(name, {})
        return type(value) if value != {} else None

    return looks


def raw_query(operation: str, query: str) -> Look:
    """The status of a public read whose query is sent as it is."""

    def looks(api: Api) -> int:
        url = httpx.URL(f"{api.base}{OPERATIONS[operation].path}").copy_with(query=query.encode())
        return api.http.get(url).status_code

    return looks


def scopes_of(caller: str) -> Look:
    return _look(lambda answer: answer.json()["data"]["scopes"], "getApiKeyIdentity", {"caller": caller})


def installation_of(caller: str) -> Look:
    return _look(lambda answer: answer.json()["data"]["installationId"], "getApiKeyIdentity", {"caller": caller})


def identity_has(member: str) -> Look:
    return _look(lambda answer: member in answer.json()["data"], "getApiKeyIdentity", {})


def scopes_type(api: Api) -> str:
    scopes = api.send("getApiKeyIdentity").json()["data"]["scopes"]
    return f"list of {type(scopes[0]).__name__}" if isinstance(scopes, list) else type(scopes).__name__


def found(**changes: str | None) -> Look:
    return _look(lambda answer: len(answer.json()["data"]), "searchPublicProducts", {"query": _query(**changes)})


def pages_differ(api: Api) -> bool:
    one, two = (api.send("searchPublicProducts", query=_query(page=page)).json()["data"] for page in "12")
    return bool(one != two)


def projection_members(api: Api) -> bool:
    one, two = (api.send(f"{name}").json()["data"] for name in HOSTED)
    return bool(one.keys() == two.keys())


HOSTED = ("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser")


def created_then_changed(api: Api) -> int:
    made = api.send("createInstallationWebhook").json()["data"]
    return api.status("updateInstallationWebhook", id=made["id"])


def events_kept(api: Api) -> bool:
    made = api.send("createInstallationWebhook").json()["data"]
    return bool(api.send("updateInstallationWebhook", id=made["id"]).json()["data"]["events"] == made["events"])


def effects_of(operation: str) -> Look:
    """The text with which the control app shows the effects of an operation."""
    return lambda api: api.http.get(f"{api.control}/effects/{operation}").text


def key_again(*, capitals: bool = False, **changes: Any) -> Look:
    """The status of another body under a used key: in capitals, or as another caller."""

    def status(api: Api) -> int:
        key, endpoint = str(uuid.uuid4()), api.make("webhook", "active")["id"]
        assert api.status("updateInstallationWebhook", id=endpoint, key=key, body={"description": "a"}) == 200
        key = key.upper() if capitals else key
        return api.status("updateInstallationWebhook", id=endpoint, key=key, body={"description": "b"}, **changes)

    return status
