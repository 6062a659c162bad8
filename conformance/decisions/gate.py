"""Whether a release may pass: one run judged under a policy, and optionally against a baseline run.

The answer is the run's own verdict. A policy may restrict it to a tier, allow requirements to stay open or accept
failures by waivers: the judge then decides the verdict again, and the restrictions are shown with it. A baseline only
adds obstacles: what was judged there and is worse now blocks a release too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from conformance.core.exit_codes import EXIT_CODES
from conformance.core.model import Result, Run, Scope, Waiver
from conformance.core.outcomes import JUDGED_OUTCOMES, LEFT_OUT, OPEN_OUTCOMES, Level, Outcome, Verdict
from conformance.judge.scope import by_tier, open_results
from conformance.judge.verdict import failures, tiers_of, unaccepted_operations, verdict_of, with_states, with_waivers

ALL = "all"
_SUPERFLUOUS = ("expired", "unmatched", "unneeded", "mismatch")
_BINDING = (Level.REQUIRED, Level.DECLARED)
_WORST_FIRST = (Verdict.BROKEN, Verdict.NONCONFORMANT, Verdict.INCOMPLETE, Verdict.CONFORMANT)
Key = tuple[str, str, str]


class ObstacleKind(StrEnum):
    """Why a result blocks a release."""

    REGRESSED = "regressed"
    """It did not fail in the baseline, or failed in another way."""
    NO_LONGER_JUDGED = "no longer judged"
    """Judged in the baseline, and open or inapplicable now."""
    MISSING = "gone"
    """Judged in the baseline, and not in this run at all."""
    BROKEN = "broken"
    FAILED = "failed"
    UNDECIDED = "not judged"


REGRESSIONS = (ObstacleKind.REGRESSED, ObstacleKind.NO_LONGER_JUDGED, ObstacleKind.MISSING)


@dataclass(frozen=True, slots=True)
class Policy:
    """The conditions for a release. `allow_incomplete`: requirements that may stay open."""

    tier: str = ALL
    allow_incomplete: frozenset[str] = frozenset()
    strict_waivers: bool = False
    waivers: tuple[Waiver, ...] = ()
    """In addition to the profile's own."""
    depth: str = ""
    """`quick`: a run in quick depth passes if nothing was found; it is not conformant for that."""
    observed: bool = False
    """An observed run passes if no violation is new; it is not conformant for that."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One result that blocks a release."""

    kind: ObstacleKind
    result: Result
    before: Outcome | None = None
    """Its outcome in the baseline."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a release passes, with the reasons."""

    passed: bool
    exit_code: int
    verdict: Verdict
    """Under the policy; regressions are judged separately."""
    scope: Scope
    """The scope of the selected tier."""
    obstacles: tuple[Obstacle, ...]
    """Regressions first."""
    reasons: tuple[str, ...]
    """Further reasons: a filtered or observed run, a superfluous waiver."""
    policy: tuple[str, ...] = ()
    """The restrictions and permissions of the policy; empty where the run's own verdict applies."""
    excused: tuple[tuple[Result, Waiver], ...] = ()
    allowed: tuple[Result, ...] = ()
    """Open results that `allow_incomplete` permits."""
    fixed: tuple[Result, ...] = ()
    """What failed in the baseline and passes now."""
    waivers: tuple[Waiver, ...] = ()
    tier: str = ALL
    baseline: bool = False
    depth: str = ""
    """The depth in which nothing was found, where that suffices: nothing is said about what it left out."""
    observed: bool = False
    """Only new violations of observed traffic counted: nothing is said about what was not seen."""


def decide(run: Run, policy: Policy, baseline: Run | None = None, *, today: str = "") -> Decision:
    """Decides whether a release passes. `today`: the ISO date for the end of waivers; empty: the run's own day."""
    scope = run.scope if policy.tier == ALL else run.tiers[policy.tier].scope
    results = of_tier(run, policy.tier)
    all_waivers = (*run.waivers, *policy.waivers)
    waivers = with_states(all_waivers, results, today or run.started_at[:10], scope.unproven)
    results = list(with_waivers(results, waivers, scope.unproven))
    allowed = tuple(r for r in open_results(results) if r.requirement in policy.allow_incomplete)
    relevant = [result for result in results if not _is_allowed_open(policy, result)]
    verdict = _verdict(run, policy, relevant, waivers, scope)
    if policy.observed and run.observed:
        decision = _of_observed(run, policy, relevant, waivers, scope, baseline)
        return _strict(decision) if policy.strict_waivers else decision
    depth = policy.depth if policy.depth == run.depth == "quick" else ""
    if depth:
        relevant = _without_left_out(relevant)
    suffices = bool(depth) and _judge(run, policy, relevant, waivers, scope) is Verdict.CONFORMANT
    decision = Decision(
        passed=suffices or verdict is Verdict.CONFORMANT,
        exit_code=0 if suffices else EXIT_CODES[verdict],
        depth=depth if suffices else "",
        verdict=verdict,
        scope=scope,
        obstacles=tuple(_obstacles(relevant)),
        reasons=(*(() if suffices else _incompleteness(run)), *_unproven(scope, waivers)),
        policy=_restrictions(policy, waivers),
        excused=tuple((result, waivers[result.waived_by]) for result in relevant if result.waived_by is not None),
        allowed=allowed,
        waivers=waivers,
        tier=policy.tier,
    )
    if baseline is not None:
        decision = _compare_with_baseline(
            decision, relevant, baseline, policy, same_checks=baseline.suite.checks == run.suite.checks
        )
    return _strict(decision) if policy.strict_waivers else decision


def _of_observed(
    run: Run,
    policy: Policy,
    relevant: Sequence[Result],
    waivers: tuple[Waiver, ...],
    scope: Scope,
    baseline: Run | None,
) -> Decision:
    """The decision by the violations of an observed run that its baseline does not have; gaps block nothing."""
    before = {_key(result): result for result in of_tier(baseline, policy.tier)} if baseline else {}
    obstacles = [o for o in _obstacles(relevant) if o.kind is not ObstacleKind.UNDECIDED]
    compared = [_compare(obstacle, before.get(_key(obstacle.result))) for obstacle in obstacles]
    new = [o for o in compared if not (o.kind is ObstacleKind.FAILED and o.before is Outcome.FAILED)]
    known = len(compared) - len(new)
    words = (f"known from the baseline: {known} failed result{'s' if known > 1 else ''}",) if known else ()
    if run.verdict is Verdict.BROKEN:
        code = EXIT_CODES[Verdict.BROKEN]
    else:
        code = EXIT_CODES[Verdict.NONCONFORMANT] if new else 0
    return Decision(
        passed=code == 0,
        exit_code=code,
        verdict=run.verdict,
        scope=scope,
        obstacles=tuple(new),
        reasons=(),
        policy=(*_restrictions(policy, waivers), *words),
        excused=tuple((result, waivers[result.waived_by]) for result in relevant if result.waived_by is not None),
        fixed=tuple(r for r in relevant if r.outcome is Outcome.PASSED and _is_failed(before.get(_key(r)))),
        waivers=waivers,
        tier=policy.tier,
        baseline=baseline is not None,
        observed=code == 0,
    )


def _without_left_out(results: Sequence[Result]) -> list[Result]:
    """The results of checks that were run; not of further cases where the depth left out the cases that matter."""
    cells = {(result.requirement, result.operation) for result in results if result.cause == LEFT_OUT}
    return [
        result
        for result in results
        if result.cause != LEFT_OUT and not (result.further and (result.requirement, result.operation) in cells)
    ]


def _is_allowed_open(policy: Policy, result: Result) -> bool:
    """Whether the policy allows a result to stay open; an inapplicable further case needs another result."""
    is_open = result.outcome in OPEN_OUTCOMES or result.further
    return is_open and result.waived_by is None and result.requirement in policy.allow_incomplete


def _verdict(run: Run, policy: Policy, relevant: Sequence[Result], waivers: Sequence[Waiver], scope: Scope) -> Verdict:
    """The run's own verdict, or a worse one; under a restricting policy, the judge's verdict on the remaining
    results."""
    verdict = _judge(run, policy, relevant, waivers, scope)
    if _restrictions(policy, ()) and not any(result.cause == LEFT_OUT for result in relevant):
        return verdict
    return next(candidate for candidate in _WORST_FIRST if candidate in (verdict, run.verdict))


def _judge(run: Run, policy: Policy, relevant: Sequence[Result], waivers: Sequence[Waiver], scope: Scope) -> Verdict:
    """The judge's verdict on these results alone."""
    whole = run.complete and not run.filtered and not run.observed
    tiers = None
    if policy.tier == ALL:
        tiers = tiers_of(relevant, (), run.operations, waivers, frozenset(scope.proven), whole=whole)
    return verdict_of(relevant, waivers, whole=whole, unproven=scope.unproven, tiers=tiers)


def _restrictions(policy: Policy, waivers: Sequence[Waiver]) -> tuple[str, ...]:
    """The restrictions and permissions of a policy, in words.

    `waivers`: with their states, the policy's last. One that has expired permits nothing, and is not counted.
    """
    words = []
    if policy.tier != ALL:
        words.append(f"only the tier {policy.tier} counts")
    if policy.allow_incomplete:
        words.append(f"allowed to stay open: {', '.join(sorted(policy.allow_incomplete))}")
    further = waivers[len(waivers) - len(policy.waivers) :] if waivers else policy.waivers
    issues_of_waivers = sorted(waiver.issue for waiver in further if waiver.state != "expired")
    if count := len(issues_of_waivers):
        issues = ", ".join(issues_of_waivers)
        words.append(f"{count} further waiver{'s' if count > 1 else ''}: {issues}")
    return tuple(words)


def _unproven(scope: Scope, waivers: Iterable[Waiver]) -> Iterable[str]:
    for name in unaccepted_operations(scope.unproven, waivers):
        yield f"{name} was never answered 200"


def of_tier(run: Run, tier: str) -> list[Result]:
    """The results of one stability label and those without an operation; for `all` every result."""
    return list(run.results) if tier == ALL else by_tier(run.results, run.operations)[tier]


def _key(result: Result) -> Key:
    return result.check, result.operation, result.case


def _obstacles(results: Sequence[Result]) -> Iterable[Obstacle]:
    for result in results:
        if result.outcome is Outcome.BROKEN:
            yield Obstacle(ObstacleKind.BROKEN, result)
    yield from (Obstacle(ObstacleKind.FAILED, result) for result in failures(results))
    yield from (Obstacle(ObstacleKind.UNDECIDED, result) for result in open_results(results))


def _incompleteness(run: Run) -> Iterable[str]:
    if run.depth == "quick":
        yield "a run in quick depth leaves checks out: --depth quick lets it pass if nothing was found"
    if run.observed:
        yield "an observed run certifies nothing: --observed lets it pass if no violation is new"
    if run.filtered:
        yield "some checks were deselected: a filtered run certifies nothing"
    if run.interrupted:
        yield f"the run was cut short: {run.interrupted}"
    elif not run.complete:
        yield "the run did not reach its end"


def _compare_with_baseline(
    decision: Decision, relevant: Sequence[Result], baseline: Run, policy: Policy, *, same_checks: bool
) -> Decision:
    """The decision with regressions first: they alone block a release too."""
    before = {_key(result): result for result in of_tier(baseline, policy.tier)}
    obstacles = [_compare(obstacle, before.get(_key(obstacle.result))) for obstacle in decision.obstacles]
    obstacle_keys = {_key(obstacle.result) for obstacle in obstacles}
    worse = [o for o in obstacles if o.kind in REGRESSIONS]
    worse += [
        Obstacle(ObstacleKind.NO_LONGER_JUDGED, r, baseline_result.outcome)
        for r, baseline_result in _newly_open(relevant, before, obstacle_keys)
    ]
    if same_checks:
        current_keys = {_key(result) for result in (*relevant, *decision.allowed)}
        worse += [
            Obstacle(ObstacleKind.MISSING, baseline_result, baseline_result.outcome)
            for baseline_result in _missing_results(current_keys, before, policy)
        ]
    other_obstacles = [obstacle for obstacle in obstacles if obstacle.kind not in REGRESSIONS]
    fixed = [r for r in relevant if r.outcome is Outcome.PASSED and _is_failed(before.get(_key(r)))]
    code = decision.exit_code or (EXIT_CODES[Verdict.NONCONFORMANT] if worse else 0)
    return replace(
        decision,
        passed=code == 0,
        exit_code=code,
        obstacles=(*worse, *other_obstacles),
        fixed=tuple(fixed),
        baseline=True,
    )


def _compare(obstacle: Obstacle, baseline_result: Result | None) -> Obstacle:
    """The obstacle with its outcome in the baseline, as a regression where it is one."""
    if baseline_result is None or obstacle.kind is ObstacleKind.BROKEN:
        return obstacle if obstacle.kind is not ObstacleKind.FAILED else replace(obstacle, kind=ObstacleKind.REGRESSED)
    if obstacle.kind is ObstacleKind.FAILED:
        is_same_failure = _is_failed(baseline_result) and baseline_result.signature == obstacle.result.signature
        return replace(
            obstacle,
            kind=ObstacleKind.FAILED if is_same_failure else ObstacleKind.REGRESSED,
            before=baseline_result.outcome,
        )
    kind = ObstacleKind.NO_LONGER_JUDGED if baseline_result.outcome in JUDGED_OUTCOMES else obstacle.kind
    return replace(obstacle, kind=kind, before=baseline_result.outcome)


def _newly_open(
    relevant: Iterable[Result], before: Mapping[Key, Result], obstacle_keys: Iterable[Key]
) -> Iterable[tuple[Result, Result]]:
    """Results that were judged in the baseline and are open or inapplicable now, and no obstacle by themselves.

    Not optional cases: whether one exists may depend on values that are new in each run.
    """
    listed_keys = set(obstacle_keys)
    for result in relevant:
        baseline_result = before.get(_key(result))
        if (
            baseline_result is None
            or baseline_result.outcome not in JUDGED_OUTCOMES
            or _key(result) in listed_keys
            or result.waived_by is not None
        ):
            continue
        is_excluded = result.outcome is Outcome.INAPPLICABLE and not result.further
        if result.level in _BINDING and (result.outcome in OPEN_OUTCOMES or is_excluded):
            yield result, baseline_result


def _missing_results(current_keys: Iterable[Key], before: Mapping[Key, Result], policy: Policy) -> Iterable[Result]:
    """Results that the same checks judged in the baseline and that are missing now."""
    keys = set(current_keys)
    for key, baseline_result in before.items():
        is_required = (
            baseline_result.level is Level.REQUIRED and baseline_result.requirement not in policy.allow_incomplete
        )
        if is_required and key not in keys and baseline_result.outcome in JUDGED_OUTCOMES:
            yield baseline_result


def _is_failed(result: Result | None) -> bool:
    return result is not None and result.outcome is Outcome.FAILED


def _strict(decision: Decision) -> Decision:
    """The decision, blocked by every waiver that excuses nothing."""
    idle = [
        f"the waiver of {waiver.requirement}{f' on {waiver.operation}' if waiver.operation else ''} is {waiver.state}"
        for waiver in decision.waivers
        if waiver.state in _SUPERFLUOUS
    ]
    if not idle:
        return decision
    code = decision.exit_code or EXIT_CODES[Verdict.NONCONFORMANT]
    return replace(decision, passed=False, exit_code=code, reasons=(*decision.reasons, *idle))
