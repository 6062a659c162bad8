"""What careless implementations do, each beside a target that does it right: the one is seen, the other is not."""

from __future__ import annotations

import base64
import itertools
import json
import string
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.checks.check_authentication import another_spelling_of_the_path_opens_no_way_around_authentication
from conformance.checks.check_conflicts import a_state_conflict_is_answered_409
from conformance.checks.check_hosted import a_ticket_that_nobody_issued_opens_nothing
from conformance.checks.check_idempotency_conflicts import (
    _move_character,
    _swap,
    of_two_payloads_at_once_one_is_answered_200,
    the_same_values_in_other_places_are_another_payload,
)
from conformance.checks.check_search import another_page_shows_other_items
from conformance.checks.check_search_values import a_search_text_ends_at_the_stated_length
from conformance.checks.support.case import Case
from conformance.checks.support.forged_secrets import FORGED, MADE_UP
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Effect, Search, Transition
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT, KEY, key_of

QUOTE, SEARCH = CONTRACT.operations["quotePublicCart"], CONTRACT.operations["searchPublicProducts"]
CARTS = {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(60)))}}
BOTH = OperationFacts(body={"reason": "too late", "actor": "somebody"}, path={"cartId": "{cart.id}"})


# Paths


@pytest.mark.parametrize("how", ["refuses", "another page", "a slash behind it", "a slash before it", "capitals"])
def test_a_way_around_authentication_is_another_spelling_of_the_path(judged: Any, answer: Any, how: str) -> None:
    """A target may show something else at unknown paths; what it may not do is carry the operation out."""
    opened = {
        "a slash behind it": lambda path: path.endswith("/"),
        "a slash before it": lambda path: path.startswith("//"),
        "capitals": lambda path: path.isupper() or "/API/" in path,
    }.get(how, lambda path: False)

    def script(arrived: Any) -> bytes:
        path = arrived.target
        if KEY in "".join(arrived.all("authorization")) or opened(path):
            return bytes(answer(200, {"data": {}}))
        if how == "another page" and not path.startswith("/api/v1/open/identity"):
            return bytes(answer(200, body=b"<html>the shop</html>"))
        return bytes(answer(401, {"error": "no"}))

    result, _ = judged(script, another_spelling_of_the_path_opens_no_way_around_authentication)
    right = how in ("refuses", "another page")
    assert result.outcome is (Outcome.PASSED if right else Outcome.FAILED), result
    assert right or how in result.message


# Tickets and codes


@given(st.text("abcdefABCDEF0123456789xyzXYZ-_.", min_size=8, max_size=60))
def test_what_is_made_up_is_of_the_same_make(secret: str) -> None:
    """As long, of the same kinds of characters; near its end it differs in one, which is none of the last two."""
    made, near = MADE_UP["made-up"](secret), MADE_UP["near-its-end"](secret)
    for name in ("at-its-start", "in-its-middle"):
        assert sum(one != other for one, other in zip(secret, FORGED[name](secret), strict=True)) <= 1
    kinds = [(c.isdigit(), c.isupper(), c.islower()) for c in secret]
    assert [(c.isdigit(), c.isupper(), c.islower()) for c in made] == kinds
    assert sum(one != other for one, other in zip(secret, near, strict=True)) <= 1
    assert near[-2:] == secret[-2:]
    if any(c.isalnum() for c in secret):
        assert made != secret


ENCODINGS = {
    "base64": lambda raw: base64.b64encode(raw).decode(),
    "base64 without padding": lambda raw: base64.b64encode(raw).decode().rstrip("="),
    "base64url": lambda raw: base64.urlsafe_b64encode(raw).decode().rstrip("="),
    "base32": lambda raw: base64.b32encode(raw).decode().rstrip("="),
    "base32 in lower case": lambda raw: base64.b32encode(raw).decode().rstrip("=").lower(),
    "hexadecimal": bytes.hex,
    "hexadecimal with a prefix": lambda raw: f"tkt_{raw.hex()}",
}


def decode(kind: str, text: str) -> bytes:
    """As lenient as decoders are: bits that make no whole byte are dropped, and so is what is not a digit."""
    text = text.removeprefix("tkt_").rstrip("=")
    if kind.startswith("hex"):
        return bytes.fromhex(text[: len(text) // 2 * 2])
    alphabet = string.ascii_uppercase + ("234567" if "32" in kind else string.ascii_lowercase + string.digits + "+/")
    text = text.upper() if "32" in kind else text.replace("-", "+").replace("_", "/")
    bits = "".join(f"{alphabet.index(c):0{5 if '32' in kind else 6}b}" for c in text if c in alphabet)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits) // 8 * 8, 8))


@given(st.binary(min_size=8, max_size=40), st.sampled_from(list(ENCODINGS)))
def test_a_forged_end_is_other_bytes_in_every_encoding(raw: bytes, kind: str) -> None:
    """Whatever padding a lenient decoder drops, it does not get the bytes of the secret; or the secret is unchanged."""
    secret = ENCODINGS[kind](raw)
    assert decode(kind, secret) == raw
    for name in FORGED.keys() - ({"at-its-start", "made-up"} if kind.endswith("prefix") else {"made-up"}):
        changed = FORGED[name](secret)
        assert changed == secret or decode(kind, changed) != raw
    assert FORGED["cut"](secret) != secret and FORGED["longer"](secret) != secret
    if kind.startswith("hex"):
        assert FORGED["at-its-end"](secret) != secret


@pytest.mark.parametrize("change", list(FORGED))
@pytest.mark.parametrize("compared", [None, 24, 12, 0], ids=["all of it", "its length", "its start", "nothing"])
def test_a_ticket_is_compared_to_its_end(judged: Any, answer: Any, change: str, compared: int | None) -> None:
    sessions = tuple({"id": f"s{number}", "ticket": f"tkt_{number:020x}"} for number in range(0x1000, 0x1020))
    tickets = {session["id"]: session["ticket"] for session in sessions}
    on = CONTRACT.operations["cancelHostedCheckoutBrowser"]

    def script(arrived: Any) -> bytes:
        name = arrived.target.rpartition("/checkout/")[2].partition("/")[0]
        good = arrived.json["ticket"][:compared] == tickets[name][:compared]
        return bytes(answer(200 if good else 404, {"data": {}} if good else {"error": "no"}))

    async def law(case: Case) -> None:
        await a_ticket_that_nobody_issued_opens_nothing(case, FORGED[change])

    result, _ = judged(
        script,
        law,
        on,
        fixtures={"session": {"open": Fixture("session", "open", values=sessions)}},
        operations={on.id: OperationFacts(body={"ticket": "{session.ticket}"}, path={"sessionId": "{session.id}"})},
    )
    unseen = {None: set(FORGED), 24: FORGED.keys() - {"longer"}, 12: {"made-up", "at-its-start"}, 0: set()}
    seen = change not in unseen[compared]
    found = Outcome.WARNED if change == "at-its-start" else Outcome.FAILED  # the label before a secret may not count
    assert result.outcome is (found if seen else Outcome.PASSED), result


# Payloads


def canonical(body: Any) -> str:
    return json.dumps(body, sort_keys=True)


PRINTS = {
    "where they stand": canonical,
    "what they are": lambda body: json.dumps(sorted(body.values())),
    "one after the other": lambda body: "".join(body.values()),
}


@pytest.mark.parametrize("change", [_swap, _move_character], ids=["swapped", "moved"])
@pytest.mark.parametrize("counts", list(PRINTS))
def test_the_same_values_elsewhere_are_seen(judged: Any, answer: Any, change: Any, counts: str) -> None:
    """A fingerprint that forgets where values stand, or where one ends, takes two payloads for one."""
    known: dict[str, str] = {}

    def script(arrived: Any) -> bytes:
        told = PRINTS[counts](arrived.json)
        same = known.setdefault(key_of(arrived), told) == told
        return bytes(answer(200 if same else 409, {"data": {}} if same else {"error": "conflict"}))

    async def law(case: Case) -> None:
        await the_same_values_in_other_places_are_another_payload(case, change)

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, operations={QUOTE.id: BOTH})
    missed = (counts, change) in (("what they are", _swap), ("one after the other", _move_character))
    assert result.outcome is (Outcome.FAILED if missed else Outcome.PASSED), result


def test_bodies_whose_texts_cannot_change_places_say_nothing(judged: Any, answer: Any) -> None:
    """What is refused alone is no other payload."""

    def script(arrived: Any) -> bytes:
        good = arrived.json["reason"] == BOTH.body["reason"]  # type: ignore[index,call-overload]
        return bytes(answer(200 if good else 400, {"data": {}} if good else {"error": "no"}))

    async def law(case: Case) -> None:
        await the_same_values_in_other_places_are_another_payload(case, _swap)

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, operations={QUOTE.id: BOTH})
    assert result.outcome is Outcome.INAPPLICABLE, result


@pytest.mark.parametrize("compares", [True, False])
def test_of_two_payloads_at_once_one_is_the_calls(judged: Any, answer: Any, *, compares: bool) -> None:
    """A duplicate that waits for the first one gets its answer only if it is its duplicate."""
    known: dict[str, str] = {}

    def script(arrived: Any) -> bytes:
        same = known.setdefault(key_of(arrived), canonical(arrived.json)) == canonical(arrived.json)
        good = same or not compares
        return bytes(answer(200 if good else 409, {"data": {}} if good else {"error": "conflict"}))

    facts = replace(BOTH, bodies=({"reason": "too early", "actor": "somebody"},))
    law = of_two_payloads_at_once_one_is_answered_200
    result, _ = judged(script, law, QUOTE, fixtures=CARTS, operations={QUOTE.id: facts})
    assert result.outcome is (Outcome.PASSED if compares else Outcome.FAILED), result


# States and pages


@pytest.mark.parametrize("leaves_a_trace", [True, False])
def test_a_conflict_leaves_everything_as_it_was(judged: Any, answer: Any, *, leaves_a_trace: bool) -> None:
    """A 409 for an operation that was carried out all the same is seen where the profile tells its effect."""
    made: dict[str, int] = {}
    called: list[str] = []

    def script(arrived: Any) -> bytes:
        cart = arrived.target.rpartition("/")[2] if arrived.method == "GET" else arrived.target.split("/")[-2]
        if arrived.method == "GET":
            return bytes(answer(200, {"count": made.get(cart, 0)}))
        again = cart in called
        called.append(cart)
        made[cart] = made.get(cart, 0) + int(not again or leaves_a_trace)
        return bytes(answer(409 if again else 200, {"error": "no"} if again else {"data": {}}))

    told = Transition(QUOTE.id, "cart.open", after=(QUOTE.id,))

    async def law(case: Case) -> None:
        url = case.profile.base_url + "/effects/{cart.id}"
        case.profile.effects[QUOTE.id] = (Effect("/count", http=HttpCall(url), step=1),)  # type: ignore[index]
        await a_state_conflict_is_answered_409(case, told)

    result, _ = judged(script, law, QUOTE, fixtures=CARTS, operations={QUOTE.id: BOTH}, transitions=(told,), effects={})
    assert result.outcome is (Outcome.FAILED if leaves_a_trace else Outcome.PASSED), result


@pytest.mark.parametrize("third", [2, 1], ids=["others", "the second again"])
def test_a_page_further_on_shows_others_too(judged: Any, answer: Any, third: int) -> None:
    def script(arrived: Any) -> bytes:
        asked = {
            name: int(values[0]) for name, values in parse_qs(urlsplit(arrived.target).query).items() if "age" in name
        }
        page = (asked["page"] - 1) if asked["page"] != 3 else third
        start = page * asked["pageSize"]
        items = [{"id": f"p{number}"} for number in range(20)]
        return bytes(answer(200, {"data": items[start : start + asked["pageSize"]]}))

    query = {"q": "gift", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 2}
    facts = Search(query=query, page_base=1, stable_sort=True, item_id="/id")
    result, _ = judged(script, another_page_shows_other_items, SEARCH, search=facts)
    assert result.outcome is (Outcome.PASSED if third == 2 else Outcome.FAILED), result


@pytest.mark.parametrize("finds_nothing", [404, 200], ids=["not found", "an empty list"])
def test_a_long_text_that_finds_nothing_is_answered_as_any_other(judged: Any, answer: Any, finds_nothing: int) -> None:
    """A page that is not there may be answered 404, the first one of a search without hits too."""

    def script(arrived: Any) -> bytes:
        text = parse_qs(urlsplit(arrived.target).query)["q"][0]
        status = 200 if text == "gift" else 400 if len(text) > 20 else 404 if len(text) == 20 else finds_nothing
        return bytes(answer(status, {"data": []} if status == 200 else {"error": "none"}))

    query = {"q": "gift", "locale": "en", "market": "US", "sort": "name", "page": 1, "pageSize": 2}
    facts = Search(query=query, q_max=20, past_the_end="not_found")
    result, _ = judged(
        script, partial(a_search_text_ends_at_the_stated_length, characters=("a", "a")), SEARCH, search=facts
    )
    assert result.outcome is (Outcome.INAPPLICABLE if finds_nothing == 404 else Outcome.FAILED), result


def test_where_equal_calls_at_once_are_several_it_is_not_about_payloads(judged: Any, answer: Any) -> None:
    """A target without any lock carries everything out: that is IDEM-7's row, and one is enough."""
    count = itertools.count()
    facts = replace(BOTH, bodies=({"reason": "too early", "actor": "somebody"},))
    law = of_two_payloads_at_once_one_is_answered_200
    result, _ = judged(
        lambda arrived: bytes(answer(200, {"data": {"number": next(count)}})),
        law,
        QUOTE,
        fixtures=CARTS,
        operations={QUOTE.id: facts},
    )
    assert result.outcome is Outcome.INCONCLUSIVE, result
