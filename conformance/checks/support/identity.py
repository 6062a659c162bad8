"""The interface's scopes in an identity answer, in any form: pure functions.

Scopes may be strings, objects, members of one object, or joined in one string, and an answer may also list scopes that
the key lacks. So no single place is decisive: a place is a candidate where the answer to the broadest key shows all of
that key's scopes, and an answer is wrong only if it is wrong at every candidate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from conformance.core import json_pointer as pointer
from conformance.judge.laws.answers import SCOPE_SEPARATORS

SCOPES: Final = ("webhooks:write", "webhooks:read", "catalog:read", "checkout:quote")

ScopeSigns = Mapping[str, list[Any]]
"""Scope -> its evidence: the item of a list, the member of an object, or the text itself."""


def scopes_at(body: Any, place: str) -> ScopeSigns:
    """The scopes at one place of an answer's body; none where the place is absent."""
    found: dict[str, list[Any]] = defaultdict(list)
    if pointer.has(body, place):
        value = pointer.get(body, place)
        if isinstance(value, str):
            value = [part for part in SCOPE_SEPARATORS.split(value) if part]
        for scope, sign in _signs(value, None):
            found[scope].append(sign)
    return found


def candidates(body: Any, scopes: Collection[str]) -> list[str]:
    """The places below `data`, outside of arrays, that show all of these scopes."""
    return [place for place in _places(body["data"], "/data") if scopes_at(body, place).keys() >= set(scopes)]


def missing_scopes(signs: ScopeSigns, scopes: Collection[str]) -> list[str]:
    return [scope for scope in SCOPES if scope in scopes and scope not in signs]


def extra_scopes(
    signs: ScopeSigns, broadest: ScopeSigns, scopes: Collection[str], broadest_scopes: Collection[str]
) -> list[str]:
    """The scopes that a key lacks, but that are shown as the answer to the broadest key shows its own.

    `broadest_scopes`: the scopes of the broadest key. An object may say that a scope is missing, so it counts only if
    it equals the evidence of a scope that the broadest key has.
    """
    return [
        scope
        for scope in SCOPES
        if scope not in scopes
        and any(
            isinstance(sign, str) or (scope in broadest_scopes and sign in broadest.get(scope, ()))
            for sign in signs.get(scope, ())
        )
    ]


def _signs(node: Any, item: Any) -> Iterator[tuple[str, Any]]:
    """Each scope in a value with its evidence; `item` is the element of the outermost list around it."""
    if isinstance(node, str):
        parts = [part for part in SCOPE_SEPARATORS.split(node) if part]
        if all(":" in part for part in parts):  # a description may mention a scope without showing it
            yield from ((part, node if item is None else item) for part in parts if part in SCOPES)
    elif isinstance(node, list):
        for element in node:
            yield from _signs(element, element if item is None else item)
    elif isinstance(node, dict):
        for name, value in node.items():
            if name in SCOPES and value is not None and value is not False:
                yield name, {name: value}
            yield from _signs(value, item)


def _places(node: Any, at: str) -> Iterator[str]:
    yield at
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _places(value, at + pointer.join(name))
