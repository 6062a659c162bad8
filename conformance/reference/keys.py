"""API keys derived from one random seed, so that restarts and all workers on one database have the same keys.

Nothing but the seed is stored. `KeyRing.by_secret` compares in constant time per key and never stops early.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping

from conformance.reference.call import Caller

ALL_SCOPES = frozenset({"webhooks:write", "webhooks:read", "catalog:read", "checkout:quote"})

CALLERS: Mapping[str, Caller] = {
    caller.name: caller
    for caller in (
        Caller("full", "A", ALL_SCOPES),
        Caller("webhooks-write", "A", frozenset({"webhooks:write"})),
        Caller("webhooks-read", "A", frozenset({"webhooks:read"})),
        Caller("catalog-read", "A", frozenset({"catalog:read"})),
        Caller("checkout-quote", "A", frozenset({"checkout:quote"})),
        Caller("none", "A", frozenset()),
        Caller("other-installation", "B", ALL_SCOPES),
        Caller("revoked", "A", ALL_SCOPES, active=False),
        Caller("limited", "A", ALL_SCOPES),
    )
}


class KeyRing:
    """The secrets of `CALLERS` under one seed."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.secrets: dict[str, str] = {name: self._derive(name) for name in CALLERS}
        self._callers = [(secret.encode(), CALLERS[name]) for name, secret in self.secrets.items()]

    def _derive(self, name: str) -> str:
        return "sk_" + hmac.new(self.seed.encode(), f"key:{name}".encode(), hashlib.sha256).hexdigest()[:48]

    def sign(self, text: str) -> str:
        """A MAC under the seed: for nonces and webhook signatures."""
        return hmac.new(self.seed.encode(), text.encode(), hashlib.sha256).hexdigest()

    def by_secret(self, secret: str) -> Caller | None:
        sent_secret, found = secret.encode("utf-8", "surrogateescape"), None
        for known_secret, caller in self._callers:
            if hmac.compare_digest(known_secret, sent_secret):
                found = caller
        return found
