"""A valid body with other values than the usual one: switches, integers, values that the schema lists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.edge_answers import edges_of
from conformance.checks.support.invalid_bodies import fixed_places, is_against_schema, schema_of
from conformance.checks.support.listed_values import other_listed_values
from conformance.client.request import Request
from conformance.core import json_pointer as pointer
from conformance.profile.subschema import Root


def vary_body(case: Case, request: Request, number: int = 0) -> Request:
    """The request with each value of its body that the schema lets be another one, and the rest as it is.

    Each number chooses other listed values and the other end of integers. Without such a value the request is the same.
    Whether a service takes all of these values together is not known: its refusal shows nothing.
    """
    for where, value in _other_values(case, request, number):
        changed = request.with_body(pointer.replace(request.body, where, value))
        if not is_against_schema(case, changed):
            request = changed
    return request


def _other_values(case: Case, request: Request, number: int) -> Iterator[tuple[str, Any]]:
    fixed, schema = fixed_places(case), schema_of(case)
    leaves = [(where, leaf) for where, leaf in pointer.leaves(request.body) if where and where not in fixed]
    yield from ((where, not leaf) for where, leaf in leaves if isinstance(leaf, bool))
    if schema is None:
        return
    root = Root(schema)
    for where, leaf in leaves:
        if others := other_listed_values(root, schema, where, leaf):
            yield where, others[number % len(others)]
    for edge in edges_of(case, request):
        if isinstance(pointer.get(request.body, edge.where), int) and edge.is_least == (number % 2 == 0):
            yield edge.where, edge.at_edge(None)
