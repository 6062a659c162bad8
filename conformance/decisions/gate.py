"""Whether a release may pass: one run, held to a policy, and perhaps to an earlier run.

The answer is the run's own verdict. A policy may narrow it to a tier, allow requirements to stay open or accept
failures by waivers: then the verdict is decided again, by the judge, and what was narrowed stands beside it. A baseline
only adds: what was judged there and is worse now keeps a release back, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from conformance.core.exit_codes import EXIT_CODES
from conformance.core.model import JUDGED, OPEN, Level, Outcome, Result, Run, Scope, Stability, Verdict, Waiver
from conformance.judge.scope import open_results
from conformance.judge.verdict import failures, tiers_of, unaccepted, verdict_of, with_states, with_waivers

ALL = "all"
_SUPERFLUOUS = ("expired", "unmatched", "unneeded", "mismatch")
_BINDING = (Level.REQUIRED, Level.DECLARED)
_WORST_FIRST = (Verdict.BROKEN, Verdict.NONCONFORMANT, Verdict.INCOMPLETE, Verdict.CONFORMANT)
Key = tuple[str, str, str]


class Why(StrEnum):
    """Why a result keeps a release back."""

    REGRESSED = "regressed"
    """It did not fail in the baseline, or failed otherwise."""
    NO_LONGER_JUDGED = "no longer judged"
    """Judged in the baseline, and open or inapplicable now."""
    GONE = "gone"
    """Judged in the baseline, and not in this run at all."""
    BROKEN = "broken"
    FAILED = "failed"
    UNDECIDED = "not judged"


REGRESSIONS = (Why.REGRESSED, Why.NO_LONGER_JUDGED, Why.GONE)


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
    """Under the policy; regressions are judged apart."""
    scope: Scope
    """Of the tier that was asked for."""
    obstacles: tuple[Obstacle, ...]
    """What is worse than in the baseline first."""
    reasons: tuple[str, ...]
    """What keeps it back beside the obstacles: a filtered run, a waiver that is not needed."""
    policy: tuple[str, ...] = ()
    """What the policy narrows or allows, in words; empty where the run's own verdict stands."""
    excused: tuple[tuple[Result, Waiver], ...] = ()
    allowed: tuple[Result, ...] = ()
    """Open results that `allow_incomplete` lets pass."""
    fixed: tuple[Result, ...] = ()
    """What failed in the baseline and passes now."""
    waivers: tuple[Waiver, ...] = ()
    tier: str = ALL
    baseline: bool = False


def decide(run: Run, policy: Policy, baseline: Run | None = None, *, today: str = "") -> Decision:
    """Whether the run lets a release pass. `today` is an ISO date, by which waivers end; empty: the run's own day."""
    scope = run.scope if policy.tier == ALL else run.tiers[policy.tier].scope
    results = of_tier(run, policy.tier)
    stated = (*run.waivers, *policy.waivers)
    waivers = with_states(stated, results, today or run.started_at[:10], scope.unproven)
    results = list(with_waivers(results, waivers, scope.unproven))
    allowed = tuple(r for r in open_results(results) if r.requirement in policy.allow_incomplete)
    held = [result for result in results if not _lets_pass(policy, result)]
    verdict = _verdict(run, policy, held, waivers, scope)
    decision = Decision(
        passed=verdict is Verdict.CONFORMANT,
        exit_code=EXIT_CODES[verdict],
        verdict=verdict,
        scope=scope,
        obstacles=tuple(_obstacles(held)),
        reasons=(*_short(run), *_unproven(scope, waivers)),
        policy=tuple(_narrowed(policy)),
        excused=tuple((result, waivers[result.waived_by]) for result in held if result.waived_by is not None),
        allowed=allowed,
        waivers=waivers,
        tier=policy.tier,
    )
    if baseline is not None:
        decision = _held_against(
            decision, held, baseline, policy, same_checks=baseline.suite.checks == run.suite.checks
        )
    return _strict(decision) if policy.strict_waivers else decision


def _lets_pass(policy: Policy, result: Result) -> bool:
    """Whether a result may stay open; what is inapplicable as a further case says nothing without the others."""
    is_open = result.outcome in OPEN or result.further
    return is_open and result.waived_by is None and result.requirement in policy.allow_incomplete


def _verdict(run: Run, policy: Policy, held: Sequence[Result], waivers: Sequence[Waiver], scope: Scope) -> Verdict:
    """The run's own, or a worse one; under a policy that narrows, what the judge decides of the rest."""
    whole = run.complete and not run.filtered
    tiers = None
    if policy.tier == ALL:
        tiers = tiers_of(held, (), run.operations, waivers, frozenset(scope.proven), whole=whole)
    verdict = verdict_of(held, waivers, whole=whole, unproven=scope.unproven, tiers=tiers)
    if any(True for _ in _narrowed(policy)):
        return verdict
    return next(one for one in _WORST_FIRST if one in (verdict, run.verdict))


def _narrowed(policy: Policy) -> Iterable[str]:
    """What a policy narrows or allows, in words."""
    if policy.tier != ALL:
        yield f"only the tier {policy.tier} counts"
    if policy.allow_incomplete:
        yield f"allowed to stay open: {', '.join(sorted(policy.allow_incomplete))}"
    if policy.waivers:
        count = len(policy.waivers)
        yield f"{count} further waiver{'s' if count > 1 else ''}: {', '.join(sorted(w.issue for w in policy.waivers))}"


def _unproven(scope: Scope, waivers: Iterable[Waiver]) -> Iterable[str]:
    for name in unaccepted(scope.unproven, waivers):
        yield f"{name} was never answered 200"


def of_tier(run: Run, tier: str) -> list[Result]:
    """The results of one stability label, and those that concern no single operation; `all` is every result."""
    if tier == ALL:
        return list(run.results)
    label = {operation.id: operation.stability for operation in run.operations}
    wanted = Stability(tier)
    return [result for result in run.results if label.get(result.operation, wanted) is wanted]


def _key(result: Result) -> Key:
    return result.check, result.operation, result.case


def _obstacles(results: Sequence[Result]) -> Iterable[Obstacle]:
    for result in results:
        if result.outcome is Outcome.BROKEN:
            yield Obstacle(Why.BROKEN, result)
    yield from (Obstacle(Why.FAILED, result) for result in failures(results))
    yield from (Obstacle(Why.UNDECIDED, result) for result in open_results(results))


def _short(run: Run) -> Iterable[str]:
    if run.filtered:
        yield "some checks were deselected: a filtered run certifies nothing"
    if run.interrupted:
        yield f"the run was cut short: {run.interrupted}"
    elif not run.complete:
        yield "the run did not reach its end"


def _held_against(
    decision: Decision, held: Sequence[Result], baseline: Run, policy: Policy, *, same_checks: bool
) -> Decision:
    """The decision, with what is worse than in the baseline first: that alone keeps a release back, too."""
    before = {_key(result): result for result in of_tier(baseline, policy.tier)}
    obstacles = [_compared(obstacle, before.get(_key(obstacle.result))) for obstacle in decision.obstacles]
    known = {_key(obstacle.result) for obstacle in obstacles}
    worse = [o for o in obstacles if o.why in REGRESSIONS]
    worse += [Obstacle(Why.NO_LONGER_JUDGED, r, was.outcome) for r, was in _silenced(held, before, known)]
    if same_checks:
        here = {_key(result) for result in (*held, *decision.allowed)}
        worse += [Obstacle(Why.GONE, was, was.outcome) for was in _gone(here, before, policy)]
    rest = [obstacle for obstacle in obstacles if obstacle.why not in REGRESSIONS]
    fixed = [r for r in held if r.outcome is Outcome.PASSED and _failed(before.get(_key(r)))]
    code = decision.exit_code or (EXIT_CODES[Verdict.NONCONFORMANT] if worse else 0)
    return replace(
        decision,
        passed=code == 0,
        exit_code=code,
        obstacles=(*worse, *rest),
        fixed=tuple(fixed),
        baseline=True,
    )


def _compared(obstacle: Obstacle, was: Result | None) -> Obstacle:
    """The obstacle as the baseline shows it: a regression, or as it was there."""
    if was is None or obstacle.why is Why.BROKEN:
        return obstacle if obstacle.why is not Why.FAILED else replace(obstacle, why=Why.REGRESSED)
    if obstacle.why is Why.FAILED:
        same = _failed(was) and was.signature == obstacle.result.signature
        return replace(obstacle, why=Why.FAILED if same else Why.REGRESSED, before=was.outcome)
    why = Why.NO_LONGER_JUDGED if was.outcome in JUDGED else obstacle.why
    return replace(obstacle, why=why, before=was.outcome)


def _silenced(
    held: Iterable[Result], before: Mapping[Key, Result], known: Iterable[Key]
) -> Iterable[tuple[Result, Result]]:
    """What was judged in the baseline and is open or inapplicable now, though no obstacle by itself."""
    listed = set(known)
    for result in held:
        was = before.get(_key(result))
        if was is None or was.outcome not in JUDGED or _key(result) in listed or result.waived_by is not None:
            continue
        if result.level in _BINDING and (result.outcome in OPEN or result.outcome is Outcome.INAPPLICABLE):
            yield result, was


def _gone(here: Iterable[Key], before: Mapping[Key, Result], policy: Policy) -> Iterable[Result]:
    """What the same checks judged in the baseline and this run does not have."""
    found = set(here)
    for key, was in before.items():
        required = was.level is Level.REQUIRED and was.requirement not in policy.allow_incomplete
        if required and key not in found and was.outcome in JUDGED:
            yield was


def _failed(result: Result | None) -> bool:
    return result is not None and result.outcome is Outcome.FAILED


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
