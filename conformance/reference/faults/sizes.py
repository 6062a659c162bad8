"""Faults of medium sizes: numbers, texts and ids between the extremes, and broken escapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, JsonValue, Refusal
from conformance.reference.pipeline import authorize
from conformance.reference.policy import Handler, Policy, evolve, with_handler, with_reading, with_search
from conformance.reference.registry import fault

_SEARCH = ("searchPublicProducts",)


def _crash() -> Refusal:
    return Refusal("internal", "The request could not be carried out.")


def _leaves(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _crashes_on_leaf(policy: Policy, breaks: Callable[[JsonValue], bool]) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        value = policy.reading.parse(call, body)
        if any(breaks(leaf) for leaf in _leaves(value)):
            raise _crash()
        return value

    return with_reading(policy, parse=parse)


def _crashes_on_query(policy: Policy, pattern: bytes, *operations: str) -> Policy:
    """Fails where the query matches, after authorization."""

    def authorize_and_crash(call: Call) -> None:
        authorize(call)
        if (call.operation in operations or not operations) and re.search(pattern, call.request.query):
            raise _crash()

    stages = (authorize_and_crash if stage is authorize else stage for stage in policy.stages)
    return evolve(policy, stages=(*stages,))


@fault(
    "F226",
    requirement="SRCH-3",
    title="a page between 10,000 and 2^31 crashes the search",
    operations=_SEARCH,
    source="Elasticsearch, index.max_result_window: from + size beyond 10,000 is an error of the query",
)
def deep_page_crashes(policy: Policy) -> Policy:
    def integer(name: str, text: str) -> int | None:
        number = policy.search.integer(name, text)
        if name == "page" and number is not None and 10_000 <= number < 2**31:
            raise _crash()
        return number

    return with_search(policy, integer=integer)


@fault(
    "F227",
    requirement="NF-1",
    title="an id of 255 to 5,000 characters gives 500",
    source="PostgreSQL, error 22001: value too long for type character varying(255)",
)
def long_id_crashes(policy: Policy) -> Policy:
    def authorize_and_crash(call: Call) -> None:
        authorize(call)
        if 255 < len(call.resource) < 5000:
            raise _crash()

    stages = (authorize_and_crash if stage is authorize else stage for stage in policy.stages)
    return evolve(policy, stages=(*stages,))


@fault(
    "F228",
    requirement="STA-1",
    title="%00 in a query gives 500",
    operations=_SEARCH,
    source="PostgreSQL, error 22021: invalid byte sequence for encoding UTF8: 0x00",
)
def nul_in_query_crashes(policy: Policy) -> Policy:
    return _crashes_on_query(policy, rb"%00", *_SEARCH)


@fault(
    "F229",
    requirement="STA-1",
    title="invalid UTF-8 in a query gives 500",
    source="Ruby on Rails, ActionController::BadRequest: invalid query parameters: invalid byte sequence in UTF-8",
)
def invalid_utf8_in_query_crashes(policy: Policy) -> Policy:
    return _crashes_on_query(policy, rb"(?i)%ff")


@fault(
    "F230",
    requirement="BODY-5",
    title="a text of 4 to 64 KiB in a body gives 500",
    source="PostgreSQL, error 54000: index row size exceeds btree version 4 maximum 2704",
)
def middling_text_crashes(policy: Policy) -> Policy:
    return _crashes_on_leaf(policy, lambda leaf: isinstance(leaf, str) and 4096 <= len(leaf) < 65_536)


@fault(
    "F231",
    requirement="BODY-5",
    title="an integer from 2^31 to 2^53 in a body gives 500",
    source="PostgreSQL, error 22003: integer out of range",
)
def middling_number_crashes(policy: Policy) -> Policy:
    return _crashes_on_leaf(policy, lambda leaf: type(leaf) is int and 2**31 <= leaf <= 2**53)


def _nodes(value: JsonValue) -> Iterator[JsonValue]:
    """The value and all parts of it, at any depth."""
    pending = [value]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, (dict, list)):
            pending.extend(node.values() if isinstance(node, dict) else node)


def _crashes_on_node(policy: Policy, breaks: Callable[[JsonValue], bool]) -> Policy:
    def parse(call: Call, body: bytes) -> JsonValue:
        value = policy.reading.parse(call, body)
        if any(map(breaks, _nodes(value))):
            raise _crash()
        return value

    return with_reading(policy, parse=parse)


@fault(
    "F962",
    requirement="BODY-5",
    title="an array of a thousand items in a body gives 500",
    source="Oracle, error ORA-01795: maximum number of expressions in a list is 1000",
)
def long_array_crashes(policy: Policy) -> Policy:
    return _crashes_on_node(policy, lambda node: isinstance(node, list) and len(node) >= 1000)


@fault(
    "F963",
    requirement="BODY-5",
    title="an object of a thousand members in a body gives 500",
    source="Elasticsearch, index.mapping.total_fields.limit: more than 1,000 fields are an error of the index",
)
def wide_object_crashes(policy: Policy) -> Policy:
    return _crashes_on_node(policy, lambda node: isinstance(node, dict) and len(node) >= 1000)


@fault(
    "F964",
    requirement="BODY-5",
    title="a member whose name has more than 255 characters gives 500",
    source="PostgreSQL, error 22001, where the members of a body are rows of names and values",
)
def long_name_crashes(policy: Policy) -> Policy:
    return _crashes_on_node(policy, lambda node: isinstance(node, dict) and any(len(name) > 255 for name in node))


@fault(
    "F232",
    requirement="SRCH-7",
    title="a search text of 1,000 characters gives 500",
    operations=_SEARCH,
    source="Apache Solr, maxBooleanClauses, and Lucene's TooManyClauses: a long query is an error of the engine",
)
def long_search_crashes(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            if re.search(rb"(^|&)q=[^&]{1000,3999}(&|$)", call.request.query):
                raise _crash()
            return original(call, db)

        return search

    return with_handler(policy, "searchPublicProducts", wrap)


@fault(
    "F233",
    requirement="NF-1",
    title="%00 in a session id gives 500",
    operations=("consumeHostedCheckoutBrowserTicket", "cancelHostedCheckoutBrowser"),
    source="CWE-158, improper neutralization of null byte: a C library ends the text there, and the lookup fails",
)
def nul_in_path_crashes(policy: Policy) -> Policy:
    def answer_unrouted(call: Call, methods: tuple[str, ...]) -> Answer:
        if b"/hosted/" in call.request.path and b"%00" in call.request.path:
            raise _crash()
        return policy.unrouted(call, methods)

    return evolve(policy, unrouted=answer_unrouted)


@fault(
    "X185",
    requirement="NF-1",
    title="a revocation of an id with an encoded NUL ends in 500",
    operations=("revokePublicCart",),
    source="PostgreSQL refuses NUL in a text: an error of the driver that nothing catches",
)
def nul_in_an_id_crashes_one(policy: Policy) -> Policy:
    def answer_unrouted(call: Call, methods: tuple[str, ...]) -> Answer:
        if call.request.path.endswith(b"/revoke") and b"%00" in call.request.path:
            raise _crash()
        return policy.unrouted(call, methods)

    return evolve(policy, unrouted=answer_unrouted)
