"""What a probe has open: the suite's own client, the draft as it grows, and every answer that came."""

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
"""How long one request may be repeated while it is answered 429."""
TIMEOUT_S: Final = 10.0
_CONCURRENCY: Final = 8
SETTLE_S: Final = 1.1
"""Longer than the second that many clocks are read to: what was made of a clock differs after it."""
STAND_IN: Final = Idempotency("header", "Idempotency-Key")
_SEARCH_STAND_IN: Final = {"q": "a", "locale": "en-US", "market": "US", "sort": "relevance", "page": 1, "pageSize": 2}

Unarranged = (MissingFact, FixtureError)
"""Why a request could not even be made."""


@dataclass
class Bench:
    """One probe under way."""

    contract: Contract
    draft: Draft
    described: Described
    keys: Mapping[str, str] = field(repr=False)
    """Credential name -> secret, in the order in which they were given."""
    secrets: Secrets
    directory: Path
    directory_of_schemas: Path
    """Where `described.json` is, the document's own schemas."""
    run: str
    flow: Sender
    fixtures: Fixtures
    schemas: Schemas
    tell: Callable[[str], None]
    answers: list[Answer] = field(default_factory=list)
    controls: dict[str, Answer] = field(default_factory=dict)
    """By operationId: a 200."""
    _arranger: Arranger | None = None
    _known: str = ""

    def operation(self, name: str) -> Operation:
        return self.contract.operations[name]

    @property
    def main(self) -> str:
        """The credential that ordinary requests are sent with; empty where none was seen to work."""
        if "getApiKeyIdentity" not in self.controls:
            return ""
        table = self.draft.get("credentials") or {}
        return next((name for name, told in table.items() if told.get("status", "active") == "active"), "")

    @property
    def profile(self) -> Profile:
        return self.arranger.profile

    @property
    def arranger(self) -> Arranger:
        """For the draft as it is now."""
        known = repr(self.draft.facts)
        if self._arranger is None or self._known != known:
            self._known = known
            profile = standing_in(self.draft, self.directory, self.schemas)
            self._arranger = Arranger(profile, self.contract, self.keys, self.secrets, self.fixtures, self.run)
        return self._arranger

    async def arrange(
        self, name: str, *, given: Mapping[str, Members] | None = None, use: Mapping[str, str] | None = None
    ) -> Request:
        """A request that ought to be answered 200. Raises MissingFact or FixtureError."""
        credential = self.main if self.operation(name).auth == "api_key" else ""
        if self.operation(name).auth == "api_key" and not credential:
            raise MissingFact("authorization.format", f"{name} needs a key that works")
        return await self.arranger.arrange(self.operation(name), preset=given, use=use, credential=credential)

    async def send(self, request: Request, purpose: str, *, take: frozenset[int] = frozenset()) -> Answer:
        """Raises BudgetExhausted where no more may be sent."""
        answer = await self.flow.send(request, purpose, accept_statuses=take, patience_s=PATIENCE_S)
        self.answers.append(answer)
        if answer.ok and answer.request.operation.id not in self.controls:
            self.controls[answer.request.operation.id] = answer
        return answer

    async def step(self, title: str, work: Callable[[Bench], Any]) -> bool:
        """One part of the probe; whatever it lacks is no reason to leave the others out. Tells whether more may go."""
        self.tell(title)
        try:
            await work(self)
        except BudgetExhausted as error:
            self.draft.note("limits", f"the probe ended early, at {title}: {error}")
            self.tell(f"  ended early: {error}")
            return False
        except (MissingFact, ConformanceError) as error:
            self.draft.note("limits", f"not all was probed of {title}: {self.clean(str(error))}")
            self.tell(f"  not all of it: {error}")
        return True

    def clean(self, text: str) -> str:
        """What a target said, without secrets and in one bounded line."""
        return " ".join(self.secrets.excerpt(text, 2000).split())[:200]

    async def call(self, name: str, given: Mapping[str, Members], _scope: Mapping[str, Any]) -> Any:
        """An operation of the interface as a fixture provider."""
        answer = await self.send(await self.arrange(name, given=given), "fixture")
        if not answer.ok:
            raise FixtureError(f"{name} answered {answer.summary} instead of 200", where=name)
        return answer.value


def standing_in(draft: Draft, directory: Path, schemas: Schemas) -> Profile:
    """The profile of a draft, with guesses in place of what no request can be made without. Raises ProfileError."""
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
    """Opens what a probe sends with; closes every connection at the end. Raises ProfileError on a bad fragment."""
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
            runtime.sender,
            runtime.fixtures,
            schemas,
            tell,
        )
        yield made


def _bounded(profile: Profile, max_requests: int) -> Profile:
    """Within the fewer requests, and the shorter time for each, of the profile's limits and the probe's."""
    limits = profile.limits
    return replace(
        profile,
        limits=replace(
            limits,
            max_requests=min(limits.max_requests, max_requests),
            timeout_s=min(limits.timeout_s, TIMEOUT_S),
        ),
    )


async def settle() -> None:
    await asyncio.sleep(SETTLE_S)
