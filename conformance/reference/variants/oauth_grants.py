"""Legitimate codes, verifiers, proofs and tokens that the profile describes."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from conformance.reference import schemas
from conformance.reference.call import Answer, Call, JsonObject, JsonValue
from conformance.reference.dpop import Proof, bad_proof
from conformance.reference.oauth import bad_grant, further_token, remember_proof
from conformance.reference.policy import (
    Handler,
    Policy,
    Schema,
    with_handler,
    with_oauth,
    with_proof,
    with_reading,
    with_schema,
    with_status,
)
from conformance.reference.registry import variant
from conformance.reference.variants.oauth import nonce_demanded

_EXCHANGE = "exchangeOAuthToken"
_REFRESH = "rt-of-the-test-user"


@variant(
    "V544",
    requirement="OA-1",
    title="a verifier is of letters, digits, - and _ only, as the schema states",
    profile={"schemas": {"names": {"OAuthTokenRequest": "StrictTokenRequest"}}},
)
def strict_verifiers(policy: Policy) -> Policy:
    members = {**schemas.TOKEN["properties"], "codeVerifier": schemas.text(43, 128, "^[A-Za-z0-9_-]+$")}
    strict = schemas.obj(tuple(schemas.TOKEN["required"]), **members)
    return with_schema(policy, _EXCHANGE, strict)


@variant(
    "V547",
    requirement="OA-5",
    title="an unknown code is answered 404, a used one 409",
    profile={"oauth": {"status": {"bad_grant": {"none": "a code is not found, or was used"}}}},
)
def missing_codes(policy: Policy) -> Policy:
    return with_status(with_status(policy, "bad_grant", 404), "spent_grant", 409)


@variant(
    "V548",
    requirement="OA-9",
    title="a token is a JWT that names its session, in which the server keeps the proof key",
    profile={
        "schemas": {"names": {"OAuthTokenResponse": "OpenOperationResponse"}},
        "answers": {"further_members": "allowed"},
    },
)
def keys_by_introspection(policy: Policy) -> Policy:
    """RFC 9449 section 6.2."""
    issue = policy.oauth.issue

    def issue_session(call: Call, code: Mapping[str, Any]) -> JsonObject:
        members = {name: value for name, value in issue(call, code).items() if name != "cnf"}
        header, now = {"alg": "ES256", "typ": "at+jwt"}, int(call.now)
        payload = {"sid": secrets.token_hex(16), "iat": now, "exp": now + policy.oauth.token_lifetime_s}
        token = f"{_encode(header)}.{_encode(payload)}.{secrets.token_urlsafe(64)}"
        return {**members, "accessToken": token}

    return with_oauth(policy, issue=issue_session)


def _encode(part: JsonObject) -> str:
    return base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


@variant(
    "V549",
    requirement="OA-6",
    title="the age of a proof is that of its nonce: iat must be there and is not read",
    profile={
        "oauth": {
            "nonce": "required",
            "clock_behind_s": {"none": "the age is that of the nonce"},
            "clock_ahead_s": {"none": "the age is that of the nonce"},
        }
    },
)
def age_by_nonce(policy: Policy) -> Policy:
    """RFC 9449 section 4.3, item 11: by either the iat claim or a server managed timestamp via the nonce claim."""

    def has_claims(_call: Call, proof: Proof) -> None:
        texts = [proof.claims.get(name) for name in ("jti", "htm", "htu")]
        if "iat" not in proof.claims or not all(isinstance(text, str) and text for text in texts):
            raise bad_proof("A required claim is missing.")

    policy = nonce_demanded(policy)
    return with_proof(policy, claims=has_claims, fresh=lambda _call, _proof: None)


@variant(
    "V550",
    requirement="OA-4",
    title="another valid body of the exchange is a refresh token's",
    profile={
        "schemas": {"names": {"OAuthTokenRequest": "OpenTokenRequest"}},
        "oauth": {"status": {"bad_body": {"none": "the kind of grant decides"}}},
        "operations": {
            _EXCHANGE: {
                "bodies": [
                    {
                        "grantType": "refresh_token",
                        "refreshToken": _REFRESH,
                        "clientId": "{oauth.client_id}",
                    }
                ]
            }
        },
    },
)
def refresh_grants(policy: Policy) -> Policy:
    validate = policy.reading.validate

    def validate_grant(call: Call, schema: Schema, body: JsonValue) -> JsonObject:
        if call.operation == _EXCHANGE and _is_refresh(body):
            schema = schemas.obj(
                ("refreshToken", "clientId"),
                refreshToken=schemas.text(),
                clientId=schemas.text(),
                grantType=schemas.text(),
            )
        return validate(call, schema, body)

    def wrap(exchange: Handler) -> Handler:
        def refresh(call: Call, db: Connection) -> Answer:
            if not _is_refresh(call.body):
                return exchange(call, db)
            policy.oauth.check_client(call)
            if call.body["refreshToken"] != _REFRESH:
                raise bad_grant("There is no such refresh token.")
            assert call.proof is not None
            remember_proof(call, db, call.proof)
            return further_token(call)

        return refresh

    return with_handler(with_reading(policy, validate=validate_grant), _EXCHANGE, wrap)


def _is_refresh(body: JsonValue) -> bool:
    return isinstance(body, dict) and body.get("grantType") == "refresh_token"
