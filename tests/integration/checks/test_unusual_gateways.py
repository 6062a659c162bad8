"""Services that trim, cut, lock or count, and gateways before them: next to each the broken one that looks like it."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from conformance.checks.check_answers import a_store_of_every_state_is_listed
from conformance.checks.check_authentication import headers_of_a_gateway_open_no_way_around_authentication
from conformance.checks.check_conflicts import a_state_conflict_has_the_stated_status
from conformance.checks.check_dpop import a_client_does_not_choose_the_host_of_the_target
from conformance.checks.check_generated import a_generated_id_names_nothing
from conformance.checks.check_hosted import a_ticket_that_nobody_issued_opens_nothing
from conformance.checks.check_idempotency_conflicts import a_change_past_the_first_kibibyte_is_answered_409
from conformance.checks.check_idempotency_isolation import a_known_key_is_no_credential
from conformance.checks.check_idempotency_payloads import a_switch_that_is_off_is_not_left_out
from conformance.checks.check_oauth import (
    _DEFECTIVE_VERIFIERS,
    _WITH_SPACE,
    a_defective_verifier_is_refused,
    the_exchange_answers_a_token_in_data,
)
from conformance.checks.check_oauth import a_verifier_with_white_space_around_it_is_refused as with_space
from conformance.checks.check_public import an_unknown_merchant_is_answered_404
from conformance.checks.check_search_values import a_search_text_ends_at_the_stated_length
from conformance.checks.support.case import Case
from conformance.checks.support.forged_secrets import FORGED
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Idempotency, OAuth, Search, Transition
from conformance.profile.model import Credential, Schemas, SecretSource
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT, KEY, key_of

OPERATIONS = CONTRACT.operations
QUOTE, TOKEN = OPERATIONS["quotePublicCart"], OPERATIONS["exchangeOAuthToken"]
READ = OPERATIONS["getStorefrontOrderCancellationEligibility"]
PRODUCTS, SEARCH = OPERATIONS["listPublicMerchantProducts"], OPERATIONS["searchPublicProducts"]
CARTS = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(60)))}}


def is_known(arrived: Any) -> bool:
    return KEY in "".join(arrived.all("authorization"))


# The token exchange


def exchanging(judged: Any, script: Any, law: Any, **facts: Any) -> Any:
    """The result of a check of the token exchange; the target gives its codes for a challenge at /codes."""

    async def with_a_source(case: Case) -> None:
        call = HttpCall(f"{case.profile.base_url}/codes", method="POST", json={"challenge": "{pkce.challenge}"})
        fixtures: Any = case.profile.fixtures
        fixtures["oauth"] = {"code": Fixture("oauth", "code", http=call)}
        await law(case)

    operations = {TOKEN.id: OperationFacts(body={"code": "{oauth.code}", "verifier": "{pkce.verifier}"})}
    oauth = OAuth("client", "https://c.example/cb", code_verifier="/verifier", **facts)
    return judged(script, with_a_source, TOKEN, oauth=oauth, fixtures={}, operations=operations)[0]


@pytest.mark.parametrize("reads", ["trimmed", "as sent", "nothing"])
def test_a_service_may_trim_all_texts(judged: Any, answer: Any, reads: str) -> None:
    """What it takes for a verifier is one; any other text is not."""

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            return bytes(answer(200, {"code": arrived.json["challenge"]}))
        stated = arrived.json.get("verifier")
        verifier = stated if isinstance(stated, str) else ""
        digest = hashlib.sha256((verifier.strip() if reads == "trimmed" else verifier).encode()).digest()
        good = base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == arrived.json["code"] or reads == "nothing"
        return bytes(answer(200 if good else 400, {"data": {}} if good else {"error": "no"}))

    async def law(case: Case) -> None:
        for defect in _DEFECTIVE_VERIFIERS.values():
            await a_defective_verifier_is_refused(case, defect)

    async def of_space(case: Case) -> None:
        for defect in _WITH_SPACE.values():
            await with_space(case, defect)

    assert exchanging(judged, script, law).outcome is (Outcome.FAILED if reads == "nothing" else Outcome.PASSED)
    seen = Outcome.PASSED if reads == "as sent" else Outcome.WARNED
    assert exchanging(judged, script, of_space).outcome is seen


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ({"pass": "t"}, ""),
        ({"pass": 7}, "a number, and no text"),
        ({"pass": None}, "null"),
        ({}, "no token at /data/pass"),
    ],
)
def test_a_token_is_a_text(judged: Any, answer: Any, data: dict[str, Any], says: str) -> None:
    """What is there instead is named."""
    result = exchanging(
        judged,
        lambda arrived: answer(200, {"code": "c"} if arrived.target == "/codes" else {"data": data}),
        the_exchange_answers_a_token_in_data,
        access_token="/data/pass",
    )
    assert result.outcome is (Outcome.FAILED if says else Outcome.PASSED)
    assert says in result.message


@pytest.mark.parametrize("stated", [True, False])
def test_a_service_may_rely_on_a_proxy_for_its_host(judged: Any, answer: Any, *, stated: bool) -> None:
    """Unless the URL of its token endpoint is stated: then that one alone is right."""
    url = f"https://shop.example{TOKEN.path}"

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            return bytes(answer(200, {"code": arrived.json["challenge"]}))
        claims = arrived.all("dpop")[0].split(".")[1]
        htu = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["htu"]
        own = "shop.example" if stated else arrived.all("host")[0]
        good = urlsplit(htu).netloc == (arrived.all("x-forwarded-host") or [own])[0]
        return bytes(answer(200 if good else 401, {"data": {}} if good else {"error": "htu"}))

    law, facts = a_client_does_not_choose_the_host_of_the_target, {"token_url": url if stated else ""}
    assert exchanging(judged, script, law, **facts).outcome is (Outcome.FAILED if stated else Outcome.WARNED)


# Tickets


@pytest.mark.parametrize("reads", ["behind its label", "whole", "nothing"])
@pytest.mark.parametrize("locks", [True, False])
def test_a_wrong_ticket_may_lock_its_session(judged: Any, answer: Any, reads: str, *, locks: bool) -> None:
    """A locked session may look like a used one, and a ticket's label need not be read."""
    consume, made = OPERATIONS["consumeHostedCheckoutBrowserTicket"], range(200)
    tickets = [{"id": f"session-{n}", "ticket": f"tkt_{n:05}Abcdefgh"} for n in made]
    sessions = {"session": {"open": Fixture("session", "open", values=tuple(tickets))}}
    closed: set[str] = set()

    def script(arrived: Any) -> bytes:
        session, ticket = arrived.target.split("/")[-2], arrived.json["ticket"]
        own = f"tkt_{int(session.partition('-')[2]):05}Abcdefgh"
        good = {"whole": ticket == own, "behind its label": ticket[4:] == own[4:], "nothing": True}[reads]
        if session in closed:
            return bytes(answer(409, {"error": "closed"}))
        if good or locks:
            closed.add(session)
        return bytes(answer(200 if good else 404, {"data": {}} if good else {"error": "ticket"}))

    async def law(case: Case) -> None:
        await a_ticket_that_nobody_issued_opens_nothing(case, FORGED["at-its-start"])

    facts = OperationFacts(body={"ticket": "{session.ticket}"}, path={"sessionId": "{session.id}"})
    transitions = (Transition(consume.id, "session.open", leads_to="session.open"),)
    result, _ = judged(script, law, consume, fixtures=sessions, operations={consume.id: facts}, transitions=transitions)
    expected = Outcome.WARNED if locks or reads != "whole" else Outcome.PASSED
    assert result.outcome is expected, result


# Ids and stores


@pytest.mark.parametrize("reads", ["numbers", "anything"])
def test_a_generated_id_may_be_a_number_that_exists(judged: Any, answer: Any, reads: str) -> None:
    """Orders 1 to 99 exist, and of a text the number at its beginning may be read."""

    def script(arrived: Any) -> bytes:
        order = unquote(arrived.target.split("/orders/")[1].partition("/")[0], errors="replace")
        number = re.match(r"\s*(\d{1,9})(?!\d)", order)
        good = reads == "anything" or (number is not None and 0 < int(number[1]) < 100)
        return bytes(answer(200 if good else 404, {"data": {}} if good else {"error": "no"}))

    facts = {
        "fixtures": {"order": {"open": Fixture("order", "open", values=({"id": "17"},), reusable=True)}},
        "operations": {READ.id: OperationFacts(path={"orderId": "{order.id}"})},
    }
    result, _ = judged(script, a_generated_id_names_nothing, READ, examples=400, **facts)
    assert result.outcome is (Outcome.PASSED if reads == "numbers" else Outcome.FAILED), result


@pytest.mark.parametrize("shows", [[], [{"id": "p1"}]], ids=["nothing", "a product"])
def test_an_unknown_store_may_have_an_empty_list(judged: Any, answer: Any, shows: list[Any]) -> None:
    """The interface does not tie slugs to 404; PUB-3 warns of it."""

    def script(arrived: Any) -> bytes:
        own = arrived.target.split("/merchants/")[1].startswith("acme-outlet/")
        return bytes(answer(200, {"data": [{"id": "p7"}] if own else shows}))

    facts = {"operations": {PRODUCTS.id: OperationFacts(path={"slug": "acme-outlet"})}}
    result, _ = judged(script, a_generated_id_names_nothing, PRODUCTS, **facts)
    assert result.outcome is (Outcome.FAILED if shows else Outcome.PASSED), result


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(400, Outcome.PASSED), (404, Outcome.PASSED), (409, Outcome.FAILED), (401, Outcome.INCONCLUSIVE)],
)
def test_slugs_may_have_a_form(judged: Any, answer: Any, status: int, outcome: Outcome) -> None:
    """A 401 is PUB-1's question."""

    def script(arrived: Any) -> bytes:
        own = "/merchants/1001/" in arrived.target
        return bytes(answer(200 if own else status, {"data": []} if own else {"error": "no"}))

    facts = {"operations": {PRODUCTS.id: OperationFacts(path={"slug": "1001"})}}
    assert judged(script, an_unknown_merchant_is_answered_404, PRODUCTS, **facts)[0].outcome is outcome


@pytest.mark.parametrize("query", [{"category": "shoes"}, {}])
def test_what_a_store_lacks_may_be_what_the_query_names(judged: Any, answer: Any, query: dict[str, str]) -> None:
    def script(arrived: Any) -> bytes:
        missing = "/new/products" in arrived.target and (not query or "shoes" in arrived.target)
        return bytes(answer(404 if missing else 200, {"error": "no"} if missing else {"data": []}))

    stores = {state: Fixture("store", state, values=({"slug": state},), reusable=True) for state in ("old", "new")}
    facts = {
        "fixtures": {"store": stores},
        "operations": {PRODUCTS.id: OperationFacts(path={"slug": "{store.slug}"}, query=query)},
    }

    async def law(case: Case) -> None:
        await a_store_of_every_state_is_listed(case, ("store", "new"))

    result, _ = judged(script, law, PRODUCTS, **facts)
    assert result.outcome is (Outcome.PASSED if query else Outcome.FAILED), result


@pytest.mark.parametrize(("longest", "limit"), [(1200, 2000), (500, 2000), (100, 2000)])
@pytest.mark.parametrize("counts", ["characters", "bytes"])
def test_a_url_may_have_a_limit(judged: Any, answer: Any, longest: int, limit: int, counts: str) -> None:
    """A gateway refuses what is longer; a service that counts bytes is found where a URL is short enough."""

    def script(arrived: Any) -> bytes:
        if len(arrived.target) > limit:
            return bytes(answer(414, {"error": "long"}))
        q = parse_qs(urlsplit(arrived.target).query)["q"][0]
        good = len(q if counts == "characters" else q.encode()) <= longest
        return bytes(answer(200 if good else 400, {"data": []} if good else {"error": "q"}))

    async def law(case: Case) -> None:
        await a_search_text_ends_at_the_stated_length(case, ("a", "a"))
        await a_search_text_ends_at_the_stated_length(case, ("é", "\U0001f642"))

    query = {"q": "a", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 2}
    result, _ = judged(script, law, SEARCH, search=Search(query=query, q_max=longest))
    expected = Outcome.PASSED if longest == 100 else Outcome.INAPPLICABLE
    assert result.outcome is (Outcome.FAILED if (counts, longest) == ("bytes", 100) else expected), result


# Calls


@pytest.mark.parametrize("service", ["locks", "right", "wrong"])
def test_a_resource_may_be_in_use_for_a_moment(judged: Any, answer: Any, service: str) -> None:
    """Then it is answered 409, whatever its state, and a moment later as stated."""
    calls: dict[str, itertools.count[int]] = {}

    def script(arrived: Any) -> bytes:
        cart = arrived.target.split("/carts/")[1].partition("/")[0]
        number = next(calls.setdefault(cart, itertools.count()))
        if number == 0:
            return bytes(answer(200, {"data": {}}))
        is_locked = service == "wrong" or (service == "locks" and number == 1)
        return bytes(answer(409 if is_locked else 404, {"error": "no"}))

    transition = Transition(QUOTE.id, "cart.open", after=(QUOTE.id,), status=404)

    async def law(case: Case) -> None:
        await a_state_conflict_has_the_stated_status(case, transition)

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, transitions=(transition,))
    assert result.outcome is (Outcome.FAILED if service == "wrong" else Outcome.PASSED), result


@pytest.mark.parametrize("shows", [True, False])
def test_a_service_may_cut_long_texts(judged: Any, answer: Any, *, shows: bool) -> None:
    """Two texts may be one then. One that shows the whole text does not cut it."""
    known: dict[str, tuple[Any, bytes]] = {}

    def script(arrived: Any) -> bytes:
        text = arrived.json["reason"]
        made = bytes(answer(200, {"data": {"id": len(known)} | ({"reason": text} if shows else {})}))
        first, reply = known.setdefault(key_of(arrived), (text[:1024], made))
        return reply if first == text[:1024] else bytes(answer(409, {"error": "key"}))

    facts = {"operations": {QUOTE.id: OperationFacts(body={"reason": "a"}, path={"cartId": "{cart.id}"})}}
    result, _ = judged(script, a_change_past_the_first_kibibyte_is_answered_409, QUOTE, fixtures=CARTS, **facts)
    assert result.outcome is (Outcome.FAILED if shows else Outcome.WARNED), result


@pytest.mark.parametrize(("compared", "outcome"), [(256, Outcome.FAILED), (400, Outcome.PASSED)])
def test_a_text_that_is_bounded_is_compared_to_its_end(
    judged: Any, answer: Any, compared: int, outcome: Outcome
) -> None:
    """A fingerprint of a start is seen where the schema allows no text of a kibibyte."""
    known: dict[str, bytes] = {}

    def script(arrived: Any) -> bytes:
        start = arrived.body[:compared]
        is_same = known.setdefault(key_of(arrived), start) == start
        return bytes(answer(200 if is_same else 409, {"data": {}} if is_same else {"error": "key"}))

    bounded = {"type": "object", "properties": {"reason": {"type": "string", "maxLength": 300}}}
    facts = {
        "operations": {QUOTE.id: OperationFacts(body={"reason": "a"}, path={"cartId": "{cart.id}"})},
        "schemas": Schemas({"PublicCartTransitionRequest": bounded}),
    }
    result, _ = judged(script, a_change_past_the_first_kibibyte_is_answered_409, QUOTE, fixtures=CARTS, **facts)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("default", "ignores", "outcome"),
    [(True, True, Outcome.FAILED), (True, False, Outcome.PASSED), (False, True, Outcome.INAPPLICABLE)],
)
def test_a_member_that_is_false_may_be_left_out_if_that_is_the_default(
    judged: Any, answer: Any, outcome: Outcome, *, default: bool, ignores: bool
) -> None:
    known: dict[str, Any] = {}

    def script(arrived: Any) -> bytes:
        body = {name: value for name, value in arrived.json.items() if value or not ignores}
        is_same = known.setdefault(key_of(arrived), body) == body
        shown = {"state": {"active": arrived.json.get("active", default)}}
        return bytes(answer(200 if is_same else 409, {"data": shown} if is_same else {"error": "key"}))

    create = OPERATIONS["createInstallationWebhook"]
    facts: dict[str, Any] = {
        "operations": {create.id: OperationFacts(body={"url": "https://example.com/{unique}", "active": True})},
        "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({create.scope}))},
    }
    result, _ = judged(script, a_switch_that_is_off_is_not_left_out, create, **facts)
    assert result.outcome is outcome, result


@pytest.mark.parametrize(("status", "outcome"), [(409, Outcome.PASSED), (200, Outcome.FAILED)])
def test_a_known_key_may_be_that_of_another_caller(judged: Any, answer: Any, status: int, outcome: Outcome) -> None:
    seen: set[str] = set()

    def script(arrived: Any) -> bytes:
        is_first = key_of(arrived) not in seen
        seen.add(key_of(arrived))
        code = 200 if is_known(arrived) else 401 if is_first else status
        return bytes(answer(code, {"data": {}} if code == 200 else {"error": "no"}))

    async def law(case: Case) -> None:
        await a_known_key_is_no_credential(case, (lambda _, request: request.with_authorization(), 401))

    idempotency = Idempotency("header", name="Idempotency-Key")
    assert judged(script, law, QUOTE, fixtures=CARTS, idempotency=idempotency)[0].outcome is outcome


@pytest.mark.parametrize("reads", ["the URL that a gateway names", "a trusted address", "neither"])
def test_a_framework_may_rely_on_a_gateway(judged: Any, answer: Any, reads: str) -> None:
    """It then answers as the public operation that the header names, and not as the one that needs a key."""

    def script(arrived: Any) -> bytes:
        named = arrived.all("x-original-url") if reads.startswith("the URL") else []
        if "runtime-config" in arrived.target or named:
            return bytes(answer(200, {"data": {"features": []}}))
        good = is_known(arrived) or (reads.startswith("a trusted") and arrived.all("x-forwarded-for"))
        return bytes(answer(200 if good else 401, {"data": {"scopes": []}} if good else {"error": "who"}))

    result, _ = judged(script, headers_of_a_gateway_open_no_way_around_authentication)
    expected = {"the URL that a gateway names": Outcome.WARNED, "a trusted address": Outcome.FAILED}
    assert result.outcome is expected.get(reads, Outcome.PASSED), result
