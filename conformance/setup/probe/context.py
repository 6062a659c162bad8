"""The state of one probe: the client, the draft and every answer received."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from conformance.checks.support.context import Settings
from conformance.client.fixtures import Fixtures, Members
from conformance.client.redaction.learn import secrets_of
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import Request
from conformance.client.request_builder import Arranger, MissingFact
from conformance.client.response import Answer
from conformance.client.sender import BudgetExhausted, Sender
from conformance.contract import Contract, Operation
from conformance.core.errors import ConformanceError, FixtureError
from conformance.engine.open_context import open_context
from conformance.journal.journal import MemoryJournal
from conformance.profile.loader import profile_from_document
from conformance.profile.model import Idempotency, Profile, Schemas
from conformance.setup.probe.draft import Draft
from conformance.setup.probe.openapi import Described

PATIENCE_S: Final = 8.0
"""Seconds for which a request is retried after 429."""
TIMEOUT_S: Final = 10.0
_CONCURRENCY: Final = 8
SETTLE_S: Final = 1.1
"""Seconds; longer than the resolution of common clocks, so that timestamps differ afterwards."""
STAND_IN: Final = Idempotency("header", "Idempotency-Key")
_SEARCH_STAND_IN: Final = {"q": "a", "locale": "en-US", "market": "US", "sort": "relevance", "page": 1, "pageSize": 2}

Unarranged = (MissingFact, FixtureError)
"""Errors raised when a request cannot be built."""


@dataclass
class Bench:
    """The state of a running probe."""

    contract: Contract
    draft: Draft
    described: Described
    keys: Mapping[str, str] = field(repr=False)
    """Credential name -> secret, in the order of the command line."""
    secrets: Secrets
    directory: Path
    directory_of_schemas: Path
    """Folder of `described.json`, the schemas of the OpenAPI document."""
    run: str
    flow: Sender
    fixtures: Fixtures
    schemas: Schemas
    tell: Callable[[str], None]
    answers: list[Answer] = field(default_factory=list)
    controls: dict[str, Answer] = field(default_factory=dict)
    """The first 200 answer, by operationId."""
    _arranger: Arranger | None = None
    _known: str = ""

    def operation(self, name: str) -> Operation:
        return self.contract.operations[name]

    @property
    def main(self) -> str:
        """The credential of ordinary requests; empty if no key was accepted."""
        if "getApiKeyIdentity" not in self.controls:
            return ""
        table = self.draft.get("credentials") or {}
        return next((name for name, told in table.items() if told.get("status", "active") == "active"), "")

    @property
    def profile(self) -> Profile:
        return self.arranger.profile

    @property
    def arranger(self) -> Arranger:
        """A request builder for the current draft."""
        known = repr(self.draft.facts)
        if self._arranger is None or self._known != known:
            self._known = known
            profile = standing_in(self.draft, self.directory, self.schemas)
            self._arranger = Arranger(profile, self.contract, self.keys, self.secrets, self.fixtures, self.run)
        return self._arranger

    async def arrange(
        self, name: str, *, given: Mapping[str, Members] | None = None, use: Mapping[str, str] | None = None
    ) -> Request:
        """A valid request, which should be answered 200. Raises MissingFact or FixtureError."""
        credential = self.main if self.operation(name).auth == "api_key" else ""
        if self.operation(name).auth == "api_key" and not credential:
            raise MissingFact("authorization.format", f"{name} needs a valid key")
        return await self.arranger.arrange(self.operation(name), preset=given, use=use, credential=credential)

    async def send(self, request: Request, purpose: str, *, take: frozenset[int] = frozenset()) -> Answer:
        """Sends a request and records its answer. Raises BudgetExhausted at the limit of requests."""
        answer = await self.flow.send(request, purpose, accept_statuses=take, patience_s=PATIENCE_S)
        self.answers.append(answer)
        if answer.ok and answer.request.operation.id not in self.controls:
            self.controls[answer.request.operation.id] = answer
        return answer

    async def step(self, title: str, work: Callable[[Bench], Any]) -> bool:
        """Runs one part of the probe; an error is noted. Returns False if the request budget is exhausted."""
        self.tell(title)
        try:
            await work(self)
        except BudgetExhausted as error:
            self.draft.note("limits", f"the probe ended early, at {title}: {error}")
            self.tell(f"  ended early: {error}")
            return False
        except (MissingFact, ConformanceError) as error:
            self.draft.note("limits", f"incomplete: {title}: {self.clean(str(error))}")
            self.tell(f"  incomplete: {error}")
        return True

    def clean(self, text: str) -> str:
        """Text of a target without secrets, on one line of at most 200 characters."""
        return " ".join(self.secrets.excerpt(text, 2000).split())[:200]

    async def call(self, name: str, given: Mapping[str, Members], _scope: Mapping[str, Any]) -> Any:
        """Calls an operation as a fixture provider. Raises FixtureError if the answer is not 200."""
        answer = await self.send(await self.arrange(name, given=given), "fixture")
        if not answer.ok:
            raise FixtureError(f"{name} answered {answer.summary} instead of 200", where=name)
        return answer.value


def standing_in(draft: Draft, directory: Path, schemas: Schemas) -> Profile:
    """The profile of a draft, with defaults for facts that every request needs. Raises ProfileError."""
    facts = {name: value for name, value in draft.facts.items() if name != "schemas"}
    facts.setdefault("authorization", {"format": "Bearer {key}"})
    profile = profile_from_document(facts, directory=directory)
    search = profile.search if profile.search.query else replace(profile.search, query=_SEARCH_STAND_IN)
    return replace(profile, idempotency=profile.idempotency or STAND_IN, search=search, schemas=schemas)


@asynccontextmanager
async def bench(
    draft: Draft,
    *,
    contract: Contract,
    described: Described,
    schemas: Schemas,
    keys: Mapping[str, str],
    directory: Path,
    directory_of_schemas: Path,
    run: str,
    max_requests: int,
    tell: Callable[[str], None],
) -> AsyncIterator[Bench]:
    """Opens the client of a probe, and closes it on exit. Raises ProfileError on an invalid fragment."""
    profile = _bounded(standing_in(draft, directory, schemas), max_requests)
    secrets = secrets_of(profile, contract, keys)

    async def call(name: str, given: Mapping[str, Members], scope: Mapping[str, Any]) -> Any:
        return await made.call(name, given, scope)

    settings = Settings(
        profile,
        contract,
        keys,
        MemoryJournal(evidence=False),
        secrets,
        run,
        profile.limits.concurrency or _CONCURRENCY,
        prefix="p",
        call=call,
        watches_limits=False,
    )
    async with open_context(settings) as runtime:
        made = Bench(
            contract,
            draft,
            described,
            keys,
            secrets,
            directory,
            directory_of_schemas,
            run,
            runtime.flow,
            runtime.fixtures,
            schemas,
            tell,
        )
        yield made


def _bounded(profile: Profile, max_requests: int) -> Profile:
    """Applies the lower of the limits of the profile and of the probe."""
    limits = profile.limits
    return replace(
        profile,
        limits=replace(
            limits, max_requests=min(limits.max_requests, max_requests), timeout_s=min(limits.timeout_s, TIMEOUT_S)
        ),
    )


async def settle() -> None:
    await asyncio.sleep(SETTLE_S)
