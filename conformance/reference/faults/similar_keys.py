"""Faults of keys that are almost of the format, and of operations that take similar keys for one: IDEM-13."""

from __future__ import annotations

from collections.abc import Callable

from conformance.reference.call import Call
from conformance.reference.policy import Policy, with_idempotency
from conformance.reference.registry import fault
from conformance.reference.variants.keys import with_key_format

_CHECKOUT = "checkoutPublicCart"
_CONSUME = "consumeHostedCheckoutBrowserTicket"
_REQUEST = "requestStorefrontOrderAfterSales"
_UPDATE = "updateInstallationWebhook"
_COLUMN = 32


def _with_key_of(policy: Policy, operation: str, change: Callable[[str], str]) -> Policy:
    """The keys of one operation, changed."""

    def key(call: Call) -> str | None:
        found = policy.idempotency.key(call)
        return change(found) if found is not None and call.operation == operation else found

    return with_idempotency(policy, key=key)


@fault(
    "X207",
    requirement="IDEM-13",
    title="checkout cuts keys to 32 characters",
    operations=(_CHECKOUT,),
    source="a column of its own that was made for UUIDs without hyphens",
)
def checkout_keys_cut(policy: Policy) -> Policy:
    return _with_key_of(policy, _CHECKOUT, lambda key: key[:_COLUMN])


@fault(
    "X208",
    requirement="IDEM-13",
    title="an update of an endpoint compares all but the last character of a key",
    operations=(_UPDATE,),
    source="a key that is read up to a checksum, which an earlier format had",
)
def update_keys_without_end(policy: Policy) -> Policy:
    return _with_key_of(policy, _UPDATE, lambda key: key[:-1])


@fault(
    "X209",
    requirement="IDEM-13",
    title="consume compares keys without regard to case, and case is stated to matter",
    operations=(_CONSUME,),
    source="a cache whose keys are in lower case",
    seeded_in="V556",
)
def consume_keys_in_lower_case(policy: Policy) -> Policy:
    return _with_key_of(policy, _CONSUME, str.lower)


@fault(
    "X217",
    requirement="IDEM-13",
    title="an after-sales request reads the last 16 characters of a key",
    operations=(_REQUEST,),
    source="a partition key that was made of the end of a longer one",
)
def end_of_key_for_after_sales(policy: Policy) -> Policy:
    return _with_key_of(policy, _REQUEST, lambda key: key[-16:])


@fault(
    "X222",
    requirement="IDEM-13",
    title="a key with an underscore is accepted, and its format has none",
    source="a pattern with \\w in place of letters and digits",
    seeded_in="V315",
)
def key_with_underscore(policy: Policy) -> Policy:
    return with_key_format(policy, "[A-Za-z0-9_-]{10,40}", any_case=True)
