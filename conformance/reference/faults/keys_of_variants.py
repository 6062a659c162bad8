"""Faults of idempotency keys on targets that state another word than the reference: IDEM-1, IDEM-12 to IDEM-15."""

from __future__ import annotations

import re
from collections.abc import Callable

from conformance.reference.call import Answer, Call, Refusal
from conformance.reference.idempotency import address, find, key_parts, reserve, save, with_namespace
from conformance.reference.pipeline import read_body, read_key
from conformance.reference.policy import Handler, Policy, Waits, evolve, with_idempotency
from conformance.reference.registry import fault
from conformance.reference.variants.idempotency import RETENTION_S

_UUID = re.compile("[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")


# Stored answers


@fault(
    "F481",
    requirement="IDEM-12",
    title="409 frees the key, and is stated as stored",
    source="a transaction that is rolled back with the conflict, and the key's row with it",
    seeded_in="V310",
)
def conflict_frees_the_key(policy: Policy) -> Policy:
    return with_idempotency(policy, remembers=lambda status: status in (200, 404))


@fault(
    "X170",
    requirement="IDEM-12",
    title="the conflict of a cart that is revoked already is stored under the key",
    operations=("revokePublicCart",),
    source="a handler that returns the conflict in place of raising it: the key's row is committed",
    seeded_in="V311",
)
def conflict_of_a_revocation_stored(policy: Policy) -> Policy:
    def run(call: Call, handler: Handler) -> Answer:
        try:
            return policy.idempotency.run(call, handler)
        except Refusal as refusal:
            if call.operation == "revokePublicCart" and refusal.kind == "state_conflict":
                with call.store.write() as db:
                    if find(db, address(call)) is None:
                        save(db, call, address(call), policy.error(call, refusal))
            raise

    return with_idempotency(policy, run=run)


@fault(
    "X171",
    requirement="IDEM-13",
    title="keys of any text are cut to 64 characters",
    source="a column of 64 characters, and a database that cuts a longer text",
    seeded_in="V556",
)
def keys_of_any_length_cut(policy: Policy) -> Policy:
    return _with_key(policy, lambda key: key[:64])


@fault(
    "F483",
    requirement="IDEM-12",
    title="400 frees the key, and is stated as stored",
    source="validation in a filter before the idempotency layer",
    seeded_in="D07",
)
def invalid_body_frees_the_key(policy: Policy) -> Policy:
    place = policy.stages.index(read_key) + 1
    return evolve(policy, stages=(*policy.stages[:place], read_body, *policy.stages[place:]))


# The grammar of keys


def _with_key(policy: Policy, change: Callable[[str], str | None]) -> Policy:
    """The keys that the policy reads, changed."""

    def key(call: Call) -> str | None:
        found = policy.idempotency.key(call)
        return None if found is None else change(found)

    return with_idempotency(policy, key=key)


def _with_header(policy: Policy, change: Callable[[str], str | None]) -> Policy:
    """Keys by the header's own text; None: as the policy reads it."""

    def key(call: Call) -> str | None:
        values = call.request.header_values(b"idempotency-key")
        found = change(values[0]) if len(values) == 1 else None
        return policy.idempotency.key(call) if found is None else found

    return with_idempotency(policy, key=key)


@fault(
    "F484",
    requirement="IDEM-13",
    title="an underscore and a hyphen are one character",
    source="slugify(key) before it becomes the name of a cache entry",
    seeded_in="V314",
)
def underscore_is_a_hyphen(policy: Policy) -> Policy:
    return _with_key(policy, lambda key: key.replace("_", "-"))


@fault(
    "F485",
    requirement="IDEM-13",
    title="the last character of the longest keys does not count",
    source="a column of C text with a byte for its end",
    seeded_in="V314",
)
def last_character_cut(policy: Policy) -> Policy:
    return _with_key(policy, lambda key: key[:63])


@fault(
    "F486",
    requirement="IDEM-13",
    title="keys cut to 48 characters",
    source="MySQL without strict mode: a longer text is cut to the width of its column",
    seeded_in="V314",
)
def long_keys_cut(policy: Policy) -> Policy:
    return _with_key(policy, lambda key: key[:48])


@fault(
    "F487",
    requirement="IDEM-13",
    title="keys of any length accepted",
    source="a pattern with {8,} for {8,64}",
    seeded_in="V314",
)
def any_length(policy: Policy) -> Policy:
    return _with_header(policy, lambda text: text if re.fullmatch("[A-Za-z0-9_-]{65,}", text) else None)


@fault(
    "F488",
    requirement="IDEM-13",
    title="keys in the other case are the same key",
    source="MySQL's default collation, which ignores case",
    seeded_in="V314",
)
def case_folded(policy: Policy) -> Policy:
    return _with_key(policy, str.lower)


@fault(
    "F489",
    requirement="IDEM-13",
    title="keys longer than a UUID refused",
    source="a column CHAR(36), and any key in the guide",
    seeded_in="V316",
)
def only_the_length_of_uuids(policy: Policy) -> Policy:
    def change(key: str) -> str:
        if len(key) > 36:
            raise Refusal("bad_key", "The header Idempotency-Key is malformed.")
        return key

    return _with_key(policy, change)


@fault(
    "F490",
    requirement="IDEM-13",
    title="a key of another format accepted, and taken for none",
    source="uuid.UUID(text) in a try block whose except branch goes on without a key",
    seeded_in="V316",
)
def other_keys_do_not_protect(policy: Policy) -> Policy:
    return _with_key(policy, lambda key: key if _UUID.fullmatch(key) else None)


@fault(
    "F491",
    requirement="IDEM-13",
    title="a key without its double quotes accepted",
    source="header.strip('\"'), where RFC 8941 asks for a parser",
    seeded_in="V317",
)
def quotes_optional(policy: Policy) -> Policy:
    def change(text: str) -> str | None:
        bare = text.strip('"')
        return bare.lower() if _UUID.fullmatch(bare) else None

    return _with_header(policy, change)


@fault(
    "F492",
    requirement="IDEM-13",
    title="keys in capitals are other keys between double quotes",
    source="a UUID that is normalized by a function which does not know the quotes",
    seeded_in="V317",
)
def quoted_case_counts(policy: Policy) -> Policy:
    def change(text: str) -> str | None:
        return text[1:-1] if text[:1] == text[-1:] == '"' and _UUID.fullmatch(text[1:-1]) else None

    return _with_header(policy, change)


# Namespaces


def _with_parts(policy: Policy, *parts: str) -> Policy:
    """Keys that belong to these parts, with the payloads as the policy compares them."""
    return with_idempotency(policy, namespace=lambda call: key_parts(call, *parts))


@fault(
    "F494",
    requirement="IDEM-14",
    title="keys belong to the installation, and the profile says to the credential",
    source="a store of keys by tenant",
    seeded_in="V311",
)
def key_per_installation(policy: Policy) -> Policy:
    return _with_parts(policy, "installation", "operation")


@fault(
    "F495",
    requirement="IDEM-14",
    title="the same key on another path is another call, and stated as 409",
    source="the URL as a part of the key's row",
    seeded_in="V311",
)
def key_per_path(policy: Policy) -> Policy:
    return _with_parts(policy, "credential", "operation", "path")


@fault(
    "F496",
    requirement="IDEM-14",
    title="the same key of another credential is another call, and stated as 409",
    source="a unique index that was extended by the caller in a migration",
    seeded_in="V312",
)
def key_per_caller(policy: Policy) -> Policy:
    return _with_parts(policy, "path", "credential")


@fault(
    "F497",
    requirement="IDEM-14",
    title="the same key on another operation is another call, and stated as 409",
    source="a table of keys in each service, where the guide says one for all",
    seeded_in="V313",
)
def key_per_operation(policy: Policy) -> Policy:
    return _with_parts(policy, "operation")


@fault(
    "F498",
    requirement="IDEM-14",
    title="the same key of another installation answers 409",
    source="a unique index over the key alone",
    seeded_in="D09",
)
def one_index(policy: Policy) -> Policy:
    return with_namespace(policy)


# Duplicates in flight


@fault(
    "F499",
    requirement="IDEM-15",
    title="a duplicate in flight waits, and is stated as 409",
    source="SELECT FOR UPDATE without NOWAIT",
    seeded_in="V318",
)
def duplicate_waits(policy: Policy) -> Policy:
    return with_idempotency(policy, on_flight="wait")


@fault(
    "F500",
    requirement="IDEM-15",
    title="a duplicate in flight of PATCH and DELETE waits, of POST is answered 409",
    operations=("updateInstallationWebhook", "removePublicCartPromotion"),
    source="a row lock of the resource, which a POST does not have",
    seeded_in="V318",
)
def changes_wait(policy: Policy) -> Policy:
    def reserve_or_wait(call: Call) -> Waits | None:
        if call.request.method != "POST":
            call.policy = with_idempotency(call.policy, on_flight="wait")
        return reserve(call)

    return evolve(policy, stages=tuple(reserve_or_wait if stage is reserve else stage for stage in policy.stages))


@fault(
    "F989",
    requirement="IDEM-13",
    title="a key ends at its first comma",
    source="a reader of headers that splits each value into a list and takes its first item",
    seeded_in="V316",
)
def cut_at_a_comma(policy: Policy) -> Policy:
    return _with_key(policy, lambda key: key.partition(",")[0])


@fault(
    "X37",
    requirement="IDEM-13",
    title="keys of digits are compared as numbers",
    source="the operator == of PHP, which compares two numeric texts as floating-point numbers",
    seeded_in="V316",
)
def digits_as_numbers(policy: Policy) -> Policy:
    return _with_key(policy, lambda key: str(float(key)) if key.isdigit() else key)


# Forgotten keys


@fault(
    "F592",
    requirement="IDEM-1",
    title="keys are forgotten after half of the stated time",
    seeded_in="V493",
    source="a retention that is counted from two settings, one of them in another unit",
)
def half_the_retention(policy: Policy) -> Policy:
    return with_idempotency(policy, is_forgotten=lambda _call, age_s: age_s >= RETENTION_S / 2)


@fault(
    "F593",
    requirement="IDEM-1",
    title="keys of one operation are forgotten a second before the stated time",
    operations=("updateInstallationWebhook",),
    seeded_in="V493",
    source="a store of its own for one operation, whose expiry is shorter than that of the others",
)
def shorter_retention_of_one_operation(policy: Policy) -> Policy:
    """It has a store of its own, with an expiry of its own."""

    def is_forgotten(call: Call, age_s: float) -> bool:
        lead_s = 1.0 if call.operation == "updateInstallationWebhook" else 0.0
        return age_s >= RETENTION_S - lead_s

    return with_idempotency(policy, is_forgotten=is_forgotten)


@fault(
    "X72",
    requirement="IDEM-1",
    title="keys are forgotten after five seconds, and are stated to be kept for a day",
    seeded_in="V559",
    source="a lock with a time to live in a cache, which was taken for the store of answers",
)
def retention_of_seconds(policy: Policy) -> Policy:
    return with_idempotency(policy, is_forgotten=lambda _call, age_s: age_s >= _LOCK_S)


_LOCK_S = 5.0
