"""Everything that a run has open while it sends: opened once, in the engine's event loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from conformance.checks.signals import Inconclusive
from conformance.checks.signs import Signs
from conformance.client.answer import Answer
from conformance.client.arrange import Arranger
from conformance.client.fixtures import Fixtures, Members
from conformance.client.guard import Guard
from conformance.client.journal import Journal
from conformance.client.ledger import Ledger
from conformance.client.recorder import Recorder, current_check
from conformance.client.secrets import Secrets
from conformance.contract import Contract, Operation
from conformance.elsewhere import Elsewhere
from conformance.engine.flow import Flow
from conformance.engine.limit_watch import LimitWatch
from conformance.errors import FixtureError
from conformance.judge.invariants import Invariants
from conformance.judge.schemas import Validators
from conformance.model import Exchange
from conformance.profile.model import Profile
from conformance.profile.sample import Alternatives


@dataclass(frozen=True)
class Settings:
    """What a run is made of before anything is open."""

    profile: Profile
    contract: Contract
    keys: Mapping[str, str] = field(repr=False)
    """Credential name -> secret."""
    journal: Journal
    secrets: Secrets
    run: str
    """A short name, unique to the run: everything that the suite creates begins with it."""
    concurrency: int
    seed: int = 0
    prefix: str = "x"
    exclusive_operations: tuple[str, ...] = ()
    """The operationIds that the selected exclusive checks are about."""
    examples: int = 1
    """How many generated inputs a property is tried on; those that use fixtures up take a share of them."""
    again: str = ""
    """The command that runs this again; what to run is added to it."""
    sent: int = 0
    """Requests of earlier parts of the run."""
    since_s: float = 0.0
    """How long ago the run began."""
    left_s: float | None = None
    """How long the run may take from now on; None: as long as it does."""
    fail_fast: bool = False
    """The run ends at the first failure."""
    limited: bool = False
    """An earlier part was cut short when it had begun to provoke limits, and may have left them up."""
    watch: Callable[[Exchange], None] | None = None
    """Is told of each exchange, in the engine's thread."""
    elsewhere: Elsewhere | None = None
    """The run's second process, where it has one."""


@dataclass
class Runtime:
    settings: Settings
    flow: Flow
    arranger: Arranger
    fixtures: Fixtures
    validators: Validators
    memory: dict[str, object] = field(default_factory=dict)
    """What one check found out and another asks for."""
    signs: Signs = field(default_factory=Signs)
    controls: Controls = field(init=False)
    _alternatives: dict[str, Alternatives] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.controls = Controls(self)
        self.fixtures.call = self._call

    def alternatives(self, schema: str) -> Alternatives:
        """To the leaves of a body that has this schema of the profile's, or none of it."""
        if schema not in self._alternatives:
            self._alternatives[schema] = Alternatives(self.settings.profile.schemas.by_name.get(schema))
        return self._alternatives[schema]

    async def _call(self, operation_id: str, given: Mapping[str, Members], scope: Mapping[str, Any]) -> Any:
        """An operation of the interface as a fixture provider."""
        operation = self.settings.contract.operations[operation_id]
        request = await self.arranger.arrange(operation, given=given)
        answer = await self.flow.send(request, "fixture")
        self.signs.wrote(answer)
        if not answer.ok:
            raise FixtureError(
                f"{operation_id} answered {answer.summary} instead of 200", where=f"control:{operation_id}"
            )
        return answer.value


class Controls:
    """The control of each operation: a request proven good, once in a run."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._proofs: dict[str, asyncio.Task[Answer]] = {}

    async def proven(self, operation: Operation) -> Answer:
        """The 200 of an operation's control. Raises Inconclusive, naming the control, where there is none."""
        if operation.id not in self._proofs:
            self._proofs[operation.id] = asyncio.ensure_future(self._prove(operation))
        return await asyncio.shield(self._proofs[operation.id])

    async def aclose(self) -> None:
        """Ends what is still being proven: nobody waits for it any more, and its connections are about to close."""
        for proof in self._proofs.values():
            proof.cancel()
        await asyncio.gather(*self._proofs.values(), return_exceptions=True)

    async def _prove(self, operation: Operation) -> Answer:
        current_check.set("control")
        answer: Answer | None = None
        for _ in range(2):  # again on new fixtures: the first may have learnt a DPoP nonce, or met a spoilt fixture
            request = await self._runtime.arranger.arrange(operation, shared=is_read(operation))
            answer = await self._runtime.flow.send(request, "control")
            if answer.ok:
                return answer.slim
        assert answer is not None
        raise control_failed(answer)


def is_read(operation: Operation) -> bool:
    return operation.method == "GET"


def control_failed(answer: Answer) -> Inconclusive:
    operation = answer.request.operation.id
    return Inconclusive(
        f"the control of {operation} was answered {answer.summary} instead of 200",
        answer,
        cause=f"control:{operation}",
        observed=answer.summary,
    )


def load_sender() -> None:
    """What sends takes its time to be imported, so not before something is sent; and in one thread, before others run:
    of two that begin to import the same, one may see a module of it half made. pytest looks into unittest whenever a
    check has failed, and hypothesis imports that."""
    for name in ("joserfc.jwk", "joserfc.jws", "conformance.client.transport", "unittest"):
        import_module(name)


def _unwatched(_: Exchange) -> None:
    """Nobody wants to know at once: the journal tells all."""


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Runtime]:
    """The runtime of a run; closes every connection at the end."""
    from conformance.client.transport import Transport

    profile = settings.profile
    validators = Validators(profile.schemas)
    ledger = Ledger(profile, settings.journal, settings.secrets)
    judge = Invariants(profile, validators).judge
    recorder = Recorder(settings.journal, settings.secrets, judge, ledger.saw, settings.watch or _unwatched)
    fixtures = Fixtures(
        profile, ledger, lambda name, place: settings.journal.append("fixture", {"name": name, "place": place})
    )
    arranger = Arranger(profile, settings.contract, settings.keys, settings.secrets, fixtures, settings.run)
    async with Transport(
        profile.base_url, tls=profile.tls, timeout_s=profile.limits.timeout_s, proxy=profile.limits.proxy
    ) as transport:
        flow = Flow(
            transport,
            recorder,
            settings.secrets,
            profile.limits,
            concurrency=settings.concurrency,
            token_url=profile.oauth.token_url if profile.oauth else "",
            prefix=settings.prefix,
            sent=settings.sent,
            since_s=settings.since_s,
            guard=Guard(profile, settings.secrets),
            limit_watch=LimitWatch(
                profile,
                ends_at=None if settings.left_s is None else time.monotonic() + settings.left_s,
                first_ends_all=settings.fail_fast,
            ),
        )
        runtime = Runtime(settings, flow, arranger, fixtures, validators)
        try:
            if settings.limited and profile.rate_limit.restore:
                with contextlib.suppress(FixtureError):  # it may have been restored
                    await fixtures.http(profile.rate_limit.restore, {}, "rate_limit.restore")
            yield runtime
        finally:
            await runtime.controls.aclose()
            await ledger.remove(fixtures.http)
            await fixtures.aclose()
