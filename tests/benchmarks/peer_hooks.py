"""Schemathesis' authentication hook: the API key, and a DPoP proof for the token exchange."""

from __future__ import annotations

import os
import time
import uuid
from typing import Any

import schemathesis
from joserfc import jwt
from joserfc.jwk import ECKey

TOKEN = "/api/v1/oauth/token"
_KEY = ECKey.generate_key("P-256")


def proof(base_url: str) -> str:
    """A DPoP proof (RFC 9449) for one token exchange."""
    header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": _KEY.as_dict(private=False)}
    claims = {"jti": str(uuid.uuid4()), "htm": "POST", "htu": base_url + TOKEN, "iat": int(time.time())}
    return jwt.encode(header, claims, _KEY, algorithms=["ES256"])


@schemathesis.auth(refresh_interval=None)
class Keys:
    """Each operation gets what its own security asks for, and no other one does."""

    def get(self, case: Any, _context: Any) -> dict[str, str]:
        wanted = {scheme for choice in case.operation.definition.raw.get("security", []) for scheme in choice}
        headers = {"Authorization": os.environ["API_KEY"]} if "ApiKey" in wanted else {}
        return {"DPoP": proof(os.environ["TARGET"])} if "DPoP" in wanted else headers

    def set(self, case: Any, data: dict[str, str], _context: Any) -> None:
        case.headers = case.headers or {}
        case.headers.update(data)
