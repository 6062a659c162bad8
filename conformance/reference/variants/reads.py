"""Legitimate forms of reading: an effect may become visible after the write was answered."""

from __future__ import annotations

import time
from typing import Final

from sqlalchemy import Connection, func, select

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.policy import Handler, Policy, evolve, with_handler, with_idempotency
from conformance.reference.registry import variant
from conformance.reference.tables import effects

LAG_S: Final = 0.3
_READS: Final = ("quotePublicCartCheckout", "getStorefrontOrderAfterSalesEligibility")
"""The operations that show effects in the reference's profile."""
_WRITES: Final = (
    "createInstallationWebhook",
    "updateInstallationWebhook",
    "requestStorefrontOrderAfterSales",
    "removePublicCartPromotion",
    "checkoutPublicCart",
    "quotePublicCart",
    "revokePublicCart",
    "exchangeOAuthToken",
    "consumeHostedCheckoutBrowserTicket",
    "cancelHostedCheckoutBrowser",
)


def lagging(policy: Policy) -> Policy:
    """Versions and counters lag `LAG_S` behind writes; a conflict is answered later than that."""

    def lag_behind(handler: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            answer = handler(call, db)
            recent = select(func.count()).where(effects.c.resource == call.resource, effects.c.at > time.time() - LAG_S)
            data = answer.value["data"]
            unseen = int(db.execute(recent).scalar_one())
            return evolve(answer, value={**answer.value, "data": {**data, "version": data["version"] - unseen}})

        return read

    lagging_policy = policy
    for operation in _READS:
        lagging_policy = with_handler(lagging_policy, operation, lag_behind)

    def refuse_late(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if refusal.kind == "state_conflict":
                time.sleep(LAG_S + 0.1)
            raise

    return evolve(with_idempotency(lagging_policy, run=refuse_late), reads_lag_s=LAG_S, overlap=True)


@variant(
    "V250",
    requirement="CONF-1",
    title="reads of effects lag 300 ms behind writes, as the profile states",
    profile={"effects": {operation: {"within_s": 2 * LAG_S} for operation in _WRITES}},
)
def lag_is_stated(policy: Policy) -> Policy:
    return lagging(policy)


@variant(
    "V251", requirement="CONF-1", title="reads of effects lag 300 ms behind writes, which the profile does not state"
)
def lag_is_not_stated(policy: Policy) -> Policy:
    return lagging(policy)
