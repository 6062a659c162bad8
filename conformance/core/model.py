"""The frozen values that every other module speaks in: requirement, exchange, finding, result, run.

All of them are plain data, so that they cross a process boundary or a file as they are (msgspec); nothing in here reads
a clock, a file or a network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

SCHEMA_VERSION = 2
"""Of `run.json`."""
STATUSES = (200, 400, 401, 403, 404, 409, 429)
"""The statuses that the interface declares for every operation (Endpoints, rule 1)."""


class Level(StrEnum):
    """How binding a requirement is: the interface's text, a declared fact, a standard, or nobody."""

    REQUIRED = "required"
    DECLARED = "declared"
    RECOMMENDED = "recommended"
    OBSERVED = "observed"


class Outcome(StrEnum):
    """Of one check. `broken` is the suite's own fault, never the target's."""

    PASSED = "passed"
    FAILED = "failed"
    WARNED = "warned"
    INCONCLUSIVE = "inconclusive"
    UNTESTED = "untested"
    UNSTATED = "unstated"
    """The profile could state a fact that is needed, and does not."""
    INAPPLICABLE = "inapplicable"
    """It does not exist on this target: by the interface, or because the profile says so."""
    BROKEN = "broken"


WORST_FIRST = (
    Outcome.BROKEN,
    Outcome.FAILED,
    Outcome.INCONCLUSIVE,
    Outcome.UNTESTED,
    Outcome.UNSTATED,
    Outcome.WARNED,
    Outcome.PASSED,
    Outcome.INAPPLICABLE,
)
"""How several outcomes of one cell are summed up: the first of these that occurs."""
OPEN = (Outcome.INCONCLUSIVE, Outcome.UNTESTED, Outcome.UNSTATED)
"""The outcomes of what was not judged and could have been: on a required requirement they keep a verdict open."""
BAD = (Outcome.FAILED, Outcome.BROKEN)
JUDGED = (Outcome.PASSED, Outcome.FAILED, Outcome.WARNED)


class Verdict(StrEnum):
    """Of a whole run, or of one tier of it."""

    CONFORMANT = "conformant"
    NONCONFORMANT = "nonconformant"
    INCOMPLETE = "incomplete"
    BROKEN = "broken"


class Stability(StrEnum):
    STABLE = "stable"
    CANDIDATE = "candidate"


@dataclass(frozen=True, slots=True)
class Requirement:
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


@dataclass(frozen=True, slots=True)
class OperationInfo:
    """What a report needs to know of an operation (interface, Endpoints table)."""

    id: str
    method: str
    path: str
    stability: Stability


@dataclass(frozen=True, slots=True)
class Message:
    """One half of an exchange, redacted and bounded; `body` is text with what cannot be decoded escaped."""

    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""
    body_bytes: int = 0
    """The size on the wire, before anything was cut."""
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation that an invariant saw in one exchange. `code` names the kind of violation, stable across runs."""

    requirement: str
    code: str
    message: str
    level: Level = Level.REQUIRED


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came back, redacted: the evidence.

    `id` is unique in a run, `at` seconds since the run began, `status` None where no answer was read, and then
    `trouble` says why. `judged` lists the invariants that looked at it, `findings` what they saw.
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
    """The id of the exchange that this one repeats after a 429 or gateway trouble."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one check, or one invariant on one operation, concluded."""

    check: str
    """`check_authentication::absent_credential`; for an invariant `invariant::ENV-1`."""
    requirement: str
    operation: str
    """An operationId, or the empty string where the check concerns no single one."""
    case: str
    """What tells it from its siblings; may be empty."""
    outcome: Outcome
    message: str = ""
    expected: str = ""
    observed: str = ""
    exchanges: tuple[str, ...] = ()
    """Ids of the exchanges that it rests on, the decisive one last."""
    duration_ms: float = 0.0
    reproduce: str = ""
    """The command that runs just this again."""
    level: Level = Level.REQUIRED
    """The level it was judged at, which a profile fact may raise above the requirement's own."""
    cause: str = ""
    """What explains it. A check names what it rests on (`control:getApiKeyIdentity`); the judge completes it.

    All failures, and all open results, that one defect explains have the same: `AUTH-1 check_authentication::...`.
    """
    fact: str = ""
    """For `unstated`: the profile key that would enable it. For an exclusion: the key that it stands at."""
    exclusion: str = ""
    """For `inapplicable`: the profile's reason, where the profile excludes the fact (`none = "reason"`)."""
    further: bool = False
    """For `inapplicable`: a further case that this target cannot have; other checks carry the requirement."""
    waived_by: int | None = None
    """The place in the run's `waivers` of the active one that accepts this failure or gap. The judge writes it."""
    signature: str = ""
    """For `failed` and `warned`: names this failure across runs, whatever its ids and times; waivers cite it."""
    notes: tuple[str, ...] = ()
    """Observations that judge nothing."""

    @property
    def keeps_open(self) -> bool:
        """Whether it keeps a verdict open: a required requirement that was not judged, and that no waiver accepts."""
        return self.level is Level.REQUIRED and self.outcome in OPEN and self.waived_by is None


@dataclass(frozen=True, slots=True)
class Waiver:
    """An accepted failure or gap. `until` is an ISO date, the last day it holds; the judge fills in `state`."""

    requirement: str
    reason: str
    owner: str
    issue: str
    until: str
    operation: str = ""
    case: str = ""
    signature: str = ""
    state: str = ""
    """What became of it in a run.

    `active`: it excuses a failure or a gap; `expired`: its day has passed; `mismatch`: another failure than it excuses;
    `unneeded`: what it names neither failed nor stayed open; `unmatched`: there is nothing of that name.
    """


@dataclass(frozen=True, slots=True)
class Created:
    """What a run made of one kind in one state; `left` are the ids of what it did not remove."""

    kind: str
    state: str
    count: int
    left: tuple[str, ...]
    trouble: str = ""
    """Why something could not be removed."""


@dataclass(frozen=True, slots=True)
class Gap:
    """A required requirement that was not judged on an operation, and is neither excluded nor waived."""

    requirement: str
    operation: str
    outcome: Outcome
    fact: str = ""
    """The profile key that would enable it, where one is missing."""


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What the profile says is not there or cannot be seen, and what was not judged because of it."""

    fact: str
    """The dotted key of the profile that says so."""
    reason: str
    requirements: tuple[str, ...]
    results: int


@dataclass(frozen=True, slots=True)
class Scope:
    """What a verdict rests on. A verdict is never shown without its `summary`.

    `requirements` counts the requirements that are about this target, without those that are only observed; `judged`
    names those that were judged on every operation they are about, but for exclusions.
    """

    operations: int
    proven: tuple[str, ...]
    """Operations of which a good request was answered 200."""
    unproven: tuple[str, ...]
    requirements: int
    judged: tuple[str, ...]
    open: tuple[Gap, ...]
    """What keeps the verdict open, beside operations without a proven control."""
    exclusions: tuple[Exclusion, ...]
    waived: int
    """Results that active waivers accept."""
    summary: str
    """`20 of 20 operations, 74 of 75 requirements, 12 exclusions`"""


@dataclass(frozen=True, slots=True)
class Tier:
    verdict: Verdict
    counts: Mapping[str, int]
    scope: Scope


@dataclass(frozen=True, slots=True)
class RequirementRow:
    """One row of the requirement x operation matrix. Keys of `operations`: operationId, or "" for none."""

    id: str
    level: Level
    section: str
    statement: str
    outcome: Outcome
    operations: Mapping[str, Outcome]


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds over answered requests."""

    count: int
    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class Traffic:
    requests: int
    by_operation: Mapping[str, int]
    latency: Mapping[str, Latency]
    """By operationId, and "" over all."""
    waited_s: float = 0.0
    """Seconds that requests spent waiting out 429s and gateway trouble."""
    """Added up over all requests, many of which wait at the same time."""
    retries: int = 0
    waited_clock_s: float = 0.0
    """Seconds by the clock in which any request waited."""
    limited: int = 0
    """How many 429s were waited out."""
    lost: int = 0
    """How many answers were lost, or 502, 503 or 504, and were asked for again."""
    most_in_flight: int = 0
    """Requests that were under way at once."""
    slowest_rate: float | None = None
    """Requests a second that the target was found to bear, where it answered 429 to most; None where it did not."""


@dataclass(frozen=True, slots=True)
class Suite:
    version: str
    contract: str
    """sha256 of the contract and the requirements."""
    checks: str
    """sha256 of the names of all checks and of their code."""


@dataclass(frozen=True, slots=True)
class ProfileInfo:
    name: str
    digest: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class Run:
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
    requirements: tuple[RequirementRow, ...]
    results: tuple[Result, ...]
    coverage: Mapping[str, Mapping[str, int]]
    """operationId -> status -> how many answers; undeclared statuses appear too, `none` for no answer."""
    coverage_reasons: Mapping[str, Mapping[str, str]]
    """operationId -> declared status -> why that cell is empty."""
    traffic: Traffic
    operations: tuple[OperationInfo, ...]
    waivers: tuple[Waiver, ...] = ()
    filtered: bool = False
    """Some checks were deselected: such a run can never be conformant."""
    interrupted: str = ""
    """What cut it short: `SIGINT`, `deadline`, `-x`, ...; empty where it went to its end."""
    created: tuple[Created, ...] = ()
    parts: int = 1
    """One more than the times it was cut short and resumed."""
    schema_version: int = SCHEMA_VERSION
    exchanges: Sequence[Exchange] = ()
    """In the journal and not in run.json."""
