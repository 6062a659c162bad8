"""Authentication: API keys in the Authorization header, DPoP proofs at the token endpoint."""

from __future__ import annotations

import re

from conformance.reference.call import Call, Caller, Refusal
from conformance.reference.dpop import Proof
from conformance.reference.oauth import remember_proof

CHALLENGE = (("WWW-Authenticate", 'Bearer realm="commerce"'),)
_SCHEME = "Bearer"
_CREDENTIALS = re.compile(r"(?:(?P<scheme>[!-~]+) +)?(?P<key>[A-Za-z0-9._~+/=-]+) *")


def bearer(call: Call) -> str:
    """The key as sent. Raises Refusal of kind `no_credential` or `bad_credential`."""
    values = call.request.header_values(b"authorization")
    if not values or not values[0].strip():
        raise Refusal("no_credential", "An API key is required.", headers=CHALLENGE)
    found = _CREDENTIALS.fullmatch(values[0]) if len(values) == 1 else None
    if not found or not _suits(call, found["scheme"]):
        raise Refusal("bad_credential", "The API key is not valid.", headers=CHALLENGE)
    return found["key"]


def _suits(call: Call, scheme: str | None) -> bool:
    if scheme is None:
        return call.policy.scheme == "optional"
    return scheme == _SCHEME or (call.policy.scheme_case == "any" and scheme.casefold() == _SCHEME.casefold())


def authenticate_key(call: Call) -> Caller:
    """The holder of an active key. Raises Refusal of kind `no_credential`, `bad_credential` or `revoked_credential`."""
    return require_active(call.keys.by_secret(bearer(call)))


def require_active(caller: Caller | None) -> Caller:
    if caller is None:
        raise Refusal("bad_credential", "The API key is not valid.", headers=CHALLENGE)
    if not caller.active:
        raise Refusal("revoked_credential", "The API key is not valid.", headers=CHALLENGE)
    return caller


def authenticate_proof(call: Call) -> Proof | None:
    """A verified DPoP proof. Raises Refusal of kind `missing_proof`, `bad_proof` or `use_dpop_nonce`."""
    proof = call.policy.oauth.read_proof(call)
    if proof is not None:
        for condition in call.policy.oauth.proof.values():
            condition(call, proof)
        if call.policy.oauth.proof_reuse == "refused":
            with call.store.write() as db:
                remember_proof(call, db, proof)
    return proof


def has_scope(call: Call, caller: Caller) -> bool:
    scope = call.policy.scopes.get(call.operation)
    return scope is None or scope in caller.scopes


def same_installation(call: Call, installation: str) -> bool:
    return call.installation == installation
