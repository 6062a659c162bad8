"""What the tables of a profile state, in the same form as the sentences of a guide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.drawn_guides.sentences import flat

TABLES = ("authorization", "idempotency", "bodies", "search", "tenancy", "hosted", "oauth", "rate_limit", "answers")
LEADS_TO = {
    "quotePublicCart": "quoted",
    "checkoutPublicCart": "checked_out",
    "revokePublicCart": "revoked",
    "removePublicCartPromotion": "unpromoted",
    "requestStorefrontOrderAfterSales": "requested",
    "consumeHostedCheckoutBrowserTicket": "consumed",
    "cancelHostedCheckoutBrowser": "cancelled",
}
"""The state after an operation."""
_STATES = {"promoted": "open", "open": "unpromoted"}
"""Of carts whose promotion is removed: states of fixtures -> states of the reference."""


def stated(document: Mapping[str, Any]) -> dict[str, Any]:
    """Every fact of these tables, of `transitions` and of `effects`, by its key.

    A transition has the key `transitions.OPERATION.STATE`, and the state to which it leads or its status as value; a
    sign has the key `effects.OPERATION.SOURCE`, and its pointer as value; its step and `absent` have keys below it.
    """
    facts = dict(flat({table: document[table] for table in TABLES if document.get(table)}))
    facts |= dict(_transitions(document.get("transitions", ())))
    return facts | dict(_signs(document.get("effects", {})))


def _transitions(transitions: list[Mapping[str, Any]] | tuple[()]) -> Iterator[tuple[str, Any]]:
    for transition in transitions:
        key = f"transitions.{transition['operation']}"
        if "none" in transition:
            yield f"{key}.none", True
            continue
        state = transition["fixture"].partition(".")[2]
        if transition["operation"] == "removePublicCartPromotion":
            state = _STATES[state]
        for operation in transition.get("after", ()):
            state = LEADS_TO[operation]
        if "leads_to" in transition:
            yield f"{key}.{state}", LEADS_TO[transition["operation"]]
        else:
            yield f"{key}.{state}", transition.get("status", 409)
        if "single_winner" in transition:
            yield f"{key}.single_winner.{state}", transition["single_winner"]


def _signs(effects: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for operation, one_or_several in effects.items():
        signs = [one_or_several] if isinstance(one_or_several, Mapping) else one_or_several
        for sign in signs:
            url = sign.get("http", {}).get("url", "")
            source = sign.get("operation") or url.partition("?")[2].partition("=")[2]
            key = f"effects.{operation}.{source}"
            yield key, sign["pointer"]
            if "step" in sign:
                yield f"{key}.step", sign["step"]
            if "absent" in sign:
                yield f"{key}.absent", True
