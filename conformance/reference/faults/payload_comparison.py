"""Faults of the comparison of payloads under a used key: IDEM-4."""

from __future__ import annotations

import struct
import unicodedata
from collections.abc import Callable

from conformance.reference.call import Call, JsonValue, canonical
from conformance.reference.idempotency import digest
from conformance.reference.policy import Policy, with_idempotency
from conformance.reference.registry import fault

_WORD = 0xFFFFFFFF
_LARGEST_SINGLE = 3.4e38


def _with_fingerprint(policy: Policy, text: Callable[[JsonValue], str]) -> Policy:
    def fingerprint(call: Call) -> str:
        return digest(text(call.body), call.proof.jkt if call.proof else "")

    return with_idempotency(policy, fingerprint=fingerprint)


def _map_leaves(value: JsonValue, change: Callable[[JsonValue], JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {name: _map_leaves(item, change) for name, item in value.items()}
    return [_map_leaves(item, change) for item in value] if isinstance(value, list) else change(value)


def _map_lists(value: JsonValue, change: Callable[[list[JsonValue]], list[JsonValue]]) -> JsonValue:
    if isinstance(value, dict):
        return {name: _map_lists(item, change) for name, item in value.items()}
    return change([_map_lists(item, change) for item in value]) if isinstance(value, list) else value


@fault(
    "F765",
    requirement="IDEM-4",
    title="integers that differ by 2^32 are the same payload for a key",
    source="a fingerprint over a binary form with 32-bit integers",
)
def integers_of_32_bits(policy: Policy) -> Policy:
    def cut(value: JsonValue) -> JsonValue:
        return value & _WORD if isinstance(value, int) and not isinstance(value, bool) else value

    return _with_fingerprint(policy, lambda body: canonical(_map_leaves(body, cut)))


@fault(
    "F766",
    requirement="IDEM-4",
    title="payloads of a key are compared without regard to case",
    source="the payload is kept as text in a column with a collation that ignores case",
)
def caseless_payloads(policy: Policy) -> Policy:
    return _with_fingerprint(policy, lambda body: canonical(body).casefold())


@fault(
    "F767",
    requirement="IDEM-4",
    title="payloads of a key are compared after Unicode compatibility folding",
    source="a canonical form that normalises texts to NFKC instead of leaving them alone (RFC 8785 section 3.1)",
)
def folded_payloads(policy: Policy) -> Policy:
    def fold(value: JsonValue) -> JsonValue:
        return unicodedata.normalize("NFKC", value) if isinstance(value, str) else value

    return _with_fingerprint(policy, lambda body: canonical(_map_leaves(body, fold)))


@fault(
    "F768",
    requirement="IDEM-4",
    title="an item of an array that is repeated is not in the payload of a key",
    source="arrays that become sets before they are compared",
)
def arrays_as_sets(policy: Policy) -> Policy:
    def unique(items: list[JsonValue]) -> list[JsonValue]:
        return [item for number, item in enumerate(items) if item not in items[:number]]

    return _with_fingerprint(policy, lambda body: canonical(_map_lists(body, unique)))


@fault(
    "F769",
    requirement="IDEM-4",
    title="of an array of objects only the first one is in the payload of a key",
    source="a fingerprint over named paths such as items[0].lineId",
)
def first_objects(policy: Policy) -> Policy:
    def first(items: list[JsonValue]) -> list[JsonValue]:
        return items[:1] if items and isinstance(items[0], dict) else items

    return _with_fingerprint(policy, lambda body: canonical(_map_lists(body, first)))


@fault(
    "F850",
    requirement="IDEM-4",
    title="the order of an array is not in the payload of a key",
    source="a canonical form that sorts arrays as it sorts members",
)
def arrays_in_any_order(policy: Policy) -> Policy:
    return _with_fingerprint(
        policy, lambda body: canonical(_map_lists(body, lambda items: sorted(items, key=canonical)))
    )


@fault(
    "F851",
    requirement="IDEM-4",
    title="payloads of a key are compared with each run of white space as one space",
    source="texts that are normalised before they are hashed, as xs:token in XML Schema is",
)
def collapsed_space(policy: Policy) -> Policy:
    def collapse(value: JsonValue) -> JsonValue:
        return " ".join(value.split()) if isinstance(value, str) else value

    return _with_fingerprint(policy, lambda body: canonical(_map_leaves(body, collapse)))


@fault(
    "X40",
    requirement="IDEM-4",
    title="payloads of a key are compared without the white space around their texts",
    source="a filter that trims the values of a form before they are hashed",
)
def trimmed_texts(policy: Policy) -> Policy:
    def trim(value: JsonValue) -> JsonValue:
        return value.strip() if isinstance(value, str) else value

    return _with_fingerprint(policy, lambda body: canonical(_map_leaves(body, trim)))


@fault(
    "F877",
    requirement="IDEM-4",
    title="payloads of a key are compared with their arrays of texts joined by commas",
    source="String([a, b]) in JavaScript, or arrays in a form",
)
def joined_arrays(policy: Policy) -> Policy:
    def join(items: list[JsonValue]) -> list[JsonValue]:
        texts = [item for item in items if isinstance(item, str)]
        return [",".join(texts)] if items and len(texts) == len(items) else items

    return _with_fingerprint(policy, lambda body: canonical(_map_lists(body, join)))


@fault(
    "F899",
    requirement="IDEM-4",
    title="payloads of a key are compared up to their first 4 KiB",
    source="a column or a buffer for the request that is shorter than the largest one",
)
def compared_in_part(policy: Policy) -> Policy:
    return _with_fingerprint(policy, lambda body: canonical(body)[:4096])


@fault(
    "F992",
    requirement="IDEM-4",
    title="numbers of a payload are compared as floating-point numbers of 32 bits",
    source="a binary form of amounts for which a float was enough in all tests",
)
def numbers_of_single_precision(policy: Policy) -> Policy:
    def narrow(value: JsonValue) -> JsonValue:
        is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST_SINGLE
        return str(struct.unpack("f", struct.pack("f", value))[0]) if is_number else value

    return _with_fingerprint(policy, lambda body: canonical(_map_leaves(body, narrow)))


@fault(
    "F993",
    requirement="IDEM-4",
    title="a member that is false is not in the payload of a key",
    source="a serializer that omits falsy values, as `omitempty` of Go does",
)
def false_left_out(policy: Policy) -> Policy:
    def shorten(value: JsonValue) -> JsonValue:
        if isinstance(value, dict):
            return {name: shorten(item) for name, item in value.items() if item is not False}
        return [shorten(item) for item in value] if isinstance(value, list) else value

    return _with_fingerprint(policy, lambda body: canonical(shorten(body)))


@fault(
    "X58",
    requirement="IDEM-4",
    title="the values of a payload are joined without a separator",
    operations=("quotePublicCart",),
    source="a digest that is updated with one value after the other, in the order of their names",
)
def joined_values(policy: Policy) -> Policy:
    def leaves(value: JsonValue) -> list[str]:
        if isinstance(value, dict):
            return [leaf for name in sorted(value) for leaf in leaves(value[name])]
        return [leaf for item in value for leaf in leaves(item)] if isinstance(value, list) else [str(value)]

    def fingerprint(call: Call) -> str:
        text = "".join(leaves(call.body)) if call.operation == "quotePublicCart" else canonical(call.body)
        return digest(text, call.proof.jkt if call.proof else "")

    return with_idempotency(policy, fingerprint=fingerprint)


@fault(
    "X181",
    requirement="IDEM-4",
    title="amounts that are equal when rounded are the same payload for a key",
    operations=("requestStorefrontOrderAfterSales",),
    source="a fingerprint of a model whose amounts are whole numbers",
    seeded_in="V565",
)
def rounded_amounts(policy: Policy) -> Policy:
    def round_value(value: JsonValue) -> JsonValue:
        return int(value) if isinstance(value, float) else value

    return _with_fingerprint(policy, lambda body: canonical(_map_leaves(body, round_value)))
