"""Exchanges of codes with a scripted target: the checks of proofs and verifiers alone."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

from conformance.checks.support.case import Case
from conformance.profile.behavior import OAuth
from conformance.profile.resources import Fixture, HttpCall, OperationFacts
from tests.support.check_runs import CONTRACT

TOKEN = CONTRACT.operations["exchangeOAuthToken"]


def exchanging(judged: Any, script: Any, law: Any, exclusions: Any = None, **more: Any) -> Any:
    """What `judged` returns for a check of the exchange; the target issues a code at `/codes`."""
    oauth = OAuth("client", "https://c.example/cb", **more)
    body = {"code": "{oauth.code}", "verifier": "{pkce.verifier}"}
    code = HttpCall("URL", json={"challenge": "{pkce.challenge}", "method": "{pkce.method}"})

    async def with_a_source(case: Case) -> None:
        fixtures: Any = case.profile.fixtures
        call = HttpCall(f"{case.profile.base_url}/codes", method="POST", json=code.json)
        fixtures["oauth"] = {"code": Fixture("oauth", "code", http=call)}
        await law(case)

    operations = {TOKEN.id: OperationFacts(body=body)}
    facts = {"oauth": oauth, "fixtures": {}, "operations": operations, "exclusions": exclusions or {}}
    return judged(script, with_a_source, TOKEN, **facts)


def age_s_of(arrived: Any) -> float:
    """The age in seconds of the proof of a request that has just arrived, by its iat."""
    claims = "".join(arrived.all("dpop")).split(".")[1]
    return time.time() - float(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["iat"])
