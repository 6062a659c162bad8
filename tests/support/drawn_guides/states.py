"""The sentences about states, from the states in which a policy allows an operation."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.reference.policy import Policy
from tests.support.drawn_guides.sentences import Sentence
from tests.support.drawn_guides.stated import LEADS_TO

_ASKED = {
    "quotePublicCart": ("cart", "open", "quoted", "checked_out", "revoked"),
    "checkoutPublicCart": ("cart", "open", "quoted", "checked_out", "revoked"),
    "revokePublicCart": ("cart", "open", "quoted", "checked_out", "revoked"),
    "removePublicCartPromotion": ("cart", "open", "unpromoted"),
    "requestStorefrontOrderAfterSales": ("order", "eligible", "requested", "ineligible"),
    "consumeHostedCheckoutBrowserTicket": ("session", "open", "consumed", "cancelled"),
    "cancelHostedCheckoutBrowser": ("session", "open", "consumed", "cancelled"),
}
"""By operation: the kind of resource, and the states of which an operator speaks."""
_WITHOUT_STATE = ("createInstallationWebhook", "updateInstallationWebhook", "exchangeOAuthToken")


def states(policy: Policy) -> Iterator[Sentence]:
    """One sentence for each operation and state, and who wins of several requests at a time."""
    for operation, (kind, *asked) in _ASKED.items():
        for state in asked:
            yield _sentence(policy, operation, kind, state)
        after = LEADS_TO[operation]
        if after not in policy.states[operation]:
            text = f"Of several `{operation}` at a time one is answered 200."
            yield Sentence(text, {f"transitions.{operation}.single_winner.{after}": True})
    text = "No `quotePublicCart` of a revoked cart excludes another one."
    yield Sentence(text, {"transitions.quotePublicCart.single_winner.revoked": False})
    for operation in _WITHOUT_STATE:
        yield Sentence(f"`{operation}` conflicts with no state.", {f"transitions.{operation}.none": True})


def _sentence(policy: Policy, operation: str, kind: str, state: str) -> Sentence:
    key = f"transitions.{operation}.{state}"
    if state in policy.states[operation]:
        text = f"`{operation}`, where the {kind} is {state}: it is {LEADS_TO[operation]} then."
        return Sentence(text, {key: LEADS_TO[operation]})
    status = policy.statuses[policy.state_refusals.get(f"{kind}.{state}", "state_conflict")]
    return Sentence(f"`{operation}`, where the {kind} is {state}: {status}.", {key: status})
