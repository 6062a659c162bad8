"""Faults that requests at the edge of the usual show: AUTH, SCO, PUB, SRCH, IDEM-4, RATE-7 and TEN-1."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from dataclasses import replace
from email.utils import formatdate
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection, delete

from conformance.reference import objects
from conformance.reference.call import Answer, Call, Caller, Refusal, canonical, success
from conformance.reference.idempotency import address, digest
from conformance.reference.policy import (
    Handler,
    Policy,
    before_work,
    evolve,
    with_handlers,
    with_idempotency,
    with_limits,
)
from conformance.reference.registry import fault
from conformance.reference.tables import records

_STORES = ("listPublicMerchantCategories", "listPublicMerchantProducts")
_SEARCH = "searchPublicProducts"
_QUOTE = "quotePublicCartCheckout"
_REQUEST = "requestStorefrontOrderAfterSales"
_LONGEST_HEADER = 1_000
_OFFSET_S = 5 * 3600


@fault(
    "X110",
    requirement="STA-1",
    title="two Authorization headers are answered 500",
    source="a cast of a header that is a list where there are two",
)
def two_headers_fail(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        if len(call.request.header_values(b"authorization")) > 1:
            raise TypeError("cannot convert a list to a string")
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "X111",
    requirement="STA-1",
    title="an Authorization header of more than 1,000 characters is answered 500",
    source="a column that records which key was used",
)
def long_header_fails(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        if len(call.request.first_header(b"authorization")) > _LONGEST_HEADER:
            raise ValueError("value too long for type character varying(1000)")
        return policy.authenticate(call)

    return evolve(policy, authenticate=authenticate)


@fault(
    "X112",
    requirement="SCO-1",
    title="a path with a slash behind it needs no scope",
    source="rules of authorization by exact path, and a router that ignores the slash (Spring Security, antMatchers)",
)
def slash_needs_no_scope(policy: Policy) -> Policy:
    def split(path: bytes) -> Any:
        return policy.split(path[:-1] if path.endswith(b"/") and len(path) > 1 else path)

    def permits(call: Call, caller: Caller) -> bool:
        return call.request.path.endswith(b"/") or policy.permits(call, caller)

    return evolve(policy, split=split, permits=permits)


@fault(
    "X113",
    requirement="PUB-3",
    title="an unknown slug is answered with an empty list from its second request on",
    operations=_STORES,
    source="a cache of what was not found, which is read as a store without products",
)
def unknown_slug_is_empty(policy: Policy) -> Policy:
    missed: set[tuple[str, str]] = set()

    def wrap(inner: Handler) -> Handler:
        def read(call: Call, db: Connection) -> Answer:
            try:
                return inner(call, db)
            except Refusal:
                if (call.operation, call.resource) in missed:
                    return success([])
                missed.add((call.operation, call.resource))
                raise

        return read

    return with_handlers(policy, _STORES, wrap)


@fault(
    "X114",
    requirement="SRCH-8",
    title="what follows a comma in sort is ignored",
    operations=(_SEARCH,),
    source="a list of sorts of which the first one is used",
)
def rest_of_sort_is_ignored(policy: Policy) -> Policy:
    def look(call: Call, _db: Connection) -> Call:
        query = call.request.parameters()
        if "," not in query.get("sort", ""):
            return call
        query["sort"] = query["sort"].partition(",")[0]
        return replace(call, request=replace(call.request, query=urlencode(query).encode()))

    return before_work(policy, look, _SEARCH)


def with_texts(policy: Policy, change: Callable[[str], str]) -> Policy:
    """Payloads are compared with their texts changed so."""

    def apply(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: apply(item) for name, item in value.items()}
        if isinstance(value, list):
            return [apply(item) for item in value]
        return change(value) if isinstance(value, str) else value

    def fingerprint(call: Call) -> str:
        return digest(canonical(apply(call.body)), call.proof.jkt if call.proof else "")

    return with_idempotency(policy, fingerprint=fingerprint)


def _without_accents(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter))


@fault(
    "X115",
    requirement="IDEM-4",
    title="payloads are compared without accents",
    source="MySQL's collation utf8mb4_general_ci",
)
def accents_are_ignored(policy: Policy) -> Policy:
    return with_texts(policy, _without_accents)


@fault(
    "X116",
    requirement="IDEM-4",
    title="payloads are compared in ASCII, in which every other letter is a question mark",
    source="Java's String.getBytes of US-ASCII",
)
def other_letters_are_question_marks(policy: Policy) -> Policy:
    return with_texts(policy, lambda text: text.encode("ascii", "replace").decode())


@fault(
    "X117",
    requirement="RATE-7",
    title="Retry-After is a date in local time that is called GMT",
    source="a format with the letters GMT in it, in place of a conversion",
)
def local_time_is_called_gmt(policy: Policy) -> Policy:
    def headers(seconds: float) -> tuple[tuple[str, str], ...]:
        return (("Retry-After", formatdate(time.time() + seconds - _OFFSET_S, usegmt=True)),)

    return with_limits(policy, headers=headers)


@fault(
    "X121",
    requirement="TEN-3",
    title="another's order that has an after-sales request is a state conflict",
    operations=(_REQUEST,),
    source="a state that is examined before the owner",
)
def state_before_owner(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> None:
        order = objects.get(db, call.resource[:100])
        is_known = order is not None and order.kind == "order" and order.state == "requested"
        if is_known and order is not None and order.installation != call.installation:
            raise Refusal("state_conflict", "The order has a request already.")

    return before_work(policy, look, _REQUEST)


@fault(
    "X122",
    requirement="IDEM-1",
    title="a cart keeps the key of its last quote alone",
    operations=("quotePublicCart",),
    source="one column for the key in the row of the cart",
)
def last_key_of_cart(policy: Policy) -> Policy:
    last: dict[str, str] = {}

    def run(call: Call, handler: Handler) -> Answer:
        answer = policy.idempotency.run(call, handler)
        if call.operation == "quotePublicCart":
            key = address(call)
            old = last.get(call.resource)
            if old is not None and old != key:
                with call.store.write() as db:
                    db.execute(delete(records).where(records.c.address == old))
            last[call.resource] = key
        return answer

    return with_idempotency(policy, run=run)


@fault(
    "X118",
    requirement="TEN-1",
    title="a query parameter takes the place of the path's, whose owner alone is checked",
    operations=(_QUOTE,),
    source="parameters of path, query and body in one map (Rails, PHP's $_REQUEST)",
)
def query_takes_the_place_of_the_path(policy: Policy) -> Policy:
    def look(call: Call, db: Connection) -> Call:
        name = next(iter(call.path))
        other = call.request.parameters().get(name)
        if not other:
            return call
        objects.find(call, db, "cart")
        return replace(call, path={name: other}, policy=evolve(call.policy, sees=lambda *_: True))

    return before_work(policy, look, _QUOTE)
