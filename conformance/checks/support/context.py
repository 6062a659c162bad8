"""Everything that a run has open while it sends: opened once, in the engine's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.signs import Signs
from conformance.client.fixtures import Call, Fixtures, Members
from conformance.client.recorder import current_check
from conformance.client.redaction.secrets import Secrets
from conformance.client.request_builder import Arranger
from conformance.client.response import Answer
from conformance.client.sender import Flow
from conformance.contract import Contract, Operation
from conformance.core.errors import FixtureError
from conformance.core.model import Exchange
from conformance.journal.journal import Journal
from conformance.judge.validators import Validators
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
    call: Call | None = None
    """How a fixture provider sends an operation; None: as the runtime does."""
    watches_limits: bool = True
    """Whether a rate limit that outlives its recovery ends what is sent for its caller."""


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

    def alternatives(self, schema: str) -> Alternatives:
        """To the leaves of a body that has this schema of the profile's, or none of it."""
        if schema not in self._alternatives:
            self._alternatives[schema] = Alternatives(self.settings.profile.schemas.by_name.get(schema))
        return self._alternatives[schema]

    async def call(self, operation_id: str, given: Mapping[str, Members], scope: Mapping[str, Any]) -> Any:
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
