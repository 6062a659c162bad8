"""Whether a release may pass: one run, held to a tier, to waivers, and perhaps to an earlier run.

Without a baseline the answer is the run's own verdict, for the tier that was asked for. With one, only what is worse
than it was counts: a failure that is new or another one, and what was judged and no longer is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from conformance.judge.verdict import EXIT_CODES, excuses, unwaived, verdict_of, with_states
from conformance.model import Level, Outcome, Result, Run, Stability, Verdict, Waiver

ALL = "all"
_OPEN = (Outcome.INCONCLUSIVE, Outcome.UNTESTED)
_SUPERFLUOUS = ("expired", "unmatched", "unneeded", "mismatch")
Key = tuple[str, str, str]


class Why(StrEnum):
    """Why a result keeps a release back."""

    FAILED = "failed"
    REGRESSED = "regressed"
    """It did not fail in the baseline, or failed otherwise."""
    UNDECIDED = "not judged"
    NEWLY_UNDECIDED = "newly not judged"
    GONE = "gone"
    """Judged in the baseline, and not in this run at all."""
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Policy:
    """What a release is held to. `allow_incomplete`: requirements that need not reach a verdict."""

    tier: str = ALL
    allow_incomplete: frozenset[str] = frozenset()
    strict_waivers: bool = False
    waivers: tuple[Waiver, ...] = ()
    """Beside the profile's own."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One result that keeps a release back."""

    why: Why
    result: Result
    before: Outcome | None = None
    """Its outcome in the baseline."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a release passes, and everything that a person needs to agree or not."""

    passed: bool
    exit_code: int
    verdict: Verdict
    """Of the tier, waivers and allowances considered; regressions are judged apart."""
    obstacles: tuple[Obstacle, ...]
    reasons: tuple[str, ...]
    """What keeps it back beside the obstacles: a filtered run, a waiver that is not needed."""
    known: tuple[Result, ...] = ()
    """Failures that the baseline has too."""
    excused: tuple[tuple[Result, Waiver], ...] = ()
    allowed: tuple[Result, ...] = ()
    """Undecided results that `allow_incomplete` lets pass."""
    fixed: tuple[Result, ...] = ()
    """What failed in the baseline and passes now."""
    waivers: tuple[Waiver, ...] = field(default=())
    tier: str = ALL
    baseline: bool = False


def decide(run: Run, policy: Policy, baseline: Run | None = None, *, today: str = "") -> Decision:
    """Whether the run lets a release pass. `today` is an ISO date, by which waivers end; empty: the run's own day."""
    results = of_tier(run, policy.tier)
    waivers = with_states((*run.waivers, *policy.waivers), results, today or run.started_at[:10])
    allowed = tuple(r for r in results if r.outcome in _OPEN and r.requirement in policy.allow_incomplete)
    held = [r for r in results if r not in allowed]
    whole = run.complete and not run.filtered
    verdict = verdict_of(held, waivers, whole=whole)
    active = [waiver for waiver in waivers if waiver.state == "active"]
    excused = tuple((r, w) for r in held if (w := next((w for w in active if excuses(w, r)), None)) is not None)
    decision = Decision(
        passed=verdict is Verdict.CONFORMANT,
        exit_code=EXIT_CODES[verdict],
        verdict=verdict,
        obstacles=tuple(_obstacles(held, waivers)),
        reasons=tuple(_short(run)),
        excused=excused,
        allowed=allowed,
        waivers=waivers,
        tier=policy.tier,
    )
    if baseline is not None:
        before = {_key(r): r for r in of_tier(baseline, policy.tier)}
        decision = _compared(decision, held, before, whole=whole)
        if baseline.suite.checks == run.suite.checks:
            decision = _nothing_gone(decision, held, before, policy)
    return _strict(decision) if policy.strict_waivers else decision


def of_tier(run: Run, tier: str) -> list[Result]:
    """The results of one stability label, and those that concern no single operation; `all` is every result."""
    if tier == ALL:
        return list(run.results)
    label = {operation.id: operation.stability for operation in run.operations}
    wanted = Stability(tier)
    return [result for result in run.results if label.get(result.operation, wanted) is wanted]


def _key(result: Result) -> Key:
    return result.check, result.operation, result.case


def _obstacles(results: Iterable[Result], waivers: Iterable[Waiver]) -> Iterable[Obstacle]:
    results = list(results)
    for result in results:
        if result.outcome is Outcome.BROKEN:
            yield Obstacle(Why.BROKEN, result)
    for result in unwaived(results, waivers):
        yield Obstacle(Why.FAILED, result)
    for result in results:
        if result.outcome in _OPEN and result.level is Level.REQUIRED:
            yield Obstacle(Why.UNDECIDED, result)


def _short(run: Run) -> Iterable[str]:
    if run.filtered:
        yield "some checks were deselected: a filtered run certifies nothing"
    if run.interrupted:
        yield f"the run was cut short: {run.interrupted}"
    elif not run.complete:
        yield "the run did not reach its end"


def _compared(decision: Decision, held: list[Result], before: Mapping[Key, Result], *, whole: bool) -> Decision:
    """The decision, of which only what is worse than in the baseline keeps the release back."""
    obstacles, known = [], []
    for obstacle in decision.obstacles:
        was = before.get(_key(obstacle.result))
        worse = _worse(obstacle, was)
        if worse is None:
            known.append(obstacle.result)
        else:
            obstacles.append(Obstacle(worse, obstacle.result, was.outcome if was else None))
    fixed = [r for r in held if r.outcome is Outcome.PASSED and _failed(before.get(_key(r)))]
    whys = {obstacle.why for obstacle in obstacles}
    if Why.BROKEN in whys:
        code = EXIT_CODES[Verdict.BROKEN]
    elif whys:
        code = EXIT_CODES[Verdict.NONCONFORMANT]
    else:
        code = EXIT_CODES[Verdict.CONFORMANT if whole else Verdict.INCOMPLETE]
    return replace(
        decision,
        passed=code == 0,
        exit_code=code,
        obstacles=tuple(obstacles),
        known=tuple(known),
        fixed=tuple(fixed),
        baseline=True,
    )


def _nothing_gone(decision: Decision, held: list[Result], before: Mapping[Key, Result], policy: Policy) -> Decision:
    """The decision, kept back by what the same checks judged in the baseline and this run does not have."""
    here = {_key(result) for result in (*held, *decision.allowed)}
    gone = [
        Obstacle(Why.GONE, was, was.outcome)
        for key, was in before.items()
        if key not in here and was.requirement not in policy.allow_incomplete
        and was.level is Level.REQUIRED and was.outcome not in (Outcome.INAPPLICABLE, *_OPEN)
    ]  # fmt: skip
    if not gone:
        return decision
    code = decision.exit_code or EXIT_CODES[Verdict.NONCONFORMANT]
    return replace(decision, passed=False, exit_code=code, obstacles=(*decision.obstacles, *gone))


def _failed(result: Result | None) -> bool:
    return result is not None and result.outcome is Outcome.FAILED


def _worse(obstacle: Obstacle, was: Result | None) -> Why | None:
    """What makes an obstacle worse than the baseline; None where that has it too."""
    if obstacle.why is Why.BROKEN:
        return Why.BROKEN
    if obstacle.why is Why.FAILED:
        same = was is not None and _failed(was) and was.signature == obstacle.result.signature
        return None if same else Why.REGRESSED
    return None if was is not None and was.outcome in _OPEN else Why.NEWLY_UNDECIDED


def _strict(decision: Decision) -> Decision:
    """The decision, kept back by every waiver that excuses nothing."""
    idle = [
        f"the waiver of {waiver.requirement}{f' on {waiver.operation}' if waiver.operation else ''} is {waiver.state}"
        for waiver in decision.waivers
        if waiver.state in _SUPERFLUOUS
    ]
    if not idle:
        return decision
    code = decision.exit_code or EXIT_CODES[Verdict.NONCONFORMANT]
    return replace(decision, passed=False, exit_code=code, reasons=(*decision.reasons, *idle))
