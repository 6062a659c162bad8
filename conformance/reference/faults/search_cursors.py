"""Faults of cursors, in targets whose profile states them: SRCH-9, STA-1."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call
from conformance.reference.cursors import Cursors, parameter_of
from conformance.reference.policy import Handler, Policy, evolve, with_handler, with_search
from conformance.reference.registry import fault

_OPERATION = "searchPublicProducts"


def _off(name: str, seeded_in: str, title: str, source: str) -> Callable[[Callable[[Policy], Policy]], Any]:
    return fault(name, requirement="SRCH-9", title=title, operations=(_OPERATION,), source=source, seeded_in=seeded_in)


def _with_cursors(policy: Policy, change: Callable[[Cursors], Cursors]) -> Policy:
    cursors = policy.search.cursors
    return with_search(policy, cursors=change(cursors)) if cursors else policy


def _move_by(policy: Policy, by: int) -> Policy:
    """Every cursor leads to another position."""

    def change(cursors: Cursors) -> Cursors:
        return evolve(cursors, write=lambda call, position: cursors.write(call, position + by))

    return _with_cursors(policy, change)


def _with_query(policy: Policy, change: Callable[[dict[str, str]], dict[str, str]]) -> Policy:
    """A request with a cursor is answered as one with another query."""

    def wrap(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            query = call.request.parameters()
            if parameter_of(policy.search) not in query:
                return original(call, db)
            changed = urlencode(change(query)).encode()
            return original(evolve(call, request=evolve(call.request, query=changed)), db)

        return search

    return with_handler(policy, _OPERATION, wrap)


@_off("F450", "V366", "a cursor skips an item", "a page that begins after the first item of the next one")
def item_skipped(policy: Policy) -> Policy:
    return _move_by(policy, 1)


@_off("F451", "V366", "the cursor of the last page begins again", "a position that is taken modulo the total")
def begins_again(policy: Policy) -> Policy:
    def wrap(original: Handler) -> Handler:
        def search(call: Call, db: Connection) -> Answer:
            answer = original(call, db)
            meta = answer.value["meta"]
            if "next" in meta or not policy.search.cursors:
                return answer
            meta = {**meta, "next": policy.search.cursors.write(call, 0)}
            return evolve(answer, value={**answer.value, "meta": meta})

        return search

    return with_handler(policy, _OPERATION, wrap)


@_off("F452", "V367", "a page by cursor is not filtered", "a cursor's page is read before the filters are set")
def filter_forgotten(policy: Policy) -> Policy:
    return _with_query(policy, lambda query: {n: v for n, v in query.items() if n not in ("category", "merchant")})


@_off("X194", "V367", "a page by cursor is not filtered by merchant", "one of two filters that a cursor does not hold")
def merchant_forgotten(policy: Policy) -> Policy:
    return _with_query(policy, lambda query: {n: v for n, v in query.items() if n != "merchant"})


@_off("F453", "V369", "a cursor used twice is refused", "a scroll context that is closed after each page")
def used_once(policy: Policy) -> Policy:
    used: set[str] = set()

    def change(cursors: Cursors) -> Cursors:
        def read(call: Call, cursor: str) -> int | None:
            is_used = cursor in used
            used.add(cursor)
            return None if is_used else cursors.read(call, cursor)

        return evolve(cursors, read=read)

    return _with_cursors(policy, change)


@_off("F454", "V366", "a page by cursor has the default order", "a sort that is applied to numbered pages only")
def order_forgotten(policy: Policy) -> Policy:
    return _with_query(policy, lambda query: {**query, "sort": policy.search.sorts[0]})


@_off("F455", "V367", "a page by cursor repeats the last item of the page before", ">= for > after the last key")
def item_repeated(policy: Policy) -> Policy:
    return _move_by(policy, -1)


@fault(
    "X162",
    requirement="STA-1",
    title="a cursor of another content than the target's own ends in 500",
    operations=(_OPERATION,),
    source="a cursor that is decoded within a try, and used outside of it",
    seeded_in="V366",
)
def foreign_cursor_breaks(policy: Policy) -> Policy:
    def change(cursors: Cursors) -> Cursors:
        def read(call: Call, cursor: str) -> int | None:
            position = cursors.read(call, cursor)
            if position is None and _is_base64(cursor):
                raise ValueError("a cursor without a position")
            return position

        return evolve(cursors, read=read)

    return _with_cursors(policy, change)


def _is_base64(text: str) -> bool:
    try:
        return bool(b64decode(text, validate=True))
    except ValueError:
        return False
