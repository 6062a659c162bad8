"""Small recordings made by hand for the laws: exchanges as a journal holds them, and the facts of a target."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

from conformance.contract import load_contract
from conformance.core.law_facts import BodyRule, CredentialRule, KeyRule, LawFacts, OperationRule, SearchRule
from conformance.core.model import Exchange, Message, Result
from conformance.core.outcomes import Outcome
from conformance.judge.laws.results import law_results
from tests.support.values import replace

QUOTE, REVOKE, CHECKOUT = "quotePublicCart", "revokePublicCart", "checkoutPublicCart"
CREATE, PATCH, IDENTITY = "createInstallationWebhook", "updateInstallationWebhook", "getApiKeyIdentity"
TOKEN, TICKET, SEARCH = "exchangeOAuthToken", "consumeHostedCheckoutBrowserTicket", "searchPublicProducts"
CATEGORIES, DELIVERIES = "listPublicMerchantCategories", "listInstallationWebhookDeliveries"
QUERY = {"q": "gift", "locale": "en-US", "market": "US", "sort": "name", "page": "1", "pageSize": "2"}
ALL_SCOPES = ("catalog:read", "checkout:quote", "webhooks:read", "webhooks:write")
CART = "cart_f99c098966833983ef7a"
_NUMBERS = count(1)


def exchange(
    operation: str = QUOTE,
    *,
    status: int | None = 200,
    at: float = 0.0,
    lasts: float = 0.01,
    credential: str = "full",
    key: str | None = None,
    path: str = CART,
    query: Mapping[str, str] | str = "",
    body: Any = None,
    answer: Any = None,
    headers: Mapping[str, str] | None = None,
    **changes: Any,
) -> Exchange:
    """One exchange. `body`, `answer`: a JSON value, or the text itself. `credential`: empty for none."""
    rule = load_contract().operations[operation]
    template = rule.path
    for name in rule.path_parameters:
        template = template.replace(f"{{{name}}}", path)
    if isinstance(query, Mapping):
        query = "&".join(f"{name}={value}" for name, value in query.items())
    text = body if isinstance(body, str) else "" if body is None else json.dumps(body)
    answer_text = answer if isinstance(answer, str) else json.dumps({"data": {}} if answer is None else answer)
    sent = {"Authorization": f"«credential:{credential}»"} if credential else {}
    sent |= {"Idempotency-Key": key} if key is not None else {}
    sent |= {"Content-Type": "application/json"} if text else {}
    one = Exchange(
        id=f"t{next(_NUMBERS)}",
        operation=operation,
        method=rule.method,
        url=f"https://shop.example/base{template}{'?' if query else ''}{query}",
        request=Message(tuple((sent | dict(headers or {})).items()), text, len(text)),
        status=status,
        response=Message((), answer_text, len(answer_text)),
        at=at,
        duration_ms=lasts * 1000,
        credential=credential,
    )
    return replace(one, **changes)


def facts(**changes: Any) -> LawFacts:
    """The facts of a target that states everything."""
    single_use = {TOKEN: "/code", TICKET: "/ticket"}
    operations = {
        operation.id: OperationRule(
            method=operation.method,
            path=operation.path,
            auth=operation.auth,
            scope=operation.scope,
            idempotent=operation.idempotent,
            has_body=operation.has_body,
            is_catalog=operation.auth == "none" and not operation.idempotent,
            meaningful=("/reason", "/actor/tags/*") if operation.idempotent else (),
            single_use=single_use.get(operation.id, ""),
        )
        for operation in load_contract().all
    }
    stated: dict[str, Any] = {
        "operations": operations,
        "credentials": {
            "full": CredentialRule(ALL_SCOPES, "A"),
            "spare": CredentialRule(ALL_SCOPES, "A"),
            "reader": CredentialRule(("webhooks:read",), "A"),
            "foreign": CredentialRule(ALL_SCOPES, "B"),
            "revoked": CredentialRule(ALL_SCOPES, "A", "revoked"),
        },
        "idempotency": KeyRule("header", "Idempotency-Key", retention_s=60.0),
        "search": SearchRule(
            required=tuple(QUERY),
            known=(*QUERY, "category", "merchant"),
            query=QUERY,
            page_base=1,
            page_size_min=1,
            page_size_max=50,
        ),
        "bodies": BodyRule(),
    }
    return LawFacts(**stated | changes)


def judged(requirement: str, *exchanges: Exchange, stated: LawFacts | None = None, operation: str = "") -> Result:
    """The result of one law on the operation of the last exchange."""
    wanted = operation or exchanges[-1].operation
    results = law_results(exchanges, stated or facts())
    return next(result for result in results if (result.requirement, result.operation) == (requirement, wanted))


def outcome(requirement: str, *exchanges: Exchange, stated: LawFacts | None = None) -> Outcome:
    return judged(requirement, *exchanges, stated=stated).outcome
