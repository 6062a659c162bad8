"""The rules of stated transitions: fixtures that exist, of one kind, and of a kind that the operation's request holds.

A state that no part of a request names is never arranged: the request would be answered 200, and that would count
against the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from conformance.core.model import REFUSAL_STATUSES
from conformance.profile.render import MalformedPlaceholder, placeholders
from conformance.profile.resources import FOREIGN
from conformance.profile.source import Key, Problem, nearest

Document = Mapping[str, Any]
_EXCHANGE = "exchangeOAuthToken"
_REQUEST = ("path", "query", "headers", "body", "bodies")


def transition_problems(document: Document) -> Iterator[Problem]:
    """The problems of `[[transitions]]`, in a document that is valid by `structure`."""
    fixtures = document.get("fixtures", {})
    states = [f"{kind}.{state}" for kind, sources in fixtures.items() for state in sources]
    foreign = {
        f"{kind}.{state}"
        for kind, sources in fixtures.items()
        for state in sources
        if state == FOREIGN or sources[state].get("foreign")
    }
    for index, table in enumerate(document.get("transitions", ())):
        key: Key = ("transitions", index)
        yield from _status(key, table)
        for member in ("fixture", "leads_to"):
            name = table.get(member)
            if name is None:
                continue
            if name not in states:
                hint = nearest(name, states) or "add it to [fixtures]"
                yield Problem((*key, member), f"unknown fixture {name}", hint)
            elif name in foreign:
                yield Problem((*key, member), f"{name} belongs to another installation")
            elif name.partition(".")[0] != table["fixture"].partition(".")[0]:
                yield Problem((*key, member), f"{name} is of another kind than {table['fixture']}")
        if table.get("fixture") in states:
            yield from _use(document, key, table)


def _status(key: Key, table: Mapping[str, Any]) -> Iterator[Problem]:
    if "status" not in table:
        return
    if table["status"] not in REFUSAL_STATUSES:
        message = f"{table['status']} is not a declared status of a refusal"
        yield Problem((*key, "status"), message, "400, 401, 403, 404 or 409")
    if table["operation"] == _EXCHANGE:
        message = f"of {_EXCHANGE} is judged as the table oauth.status states it"
        yield Problem((*key, "status"), message, "leave it out, and state oauth.status.bad_grant")
    if "leads_to" in table:
        yield Problem((*key, "status"), "is stated beside leads_to: an allowed operation is answered 200")


def _use(document: Document, key: Key, table: Mapping[str, Any]) -> Iterator[Problem]:
    """A problem where the request of the operation, and what it is made of, names no fixture of the kind."""
    operation, kind = table["operation"], table["fixture"].partition(".")[0]
    request = _request(document, operation)
    # braces that are written twice are not placeholders, which `doctor` finds out
    is_stated = any(part is not None for part in request) and "{{" not in str(request)
    if is_stated and kind not in _kinds(document, operation):
        message = f"the request of {operation} holds no {kind}, so that its state is without effect"
        hint = f"{{{kind}.MEMBER}} in the path, the query, the headers or the body of operations.{operation}"
        yield Problem((*key, "fixture"), message, hint)


def _kinds(document: Document, operation: str) -> set[str]:
    """The kinds of fixtures that a request names, and those that their sources name: other fixtures, and calls."""
    fixtures, found = document.get("fixtures", {}), set[str]()
    with suppress(MalformedPlaceholder):  # which `Substitution` reports
        pending = _names(_request(document, operation))
        while pending:
            found |= pending
            sources = [source for kind in pending for source in fixtures.get(kind, {}).values()]
            calls = [_request(document, source["call"]) for source in sources if "call" in source]
            pending = _names([sources, calls]) - found
    return found


def _request(document: Document, operation: str) -> list[Any]:
    facts = document.get("operations", {}).get(operation, {})
    return [facts.get(part) for part in _REQUEST]


def _names(value: Any) -> set[str]:
    return {name.partition(".")[0] for name in placeholders(value)}
