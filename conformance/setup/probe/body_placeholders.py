"""Bodies whose members have the names of what the draft can supply: a ticket of the session, a code, a verifier."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.contract import Operation
from conformance.profile.render import escape
from conformance.profile.subschema import Root
from conformance.setup.probe.context import Probe

_OAUTH: Final = {
    "granttype": "authorization_code",
    "code": "{oauth.code}",
    "clientid": "{oauth.client_id}",
    "redirecturi": "{oauth.redirect_uri}",
    "codeverifier": "{pkce.verifier}",
}
"""Name of a member of a token request, without case and punctuation -> its value."""


async def arrange_with_placeholders(probe: Probe, operation: Operation) -> Request:
    """A request of an operation; drafts its body, if none is stated and members have the names of known values.

    Raises MissingFact or FixtureError.
    """
    key = ("operations", operation.id, "body")
    if not operation.has_body or probe.draft.has(*key):
        return await probe.arrange(operation.id)
    try:
        request = await probe.arrange(operation.id)
    except MissingFact as error:
        body = _token_request(probe, operation) if error.key == ".".join(key) else None
        if body is None:
            raise
    else:
        body = with_placeholders(request.body, _known_values(operation, request))
        if body is None:
            return request
    probe.draft.state(key, body, f"made from {operation.request_schema}, and from values with the names of its members")
    return await probe.arrange(operation.id)


def _known_values(operation: Operation, request: Request) -> Mapping[str, str]:
    """Name of a member -> the placeholder of the value: of a token request, or of the fixtures of the request."""
    if operation.auth == "oauth":
        return _OAUTH
    fixtures = request.fixtures.members.items()
    return {_bare(name): f"{{{at}.{name}}}" for at, members in fixtures for name in members}


def with_placeholders(body: Any, values: Mapping[str, str]) -> dict[str, Any] | None:
    """The body with those values, or None where no member has such a name."""
    if not isinstance(body, Mapping) or not any(_bare(name) in values for name in body):
        return None
    return {name: values.get(_bare(name), escape(value)) for name, value in body.items()}


def _token_request(probe: Probe, operation: Operation) -> dict[str, Any] | None:
    """A body of the members that its schema requires, or None where one of them has another name."""
    schema = probe.profile.body_schema(operation.request_schema)
    return token_members(schema) if operation.auth == "oauth" else None


def token_members(schema: Any) -> dict[str, Any] | None:
    """The required members of a token request with their values, or None where one of them has another name."""
    names = Root(schema).flatten(schema).get("required", ()) if schema is not None else ()
    values = {name: _OAUTH[_bare(name)] for name in names if _bare(name) in _OAUTH}
    return values if values and len(values) == len(names) else None


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
