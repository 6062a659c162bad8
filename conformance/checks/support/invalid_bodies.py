"""Bodies that break their schema in one place, and the statuses that refuse them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jsonschema_rs

from conformance.checks.support.case import Case
from conformance.checks.support.case_sampling import part_by_schema
from conformance.client.request import Request
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.profile.model import Profile
from conformance.profile.resources import OperationFacts
from conformance.profile.sample import example

Change = Callable[[Request], Request]


def refusals(case: Case) -> set[int]:
    """The statuses that may refuse an invalid body. A body that carries the credential may also get 401 or 404."""
    return {"api_key": {400}, "oauth": {400, 401}, "none": {400, 401, 403, 404}}[case.operation.auth]


def schema_of(case: Case) -> Any:
    """The profile's schema of the operation's request bodies; None where it has none."""
    return case.profile.schemas.by_name.get(case.operation.request_schema)


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


def template_of(profile: Profile, operation: Operation) -> Any:
    body = profile.operations.get(operation.id, OperationFacts()).body
    schema = profile.schemas.by_name.get(operation.request_schema)
    return example(schema) if body is None and schema is not None else body


def _members(value: Any, at: str = "") -> list[str]:
    """The pointers of all members of objects, at any depth."""
    found = []
    for name, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        member_pointer = at + pointer.join(name)
        found += ([member_pointer] if isinstance(value, dict) else []) + _members(item, member_pointer)
    return found


def _wrong_type(value: Any) -> Any:
    """A value of another type that a lenient parser may convert."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    return 12345 if isinstance(value, str) else "12345"


def _leave_out(where: str, request: Request) -> Request:
    return request.with_body(pointer.remove(request.body, where))


def _mistype(where: str, request: Request) -> Request:
    return request.with_body(pointer.replace(request.body, where, _wrong_type(pointer.get(request.body, where))))


def _nullify(where: str, request: Request) -> Request:
    return request.with_body(pointer.replace(request.body, where, None))


def _null(body: Any, is_broken: Callable[[Any], bool], verifier: str) -> dict[str, tuple[str, Change]]:
    """null for an optional member, the innermost first: parsers take it for an absent one, and validate less within."""
    for where in sorted(_members(body), key=lambda where: -where.count("/")):
        is_optional = where != verifier and not is_broken(pointer.remove(body, where))
        if is_optional and is_broken(pointer.replace(body, where, None)):
            return {f"null{where}": (where, partial(_nullify, where))}
    return {}


def contract_breaks(profile: Profile, operation: Operation) -> Mapping[str, tuple[str, Change] | None]:
    """Each required member, removed; each typed leaf, with another type; an optional member, null."""
    schema, body = profile.schemas.by_name.get(operation.request_schema), template_of(profile, operation)
    if schema is None or not isinstance(body, dict):
        return {"": None}
    validator = jsonschema_rs.validator_for(schema)

    def errors(value: Any) -> set[tuple[str, str]]:
        return {(str(e.instance_path), str(e.schema_path)) for e in validator.iter_errors(value)}

    verifier = profile.oauth.code_verifier if profile.oauth else ""  # covered by OA-2
    known_errors = errors(body)
    breaks: dict[str, tuple[str, Change] | None] = {}
    for where in _members(body):
        if where != verifier and errors(pointer.remove(body, where)) - known_errors:
            breaks[f"without{where}"] = where, partial(_leave_out, where)
        wrong = _wrong_type(pointer.get(body, where))
        if where != verifier and errors(pointer.replace(body, where, wrong)) - known_errors:
            breaks[f"type{where}"] = where, partial(_mistype, where)
    breaks |= _null(body, lambda value: bool(errors(value) - known_errors), verifier)
    names = part_by_schema(list(breaks), profile, operation)
    return {name: breaks[name] for name in names} or {"": None}
