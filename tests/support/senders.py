"""A sender against a scripted target."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.client.dpop import Proof, ProofKey
from conformance.client.recorder import Recorder
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import Request
from conformance.client.sender import Sender
from conformance.client.transport import Transport
from conformance.contract import load_contract
from conformance.journal.journal import Journal
from conformance.profile.model import Limits
from tests.support.commands import journal_lines

OPERATIONS = load_contract().operations
IDENTITY = Request(OPERATIONS["getApiKeyIdentity"])
CREATE = Request(OPERATIONS["createInstallationWebhook"], body={"url": "u"})
TOKEN = Request(OPERATIONS["exchangeOAuthToken"], body={"code": "c"}, proof=Proof(ProofKey.new()))
Work = Callable[[Sender], Awaitable[Any]]


@pytest.fixture
def through(scripted: Any, tmp_path: Path) -> Callable[..., Any]:
    """`through(script, work, **limits)`: (what work gave, the target, the flow, the journal's exchanges)."""

    def run(
        script: Any, work: Work, concurrency: int = 8, **limits: Any
    ) -> tuple[Any, Any, Sender, list[dict[str, Any]]]:
        async def main() -> Any:
            journal = Journal(tmp_path / "journal.ndjson")
            secrets = Secrets()
            recorder = Recorder(journal, secrets, lambda answer: ((), ()))
            timeout_s = limits.pop("timeout_s", 2.0)
            async with scripted(script) as target, Transport(target.url, timeout_s=timeout_s) as transport:
                flow = Sender(transport, recorder, secrets, Limits(**limits), concurrency=concurrency)
                try:
                    return await work(flow), target, flow
                finally:
                    journal.close()

        given, target, flow = asyncio.run(main())
        return given, target, flow, journal_lines(tmp_path, "exchange")

    return run


def one(request: Request = IDENTITY, **options: Any) -> Work:
    return lambda flow: flow.send(request, "why", **options)
