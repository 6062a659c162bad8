"""Bodies that break their schema in one place, and the statuses that refuse them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import jsonschema_rs

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import part_by_schema
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.model import Profile
from conformance.profile.resources import OperationFacts
from conformance.profile.sample import example
from conformance.profile.subschema import Root

Change = Callable[[Request], Request]
_NO_TEXTS: Final[tuple[Any, ...]] = (12345, True, {})
"""In place of a text. The second one is equal to any text where it is compared loosely, as in PHP."""


def refusals(case: Case) -> set[int]:
    """The statuses that may refuse an invalid body. A body that carries the credential may also get 401 or 404."""
    return {"api_key": {400}, "oauth": {400, 401}, "none": {400, 401, 403, 404}}[case.operation.auth]


def schema_of(case: Case) -> Any:
    """The profile's schema of the operation's request bodies; None where it has none."""
    return case.profile.body_schema(case.operation.request_schema)


def is_against_schema(case: Case, request: Request) -> bool:
    """Whether the profile's schema of the operation's bodies refuses the body of a request, as it is sent."""
    schema, validators = request.operation.request_schema, case.runtime.validators
    return validators.knows(schema) and bool(validators.problem(schema, request.document))


def fixed_places(case: Case) -> frozenset[str]:
    """The places of a body that must not be changed, or that other checks cover: key, code, verifier, client."""
    oauth, idempotency = case.profile.oauth, case.profile.idempotency
    fixed = {idempotency.place} if idempotency and idempotency.place else set()
    if oauth and case.operation.auth == "oauth":
        fixed |= {oauth.code_verifier, oauth.code, oauth.client_id_member, oauth.redirect_uri_member}
    return frozenset(fixed)


def fixture_values(case: Case, request: Request) -> list[str]:
    """The values of the fixtures that the body refers to: what the call is about, such as a ticket."""
    return [value for kind in case.named_in_body for value in case.fixture_of(request, kind).values()]


def allows_no_members(profile: Profile, operation: Operation) -> bool:
    """Whether the profile's schema of the operation's bodies allows the empty object."""
    schema = profile.body_schema(operation.request_schema)
    return schema is not None and jsonschema_rs.validator_for(schema).is_valid({})


def template_of(profile: Profile, operation: Operation) -> Any:
    body = profile.operations.get(operation.id, OperationFacts()).body
    schema = profile.body_schema(operation.request_schema)
    return example(schema) if body is None and schema is not None else body


def _members(value: Any, at: str = "") -> list[str]:
    """The pointers of all members of objects, at any depth."""
    found = []
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        member_pointer = at + pointer.join(name)
        found += ([member_pointer] if isinstance(value, dict) else []) + _members(item, member_pointer)
    return found


def _wrong_types(value: Any, turn: int = 0) -> list[Any]:
    """Values of other types, those that a lenient parser may convert; of several they take turns.

    In PHP a list and an object are one type.
    """
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, (int, float)):
        return [str(value)]
    if isinstance(value, (dict, list)):
        return ["12345"] if turn % 2 else [[] if isinstance(value, dict) else {}, "12345"]
    no_texts = [*_NO_TEXTS, [value]]
    start = turn % len(no_texts)
    return [*no_texts[start:], *no_texts[:start]]


def _leave_out(where: str, request: Request) -> Request:
    return request.with_body(pointer.remove(request.body, where))


def _mistype(where: str, value: Any, request: Request) -> Request:
    """`value` is for the template, in which a placeholder is a text."""
    known = pointer.get(request.body, where)
    wrong = value if isinstance(known, (str, list, dict)) else _wrong_types(known)[0]
    if isinstance(known, str) and isinstance(value, list):
        wrong = [known]  # some parsers take an array of one text for the text
    elif isinstance(known, list) and isinstance(value, dict):
        wrong = {str(number): item for number, item in enumerate(known)}
    return request.with_body(pointer.replace(request.body, where, wrong))


def _is_listed(schema: Any, where: str) -> bool:
    """Whether a value is one of an enum: compared loosely, `true` is any text."""
    return any(part.keys() & {"enum", "const"} for part in Root(schema).subschemas(schema, pointer.tokens(where)))


def _nullify(where: str, request: Request) -> Request:
    return request.with_body(pointer.replace(request.body, where, None))


def _nulls(body: Any, is_broken: Callable[[Any], bool], verifier: str) -> dict[str, tuple[str, Change]]:
    """null for an optional member, one within and one at the top: parsers take it for an absent one.

    Many validate less within, and some drop each null at the top before they validate.
    """

    def may_be_left_out(where: str) -> bool:
        return where != verifier and not is_broken(pointer.remove(body, where))

    no_nulls = [where for where in _members(body) if is_broken(pointer.replace(body, where, None))]
    optional = sorted(filter(may_be_left_out, no_nulls), key=lambda where: -where.count("/"))
    return {f"null{where}": (where, partial(_nullify, where)) for where in [*optional[:1], *optional[-1:]]}


def contract_breaks(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, Change] | None]:
    """Each required member, removed; each typed leaf, with another type; an optional member, null."""
    schema, body = profile.body_schema(operation.request_schema), template_of(profile, operation)
    if schema is None or not isinstance(body, dict):
        return {"": None}
    is_broken = _broken_by(schema, body)
    breaks: dict[str, tuple[str, Change] | None] = {**_breaks(profile, schema, body, is_broken, _members(body))}
    breaks |= _nulls(body, is_broken, profile.oauth.code_verifier if profile.oauth else "")
    names = part_by_schema(list(breaks), profile, operation)
    return {name: breaks[name] for name in names} or {"": None}


def breaks_of_other_bodies(profile: Profile, operation: Operation) -> Mapping[str, tuple[int, str, Change]]:
    """The breaks of members that the usual body does not have, each in the first stated body that has it."""
    schema, body = profile.body_schema(operation.request_schema), template_of(profile, operation)
    facts = profile.operations.get(operation.id, OperationFacts())
    if schema is None or not isinstance(body, dict):
        return {}
    known, found = set(_members(body)), dict[str, tuple[int, str, Change]]()
    for index, other in enumerate(facts.bodies):
        if places := [where for where in _members(other) if where not in known]:
            known.update(places)
            breaks = _breaks(profile, schema, other, _broken_by(schema, other), places)
            found |= {name: (index, where, change) for name, (where, change) in breaks.items()}
    return found


def _broken_by(schema: Any, body: Any) -> Callable[[Any], bool]:
    """Whether a value has an error that the body does not have: its placeholders may be against the schema."""
    validator = jsonschema_rs.validator_for(schema)

    def errors(value: Any) -> set[tuple[str, str]]:
        return {(str(e.instance_path), str(e.schema_path)) for e in validator.iter_errors(value)}

    known_errors = errors(body)
    return lambda value: bool(errors(value) - known_errors)


def _breaks(
    profile: Profile, schema: Any, body: Any, is_broken: Callable[[Any], bool], at: Sequence[str]
) -> dict[str, tuple[str, Change]]:
    """The members at these places, removed and with another type, as far as the schema refuses the body then."""
    texts, containers = 0, 0
    verifier = profile.oauth.code_verifier if profile.oauth else ""  # covered by OA-2
    breaks: dict[str, tuple[str, Change]] = {}
    for where in at:
        if where == verifier:
            continue
        if is_broken(pointer.remove(body, where)):
            breaks[f"without{where}"] = where, partial(_leave_out, where)
        value = pointer.get(body, where)
        turn = containers if isinstance(value, (dict, list)) else 1 if _is_listed(schema, where) else texts
        wrong = [other for other in _wrong_types(value, turn) if is_broken(pointer.replace(body, where, other))]
        if wrong:
            breaks[f"type{where}"] = where, partial(_mistype, where, wrong[0])
            texts, containers = texts + isinstance(value, str), containers + isinstance(value, (dict, list))
    return breaks
