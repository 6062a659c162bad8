"""Legitimate forms of reading: what shows an effect may do so later than the write was answered."""

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
"""The operations by which the reference's profile sees effects."""
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
    """Versions and counters show what was written `LAG_S` ago and before; a conflict is answered later than that."""

    def behind(handler: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            answer = handler(call, db)
            recent = select(func.count()).where(effects.c.resource == call.resource, effects.c.at > time.time() - LAG_S)
            data = answer.value["data"]
            unseen = int(db.execute(recent).scalar_one())
            return evolve(answer, value={**answer.value, "data": {**data, "version": data["version"] - unseen}})

        return read

    lagged = policy
    for operation in _READS:
        lagged = with_handler(lagged, operation, behind)

    def slow_to_refuse(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if refusal.kind == "state_conflict":
                time.sleep(LAG_S + 0.1)
            raise

    return evolve(with_idempotency(lagged, run=slow_to_refuse), reads_lag_s=LAG_S, overlap=True)


@variant(
    "V250",
    requirement="CONF-1",
    title="reads of effects lag 300 ms behind writes, as the profile states",
    profile={"effects": {operation: {"within_s": 2 * LAG_S} for operation in _WRITES}},
)
def lag_is_stated(policy: Policy) -> Policy:
    return lagging(policy)


@variant("V251", requirement="CONF-1", title="reads of effects lag 300 ms behind writes, and the profile says nothing")
def lag_is_not_stated(policy: Policy) -> Policy:
    return lagging(policy)
