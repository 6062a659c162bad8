"""What a profile says at its very edge, and what it does not say: nothing is held against the target for it."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_conflicts import a_state_conflict_is_answered_409
from conformance.checks.check_dpop import _EDGES, a_proof_is_accepted_up_to_the_stated_age
from conformance.checks.check_hosted import a_ticket_opens_its_own_session_only
from conformance.checks.support.authorization import ALLOWED, RESERVED, category_of
from conformance.checks.support.case import Case
from conformance.checks.support.transitions import declared_transitions
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import OAuth, RateLimit, Transition
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT, profile

CANCEL = CONTRACT.operations["cancelHostedCheckoutBrowser"]
SESSIONS = tuple({"id": f"s{number}", "ticket": f"t{number}"} for number in range(20))


@pytest.mark.parametrize(
    ("body", "outcome"),
    [({"reason": "c {unique}"}, Outcome.INAPPLICABLE), ({"ticket": "{session.ticket}"}, Outcome.FAILED)],
    ids=["no ticket", "a ticket"],
)
def test_a_body_that_names_no_ticket_has_none_of_another_session(
    judged: Any, answer: Any, body: dict[str, str], outcome: Outcome
) -> None:
    """A session may be cancelled without its ticket; that two bodies differ does not make either of them name one."""
    result, _ = judged(
        lambda arrived: bytes(answer(200, {"data": {}})),
        a_ticket_opens_its_own_session_only,
        CANCEL,
        fixtures={"session": {"open": Fixture("session", "open", values=SESSIONS)}},
        operations={CANCEL.id: OperationFacts(body=body, path={"sessionId": "{session.id}"})},
    )
    assert result.outcome is outcome, result


@pytest.mark.parametrize(
    ("path", "sessions", "key"),
    [
        ({"sessionId": "s0"}, SESSIONS, f"operations.{CANCEL.id}.path (from a fixture)"),
        ({"sessionId": "{session.id}"}, SESSIONS[:1], "fixtures.session.open.values"),
        (
            {"sessionId": "{session.id}"},
            ({"id": "s0", "ticket": "t"}, {"id": "s1", "ticket": "t"}),
            "fixtures.session.open.values",
        ),
    ],
    ids=["a path without a fixture", "one session", "two sessions with one ticket"],
)
def test_what_lacks_two_sessions_names_where_to_state_them(
    judged: Any, answer: Any, path: dict[str, str], sessions: tuple[dict[str, str], ...], key: str
) -> None:
    """A path that is stated, and names a fixture with one entry, is not the fact that is missing."""
    result, _ = judged(
        lambda arrived: bytes(answer(200, {"data": {}})),
        a_ticket_opens_its_own_session_only,
        CANCEL,
        fixtures={"session": {"open": Fixture("session", "open", values=sessions, reusable=True)}},
        operations={CANCEL.id: OperationFacts(body={"ticket": "{session.ticket}"}, path=path)},
    )
    assert (result.outcome, result.fact) == (Outcome.UNSTATED, key), result


@pytest.mark.parametrize("allowance_s", [0, 1, 3.9])
@pytest.mark.parametrize("edge", ["just-inside-behind", "just-inside-ahead"])
def test_a_bound_near_the_present_is_not_approached(judged: Any, answer: Any, allowance_s: float, edge: str) -> None:
    """A proof is older when it arrives, and says its age in whole seconds."""

    async def law(case: Case) -> None:
        await a_proof_is_accepted_up_to_the_stated_age(case, _EDGES[edge])

    on = CONTRACT.operations["exchangeOAuthToken"]
    oauth = OAuth("client", "https://client.example/back", clock_allowance_s=allowance_s)
    result, target = judged(lambda arrived: bytes(answer(401, {"error": "no"})), law, on, oauth=oauth)
    assert result.outcome is Outcome.INAPPLICABLE
    assert not target.arrived


@pytest.mark.parametrize(("scopes", "expected"), [({"checkout:quote"}, RESERVED), ({"catalog:read"}, ALLOWED)])
def test_the_limiters_key_is_spared_only_where_another_has_its_scopes(scopes: set[str], expected: str) -> None:
    """Or nobody would see that the one key with a single scope is refused."""
    credentials = {
        "limited": Credential("limited", SecretSource(env="X"), frozenset({"checkout:quote"})),
        "other": Credential("other", SecretSource(env="Y"), frozenset(scopes)),
    }
    told = profile("http://127.0.0.1:1", credentials=credentials, rate_limit=RateLimit(credential="limited"))
    quote = CONTRACT.operations["quotePublicCartCheckout"]
    assert category_of(told, quote, credentials["limited"]) == expected


@pytest.mark.parametrize(("status", "outcome"), [(409, Outcome.PASSED), (404, Outcome.WARNED), (200, Outcome.FAILED)])
def test_a_read_conflicts_where_the_profile_says_so(judged: Any, answer: Any, status: int, outcome: Outcome) -> None:
    """A transition of a read is tried like any other; of one that no profile tells of there is nothing to try."""
    quote, revoke = CONTRACT.operations["quotePublicCartCheckout"], CONTRACT.operations["revokePublicCart"]
    told = Transition(quote.id, "cart.open", after=(revoke.id,))
    assert list(declared_transitions(profile("http://127.0.0.1:1", transitions=(told,)), quote).values()) == [told]
    assert not declared_transitions(profile("http://127.0.0.1:1"), quote)
    revoked: set[str] = set()

    def script(arrived: Any) -> bytes:
        cart, _, what = arrived.target.rpartition("/carts/")[2].partition("/")
        if what == "revoke":
            revoked.add(cart)
        return bytes(answer(status if what == "checkout-quote" and cart in revoked else 200, {"data": {}}))

    async def law(case: Case) -> None:
        await a_state_conflict_is_answered_409(case, told)

    credentials = {"full": Credential("full", SecretSource(env="X"), frozenset({"catalog:read", "checkout:quote"}))}
    facts = OperationFacts(path={"cartId": "{cart.id}"})
    result, _ = judged(
        script,
        law,
        quote,
        credentials=credentials,
        operations={quote.id: facts, revoke.id: OperationFacts(body={"reason": "x"}, path=facts.path)},
        transitions=(told,),
    )
    assert result.outcome is outcome, result
