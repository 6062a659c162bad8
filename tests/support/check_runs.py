"""Checks of the tests' own, run against a scripted target."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.support.context import Settings
from conformance.checks.support.registry import Check, Instance
from conformance.client import sender as flow
from conformance.client.redaction.secrets import Secrets
from conformance.contract import load_contract
from conformance.core.model import Result
from conformance.engine import check_runner as runner
from conformance.engine.open_context import open_context
from conformance.journal.journal import Journal
from conformance.profile.behavior import Authorization, Idempotency
from conformance.profile.model import Credential, Limits, Profile, SecretSource
from conformance.profile.resources import Fixture, OperationFacts

CONTRACT = load_contract()
KEY = "key-0123456789"


def profile(url: str, **changes: Any) -> Profile:
    facts: dict[str, Any] = {
        "name": "p",
        "base_url": url,
        "authorization": Authorization("Bearer {key}"),
        "limits": Limits(timeout_s=2, patience_s=0.2, depth="deep"),
        "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({"catalog:read"}))},
        "idempotency": Idempotency("header", name="Idempotency-Key", volatile=("/data/at", "/data/lines/*/at")),
        "fixtures": {"cart": {"open": Fixture("cart", "open", values=tuple({"id": f"c{n}"} for n in range(9)))}},
        "operations": {"quotePublicCart": OperationFacts(body={"reason": "{unique}"}, path={"cartId": "{cart.id}"})},
    }
    return Profile(**{**facts, **changes})


def key_of(arrived: Any) -> str:
    """The idempotency key of a request."""
    return "".join(arrived.all("idempotency-key"))


@pytest.fixture
def profile_of() -> Callable[..., Profile]:
    """A small profile for a target at a URL; keywords replace its facts."""
    return profile


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gateway trouble is repeated without the pauses, and not so often."""
    real = asyncio.sleep
    monkeypatch.setattr(flow.asyncio, "sleep", lambda seconds: real(min(seconds, 0.01)))
    monkeypatch.setattr(flow, "GATEWAY_ATTEMPTS", 2)


@pytest.fixture
def judged(scripted: Any, tmp_path: Path) -> Callable[..., tuple[Result, Any]]:
    """`judged(script, check)`: the result of a check on a target that answers so, and the target."""

    def run(
        script: Any,
        function: Any,
        operation: Any = None,
        *,
        examples: int = 8,
        keys: Mapping[str, str] | None = None,
        **changes: Any,
    ) -> tuple[Result, Any]:
        async def main() -> tuple[Result, Any]:
            journal = Journal(tmp_path / "journal.ndjson")
            async with scripted(script) as target:
                secrets = Secrets()
                secrets.add_credential("full", KEY)
                settings = Settings(
                    profile(target.url, **changes),
                    CONTRACT,
                    {"full": KEY, **(keys or {})},
                    journal,
                    secrets,
                    "run1",
                    8,
                    examples=examples,
                    rerun_command="run",
                )
                async with open_context(settings) as runtime:
                    check = Check("a_law", "check_a", "AUTH-1", function)
                    on = operation or CONTRACT.operations["getApiKeyIdentity"]
                    result = await runner.run(Instance(check, on, "case"), runtime)
            journal.close()
            return result, target

        return asyncio.run(main())

    return run
