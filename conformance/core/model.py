"""The frozen values that all modules exchange: requirement, exchange, finding, result, run.

All of them are plain data, so that they can be sent to another process or written to a file (msgspec). This module
reads no clock, file or network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from conformance.core.changes import PreviousRun
from conformance.core.messages import without_operation
from conformance.core.observed_traffic import ObservedTraffic
from conformance.core.outcomes import OPEN_OUTCOMES, WAIVED, Level, Outcome, Stability, Verdict
from conformance.core.traffic import Traffic

SCHEMA_VERSION = 2
"""Of `run.json`."""
STATUSES = (200, 400, 401, 403, 404, 409, 429)
REFUSAL_STATUSES = (400, 401, 403, 404, 409)
"""Those of a request that is refused for what it is: every operation declares them (Endpoints, rule 1)."""
"""The statuses that the interface declares for every operation (Endpoints, rule 1)."""


class Requirement(msgspec.Struct, frozen=True):
    """One testable statement of the interface (`contract/requirements.yaml`)."""

    id: str
    level: Level
    section: str
    statement: str
    how: str
    """How it is checked, in a sentence or two."""
    facts: tuple[str, ...] = ()
    """The profile keys that it needs, as dotted paths: `credentials`, `search.valid`."""
    operations: tuple[str, ...] = ()
    """The operationIds it applies to."""
    unchecked: str = ""
    """Why no check exists; empty where one does."""


class OperationInfo(msgspec.Struct, frozen=True):
    """What a report needs to know of an operation (interface, Endpoints table)."""

    id: str
    method: str
    path: str
    stability: Stability


class Message(msgspec.Struct, frozen=True):
    """One half of an exchange, redacted and truncated; `body` is text in which undecodable bytes are escaped."""

    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    body_bytes: int = 0
    """The size on the wire, before truncation."""
    truncated: bool = False


class Finding(msgspec.Struct, frozen=True):
    """One violation that an invariant found in one exchange. `code` names the kind of violation, stable across runs."""

    requirement: str
    code: str
    message: str
    level: Level = Level.REQUIRED


class Exchange(msgspec.Struct, frozen=True):
    """One request and its answer, redacted: the evidence.

    `id` is unique in a run, `at` in seconds since the run began, `status` None where no answer was read; `trouble` then
    says why. `judged` lists the invariants that judged it, `findings` the violations that they found.
    """

    id: str
    operation: str
    method: str
    url: str
    request: Message
    status: int | None
    response: Message
    at: float
    duration_ms: float
    credential: str = ""
    """The profile's name of the credential used; never the secret."""
    trouble: str = ""
    check: str = ""
    purpose: str = ""
    """Why it was sent, in a word or two: `control`, `no Authorization`, `replay`."""
    judged: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    retry_of: str = ""
    """The id of the exchange that this one repeats after a 429 or a gateway error."""


class Result(msgspec.Struct, frozen=True):
    """The result of one check, or of one invariant on one operation."""

    check: str
    """`check_authentication::absent_credential`; for an invariant `invariant::ENV-1`."""
    requirement: str
    operation: str
    """An operationId, or the empty string where the check concerns no single one."""
    case: str
    """Distinguishes the results of one check on one operation; may be empty."""
    outcome: Outcome
    message: str = ""
    expected: str = ""
    observed: str = ""
    exchanges: tuple[str, ...] = ()
    """Ids of the exchanges that it is based on, the decisive one last."""
    duration_ms: float = 0.0
    reproduce: str = ""
    """The command that repeats this check alone."""
    level: Level = Level.REQUIRED
    """The level it was judged at, which a profile fact may raise above the requirement's own."""
    cause: str = ""
    """Its explanation. A check states what it depends on (`control:getApiKeyIdentity`) or what led to its failure
    (`effect:SCO-4:checkoutPublicCart`); the judge completes it.

    All failures and open results of one defect have the same cause: `AUTH-1 check_authentication::...`.
    """
    fact: str = ""
    """For `unstated`: the profile key that would enable it. For an exclusion: its key."""
    exclusion: str = ""
    """For `inapplicable`: the profile's reason, where the profile excludes the fact (`none = "reason"`)."""
    further: bool = False
    """For `inapplicable`: a further case that this target cannot have; other checks carry the requirement."""
    waived_by: int | None = None
    """The index in the run's `waivers` of the active one that accepts this failure or gap. The judge sets it."""
    signature: str = ""
    """For `failed` and `warned`: identifies this failure in all runs, without ids and times; waivers cite it."""
    notes: tuple[str, ...] = ()
    """Observations that judge nothing."""
    cause_signature: str = ""
    """For failures and warnings: identifies the cause in all runs. A waiver may cite it in place of `signature`."""
    kind: str = ""
    """For an invariant: the code of its finding, the same in all runs: `status:201`, `no-data`. For a check: the kind
    of deviation, where neither status nor value names it: `not replayed`."""
    answers: int = 0
    """For an invariant: the number of answers that it judged."""
    violations: int = 0
    """For an invariant: the number of answers that violate it."""

    @property
    def general_message(self) -> str:
        """The message without the operation's name: `the operation was refused`."""
        return without_operation(self.message, self.operation)

    @property
    def counted_as(self) -> str:
        """The name under which it is counted and shown: `waived` where a waiver accepts it, else its outcome."""
        return WAIVED if self.waived_by is not None else self.outcome.value

    @property
    def keeps_open(self) -> bool:
        """Whether it keeps a verdict open: a required requirement that was not judged, and that no waiver accepts."""
        return self.level is Level.REQUIRED and self.outcome in OPEN_OUTCOMES and self.waived_by is None


@dataclass(frozen=True, slots=True)
class Waiver:
    """An accepted failure or gap. `until` is an ISO date, its last day; the judge sets `state`."""

    requirement: str
    reason: str
    owner: str
    issue: str
    until: str
    operation: str = ""
    case: str = ""
    signature: str = ""
    state: str = ""
    """Its effect in a run.

    `active`: it accepts a failure or a gap; `expired`: its last day has passed; `mismatch`: the failure has another
    signature; `unneeded`: no result that it names failed or is open; `unmatched`: it names no result of the run.
    """


class CreatedResources(msgspec.Struct, frozen=True):
    """The resources of one kind and state that a run created; `left`: the ids of those that it did not remove."""

    kind: str
    state: str
    count: int
    left: tuple[str, ...]
    trouble: str = ""
    """Why a resource could not be removed."""


class Gap(msgspec.Struct, frozen=True):
    """A required requirement that was not judged on an operation, and is neither excluded nor waived."""

    requirement: str
    operation: str
    outcome: Outcome
    fact: str = ""
    """The profile key that would enable it, where one is missing."""
    reason: str = ""
    """Why it was not judged: the message of its first open result."""
    results: int = 0
    """The number of its open results."""


class Exclusion(msgspec.Struct, frozen=True):
    """A fact that the profile declares absent or not observable, and what was not judged because of it."""

    fact: str
    """Its dotted key in the profile."""
    reason: str
    requirements: tuple[str, ...]
    results: int


class Scope(msgspec.Struct, frozen=True):
    """The basis of a verdict. A verdict is never shown without its `summary`.

    `requirements` counts the requirements that apply to this target, without observed ones; `judged` lists those that
    were judged on every operation that they apply to, except exclusions.
    """

    operations: int
    proven: tuple[str, ...]
    """Operations with a proven control."""
    unproven: tuple[str, ...]
    requirements: int
    judged: tuple[str, ...]
    open: tuple[Gap, ...]
    """The gaps that keep the verdict open, besides operations without a proven control."""
    exclusions: tuple[Exclusion, ...]
    waived: int
    """Results that active waivers accept."""
    summary: str
    """`20 of 20 operations, 74 of 75 requirements, 12 exclusions`; with the depth, where it is not the standard one.

    It says too where the target's certificate was not verified."""


class Tier(msgspec.Struct, frozen=True):
    verdict: Verdict
    counts: Mapping[str, int]
    """The number of results by outcome; waived ones under `waived`."""
    scope: Scope


class RequirementRow(msgspec.Struct, frozen=True):
    """One row of the requirement x operation matrix. Keys of `operations`: operationId, or "" for none."""

    id: str
    level: Level
    section: str
    statement: str
    outcome: Outcome
    operations: Mapping[str, Outcome]
    waived: tuple[str, ...] = ()
    """The operations whose outcome a waiver accepts; what no waiver accepts decides a cell first."""

    @property
    def counted_as(self) -> str:
        """`waived` where nothing else of the requirement is as bad, else its outcome."""
        decisive = [name for name, outcome in self.operations.items() if outcome is self.outcome]
        is_waived = bool(self.waived) and all(name in self.waived for name in decisive)
        return WAIVED if is_waived else self.outcome.value

    def cell(self, operation: str) -> str | None:
        """The outcome on an operation, or `waived`; None where the requirement does not concern it."""
        outcome = self.operations.get(operation)
        return None if outcome is None else WAIVED if operation in self.waived else outcome.value


class Suite(msgspec.Struct, frozen=True):
    version: str
    contract: str
    """sha256 of the contract and the requirements."""
    checks: str
    """sha256 of the names of all checks and of their code."""


class ProfileInfo(msgspec.Struct, frozen=True):
    name: str
    digest: str
    path: str = ""
    lines: Mapping[str, int] = msgspec.field(default_factory=dict)
    """The line of each table and of its keys in the file: `search.page_base` -> 42, the first line is 1."""


class ProfilePlace(msgspec.Struct, frozen=True):
    """A place in the profile's file: a dotted key, and its line from 1."""

    key: str
    line: int


class Cause(msgspec.Struct, frozen=True):
    """Failures or warnings of one requirement that deviate in one way: what one defect explains."""

    id: str
    """Equal to `cause` of its results."""
    signature: str
    requirement: str
    title: str
    outcome: Outcome
    level: Level
    operations: tuple[str, ...]
    checks: tuple[str, ...]
    results: int
    blocked: int
    """The number of open results that rest on it."""
    waived_by: int | None = None
    """The index in the run's `waivers`, where these results are waived."""
    waiver: str = ""
    """TOML that waives these results alone, to be completed."""
    places: tuple[ProfilePlace, ...] = ()
    """Where the profile states what it is about, the most specific place first."""


class MissingFact(msgspec.Struct, frozen=True):
    """A fact that the profile could state, and what it would decide."""

    key: str
    reason: str
    results: int
    """The number of results that are unstated without it."""
    requirements: tuple[str, ...]
    keeps_open: bool
    statement: str
    """TOML that states it, to be completed."""
    exclusion: str
    """TOML that says with a reason that it is not there."""
    reasons: tuple[str, ...] = ()
    """The checks' own sentences, the most frequent first."""


class Run(msgspec.Struct, frozen=True):
    """A whole run, as `run.json` holds it."""

    suite: Suite
    target: str
    profile: ProfileInfo
    seed: int
    started_at: str
    finished_at: str
    complete: bool
    verdict: Verdict
    scope: Scope
    tiers: Mapping[str, Tier]
    counts: Mapping[str, int]
    """The number of results by outcome; waived ones under `waived`."""
    requirements: tuple[RequirementRow, ...]
    results: tuple[Result, ...]
    coverage: Mapping[str, Mapping[str, int]]
    """operationId -> status -> number of answers, undeclared statuses included; `none` for no answer."""
    coverage_reasons: Mapping[str, Mapping[str, str]]
    """operationId -> declared status -> why that cell is empty."""
    traffic: Traffic
    operations: tuple[OperationInfo, ...]
    waivers: tuple[Waiver, ...] = ()
    filtered: bool = False
    """Some checks were deselected: such a run can never be conformant."""
    depth: str = "standard"
    """`quick`, `standard` or `deep`: a quick run leaves checks out, which stay untested, and is never conformant."""
    unverified: bool = False
    """The target's certificate was not verified: the answers may be another's."""
    interrupted: str = ""
    """Why it ended early: `SIGINT`, `deadline`, `-x`, ...; empty where it is complete."""
    created: tuple[CreatedResources, ...] = ()
    causes: tuple[Cause, ...] = ()
    """What explains the failures and warnings, what matters most first."""
    missing: tuple[MissingFact, ...] = ()
    """The facts that the profile does not state, ranked by what each would decide."""
    parts: int = 1
    """The number of segments: one more than the number of times it was resumed."""
    schema_version: int = SCHEMA_VERSION
    exchanges: Sequence[Exchange] = ()
    """Recorded in the journal, not in run.json."""
    observed: ObservedTraffic | None = None
    """Of a run that judged the traffic of others; such a run is never conformant."""
    previous: PreviousRun | None = None
    """The comparison with the previous run of the reports folder; not in run.json."""
