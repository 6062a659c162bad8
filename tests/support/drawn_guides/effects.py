"""The sentences about the signs of effects, from the counters of a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.reference.policy import Policy
from conformance.reference.random_targets.boundary import translate_pointer
from conformance.reference.random_targets.choices import RandomTarget
from tests.support.drawn_guides.sentences import Sentence

_READS = {
    "requestStorefrontOrderAfterSales": "getStorefrontOrderAfterSalesEligibility",
    "quotePublicCart": "quotePublicCartCheckout",
}
"""Operations that show a version of what another one changes."""
_COUNTED_BY = {
    "createInstallationWebhook": ("{unique}", "{answer:/data/id}"),
    "updateInstallationWebhook": ("{webhook.id}",),
    "removePublicCartPromotion": ("{cart.promoted.id}",),
    "checkoutPublicCart": ("{cart.quoted.id}",),
    "quotePublicCart": ("{cart.open.id}",),
    "revokePublicCart": ("{cart.open.id}",),
    "exchangeOAuthToken": ("{oauth.code}",),
    "consumeHostedCheckoutBrowserTicket": ("{session.id}",),
    "cancelHostedCheckoutBrowser": ("{session.id}",),
}
"""What the counters of the test API are asked for."""


def effects(target: RandomTarget, policy: Policy, names: Mapping[str, str]) -> Iterator[Sentence]:
    """One sentence for each sign that the operator names: all of them, the first or the last."""
    for operation in sorted({*_READS, *_COUNTED_BY}):
        signs = [*_reads(operation, names), *_counters(operation, policy, names)]
        yield from {"several": signs, "first": signs[:1], "last": signs[-1:]}[target.signs]


def _reads(operation: str, names: Mapping[str, str]) -> Iterator[Sentence]:
    if operation in _READS:
        read, place = _READS[operation], translate_pointer(names, "/data/version")
        text = f"`{operation}` adds 1 to `{place}` of `{read}`."
        key = f"effects.{operation}.{read}"
        yield Sentence(text, {key: place, f"{key}.step": 1})


def _counters(operation: str, policy: Policy, names: Mapping[str, str]) -> Iterator[Sentence]:
    form = policy.counters.get(operation, "count")
    for asked in _COUNTED_BY.get(operation, ()):
        source = asked.replace("/data/id", translate_pointer(names, "/data/id"))
        is_new = asked.startswith("{answer:")  # nobody could ask for its counter before
        place, word = ("/events", "lists its times") if form == "log" else ("/count", "adds 1")
        text = f"`{operation}` {word} at `{place}` of `/effects/{operation}` for `{source}`."
        key = f"effects.{operation}.{source}"
        facts: dict[str, Any] = {key: place} if form == "log" else {key: place, f"{key}.step": 1}
        if is_new or form in ("absent", "not_found"):
            facts[f"{key}.absent"] = True
            text += " It is not there before."
        yield Sentence(text, facts)
