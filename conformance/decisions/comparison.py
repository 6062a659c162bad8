"""Two or more runs side by side: what differs, and of which kind each difference is. The first run is the measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from conformance.core.errors import UsageError
from conformance.core.model import OperationInfo, Outcome, Result, Run, Verdict
from conformance.decisions.behaviour import Behaviour, Shape, behaviour
from conformance.decisions.latency import shift

_OPEN = (Outcome.INCONCLUSIVE, Outcome.UNTESTED)
_NOT_ASKED = (None, Outcome.UNSTATED, Outcome.INAPPLICABLE)
"""What the profile, or the interface, leaves nothing to be seen of."""
_ENOUGH = 5
"""Fewer answers of a kind say nothing about what its members are."""
_MOSTLY = 0.5


class Kind(StrEnum):
    """What a difference means to whoever runs both. The gravest first."""

    REGRESSED = "regressed"
    OPEN = "newly inconclusive"
    FIXED = "fixed"
    PROFILE = "caused by the profile"
    STATUS = "status chosen"
    ERROR = "error shape"
    MEMBERS = "members"
    SCHEMA = "types"
    HEADERS = "headers"
    WARNED = "warning"
    LATENCY = "latency"


CONFORM: Mapping[Kind, bool] = {
    kind: kind in (Kind.STATUS, Kind.ERROR, Kind.MEMBERS, Kind.SCHEMA, Kind.HEADERS, Kind.WARNED) for kind in Kind
}
"""Kinds in which targets behave differently though both conform."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One of the runs, and the letter that it has in tables."""

    letter: str
    name: str
    target: str
    profile: str
    verdict: Verdict
    scope: str
    """What the verdict rests on."""
    started_at: str
    suite: str


@dataclass(frozen=True, slots=True)
class Difference:
    """What one environment does otherwise than the first. `requirement` is empty for behaviour that is free."""

    kind: Kind
    environment: str
    """Its letter."""
    requirement: str
    operation: str
    text: str
    check: str = ""
    case: str = ""
    before: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    environments: tuple[Environment, ...]
    differences: tuple[Difference, ...]
    cells: Mapping[tuple[str, str], tuple[Outcome | None, ...]]
    """Requirement and operation -> the outcome in each environment, None where it has none."""
    operations: tuple[OperationInfo, ...]
    incomparable: tuple[str, ...] = ()
    """What the comparison does not say, where it was forced."""

    def kinds(self) -> dict[Kind, int]:
        """How many differences there are of each kind that occurs."""
        return {kind: count for kind in Kind if (count := sum(d.kind is kind for d in self.differences))}


def compare(
    runs: Sequence[Run], names: Sequence[str], *, force: bool = False, seen: Sequence[Behaviour] | None = None
) -> Comparison:
    """The runs, each against the first. Raises UsageError where their checks are not the same, unless forced.

    `seen` is what each run's exchanges show, where that was looked at before.
    """
    first = runs[0]
    incomparable = tuple(_incomparable(runs))
    if incomparable and not force:
        raise UsageError(incomparable[0], hint="run them with one version of the suite, or compare with --force")
    environments = tuple(
        Environment(
            letter=letter(index),
            name=name,
            target=run.target,
            profile=run.profile.name,
            verdict=run.verdict,
            scope=run.scope.summary,
            started_at=run.started_at,
            suite=run.suite.version,
        )
        for index, (run, name) in enumerate(zip(runs, names, strict=True))
    )
    behaviours = seen if seen is not None else [behaviour(run) for run in runs]
    found: list[Difference] = []
    for environment, run, own in list(zip(environments, runs, behaviours, strict=True))[1:]:
        found += _outcomes(environment.letter, first, run)
        found += _choices(environment.letter, first, run, behaviours[0], own)
    found.sort(key=lambda d: list(Kind).index(d.kind))
    return Comparison(environments, tuple(found), _cells(runs), first.operations, incomparable)


def letter(index: int) -> str:
    """A, B, … Z, A1, B1, …"""
    return chr(ord("A") + index % 26) + (str(index // 26) if index >= 26 else "")


def _incomparable(runs: Sequence[Run]) -> Iterator[str]:
    first = runs[0]
    for index, run in enumerate(runs[1:], 1):
        if run.suite.checks != first.suite.checks:
            yield f"{letter(index)} was judged by other checks than A: what only one of them has, and new failures"
        if run.suite.contract != first.suite.contract:
            yield f"{letter(index)} was judged by another contract than A: statements and levels may differ"


def _cells(runs: Sequence[Run]) -> dict[tuple[str, str], tuple[Outcome | None, ...]]:
    tables = [{row.id: row.operations for row in run.requirements} for run in runs]
    places = dict.fromkeys((name, operation) for table in tables for name in table for operation in table[name])
    return {
        (name, operation): tuple(table.get(name, {}).get(operation) for table in tables) for name, operation in places
    }


def _outcomes(here: str, first: Run, other: Run) -> Iterator[Difference]:
    """What was judged otherwise. Cases that only one profile calls for are told once for each requirement."""
    before, after = _by_key(first.results), _by_key(other.results)
    profiles_differ = first.profile.digest != other.profile.digest
    told = set()
    for key in {**before, **after}:
        was, now = before.get(key), after.get(key)
        kind = _kind(was, now, profiles_differ=profiles_differ)
        result = now or was
        assert result is not None
        if kind is None or (kind is Kind.PROFILE and (place := (result.requirement, result.operation)) in told):
            continue
        if kind is Kind.PROFILE:
            told.add(place)
        yield Difference(
            kind=kind,
            environment=here,
            requirement=result.requirement,
            operation=result.operation,
            text=_text(kind, was, now),
            check=result.check,
            case=result.case,
            before=was.outcome if was else "",
            after=now.outcome if now else "",
        )


def _by_key(results: Iterable[Result]) -> dict[tuple[str, str, str], Result]:
    return {(result.check, result.operation, result.case): result for result in results}


def _kind(was: Result | None, now: Result | None, *, profiles_differ: bool) -> Kind | None:
    before, after = was.outcome if was else None, now.outcome if now else None
    if before is after and (
        after is not Outcome.FAILED or was is None or now is None or was.signature == now.signature
    ):
        return None
    if after in (Outcome.FAILED, Outcome.BROKEN):
        return Kind.REGRESSED
    if any(outcome in _NOT_ASKED for outcome in (before, after)):
        return Kind.PROFILE if profiles_differ else Kind.OPEN if after is None else None
    if after in _OPEN:
        return None if before in _OPEN else Kind.OPEN
    if before in (Outcome.FAILED, Outcome.BROKEN, *_OPEN):
        return Kind.FIXED
    return Kind.WARNED


def _text(kind: Kind, was: Result | None, now: Result | None) -> str:
    if kind is Kind.PROFILE:
        lacking = next((r for r in (now, was) if r is not None and r.fact), None)
        return f"only one profile states {lacking.fact}" if lacking else "only one profile calls for this case"
    result = was if kind is Kind.FIXED else now
    return (result.message if result else "") or "not run"


# What is free


def _choices(here: str, first: Run, other: Run, before: Behaviour, after: Behaviour) -> Iterator[Difference]:
    yield from _statuses(here, first, other, before, after)
    for kind, shape in before.shapes.items():
        if kind in after.shapes:
            yield from _shapes(here, kind, shape, after.shapes[kind])
    for operation, times in before.times.items():
        if moved := shift(times, after.times.get(operation, ())):
            yield Difference(Kind.LATENCY, here, "", operation, str(moved))


def _statuses(here: str, first: Run, other: Run, before: Behaviour, after: Behaviour) -> Iterator[Difference]:
    """Where both conform and answered the same request with another status."""
    theirs = _by_key(other.results)
    for result in first.results:
        key = (result.check, result.operation, result.case)
        now = theirs.get(key)
        if now is None or {result.outcome, now.outcome} != {Outcome.PASSED}:
            continue
        mine, own = before.statuses.get(key, {}), after.statuses.get(key, {})
        for purpose in mine:
            if purpose in own and mine[purpose] != own[purpose]:
                text = f"{purpose or 'a request'} was answered {mine[purpose]} in A, {own[purpose]} in {here}"
                yield Difference(
                    Kind.STATUS, here, result.requirement, result.operation, text,
                    check=result.check, case=result.case, before=mine[purpose], after=own[purpose],
                )  # fmt: skip


def _shapes(here: str, kind: tuple[str, int], mine: Shape, own: Shape) -> Iterator[Difference]:
    operation, status = kind
    if min(mine.count, own.count) < _ENOUGH:
        return
    members = Kind.MEMBERS if status < 400 else Kind.ERROR
    for what, left, right in ((members, mine.members, own.members), (Kind.HEADERS, mine.headers, own.headers)):
        gone = sorted(name for name, seen in left.items() if name not in right and seen >= _MOSTLY * mine.count)
        new = sorted(name for name, seen in right.items() if name not in left and seen >= _MOSTLY * own.count)
        if gone or new:
            parts = [f"only A has {_listed(gone)}"] if gone else []
            parts += [f"only {here} has {_listed(new)}"] if new else []
            yield Difference(what, here, "", operation, f"{status}: {'; '.join(parts)}")
    if mine.media != own.media and not mine.media & own.media:
        text = f"{status}: media type {_listed(sorted(mine.media))} in A, {_listed(sorted(own.media))} in {here}"
        yield Difference(Kind.HEADERS, here, "", operation, text)
    for place in sorted(mine.types.keys() & own.types.keys()):
        was, now = mine.types[place], own.types[place]
        if was and now and not was & now and min(mine.members[place], own.members[place]) >= _ENOUGH:
            text = f"{status}: {place or 'the body'} is {'/'.join(sorted(was))} in A, {'/'.join(sorted(now))} in {here}"
            yield Difference(Kind.SCHEMA, here, "", operation, text)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(names[:6]) + more
