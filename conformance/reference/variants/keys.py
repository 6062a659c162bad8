"""Legitimate treatments of idempotency keys, each stated in the profile."""

from __future__ import annotations

import re

from conformance.reference import idempotency
from conformance.reference.call import Call, Refusal, Reply
from conformance.reference.idempotency import with_namespace
from conformance.reference.pipeline import read_body, read_key
from conformance.reference.policy import Policy, evolve, with_idempotency, with_wire
from conformance.reference.registry import variant


@variant(
    "V310",
    requirement="IDEM-12",
    title="answers of 200, 404 and 409 stored",
    profile={"idempotency": {"kept": [200, 404, 409]}},
)
def conflicts_stored(policy: Policy) -> Policy:
    return with_idempotency(policy, remembers=lambda status: status in (200, 404, 409))


@variant(
    "V311",
    requirement="IDEM-14",
    title="a key belongs to the credential and to the operation; the same key on another path answers 409",
    profile={"idempotency": {"namespace": ["credential", "operation"]}},
)
def key_per_credential_and_operation(policy: Policy) -> Policy:
    return with_namespace(policy, "credential", "operation")


@variant(
    "V312",
    requirement="IDEM-14",
    title="a key belongs to the path alone: the same key of another caller answers 409",
    profile={"idempotency": {"namespace": ["path"]}},
)
def key_per_path_alone(policy: Policy) -> Policy:
    return with_namespace(policy, "path")


@variant(
    "V313",
    requirement="IDEM-14",
    title="one namespace for all keys: the same key for anything else answers 409",
    profile={"idempotency": {"namespace": []}},
)
def one_namespace(policy: Policy) -> Policy:
    return with_namespace(policy)


def with_key_format(policy: Policy, pattern: str, *, any_case: bool = False) -> Policy:
    """Keys that the pattern matches at the header; its first group, where it has one, is the key."""
    form = re.compile(pattern)

    def key(call: Call) -> str | None:
        values = call.request.header_values(b"idempotency-key")
        if not values:
            raise Refusal("missing_key", "The header Idempotency-Key is required.")
        match = form.fullmatch(values[0]) if len(values) == 1 else None
        if match is None:
            raise Refusal("bad_key", "The header Idempotency-Key is malformed.")
        text = match[form.groups]
        return text.lower() if any_case else text

    return with_idempotency(policy, key=key)


@variant(
    "V314",
    requirement="IDEM-13",
    title="keys of 8 to 64 letters, digits, underscores or hyphens, case-sensitive",
    profile={"idempotency": {"format": {"pattern": "[A-Za-z0-9_-]{8,64}"}, "case": "sensitive"}},
)
def key_of_a_pattern(policy: Policy) -> Policy:
    return with_key_format(policy, "[A-Za-z0-9_-]{8,64}")


@variant(
    "V315",
    requirement="IDEM-13",
    title="keys of a pattern whose case does not matter",
    profile={"idempotency": {"format": {"pattern": "[A-Za-z0-9-]{10,40}"}}},
)
def key_of_any_case(policy: Policy) -> Policy:
    return with_key_format(policy, "[A-Za-z0-9-]{10,40}", any_case=True)


@variant(
    "V316",
    requirement="IDEM-13",
    title="a key that is not a UUID is accepted",
    profile={"idempotency": {"other_format": "accepted", "case": "sensitive"}},
)
def any_key_accepted(policy: Policy) -> Policy:
    return with_key_format(policy, "[!-~][ -~]{0,254}")


@variant(
    "V556",
    requirement="IDEM-3",
    title="a key is any text, also an empty one",
    profile={"idempotency": {"format": "any", "other_format": None, "case": "sensitive"}},
)
def empty_key_accepted(policy: Policy) -> Policy:
    return with_key_format(policy, "[ -~]{0,255}")


@variant(
    "V317",
    requirement="IDEM-13",
    title="a key is a structured-field string: UUID between double quotes (RFC 8941)",
    profile={"idempotency": {"written": '"{key}"'}},
)
def quoted_key(policy: Policy) -> Policy:
    uuid = "[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    return with_key_format(policy, f'"({uuid})"', any_case=True)


@variant("V541", requirement="IDEM-13", title="a key is a UUID of version 4, and no other UUID is one")
def random_uuids_only(policy: Policy) -> Policy:
    uuid = "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-4[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}"
    return with_key_format(policy, uuid, any_case=True)


@variant(
    "V318",
    requirement="IDEM-15",
    title="every call takes a tenth of a second, and a duplicate meanwhile answers 409",
    profile={"idempotency": {"in_flight": "conflict"}},
)
def slow_conflict(policy: Policy) -> Policy:
    return with_idempotency(policy, on_flight="conflict", work_s=0.1)


@variant(
    "V319",
    requirement="IDEM-3",
    title="calls carry no idempotency key",
    profile={"idempotency": {"none": "a repeated call is another call, which its resource's state refuses"}},
)
def no_keys(policy: Policy) -> Policy:
    return with_idempotency(policy, key=lambda _call: None)


@variant(
    "V545",
    requirement="CONF-1",
    title="calls carry no idempotency key, and an equal call is a retry of the first",
    profile={"idempotency": {"none": "calls are made idempotent by their content"}},
)
def content_as_key(policy: Policy) -> Policy:
    """What a call asks for is its key, so the body is read first."""
    others = tuple(stage for stage in policy.stages if stage is not read_body)
    place = others.index(read_key)
    stages = (*others[:place], read_body, *others[place:])
    return with_idempotency(evolve(policy, stages=stages), key=idempotency.by_content, namespace=idempotency.by_path)


@variant(
    "V578",
    requirement="CONF-1",
    title="an equal call is a retry of the first, and each answer has a member that is new",
    profile={
        "answers": {"further_members": "allowed"},
        "idempotency": {"none": "calls are made idempotent by their content"},
    },
)
def content_as_key_and_number(policy: Policy) -> Policy:
    def hook(call: Call, reply: Reply) -> Reply:
        if reply.status != 200:
            return reply
        number = b',"number":%d}' % call.limiter.count_call()
        return evolve(reply, body=reply.body.rstrip()[:-1] + number)

    return with_wire(content_as_key(policy), hook)
