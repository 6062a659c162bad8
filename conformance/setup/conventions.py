"""Common formats of an API key in the Authorization header, and common names of the idempotency key."""

from __future__ import annotations

from typing import Final

AUTHORIZATION_FORMATS: Final = (
    "Bearer {key}",
    "{key}",
    "ApiKey {key}",
    "Token {key}",
    "Api-Key {key}",
    "Key {key}",
    "Token token={key}",
    'Key key="{key}"',
    'Token token="{key}"',
    "apikey:{key}",
    "apikey {key}",
    "bearer {key}",
    "API-Key {key}",
    "APIKey {key}",
    "X-API-Key {key}",
)
"""Most common first."""
IDEMPOTENCY_KEY_NAMES: Final = (
    "Idempotency-Key",
    "X-Idempotency-Key",
    "Idempotency-Token",
    "X-Request-Key",
    "Repeatability-Request-ID",
    "X-Idempotency-Token",
    "Request-Key",
    "Idem-Key",
    "idem_key",
    "idem_token",
    "X-Request-Id",
    "key",
)
"""Header names, most common first; also tried as query parameters."""
