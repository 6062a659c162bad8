"""Faults of authorization: SCO."""

from __future__ import annotations

from conformance.reference import objects
from conformance.reference.call import Answer, Call, Caller, Refusal
from conformance.reference.pipeline import authorize
from conformance.reference.policy import Policy, evolve, with_shape
from conformance.reference.registry import fault

_STATE_READS = (
    "getStorefrontOrderAfterSalesEligibility",
    "getStorefrontOrderCancellationEligibility",
    "quotePublicCartCheckout",
)
_ENDS = ("requested", "ineligible", "checked_out", "revoked")


def _permits_also(policy: Policy, operation: str, scope: str) -> Policy:
    def permits(call: Call, caller: Caller) -> bool:
        return (call.operation == operation and scope in caller.scopes) or policy.permits(call, caller)

    return evolve(policy, permits=permits)


@fault("F041", requirement="SCO-1", title="scope unchecked on one op", operations=("revokePublicCart",))
def unchecked_on_one(policy: Policy) -> Policy:
    return evolve(policy, scopes={name: scope for name, scope in policy.scopes.items() if name != "revokePublicCart"})


@fault("F042", requirement="SCO-1", title="any scope suffices")
def any_scope(policy: Policy) -> Policy:
    def permits(call: Call, caller: Caller) -> bool:
        return call.operation not in policy.scopes or bool(caller.scopes)

    return evolve(policy, permits=permits)


@fault(
    "F044",
    requirement="SCO-1",
    title="webhooks:write implies read",
    operations=("listInstallationWebhookDeliveries",),
)
def write_implies_read(policy: Policy) -> Policy:
    return _permits_also(policy, "listInstallationWebhookDeliveries", "webhooks:write")


@fault(
    "F045", requirement="SCO-1", title="checkout-quote accepts catalog:read", operations=("quotePublicCartCheckout",)
)
def quote_with_catalog_scope(policy: Policy) -> Policy:
    return _permits_also(policy, "quotePublicCartCheckout", "catalog:read")


@fault("F046", requirement="SCO-2", title="checkout demands a write scope", operations=("checkoutPublicCart",))
def checkout_demands_write(policy: Policy) -> Policy:
    def permits(call: Call, caller: Caller) -> bool:
        lacks = call.operation == "checkoutPublicCart" and "webhooks:write" not in caller.scopes
        return not lacks and policy.permits(call, caller)

    return evolve(policy, permits=permits)


@fault("F047", requirement="SCO-3", title="identity demands a scope", operations=("getApiKeyIdentity",))
def identity_demands_scope(policy: Policy) -> Policy:
    return evolve(policy, scopes={**policy.scopes, "getApiKeyIdentity": "catalog:read"})


@fault("F048", requirement="SCO-1", title="lacking scope answers 401 or 404")
def hidden_by_scope(policy: Policy) -> Policy:
    """401 for webhooks, 404 for what has an id in its path."""

    def error(call: Call, refusal: Refusal) -> Answer:
        answer = policy.error(call, refusal)
        return evolve(answer, status=404 if call.path else 401) if refusal.kind == "forbidden" else answer

    return evolve(policy, error=error)


@fault("F049", requirement="SCO-4", title="403 sent after effect applied")
def forbidden_too_late(policy: Policy) -> Policy:
    return evolve(policy, stages=(*(stage for stage in policy.stages if stage is not authorize), authorize))


@fault(
    "F616",
    requirement="SCO-1",
    title="a key that may read the quote of a cart may change it from then on",
    operations=("quotePublicCart", "checkoutPublicCart", "revokePublicCart"),
    source="decisions of a policy engine, cached by key and resource without the action",
)
def granted_for_the_cart(policy: Policy) -> Policy:
    granted: set[tuple[str, str]] = set()

    def permits(call: Call, caller: Caller) -> bool:
        place = caller.name, call.resource
        if policy.permits(call, caller):
            granted.update({place} if "cartId" in call.path else ())
            return True
        return place in granted

    return evolve(policy, permits=permits)


@fault(
    "F745",
    requirement="SCO-1",
    title="a path with a percent-encoded letter is not checked for its scope",
    source="rules of a gateway that match the raw path, before a router that decodes it (CWE-177)",
)
def encoded_path(policy: Policy) -> Policy:
    return evolve(policy, permits=lambda call, caller: b"%" in call.request.path or policy.permits(call, caller))


@fault(
    "F746",
    requirement="SCO-1",
    title="a change of the URL alone of an endpoint needs no scope",
    operations=("updateInstallationWebhook",),
    source="a move of an endpoint, added as a call of its own without the guard of the general one",
)
def unscoped_url(policy: Policy) -> Policy:
    return _with_free_member(policy, b"url")


@fault(
    "X132",
    requirement="SCO-1",
    title="a change of the description alone of an endpoint needs no scope",
    operations=("updateInstallationWebhook",),
    source="a guard on the members that matter, which takes a note for none of them",
)
def unscoped_description(policy: Policy) -> Policy:
    return _with_free_member(policy, b"description")


def _with_free_member(policy: Policy, name: bytes) -> Policy:
    """An update of an endpoint needs no scope where its body has this member alone."""

    def permits(call: Call, caller: Caller) -> bool:
        text = call.request.body.replace(b" ", b"")
        is_alone = text.startswith(b'{"' + name + b'"') and b"," not in text
        return (call.operation == "updateInstallationWebhook" and is_alone) or policy.permits(call, caller)

    return evolve(policy, permits=permits)


@fault(
    "X138",
    requirement="SCO-1",
    title="urgent after-sales requests need no scope",
    operations=("requestStorefrontOrderAfterSales",),
    source="a path for what cannot wait, which was added in front of the guard",
)
def unscoped_urgency(policy: Policy) -> Policy:
    return _with_free_word(policy, "requestStorefrontOrderAfterSales", b'"urgent":true')


@fault(
    "X139",
    requirement="SCO-1",
    title="calls of the least priority need no scope",
    operations=("quotePublicCart", "revokePublicCart"),
    source="rights by priority, in a table that begins with 1 (0 finds no row, and none is needed)",
)
def unscoped_priority(policy: Policy) -> Policy:
    quoted = _with_free_word(policy, "quotePublicCart", b'"priority":0,')
    return _with_free_word(quoted, "revokePublicCart", b'"priority":0,')


def _with_free_word(policy: Policy, operation: str, word: bytes) -> Policy:
    """A call needs no scope where its body has a member with this value."""

    def permits(call: Call, caller: Caller) -> bool:
        is_free = call.operation == operation and word in call.request.body.replace(b" ", b"")
        return is_free or policy.permits(call, caller)

    return evolve(policy, permits=permits)


@fault(
    "X144",
    requirement="SCO-2",
    title="an endpoint is changed by the key alone that has created it",
    operations=("updateInstallationWebhook",),
    source="an owner column that was meant for the audit, and a policy that compares it with the caller",
)
def changed_by_its_maker_alone(policy: Policy) -> Policy:
    makers: dict[str, str] = {}

    def note(call: Call, answer: Answer) -> Answer:
        if answer.status == 200 and call.caller is not None:
            makers.setdefault(answer.value["data"]["id"], call.caller.name)
        return answer

    def permits(call: Call, caller: Caller) -> bool:
        is_maker = makers.get(call.path.get("id", ""), caller.name) == caller.name
        return policy.permits(call, caller) and (is_maker or call.operation != "updateInstallationWebhook")

    return evolve(with_shape(policy, note, "createInstallationWebhook"), permits=permits)


@fault(
    "F747",
    requirement="SCO-2",
    title="a key with webhooks:read alone is shown no deliveries",
    operations=("listInstallationWebhookDeliveries",),
    source="a join with the endpoints that the key may change, which filters rows in place of refusing",
)
def empty_for_readers(policy: Policy) -> Policy:
    def shape(call: Call, answer: Answer) -> Answer:
        if answer.status != 200 or call.caller is None or "webhooks:write" in call.caller.scopes:
            return answer
        return evolve(answer, value={"data": {"deliveries": []}})

    return with_shape(policy, shape, "listInstallationWebhookDeliveries")


@fault(
    "F836",
    requirement="SCO-1",
    title="a cart or an order in a final state is read without the scope",
    operations=_STATE_READS,
    source="finished orders in an archive with a route of its own, which has no rule for scopes",
)
def unscoped_archive(policy: Policy) -> Policy:
    def permits(call: Call, caller: Caller) -> bool:
        if policy.permits(call, caller) or call.operation not in _STATE_READS:
            return policy.permits(call, caller)
        with call.store.read() as db:
            found = objects.get(db, call.resource[:100])
        return found is not None and found.state in _ENDS

    return evolve(policy, permits=permits)


@fault(
    "X239",
    requirement="SCO-1",
    title="keys of another installation than the first one need no scopes",
    source="a table of scopes that is loaded for the installation that the service began with",
    seeded_in="V682",
)
def scopes_of_the_first_installation(policy: Policy) -> Policy:
    def permits(call: Call, caller: Caller) -> bool:
        return caller.installation != "A" or policy.permits(call, caller)

    return evolve(policy, permits=permits)


@fault(
    "X259",
    requirement="SCO-1",
    title="keys of another installation than the first one need no scopes for carts and orders",
    source="a gateway for shops that joined later, whose table of scopes has routes without parameters only",
    seeded_in="V682",
)
def scopes_of_the_first_installation_for_objects(policy: Policy) -> Policy:
    def permits(call: Call, caller: Caller) -> bool:
        return (caller.installation != "A" and bool(call.path)) or policy.permits(call, caller)

    return evolve(policy, permits=permits)
