"""What the owner of a drawn target says of it: a patch for the reference's profile, and the target's schemas.

Both take what the reference itself says as parsed documents, and leave out what the choices call untold. A table of
the patch is merged with the reference's, None takes a key away, and a list replaces a list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reference.base import STATES
from conformance.reference.drawn.boundary import KINDS, escaped, id_schema, names_of, pointed, unknown_id
from conformance.reference.drawn.building import STEADY
from conformance.reference.drawn.carriers import key_schema
from conformance.reference.drawn.choices import Drawn
from conformance.reference.drawn.errors import SHAPES, volatile_of

Table = Mapping[str, Any]
Patch = dict[str, Any]

_MEMBERS = {
    "cart": ("id",),
    "order": ("id", "lineId"),
    "webhook": ("id", "url"),
    "session": ("id", "ticket"),
    "merchant": ("slug",),
    "oauth": ("code",),
}
"""By kind of fixture: the members that placeholders name."""
_LEADS_TO = {
    "checkoutPublicCart": "checked_out",
    "revokePublicCart": "revoked",
    "removePublicCartPromotion": "unpromoted",
    "requestStorefrontOrderAfterSales": "requested",
    "consumeHostedCheckoutBrowserTicket": "consumed",
    "cancelHostedCheckoutBrowser": "cancelled",
}
_ID_PATTERN = re.compile(r"\^(cart|order|wh|session|asr|del)_\[0-9a-f\]\{20\}\$")


def profile_of(drawn: Drawn, document: Table) -> Patch:
    """The patch that makes of the reference's profile, given as `document`, the profile of a drawn target."""
    names = names_of(drawn)
    patch: Patch = {
        "authorization": {"format": drawn.authorization},
        "idempotency": _idempotency(drawn, names),
        "errors": {"volatile": volatile_of(drawn, names)},
        "fixtures": _fixtures(document["fixtures"], names),
        "operations": {n: _operation(drawn, names, n, table) for n, table in document["operations"].items()},
        "identity": {"scopes": pointed(names, document["identity"]["scopes"])},
        "search": _search(drawn, names, document["search"]),
        "transitions": _transitions(drawn, document["transitions"]),
        "hosted": {"tickets_single_use": "consumeHostedCheckoutBrowserTicket.consumed" not in drawn.lenient},
        "effects": _effects(drawn, names, document["effects"]),
        "webhooks": _webhooks(names, document["webhooks"]),
        "rate_limit": _rate_limit(drawn),
        "oauth": _oauth(drawn, names, document["oauth"]),
    }
    for fact in drawn.untold:
        _keep_silent(patch, document, fact)
    if "credentials.limited" in drawn.untold and patch["rate_limit"] is not None:
        patch["rate_limit"]["credential"] = None
    if drawn.limiter == "never" and patch["rate_limit"] is not None:
        patch["rate_limit"] = {"none": "the target never limits"}
    return patch


def _renamed(names: Table, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {names.get(name, name): _renamed(names, item) for name, item in value.items()}
    return [_renamed(names, item) for item in value] if isinstance(value, list) else value


def _instead(new: Table, old: Table) -> Patch:
    """A patch that makes `new` of `old`, with which it would otherwise be merged."""
    gone = {name: None for name in old if name not in new}
    return gone | {
        name: _instead(value, old[name]) if isinstance(value, Mapping) and isinstance(old.get(name), Mapping) else value
        for name, value in new.items()
    }


def _idempotency(drawn: Drawn, names: Table) -> Patch:
    volatile = {"stored": (), "rewritten": ("/requestId", "/servedAt"), "latest": ("/data/state", "/data/version")}
    in_body = drawn.carrier == "body"
    return {
        "carrier": drawn.carrier,
        "name": None if in_body else drawn.key_name,
        "pointer": drawn.key_pointer if in_body else None,
        "format": drawn.key_format if drawn.key_format in ("uuid", "any") else {"pattern": drawn.key_format},
        "missing_key": drawn.missing_key,
        "volatile": [pointed(names, where) for where in volatile[drawn.replay]],
    }


def _fixtures(fixtures: Table, names: Table) -> Patch:
    return {
        kind: {
            state: {"members": {name: f"/{escaped(names.get(name, name))}" for name in _MEMBERS[kind]}}
            for state in states
        }
        for kind, states in fixtures.items()
    }


def _operation(drawn: Drawn, names: Table, operation: str, table: Table) -> Patch:
    said: Patch = {}
    if "body" in table:
        said["body"] = _instead(_renamed(names, table["body"]), table["body"])
        said["bodies"] = _renamed(names, table.get("bodies", []))
    if "unknown" in table:
        said["unknown"] = {n: unknown_id(drawn, KINDS[n]) if n in KINDS else v for n, v in table["unknown"].items()}
    if "unknown" in drawn.untold:
        said["unknown"] = None
    if "bodies" in drawn.untold:
        said["bodies"] = None
    if f"body.{operation}" in drawn.untold:
        said["body"] = None
    return said


def _search(drawn: Drawn, names: Table, search: Table) -> Patch:
    clamped = drawn.page_size_out == "clamped"
    return {
        "query": {"page": drawn.page_base, "pageSize": max(drawn.page_size_min, search["query"]["pageSize"])},
        "page_base": drawn.page_base,
        "page_size_min": None if clamped else drawn.page_size_min,
        "page_size_max": None if clamped else drawn.page_size_max,
        **{name: pointed(names, search[name]) for name in ("item_id", "item_category", "item_merchant")},
    }


def _transitions(drawn: Drawn, transitions: Sequence[Table]) -> list[Table]:
    """Those that are still true: what is allowed now conflicts no more, and what is gone is not found."""
    said = []
    for one in transitions:
        if "none" in one:
            said.append(one)
            continue
        kind, _, state = one["fixture"].partition(".")
        for operation in one.get("after", ()):
            state = _LEADS_TO.get(operation, state)
        allowed = state in STATES[one["operation"]] or f"{one['operation']}.{state}" in drawn.lenient
        if "leads_to" in one or not (allowed or f"{kind}.{state}" in drawn.gone):
            said.append(one)
    if "transitions.leads_to" in drawn.untold:
        said = [one for one in said if "leads_to" not in one]
    if "transitions.single_winner" in drawn.untold:
        said = [{name: value for name, value in one.items() if name != "single_winner"} for one in said]
    return said


def _effects(drawn: Drawn, names: Table, effects: Table) -> Patch:
    said: Patch = {
        operation: {"pointer": pointed(names, table["pointer"]) if "operation" in table else table["pointer"]}
        for operation, table in effects.items()
    }
    for operation, table in effects.items():
        if "effects.step" in drawn.untold:
            said[operation]["step"] = None
        unmarked = f"body.{operation}" in drawn.untold and "{unique}" in str(table.get("http"))
        if unmarked or ("effects.http" in drawn.untold and "http" in table):
            said[operation] = None
    return said


def _webhooks(names: Table, webhooks: Table) -> Patch:
    return {
        "id": pointed(names, webhooks["id"]),
        "patch": _instead(_renamed(names, webhooks["patch"]), webhooks["patch"]),
        "kept": [pointed(names, where) for where in webhooks["kept"]],
    }


def _rate_limit(drawn: Drawn) -> Patch:
    counted = {"per": drawn.limit_per, "retry_after": drawn.retry_after in ("seconds", "date")}
    if drawn.limiter == "steady":
        own = {"limit": STEADY[0], "window_s": STEADY[1], "recovery_s": 2, "max_requests": 4 * STEADY[0]}
        return {**counted, **own, "prepare": None, "restore": None}
    return counted


def _oauth(drawn: Drawn, names: Table, oauth: Table) -> Patch:
    places = ("code_verifier", "code", "client_id_member", "redirect_uri_member", "access_token", "token_type")
    told = {name: pointed(names, oauth[name]) for name in places}
    return {**told, "algorithms": list(drawn.algorithms), "clock_allowance_s": drawn.clock_s}


def _keep_silent(patch: Patch, document: Table, fact: str) -> None:
    table, _, key = fact.partition(".")
    if fact == "fixtures.foreign":
        for kind, states in document["fixtures"].items():
            if "foreign" in states:
                patch["fixtures"][kind]["foreign"] = None
    elif fact in ("transitions", "effects", "rate_limit", "revocation"):
        patch[fact] = None
    elif fact == "rate_limit.limit" and patch["rate_limit"] is not None:
        patch["rate_limit"] |= {"limit": None, "window_s": None}
    elif key and table not in ("body", "transitions", "effects") and patch.get(table, {}) is not None:
        patch.setdefault(table, {})[key] = None


def schemas_of(drawn: Drawn, document: Table) -> Patch:
    """The schema file of a drawn target, from the reference's, given as `document`."""
    names, said = names_of(drawn), {}
    key, key_form = key_schema(drawn)
    for name, schema in document["components"]["schemas"].items():
        request = name.endswith("Request")
        kind = "every request" if request else "every response" if name.endswith("Response") else ""
        if name in drawn.unschooled or kind in drawn.unschooled:
            continue
        made = _schema(drawn, names, schema)
        if request and drawn.unknown_members == "refused" and drawn.closed_schemas:
            made = _closed(made)
        if request and drawn.carrier == "body" and drawn.key_in_schema:
            made["properties"][key] = key_form
            if drawn.missing_key == "refused":
                made["required"] = [*made.get("required", ()), key]
        said[name] = made
    if "PublicErrorResponse" in said:
        shape = SHAPES[drawn.error]
        said["PublicErrorResponse"] = _schema(drawn, names, shape.schema) if shape.renamed else shape.schema
    if "ApiKeyIdentityResponse" in said and drawn.scopes_form != "list":
        said["ApiKeyIdentityResponse"] = _schema(
            drawn, names, document["components"]["schemas"]["OtherIdentityResponse"]
        )
    if "OAuthTokenResponse" in said:
        said["OAuthTokenResponse"] = _retyped(drawn, said["OAuthTokenResponse"], names)
    return {"components": {"schemas": said}}


def _schema(drawn: Drawn, names: Table, schema: Any) -> Any:
    """A schema whose properties are called as the target calls them, and whose ids look as its ids do."""
    if isinstance(schema, list):
        return [_schema(drawn, names, part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    if found := _ID_PATTERN.fullmatch(str(schema.get("pattern", ""))):
        return id_schema(drawn, found[1])
    made: dict[str, Any] = {}
    for word, part in schema.items():
        if word == "properties":
            made[word] = {names.get(name, name): _schema(drawn, names, below) for name, below in part.items()}
        elif word == "required":
            made[word] = [names.get(name, name) for name in part]
        else:
            made[word] = _schema(drawn, names, part)
    return made


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {word: _closed(part) for word, part in schema.items() if word != "properties"}
    if "properties" in schema:
        made["properties"] = {name: _closed(part) for name, part in schema["properties"].items()}
        made["additionalProperties"] = False
    return made


def _retyped(drawn: Drawn, schema: Any, names: Table) -> Any:
    """The token response with the target's spelling of the token type, which is free (RFC 6749, 7.1)."""
    data = schema["properties"]["data"]
    kind = names.get("tokenType", "tokenType")
    members = {**data["properties"], kind: {"type": "string", "enum": [drawn.token_type]}}
    return {**schema, "properties": {**schema["properties"], "data": {**data, "properties": members}}}
