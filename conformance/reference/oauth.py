"""The token exchange: an authorization code, PKCE S256 (RFC 7636) and a DPoP-bound token (RFC 9449 section 5).

The proof is checked before any replay; the uniqueness of its `jti` only when a code is redeemed, so that the same
request may be repeated.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from conformance.reference.call import Answer, Call, JsonObject, Refusal, success
from conformance.reference.dpop import Proof, bad_proof
from conformance.reference.tables import codes, proofs, tokens

CLIENTS: Mapping[str, tuple[str, ...]] = {
    "conformance": ("https://client.example/callback", "https://client.example/other"),
    "conformance-2": ("https://client-two.example/callback",),
}
NO_STORE = (("Cache-Control", "no-store"), ("Pragma", "no-cache"))

_FIND = select(codes).where(codes.c.digest == bindparam("key")).with_for_update()
_BURN = update(codes).where(codes.c.digest == bindparam("key")).values(used=1)
_ADD_CODE = insert(codes)
_ADD_TOKEN = insert(tokens)
_ADD_PROOF = insert(proofs)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def s256(verifier: str) -> str:
    """RFC 7636 section 4.2."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def new_code(db: Connection, binding: Mapping[str, str], age_s: float = 0.0) -> str:
    """An authorization code, as the (unpublished) authorization endpoint would have issued it `age_s` seconds ago.

    `binding`: client_id, redirect_uri, challenge, method, jkt.
    """
    code = "code_" + secrets.token_urlsafe(24)
    db.execute(_ADD_CODE, {"digest": digest(code), "issued_at": time.time() - age_s, "used": 0, **binding})
    return code


def bad_grant(message: str) -> Refusal:
    return Refusal("bad_grant", message)


def is_unexpired(call: Call, code: Mapping[str, Any]) -> None:
    if call.now - code["issued_at"] > call.policy.oauth.code_lifetime_s:
        raise bad_grant("The authorization code is not valid.")


def is_unused(_call: Call, code: Mapping[str, Any]) -> None:
    if code["used"]:
        raise Refusal("spent_grant", "The authorization code is not valid.")


def is_for_client(call: Call, code: Mapping[str, Any]) -> None:
    if not hmac.compare_digest(str(code["client_id"]).encode(), call.body["clientId"].encode()):
        raise bad_grant("The authorization code is not valid.")


def is_for_redirect_uri(call: Call, code: Mapping[str, Any]) -> None:
    if not hmac.compare_digest(str(code["redirect_uri"]).encode(), call.body["redirectUri"].encode()):
        raise bad_grant("The authorization code is not valid.")


def is_s256(_call: Call, code: Mapping[str, Any]) -> None:
    """No downgrade: a code without a challenge, or with a plain one, is not valid."""
    if code["method"] != "S256" or not code["challenge"]:
        raise bad_grant("The authorization code is not valid.")


def is_verified(call: Call, code: Mapping[str, Any]) -> None:
    if not hmac.compare_digest(s256(call.body["codeVerifier"]).encode(), str(code["challenge"]).encode()):
        raise bad_grant("The code verifier does not match.")


def is_for_key(call: Call, code: Mapping[str, Any]) -> None:
    """RFC 9449 section 10: a code may be bound to a key at the authorization request."""
    if code["jkt"] and (call.proof is None or code["jkt"] != call.proof.jkt):
        raise bad_proof("The authorization code is bound to another key.")


GRANT_CONDITIONS = {
    "unexpired": is_unexpired,
    "client": is_for_client,
    "redirect_uri": is_for_redirect_uri,
    "s256": is_s256,
    "verifier": is_verified,
    "key": is_for_key,
    "unused": is_unused,
}


def is_known_client(call: Call) -> None:
    """RFC 6749 section 5.2: `invalid_client`."""
    if call.body["clientId"] not in call.policy.oauth.clients:
        raise Refusal("unknown_client", "There is no such client.")


def remember_proof(call: Call, db: Connection, proof: Proof) -> None:
    """RFC 9449 section 11.1: a proof is valid for one request."""
    proof_digest = digest(f"{proof.jkt}\x1f{proof.claims.get('jti')}")
    if db.execute(select(proofs.c.digest).where(proofs.c.digest == proof_digest)).first():
        raise bad_proof("The proof was used before.")
    try:
        with db.begin_nested():
            rules = call.policy.oauth
            expires_at = call.now + rules.clock_behind_s + rules.clock_ahead_s
            db.execute(_ADD_PROOF, {"digest": proof_digest, "expires_at": expires_at})
    except IntegrityError:
        raise bad_proof("The proof was used before.") from None


def exchange(call: Call, db: Connection) -> Answer:
    """Redeems a code. Raises Refusal of kind `unknown_client`, `bad_grant`, `spent_grant` or `bad_proof`."""
    rules = call.policy.oauth
    rules.check_client(call)
    key = digest(call.body["code"])
    row = db.execute(_FIND, {"key": key}).mappings().first()
    if row is None:
        raise bad_grant("The authorization code is not valid.")
    code = dict(row)
    for condition in rules.grant.values():
        condition(call, code)
    if rules.proof_reuse == "retry" and call.proof is not None:
        remember_proof(call, db, call.proof)
    db.execute(_BURN, {"key": key})
    token = rules.issue(call, code)
    token_row = {"digest": digest(token["accessToken"]), "client_id": code["client_id"]}
    jkt = call.proof.jkt if call.proof else ""
    db.execute(_ADD_TOKEN, {**token_row, "jkt": jkt, "expires_at": call.now + rules.token_lifetime_s})
    return success(token, headers=rules.headers)


def further_token(call: Call) -> Answer:
    """The answer with a token that no code was exchanged for."""
    return success(call.policy.oauth.issue(call, {}), headers=call.policy.oauth.headers)


def burn(call: Call) -> None:
    """Invalidates the code of a failed exchange, where the policy says so."""
    code = call.body.get("code")
    if isinstance(code, str):
        with call.store.write() as db:
            db.execute(_BURN, {"key": digest(code)})


def issue(call: Call, _code: Mapping[str, Any]) -> JsonObject:
    """An opaque token bound to the proof's key (RFC 9449 sections 5 and 6)."""
    jkt = call.proof.jkt if call.proof else ""
    return {
        "accessToken": "at_" + secrets.token_urlsafe(32),
        "tokenType": "DPoP",
        "expiresIn": call.policy.oauth.token_lifetime_s,
        "scope": "catalog:read",
        "cnf": {"jkt": jkt},
    }
