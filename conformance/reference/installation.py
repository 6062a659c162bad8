"""Identity of the calling key, and readiness of the installation's credentials."""

from __future__ import annotations

from sqlalchemy import Connection

from conformance.reference.call import Answer, Call, success
from conformance.reference.keys import CALLERS


def identity(call: Call, _db: Connection) -> Answer:
    caller = call.caller or CALLERS["full"]
    return success(
        {
            "keyId": f"key_{caller.name}",
            "installationId": f"inst_{caller.installation}",
            "scopes": sorted(caller.scopes),
            "status": "active",
        }
    )


def readiness(call: Call, _db: Connection) -> Answer:
    names = sorted({scope for caller in CALLERS.values() if caller.active for scope in caller.scopes})
    checks = [{"name": name, "ready": True} for name in names]
    return success({"installationId": f"inst_{call.installation}", "ready": True, "checks": checks})
