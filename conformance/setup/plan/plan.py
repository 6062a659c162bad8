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
from conformance.profile.model import Fixture, OperationFacts, Profile, default_state
from conformance.profile.render import placeholders
from conformance.setup.plan.applicability import Applicability, applicability

MARGIN: Final = 1.3
"""The factor for targets that need more requests than the reference and its variants: repeats, waits, other bodies."""
_ANSWER_S: Final = 0.05
"""The assumed response time, in seconds."""


@dataclass(frozen=True)
class Need:
    """How many values of a fixture a run uses at most; `listed` is None where a provider creates them."""

    fixture: str
    most: int
    listed: int | None

    @property
    def short(self) -> bool:
        return self.listed is not None and self.listed < self.most


@dataclass(frozen=True)
class Plan:
    profile: Profile
    costs: dict[str, Cost]
    """operationId -> the requests of its checks; reads are GETs."""
    needs: tuple[Need, ...]
    what: Applicability
    concurrency: int

    @property
    def requests(self) -> int:
        """An estimated upper bound."""
        sent = ceil(MARGIN * sum(cost.reads + cost.writes for cost in self.costs.values()))
        return min(sent, self.profile.limits.max_requests)

    @property
    def seconds(self) -> float:
        rate = self.profile.limits.rate
        return max(self.requests / rate if rate else 0.0, self.requests * _ANSWER_S / self.concurrency)


def plan(profile: Profile, contract: Contract, instances: Sequence[Instance], concurrency: int) -> Plan:
    what = applicability(profile, contract, instances)
    costs = predict(what.would_run)
    if profile.limits.read_only:
        costs = {name: Cost(cost.instances, cost.reads) for name, cost in costs.items()}
    return Plan(profile, costs, tuple(_needs(profile, costs)), what, concurrency)


def _needs(profile: Profile, costs: dict[str, Cost]) -> Iterator[Need]:
    """The fixtures of the profile that are used; a kind is recognized by the operation that uses it."""
    total: Counter[str] = Counter()
    for operation, cost in costs.items():
        total += _drawn(profile, operation, cost)
    for kind_, states in profile.fixtures.items():
        for fixture in states.values():
            if most := ceil(MARGIN * total.get(f"{kind_}.{fixture.state}", 0)):
                yield Need(fixture.name, 1 if fixture.reusable else most, len(fixture.values) or None)


def _drawn(profile: Profile, operation: str, cost: Cost) -> Counter[str]:
    """How many of each fixture of the profile the checks of one operation use."""
    kinds, found = _kinds(profile, operation), Counter[str]()
    for name, count in cost.fixtures.items():
        kind, _, state = name.partition(".")
        own = _own(profile, kinds.get(kind, kind), state)
        if own is not None:
            found[own.name] += count
    return found


def _own(profile: Profile, kind: str, state: str) -> Fixture | None:
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


def _kinds(profile: Profile, operation: str) -> dict[str, str]:
    """The reference's kind -> the profile's, by the path parameter that it fills."""
    path = profile.operations.get(operation, OperationFacts()).path
    found = {}
    for kind, parameter in _REFERENCE_KINDS.items():
        for name in placeholders(path.get(parameter, "")):
            found[kind] = name.partition(".")[0]
    return found


def lines(made: Plan) -> Iterator[str]:
    """The plan as lines of text."""
    yield f"{made.profile.base_url}, profile {made.profile.name}: nothing is sent; a run would send at most about"
    yield f"{'':44} {'checks':>7} {'reads':>7} {'writes':>7}  fixtures"
    for operation, cost in made.costs.items():
        drawn = _drawn(made.profile, operation, cost)
        shown = ", ".join(f"{count} {name}" for name, count in sorted(drawn.items()))
        yield f"  {operation:42} {cost.instances:7,} {cost.reads:7,} {cost.writes:7,}  {shown}"
    checks = sum(cost.instances for cost in made.costs.values())
    pace = f"{made.profile.limits.rate:g} a second" if made.profile.limits.rate else f"{made.concurrency} at once"
    yield ""
    yield f"in all {checks:,} checks, up to {made.requests:,} requests (limit {made.profile.limits.max_requests:,}),"
    yield f"about {made.seconds:,.0f} s at {pace} if an answer takes {_ANSWER_S * 1000:g} ms"
    for need in made.needs:
        if need.listed is not None:
            enough = f"{need.listed} are listed: list more" if need.short else f"{need.listed} are listed"
            yield f"{'✕' if need.short else '✓'} fixtures.{need.fixture}: up to {need.most} are used; {enough}"
    yield from enabling(made.what)


def enabling(what: Applicability) -> Iterator[str]:
    """The checks that would be unstated, by the profile key that would enable them, as lines of text."""
    if what.lacking:
        yield ""
        yield f"unstated: {sum(map(len, what.lacking.values())):,} checks; state the fact, or exclude it with a reason"
    for key, some in sorted(what.lacking.items(), key=lambda item: -len(item[1])):
        names = sorted({instance.check.requirement for instance in some})
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        yield f"  {key:48} {len(some):4} checks: {', '.join(names[:6])}{more}"
