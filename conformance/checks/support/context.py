"""The open resources of a run: created once, in the engine's event loop."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from conformance.checks.support.clocks import explain_refused_proof
from conformance.checks.support.control_reads import ControlReads
from conformance.checks.support.first_calls import FirstCall
from conformance.checks.support.good_answers import KnownAnswer
from conformance.checks.support.shared_controls import SharedControl
from conformance.checks.support.signals import Inconclusive
from conformance.checks.support.signs import Signs
from conformance.client.fixtures import Call, Fixtures, Members
from conformance.client.recorder import current_check
from conformance.client.redaction.secrets import Secrets
from conformance.client.request_builder import Arranger
from conformance.client.response import Answer
from conformance.client.sender import Sender
from conformance.contract import Contract, Operation
from conformance.core.errors import FixtureError
from conformance.core.model import Exchange
from conformance.journal.journal import Journal
from conformance.judge.validators import Validators
from conformance.profile.behavior import OAuth
from conformance.profile.model import Profile
from conformance.profile.sample import Alternatives


@dataclass(frozen=True)
class Settings:
    """The settings of a run."""

    profile: Profile
    contract: Contract
    keys: Mapping[str, str] = field(repr=False)
    """Credential name -> secret."""
    journal: Journal
    secrets: Secrets
    run: str
    """A short name, unique to the run: the prefix of every name that the suite creates."""
    concurrency: int
    seed: int = 0
    prefix: str = "x"
    exclusive_operations: tuple[str, ...] = ()
    """The operationIds of the selected exclusive checks."""
    examples: int = 1
    """Number of generated inputs for each property; properties that consume fixtures use a share of it."""
    rerun_command: str = ""
    """The command that repeats this run; the selection is appended to it."""
    requests_before: int = 0
    """Requests of earlier segments of the run."""
    since_s: float = 0.0
    """Seconds since the run began."""
    remaining_s: float | None = None
    """Seconds that the run may still take; None: unlimited."""
    fail_fast: bool = False
    """The run ends at the first failure."""
    limits_provoked: bool = False
    """An earlier segment was interrupted after it began to provoke limits, which may still be in force."""
    on_exchange: Callable[[Exchange], None] | None = None
    """Called with each exchange, in the engine's thread."""
    call: Call | None = None
    """How a fixture provider sends an operation; None: as the runtime does."""
    watches_limits: bool = True
    """Whether a rate limit that outlives its recovery ends what is sent for its caller."""


@dataclass
class Runtime:
    settings: Settings
    sender: Sender
    arranger: Arranger
    fixtures: Fixtures
    validators: Validators
    memory: dict[str, object] = field(default_factory=dict)
    """Results that checks share, by name."""
    signs: Signs = field(default_factory=Signs)
    controls: Controls = field(init=False)
    shared_controls: dict[str, SharedControl] = field(default_factory=lambda: defaultdict(SharedControl))
    """By operationId."""
    first_calls: dict[tuple[str, str], FirstCall] = field(default_factory=lambda: defaultdict(FirstCall))
    """By operationId and the kind of what is sent under their keys."""
    answers_to_keys: dict[tuple[str, str], KnownAnswer] = field(default_factory=lambda: defaultdict(KnownAnswer))
    """By operationId and the name of the credential, for reads that show who calls."""
    known_answers: dict[str, KnownAnswer] = field(default_factory=lambda: defaultdict(KnownAnswer))
    """By what was sent, for other answers that several checks judge."""
    control_reads: ControlReads = field(default_factory=ControlReads)
    calls_with_key: Counter[str] = field(default_factory=Counter)
    """By operationId: the calls with an idempotency key that were answered."""
    has_late_objects: bool = False
    """Whether what the target's own operations have made may be found some time later only: a control was answered 404.
    From then on, such fixtures are used when they must be visible by what the profile states."""
    _alternatives: dict[str, Alternatives] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.controls = Controls(self)

    def alternatives(self, schema: str) -> Alternatives:
        """Alternative values for the leaves of a body with this schema of the profile."""
        if schema not in self._alternatives:
            self._alternatives[schema] = Alternatives(self.settings.profile.body_schema(schema))
        return self._alternatives[schema]

    async def call(self, operation_id: str, preset: Mapping[str, Members], scope: Mapping[str, Any]) -> Any:
        """An operation of the interface as a fixture provider."""
        operation = self.settings.contract.operations[operation_id]
        request = await self.arranger.arrange(operation, preset=preset)
        answer = await self.sender.send(request, "fixture")
        self.signs.note_write(answer)
        if not answer.ok:
            raise FixtureError(
                f"{operation_id} answered {answer.summary} instead of 200", where=f"control:{operation_id}"
            )
        if self.has_late_objects:
            await asyncio.sleep(self.settings.profile.visible_after_s(operation_id))
        if answer.truncated:
            raise FixtureError(f"the answer to {operation_id} is too long to be read", where=f"control:{operation_id}")
        return answer.value


_KEPT_BYTES: Final = 65_536
"""The longest body of a control that is kept for the checks that judge it."""


class Controls:
    """The control of each operation: a request proven good once in a run."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._proofs: dict[str, asyncio.Task[Answer]] = {}
        self._uses: set[str] = set()
        """The operations whose control was taken."""

    async def prove(self, operation: Operation) -> Answer:
        """Returns the 200 of an operation's control, without a long body. Raises Inconclusive with the control as
        cause where there is none."""
        if operation.id not in self._proofs:
            self._proofs[operation.id] = asyncio.ensure_future(self._send_control(operation))
        return await asyncio.shield(self._proofs[operation.id])

    async def take(self, operation: Operation, max_age_s: float) -> Answer | None:
        """The 200 of the control for the one check that may use its key and its resource further.

        None where another check has taken it, and where it is older than this or too long.
        """
        answer = await self.prove(operation)
        is_free = operation.id not in self._uses
        self._uses.add(operation.id)
        is_young = self._runtime.sender.elapsed_s - answer.at <= max_age_s
        return answer if is_free and is_young and answer.body else None

    async def aclose(self) -> None:
        """Cancels unfinished proofs before their connections close."""
        for proof in self._proofs.values():
            proof.cancel()
        await asyncio.gather(*self._proofs.values(), return_exceptions=True)

    async def _send_control(self, operation: Operation) -> Answer:
        current_check.set("control")
        answer: Answer | None = None
        # a second attempt on new fixtures: the first may have got a DPoP nonce, a bad fixture, or one not yet visible
        for _ in range(2):
            request = await self._runtime.arranger.arrange(operation, shared=operation.is_read)
            answer = await self._runtime.sender.send(request, "control")
            if answer.ok:
                return answer if len(answer.body) <= _KEPT_BYTES else answer.without_body
            self._runtime.has_late_objects |= answer.status == 404
        assert answer is not None
        raise control_failed(answer, self._runtime.settings.profile.oauth)


def control_failed(answer: Answer, oauth: OAuth | None = None) -> Inconclusive:
    """`oauth`: what the profile states of clocks, for an operation that takes a proof."""
    operation = answer.request.operation.id
    reason = explain_refused_proof(answer, oauth) if answer.request.operation.auth == "oauth" else ""
    observed = f"got {answer.summary}" if answer.status is None else f"was answered {answer.summary} instead of 200"
    return Inconclusive(
        f"the control of {operation} {observed}{f': {reason}' if reason else ''}",
        answer,
        cause=f"control:{operation}",
        observed=answer.summary,
    )
