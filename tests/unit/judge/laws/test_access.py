"""Keys, scopes, installations and public reads."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.core.model import Exchange
from conformance.core.outcomes import Outcome
from tests.support.recorded_traffic import CART, CATEGORIES, CREATE, DELIVERIES, IDENTITY, exchange, facts, outcome
from tests.support.values import replace

WITH_KEY = exchange(IDENTITY)


def test_an_answer_without_a_key_is_a_violation() -> None:
    """AUTH-1: no Authorization header, or an empty one, and 200."""
    assert outcome("AUTH-1", WITH_KEY, exchange(IDENTITY, credential="")) is Outcome.FAILED
    assert (
        outcome("AUTH-1", WITH_KEY, exchange(IDENTITY, credential="", headers={"Authorization": ""})) is Outcome.FAILED
    )
    assert outcome("AUTH-1", WITH_KEY, exchange(IDENTITY, credential="", status=401)) is Outcome.PASSED


def test_a_recording_without_authorization_headers_is_not_judged() -> None:
    """AUTH-1: browsers leave these headers out of what they export."""
    assert outcome("AUTH-1", exchange(IDENTITY, credential="")) is Outcome.UNTESTED


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": {"Cookie": "«redacted»"}},
        {"headers": {"X-Api-Key": "abc"}},
        {"headers": {"Authorization": "«redacted#aaaa0123456789ab»"}},
        {"headers": {"Authorization": "«redacted»"}},
        {"query": "api_key=abc"},
        {"query": "k=«redacted»"},
        {"method": "HEAD"},
        {"url": "https://shop.example/api/v1/runtime-config/../open/identity"},
        {"status": None},
    ],
)
def test_a_caller_who_may_be_known_is_not_judged(changes: dict[str, Any]) -> None:
    """AUTH-1 is silent on unknown keys, cookies, keys elsewhere, and on what may be another operation."""
    assert outcome("AUTH-1", WITH_KEY, exchange(IDENTITY, credential="", **changes)) is Outcome.UNTESTED


def test_a_key_outside_of_its_header_is_a_warning() -> None:
    """AUTH-2: a key of the profile in the query is not accepted; an unknown text is not judged."""
    assert outcome("AUTH-2", WITH_KEY, exchange(IDENTITY, credential="", query="k=«credential:full»")) is Outcome.WARNED
    assert outcome("AUTH-2", WITH_KEY, exchange(IDENTITY, credential="", query="k=abc")) is Outcome.UNTESTED


def test_a_revoked_key_is_refused() -> None:
    """AUTH-4: after the stated propagation time, 200 is a violation."""
    assert outcome("AUTH-4", exchange(IDENTITY, credential="revoked")) is Outcome.FAILED
    assert (
        outcome("AUTH-4", exchange(IDENTITY, credential="revoked"), stated=facts(propagation_s=5.0)) is Outcome.UNTESTED
    )
    assert outcome("AUTH-4", exchange(IDENTITY, credential="revoked", status=401)) is Outcome.PASSED


def test_an_older_recording_needs_a_refusal_of_the_key() -> None:
    """AUTH-4: the key may have been revoked later, unless it was refused before."""
    older, served = facts(is_current=False), exchange(IDENTITY, credential="revoked", at=2.0)
    refused = exchange(DELIVERIES, credential="revoked", at=1.0, status=401)
    assert outcome("AUTH-4", served, stated=older) is Outcome.UNTESTED
    assert outcome("AUTH-4", refused, served, stated=older) is Outcome.FAILED


def test_a_key_without_the_scope_is_refused() -> None:
    """SCO-1: 200 with a key whose stated scopes do not hold the operation's."""
    assert outcome("SCO-1", exchange(CREATE, credential="reader", body={})) is Outcome.FAILED
    assert outcome("SCO-1", exchange(CREATE, credential="reader", body={}, status=403)) is Outcome.PASSED
    assert outcome("SCO-1", exchange(CREATE, credential="full", body={})) is Outcome.UNTESTED
    assert outcome("SCO-1", exchange(CREATE, credential="unheard-of", body={})) is Outcome.UNTESTED


def test_a_key_that_the_header_does_not_show_whole_is_unknown() -> None:
    """A name in `credential` counts only where the header holds that key, and nothing of another."""
    both = exchange(CREATE, credential="reader", headers={"Authorization": "«credential:reader» «credential:full»"})
    assert outcome("SCO-1", both) is Outcome.UNTESTED
    twice = replace(both, request=replace(both.request, headers=(("Authorization", "«credential:reader»"),) * 2))
    assert outcome("SCO-1", twice) is Outcome.UNTESTED


def test_a_key_with_the_scope_is_not_refused_for_it() -> None:
    """SCO-2: 403 for a body that was answered 200 to another key; another body may be refused for its own sake."""
    accepted = exchange(CREATE, body={"url": "a"}, key="k1")
    assert (
        outcome("SCO-2", accepted, exchange(CREATE, credential="spare", body={"url": "a"}, key="k2", status=403))
        is Outcome.FAILED
    )
    other = exchange(CREATE, credential="spare", body={"url": "b"}, key="k2", status=403)
    assert outcome("SCO-2", other) is Outcome.UNTESTED


def test_identity_needs_no_scope() -> None:
    """SCO-3: 403 to an active key; a revoked one may be refused in any way."""
    assert outcome("SCO-3", exchange(IDENTITY, credential="reader", status=403)) is Outcome.FAILED
    assert outcome("SCO-3", exchange(IDENTITY, credential="revoked", status=403)) is Outcome.UNTESTED


@pytest.mark.parametrize("status", [401, 403])
def test_a_public_read_needs_no_key(status: int) -> None:
    """PUB-1: a refusal without a key; a query that a firewall may refuse is left out."""
    assert outcome("PUB-1", exchange(CATEGORIES, credential="", status=status)) is Outcome.FAILED
    assert outcome("PUB-1", exchange(CATEGORIES, credential="", status=status, query="q=%00")) is Outcome.UNTESTED
    assert outcome("PUB-1", exchange(CATEGORIES, status=status)) is Outcome.UNTESTED


def test_a_public_read_ignores_keys_where_that_is_stated() -> None:
    """AUTH-5: a refusal of a public read with a header, by the profile's word."""
    refused = exchange(CATEGORIES, status=401)
    assert outcome("AUTH-5", refused, stated=facts(public_ignores_keys=True)) is Outcome.FAILED
    assert outcome("AUTH-5", refused) is Outcome.UNSTATED


def _cart(**changes: Any) -> Exchange:
    return exchange("quotePublicCartCheckout", **changes)


def test_an_object_belongs_to_one_installation() -> None:
    """TEN-1: keys of two installations reach one object."""
    assert outcome("TEN-1", _cart(), _cart(credential="foreign", at=1.0)) is Outcome.FAILED
    assert outcome("TEN-1", _cart(), _cart(credential="foreign", at=1.0, status=404)) is Outcome.PASSED


@pytest.mark.parametrize("changes", [{"path": "1001"}, {"path": "order-2024-000000000000001"}, {"credential": "spare"}])
def test_an_id_that_each_installation_may_count_is_not_judged(changes: dict[str, Any]) -> None:
    """TEN-1 is silent on short numbers, and on two keys of one installation."""
    path = str(changes.get("path", CART))
    other = _cart(**{"credential": "foreign", "at": 1.0, **changes})
    assert outcome("TEN-1", _cart(path=path), other) is Outcome.UNTESTED
