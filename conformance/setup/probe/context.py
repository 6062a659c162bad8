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
from conformance.client.send_errors import BudgetExhausted
from conformance.client.sender import Sender
from conformance.contract import Contract, Operation
from conformance.core.errors import ConformanceError, FixtureError
from conformance.engine.open_context import open_context
from conformance.journal.journal import MemoryJournal
from conformance.profile.behavior import Idempotency
from conformance.profile.loader import profile_from_document
from conformance.profile.model import Profile, Schemas
from conformance.setup.probe.draft import Draft
from conformance.setup.probe.openapi import OpenApiFacts

PATIENCE_S: Final = 8.0
"""Seconds for which a request is retried after 429."""
TIMEOUT_S: Final = 10.0
_CONCURRENCY: Final = 8
CLOCK_TICK_S: Final = 1.1
"""Seconds; longer than the resolution of common clocks, so that timestamps differ afterwards."""
DEFAULT_IDEMPOTENCY: Final = Idempotency("header", "Idempotency-Key")
_DEFAULT_QUERY: Final = {"q": "a", "locale": "en-US", "market": "US", "sort": "relevance", "page": 1, "pageSize": 2}

UNKNOWN_KEY: Final = "unknown key"
"""The credential of requests with a random key: their header is not secret, and may hold the name of a scheme."""

ARRANGE_ERRORS = (MissingFact, FixtureError)
"""Errors raised when a request cannot be built."""


@dataclass
class Probe:
    """The state of a running probe."""

    contract: Contract
    draft: Draft
    openapi: OpenApiFacts
    keys: Mapping[str, str] = field(repr=False)
    """Credential name -> secret, in the order of the command line."""
    secrets: Secrets
    directory: Path
    run_name: str
    sender: Sender
    fixtures: Fixtures
    schemas: Schemas
    echo: Callable[[str], None]
    answers: list[Answer] = field(default_factory=list)
    controls: dict[str, Answer] = field(default_factory=dict)
    """The first 200 answer, by operationId."""
    identities: dict[str, Answer] = field(default_factory=dict)
    """The answer of getApiKeyIdentity, by credential."""
    has_late_objects: bool = False
    """An operation has not found its new fixture: from then on, each is used as late as the profile states."""
    _arranger: Arranger | None = None
    _arranger_facts: str = ""

    def operation(self, name: str) -> Operation:
        return self.contract.operations[name]

    @property
    def main_credential(self) -> str:
        """The credential of ordinary requests; empty if no key was accepted."""
        if "getApiKeyIdentity" not in self.controls:
            return ""
        table = self.draft.get("credentials") or {}
        active = (name for name, facts in table.items() if facts.get("status", "active") == "active")
        return next((name for name in active if name in self.keys), "")

    @property
    def profile(self) -> Profile:
        return self.arranger.profile

    @property
    def arranger(self) -> Arranger:
        """A request builder for the current draft."""
        facts = repr(self.draft.facts)
        if self._arranger is None or self._arranger_facts != facts:
            self._arranger_facts = facts
            profile = provisional_profile(self.draft, self.directory, self.schemas)
            self._arranger = Arranger(profile, self.contract, self.keys, self.secrets, self.fixtures, self.run_name)
        return self._arranger

    def is_proven(self, name: str) -> bool:
        """Whether an operation was answered 200, and is sent with a key whose place is known if it takes one."""
        has_key = not self.operation(name).idempotent or self.draft.has("idempotency", "carrier")
        return name in self.controls and has_key

    async def arrange(
        self, name: str, *, preset: Mapping[str, Members] | None = None, use: Mapping[str, str] | None = None
    ) -> Request:
        """A valid request, which should be answered 200. Raises MissingFact or FixtureError."""
        credential = self.main_credential if self.operation(name).auth == "api_key" else ""
        if self.operation(name).auth == "api_key" and not credential:
            raise MissingFact("authorization.format", f"{name} needs a valid key")
        return await self.arranger.arrange(self.operation(name), preset=preset, use=use, credential=credential)

    async def send(self, request: Request, purpose: str, *, accept_statuses: frozenset[int] = frozenset()) -> Answer:
        """Sends a request and records its answer. Raises BudgetExhausted at the limit of requests."""
        answer = await self.sender.send(request, purpose, accept_statuses=accept_statuses, patience_s=PATIENCE_S)
        self.answers.append(answer)
        if answer.ok and answer.request.operation.id not in self.controls:
            self.controls[answer.request.operation.id] = answer
        return answer

    async def run_part(self, title: str, part: Callable[[Probe], Any]) -> bool:
        """Runs one part of the probe; an error is noted. Returns False if the request budget is exhausted."""
        self.echo(title)
        try:
            await part(self)
        except BudgetExhausted as error:
            self.draft.note("limits", f"the probe ended early, at {title}: {error}")
            self.echo(f"  ended early: {error}")
            return False
        except (MissingFact, ConformanceError) as error:
            self.draft.note("limits", f"incomplete: {title}: {self.clean(str(error))}")
            self.echo(f"  incomplete: {error}")
        return True

    def clean(self, text: str) -> str:
        """Text of a target without secrets, on one line of at most 200 characters."""
        return " ".join(self.secrets.excerpt(text, 2000).split())[:200]

    async def call(self, name: str, preset: Mapping[str, Members], _scope: Mapping[str, Any]) -> Any:
        """Calls an operation as a fixture provider. Raises FixtureError if the answer is not 200."""
        answer = await self.send(await self.arrange(name, preset=preset), "fixture")
        if not answer.ok:
            raise FixtureError(f"{name} answered {answer.summary} instead of 200", where=name)
        if answer.truncated:
            raise FixtureError(f"the answer to {name} is too long to be read", where=name)
        if self.has_late_objects:
            await asyncio.sleep(min(PATIENCE_S, self.profile.visible_after_s(name)))
        return answer.value


def provisional_profile(draft: Draft, directory: Path, schemas: Schemas) -> Profile:
    """The profile of a draft, with defaults for facts that every request needs. Raises ProfileError."""
    facts = {name: value for name, value in draft.facts.items() if name != "schemas"}
    facts.setdefault("authorization", {"format": "Bearer {key}"})
    query = facts.get("search", {}).get("query", {})
    if query and "none" not in query:  # the user may state a part of it, which the probe completes
        facts["search"] = {**facts["search"], "query": {**_DEFAULT_QUERY, **query}}
    profile = profile_from_document(facts, directory=directory)
    search = profile.search if profile.search.query else replace(profile.search, query=_DEFAULT_QUERY)
    return replace(profile, idempotency=profile.idempotency or DEFAULT_IDEMPOTENCY, search=search, schemas=schemas)


@asynccontextmanager
async def open_probe(
    draft: Draft,
    *,
    contract: Contract,
    openapi: OpenApiFacts,
    schemas: Schemas,
    keys: Mapping[str, str],
    directory: Path,
    run_name: str,
    max_requests: int,
    echo: Callable[[str], None],
) -> AsyncIterator[Probe]:
    """Opens the client of a probe, and closes it on exit. Raises ProfileError on an invalid fragment."""
    profile = _limit_requests(provisional_profile(draft, directory, schemas), max_requests)
    secrets = secrets_of(profile, contract, keys)

    async def call(name: str, preset: Mapping[str, Members], scope: Mapping[str, Any]) -> Any:
        return await probe.call(name, preset, scope)

    settings = Settings(
        profile,
        contract,
        keys,
        MemoryJournal(evidence=False),
        secrets,
        run_name,
        profile.limits.concurrency or _CONCURRENCY,
        prefix="p",
        call=call,
        watches_limits=False,
    )
    async with open_context(settings) as runtime:
        probe = Probe(
            contract,
            draft,
            openapi,
            keys,
            secrets,
            directory,
            run_name,
            runtime.sender,
            runtime.fixtures,
            schemas,
            echo,
        )
        yield probe


def _limit_requests(profile: Profile, max_requests: int) -> Profile:
    """Applies the lower of the limits of the profile and of the probe."""
    limits = profile.limits
    return replace(
        profile,
        limits=replace(
            limits, max_requests=min(limits.max_requests, max_requests), timeout_s=min(limits.timeout_s, TIMEOUT_S)
        ),
    )


async def wait_for_clock_tick() -> None:
    await asyncio.sleep(CLOCK_TICK_S)
