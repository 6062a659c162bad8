"""The plan of a run: the requests and fixtures that it would use, predicted without sending."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from conformance.checks.support.costs import Cost, predict
from conformance.checks.support.registry import Instance
from conformance.contract import Contract
from conformance.profile.model import Profile
from conformance.profile.render import placeholders
from conformance.profile.resources import Fixture, OperationFacts, default_state
from conformance.setup.plan.applicability import Applicability, group_by_applicability

_FIXTURE_MARGIN: Final = 1.3
"""The factor for targets that use up more fixtures than the reference and its variants.

Requests need none: they are the sum of each check's maximum over all variants, which is 1.4 times the largest run of a
variant and twice a run of the reference.
"""
_RESPONSE_TIME_S: Final = 0.05
"""The assumed response time, in seconds."""


@dataclass(frozen=True)
class Need:
    """How many values of a fixture a run uses at most; `listed` is None where a provider creates them."""

    fixture: str
    maximum: int
    listed: int | None

    @property
    def is_short(self) -> bool:
        return self.listed is not None and self.listed < self.maximum


@dataclass(frozen=True)
class Plan:
    profile: Profile
    costs: dict[str, Cost]
    """operationId -> the requests of its checks; reads are GETs."""
    needs: tuple[Need, ...]
    applicability: Applicability
    concurrency: int

    @property
    def requests(self) -> int:
        """An estimated upper bound."""
        predicted = sum(cost.reads + cost.writes for cost in self.costs.values())
        return min(predicted, self.profile.limits.max_requests)

    @property
    def seconds(self) -> float:
        rate = self.profile.limits.rate
        return max(self.requests / rate if rate else 0.0, self.requests * _RESPONSE_TIME_S / self.concurrency)


def plan(profile: Profile, contract: Contract, instances: Sequence[Instance], concurrency: int) -> Plan:
    groups = group_by_applicability(profile, contract, instances)
    costs = predict(groups.applicable, quick=profile.limits.depth == "quick")
    if profile.limits.read_only:
        costs = {name: Cost(cost.instances, cost.reads) for name, cost in costs.items()}
    return Plan(profile, costs, tuple(_needs(profile, costs)), groups, concurrency)


def _needs(profile: Profile, costs: dict[str, Cost]) -> Iterator[Need]:
    """The fixtures of the profile that are used; a kind is recognized by the operation that uses it."""
    total: Counter[str] = Counter()
    for operation, cost in costs.items():
        total += _fixture_counts(profile, operation, cost)
    for kind, states in profile.fixtures.items():
        for fixture in states.values():
            if maximum := ceil(_FIXTURE_MARGIN * total.get(f"{kind}.{fixture.state}", 0)):
                yield Need(fixture.name, 1 if fixture.reusable else maximum, len(fixture.values) or None)


def _fixture_counts(profile: Profile, operation: str, cost: Cost) -> Counter[str]:
    """How many of each fixture of the profile the checks of one operation use."""
    kinds, counts = _profile_kinds(profile, operation), Counter[str]()
    for name, count in cost.fixtures.items():
        kind, _, state = name.partition(".")
        fixture = _source_fixture(profile, kinds.get(kind, kind), state)
        if fixture is not None:
            counts[fixture.name] += count
    return counts


def _source_fixture(profile: Profile, kind: str, state: str) -> Fixture | None:
    """The fixture that is used up: for a derived one, its origin."""
    states = profile.fixtures.get(kind, {})
    fixture = states.get(state) or states.get(default_state(states) or "")
    while fixture is not None and fixture.origin:
        fixture = states.get(fixture.origin)
    return fixture


_REFERENCE_KINDS: Final = {
    "order": "orderId",
    "cart": "cartId",
    "webhook": "id",
    "merchant": "slug",
    "session": "sessionId",
}


def _profile_kinds(profile: Profile, operation: str) -> dict[str, str]:
    """The reference's kind -> the profile's, by the path parameter that it fills."""
    path = profile.operations.get(operation, OperationFacts()).path
    kinds = {}
    for kind, parameter in _REFERENCE_KINDS.items():
        for name in placeholders(path.get(parameter, "")):
            kinds[kind] = name.partition(".")[0]
    return kinds


def format_plan(plan: Plan) -> Iterator[str]:
    """The plan as lines of text."""
    yield f"{plan.profile.base_url}, profile {plan.profile.name}: nothing is sent; a run would send at most about"
    yield f"{'':44} {'checks':>7} {'reads':>7} {'writes':>7}  fixtures"
    for operation, cost in plan.costs.items():
        counts = _fixture_counts(plan.profile, operation, cost)
        fixtures = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))
        yield f"  {operation:42} {cost.instances:7,} {cost.reads:7,} {cost.writes:7,}  {fixtures}"
    checks = sum(cost.instances for cost in plan.costs.values())
    pace = f"{plan.profile.limits.rate:g} a second" if plan.profile.limits.rate else f"{plan.concurrency} at once"
    yield ""
    yield f"in all {checks:,} checks, up to {plan.requests:,} requests (limit {plan.profile.limits.max_requests:,}),"
    yield f"about {plan.seconds:,.0f} s at {pace} if an answer takes {_RESPONSE_TIME_S * 1000:g} ms"
    for need in plan.needs:
        if need.listed is not None:
            supply = f"{need.listed} are listed: list more" if need.is_short else f"{need.listed} are listed"
            yield f"{'✕' if need.is_short else '✓'} fixtures.{need.fixture}: up to {need.maximum} are used; {supply}"
    yield from format_unstated(plan.applicability)


def format_unstated(groups: Applicability, limit: int | None = None) -> Iterator[str]:
    """The checks that would be unstated, by the profile key that would enable them, as lines of text.

    `limit`: the number of keys that are shown; None: all.
    """
    if groups.unstated:
        yield ""
        yield f"unstated: {sum(map(len, groups.unstated.values())):,} checks; state the fact, or exclude it and say why"
    ranked = sorted(groups.unstated.items(), key=lambda item: -len(item[1]))
    width = max((len(key) for key, _ in ranked[:limit]), default=0)
    for key, instances in ranked[:limit]:
        names = sorted({instance.check.requirement for instance in instances})
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        count = f"{len(instances):5,} {'check' if len(instances) == 1 else 'checks'}"
        yield f"  {key:{width}} {count}: {', '.join(names[:6])}{more}"
    if limit is not None and len(ranked) > limit:
        yield f"  … and {len(ranked) - limit} more: `conformance run --plan` shows all"
