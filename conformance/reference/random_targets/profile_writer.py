"""The profile of a random target: a patch for the reference's profile, and the target's schemas.

Both are derived from the reference's parsed documents, without the facts that the choices omit. A table of the patch is
merged with the reference's, None removes a key, and a list replaces a list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.reference.base import STATES
from conformance.reference.random_targets.boundary import (
    KINDS,
    escape_token,
    id_schema,
    names_of,
    translate_pointer,
    unknown_id,
)
from conformance.reference.random_targets.choices import NAMESPACES, RandomTarget
from conformance.reference.random_targets.credentials import has_scheme, key_schema
from conformance.reference.random_targets.errors import SHAPES, volatile_of
from conformance.reference.random_targets.legitimate_values import ALLOWANCES
from conformance.reference.random_targets.policy_builder import RUN_LIMITS, STEADY
from conformance.reference.random_targets.search_facts import omitted_with, search_facts, search_schema

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
COUNTERS: Mapping[str, Patch] = {
    "count": {"pointer": "/count", "step": 1, "absent": None},
    "absent": {"pointer": "/count", "step": 1, "absent": 0},
    "not_found": {"pointer": "/count", "step": 1, "absent": 0},
    "log": {"pointer": "/events", "step": None, "absent": None},
}
"""By form of the counters of effects: the facts of a sign that reads one."""
_ID_PATTERN = re.compile(r"\^(cart|order|wh|session|asr|del)_\[0-9a-f\]\{20\}\$")


def profile_of(target: RandomTarget, document: Table) -> Patch:
    """The patch that turns the reference's profile (`document`) into that of a random target."""
    names = names_of(target)
    patch: Patch = {
        "authorization": _authorization(target),
        "bodies": _bodies(target),
        "idempotency": _idempotency(target, names),
        "answers": _answers(target),
        "errors": {"volatile": volatile_of(target, names)},
        "fixtures": _fixtures(document["fixtures"], names),
        "operations": {n: _operation(target, names, n, table) for n, table in document["operations"].items()},
        "identity": {"scopes": translate_pointer(names, document["identity"]["scopes"])},
        "search": search_facts(target, names, document["search"]),
        "transitions": _transitions(target, document["transitions"]),
        "tenancy": {
            "status": 404 if target.unseen == "not_found" else 403,
            "installation_in_identity": translate_pointer(names, "/data/installationId"),
            "installation_in_readiness": translate_pointer(names, "/data/installationId"),
        },
        "hosted": {
            "tickets_single_use": "consumeHostedCheckoutBrowserTicket.consumed" not in target.lenient,
            "unknown_ticket_status": target.ticket_status,
        },
        "effects": _effects(target, names, document["effects"]),
        "webhooks": _webhooks(names, document["webhooks"]),
        "rate_limit": _rate_limit(target),
        "oauth": _oauth(target, names, document["oauth"]),
    }
    for fact in target.omitted_facts:
        _omit_fact(patch, document, fact)
    if "credentials.limited" in target.omitted_facts and patch["rate_limit"] is not None:
        patch["rate_limit"]["credential"] = None
    if target.limiter == "never" and patch["rate_limit"] is not None:
        patch["rate_limit"] = {"none": "the target never limits"}
    return patch


def _rename(names: Table, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {names.get(name, name): _rename(names, item) for name, item in value.items()}
    return [_rename(names, item) for item in value] if isinstance(value, list) else value


def _replacement(new: Table, old: Table) -> Patch:
    """A patch that turns `old` into `new`: other members of `old` are removed."""
    removals = {name: None for name in old if name not in new}
    return removals | {
        name: _replacement(value, old[name])
        if isinstance(value, Mapping) and isinstance(old.get(name), Mapping)
        else value
        for name, value in new.items()
    }


def _authorization(target: RandomTarget) -> Patch:
    scheme_case = "any" if target.any_case_scheme else "exact"
    return {
        "format": target.authorization,
        "scheme": target.scheme if has_scheme(target) else None,
        "scheme_case": scheme_case if has_scheme(target) else None,
        "key_case": "any" if target.any_case_keys else "sensitive",
        "public": "checked" if target.public_strict else "ignored",
    }


def _bodies(target: RandomTarget) -> Patch:
    return {
        "unknown_members": target.unknown_members,
        "media_types": ["application/json", *([] if target.body_types == "json" else ["application/*+json"])],
        "absent_media_type": target.untyped_body,
        "max_bytes": target.max_bytes,
        "max_depth": target.max_depth,
    }


def _answers(target: RandomTarget) -> Patch:
    has_further = target.extra_members or target.replay == "rewritten"
    return {
        "fresh_headers": [target.fresh_header] if target.fresh_header else {"none": "no header is always new"},
        "further_members": "allowed" if has_further else "never",
    }


def _idempotency(target: RandomTarget, names: Table) -> Patch:
    volatile = {"stored": (), "rewritten": ("/requestId", "/servedAt"), "latest": ("/data/state", "/data/version")}
    in_body = target.carrier == "body"
    return {
        "carrier": target.carrier,
        "name": None if in_body else target.key_name,
        "pointer": target.key_pointer if in_body else None,
        "format": target.key_format if target.key_format in ("uuid", "any") else {"pattern": target.key_format},
        "missing_key": target.missing_key,
        "volatile": [translate_pointer(names, pointer) for pointer in volatile[target.replay]],
        "kept": [200] if target.remembers == "successes" else [200, 400, 404, 409],
        "namespace": list(NAMESPACES[target.namespace]),
        "in_flight": "conflict" if target.on_flight == "conflict" and target.work_ms else "waits",
        "other_format": None if target.key_format == "any" else "refused",
        "case": target.key_case,
        "written": target.key_written,
    }


def _fixtures(fixtures: Table, names: Table) -> Patch:
    return {
        kind: {
            state: {"members": {name: f"/{escape_token(names.get(name, name))}" for name in _MEMBERS[kind]}}
            for state in states
        }
        for kind, states in fixtures.items()
    }


def _operation(target: RandomTarget, names: Table, operation: str, table: Table) -> Patch:
    patch: Patch = {}
    if "body" in table:
        patch["body"] = _replacement(_rename(names, table["body"]), table["body"])
        patch["bodies"] = _rename(names, table.get("bodies", []))
    if "unknown" in table:
        patch["unknown"] = {n: unknown_id(target, KINDS[n]) if n in KINDS else v for n, v in table["unknown"].items()}
    if "unknown" in target.omitted_facts:
        patch["unknown"] = None
    if "bodies" in target.omitted_facts:
        patch["bodies"] = None
    if f"body.{operation}" in target.omitted_facts:
        patch["body"] = None
    return patch


def _transitions(target: RandomTarget, transitions: Sequence[Table]) -> list[Table]:
    """The transitions that are true for the target: allowed states do not conflict, and refusals may be 404."""
    patch = []
    for transition in transitions:
        if "none" in transition:
            patch.append(transition)
            continue
        kind, _, state = transition["fixture"].partition(".")
        for operation in transition.get("after", ()):
            state = _LEADS_TO.get(operation, state)
        is_allowed = state in STATES[transition["operation"]] or f"{transition['operation']}.{state}" in target.lenient
        if "leads_to" in transition:
            patch.append(transition)
        elif not is_allowed:
            is_gone = f"{kind}.{state}" in target.not_found_states
            patch.append({**transition, "status": 404} if is_gone else transition)
    for allowance in target.lenient:
        fixture, leads_to = ALLOWANCES[allowance]
        patch.append({"operation": allowance.partition(".")[0], "fixture": fixture, "leads_to": leads_to})
    if "transitions.leads_to" in target.omitted_facts:
        patch = [transition for transition in patch if "leads_to" not in transition]
    if "transitions.single_winner" in target.omitted_facts:
        patch = [{name: value for name, value in transition.items() if name != "single_winner"} for transition in patch]
    return patch


def _effects(target: RandomTarget, names: Table, effects: Table) -> Patch:
    patch: Patch = {}
    for operation, stated in effects.items():
        signs = [stated] if isinstance(stated, Mapping) else list(stated)
        usable = [_sign(target, names, sign) for sign in signs if _is_usable(target, operation, sign)]
        part = {"several": slice(None), "first": slice(1), "last": slice(-1, None)}[target.signs]
        patch[operation] = usable[part] or None
    return patch


def _is_usable(target: RandomTarget, operation: str, sign: Table) -> bool:
    has_no_marker = f"body.{operation}" in target.omitted_facts and "{unique}" in str(sign.get("http"))
    return not has_no_marker and not ("effects.http" in target.omitted_facts and "http" in sign)


def _sign(target: RandomTarget, names: Table, sign: Table) -> Patch:
    facts = dict(sign)
    if "http" not in sign:
        facts["pointer"] = translate_pointer(names, sign["pointer"])
    else:
        url = sign["http"]["url"].replace("/data/id", translate_pointer(names, "/data/id"))
        facts["http"] = {"url": url}
        if target.counters in COUNTERS:
            facts |= COUNTERS[target.counters]
        if "{answer:" in url:
            facts["absent"] = [] if target.counters == "log" else 0
    omitted = ("step",) if "effects.step" in target.omitted_facts else ()
    return {name: value for name, value in facts.items() if value is not None and name not in omitted}


def _webhooks(names: Table, webhooks: Table) -> Patch:
    return {
        "id": translate_pointer(names, webhooks["id"]),
        "patch": _replacement(_rename(names, webhooks["patch"]), webhooks["patch"]),
        "kept": [translate_pointer(names, pointer) for pointer in webhooks["kept"]],
    }


def _rate_limit(target: RandomTarget) -> Patch:
    rules = {"per": target.limit_per, "retry_after": target.retry_after in ("seconds", "date")}
    if target.limiter == "steady":
        limits = {"limit": STEADY[0], "window_s": STEADY[1], "recovery_s": 2, "max_requests": 4 * STEADY[0]}
        return {**rules, **limits, "prepare": None, "restore": None, "run_limit": None}
    if target.run_limit:
        limit, window_s = RUN_LIMITS[target.limit_per]
        return {**rules, "run_limit": limit, "run_window_s": window_s, "max_requests": 2 * limit + 40}
    return rules


def _oauth(target: RandomTarget, names: Table, oauth: Table) -> Patch:
    places = (
        "code_verifier",
        "code",
        "client_id_member",
        "redirect_uri_member",
        "access_token",
        "token_type",
        "expires_in",
    )
    pointers = {name: translate_pointer(names, oauth[name]) for name in places}
    status = {
        "missing_proof": target.missing_proof_status,
        "bad_proof": target.proof_status,
        "unknown_client": target.client_status,
        "bad_grant": target.grant_status,
    }
    return {
        **pointers,
        **_clock(target),
        "algorithms": list(target.algorithms),
        "proof_reuse": target.proof_reuse,
        "nonce": "required" if target.nonce else "never",
        "code_lifetime_s": target.code_lifetime_s,
        "failure_burns_code": ["verifier", "redirect_uri", "client"] if target.failure_burns else False,
        "status": status,
        "token_type_value": target.token_type,
        "token_lifetime_s": target.token_lifetime_s,
    }


def _clock(target: RandomTarget) -> Patch:
    """The bounds of iat, in the short form where they are equal."""
    if target.clock_s == target.clock_ahead_s:
        return {"clock_allowance_s": target.clock_s, "clock_behind_s": None, "clock_ahead_s": None}
    return {"clock_behind_s": target.clock_s, "clock_ahead_s": target.clock_ahead_s}


def _omit_fact(patch: Patch, document: Table, fact: str) -> None:
    table, _, key = fact.partition(".")
    if fact == "fixtures.foreign":
        for kind, states in document["fixtures"].items():
            foreign = [state for state, table in states.items() if state == "foreign" or table.get("foreign")]
            patch["fixtures"][kind] |= dict.fromkeys(foreign)
    elif fact in ("transitions", "effects", "rate_limit", "revocation"):
        patch[fact] = None
    elif fact == "rate_limit.limit" and patch["rate_limit"] is not None:
        patch["rate_limit"] |= {"limit": None, "window_s": None}
    elif fact == "rate_limit.run_limit" and patch["rate_limit"] is not None:
        patch["rate_limit"] |= {"run_limit": None, "run_window_s": None}
    elif key and table not in ("body", "transitions", "effects") and patch.get(table, {}) is not None:
        patch.setdefault(table, {})[key] = None
        patch[table] |= dict.fromkeys(omitted_with(fact))


def schemas_of(target: RandomTarget, document: Table) -> Patch:
    """The schema file of a random target, derived from the reference's (`document`)."""
    names, patch = names_of(target), {}
    key, key_form = key_schema(target)
    schemas = document["components"]["schemas"]
    for name, schema in {**schemas, **search_schema(target, schemas)}.items():
        request = name.endswith("Request")
        kind = "every request" if request else "every response" if name.endswith("Response") else ""
        if name in target.omitted_schemas or kind in target.omitted_schemas:
            continue
        target_schema = _schema(target, names, schema)
        if request and target.unknown_members == "refused" and target.closed_schemas:
            target_schema = _close_schema(target_schema)
        if request and target.carrier == "body" and target.key_in_schema:
            target_schema["properties"][key] = key_form
            if target.missing_key == "refused":
                target_schema["required"] = [*target_schema.get("required", ()), key]
        patch[name] = target_schema
    if "PublicErrorResponse" in patch:
        shape = SHAPES[target.error]
        patch["PublicErrorResponse"] = _schema(target, names, shape.schema) if shape.follows_style else shape.schema
    if "ApiKeyIdentityResponse" in patch and target.scopes_form != "list":
        patch["ApiKeyIdentityResponse"] = _schema(
            target, names, document["components"]["schemas"]["OtherIdentityResponse"]
        )
    if "OperationResponse" in patch and target.unknown_members == "kept":
        patch["OperationResponse"] = patch["OpenOperationResponse"]
    if "OAuthTokenResponse" in patch:
        patch["OAuthTokenResponse"] = _with_token_type(target, patch["OAuthTokenResponse"], names)
    return {"components": {"schemas": patch}}


def _schema(target: RandomTarget, names: Table, schema: Any) -> Any:
    """A schema with the target's member names and id formats."""
    if isinstance(schema, list):
        return [_schema(target, names, part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    if match := _ID_PATTERN.fullmatch(str(schema.get("pattern", ""))):
        return id_schema(target, match[1])
    result: dict[str, Any] = {}
    for word, part in schema.items():
        if word == "properties":
            result[word] = {names.get(name, name): _schema(target, names, below) for name, below in part.items()}
        elif word == "required":
            result[word] = [names.get(name, name) for name in part]
        else:
            result[word] = _schema(target, names, part)
    return result


def _close_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_close_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    result = {word: _close_schema(part) for word, part in schema.items() if word != "properties"}
    if "properties" in schema:
        result["properties"] = {name: _close_schema(part) for name, part in schema["properties"].items()}
        result["additionalProperties"] = False
    return result


def _with_token_type(target: RandomTarget, schema: Any, names: Table) -> Any:
    """The token response with the target's spelling of the token type, which is free (RFC 6749, 7.1)."""
    data = schema["properties"]["data"]
    kind = names.get("tokenType", "tokenType")
    members = {**data["properties"], kind: {"type": "string", "enum": [target.token_type]}}
    return {**schema, "properties": {**schema["properties"], "data": {**data, "properties": members}}}
