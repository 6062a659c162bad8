"""Comparison of two or more runs: the differences by kind, each against the first run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from conformance.core.errors import UsageError
from conformance.core.model import OperationInfo, Result, Run
from conformance.core.outcomes import JUDGED_OUTCOMES, Outcome, Verdict
from conformance.decisions.behaviour import Behaviour, Shape, behaviour
from conformance.decisions.latency import shift

_OPEN = (Outcome.INCONCLUSIVE, Outcome.UNTESTED)
_OUT_OF_SCOPE = (None, Outcome.UNSTATED, Outcome.INAPPLICABLE)
"""Outcomes that the profile or the interface leaves nothing to compare for."""
_MIN_ANSWERS = 5
"""Minimum number of answers of a kind to compare their members."""
_MEMBER_SHARE = 0.5
_QUICK = "quick"


class Kind(StrEnum):
    """The meaning of a difference, the most severe first."""

    REGRESSED = "regressed"
    OPEN = "newly inconclusive"
    WAIVED = "waived"
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
"""Kinds of difference between targets that both conform."""


@dataclass(frozen=True, slots=True)
class Environment:
    """One of the runs, with its letter in tables."""

    letter: str
    name: str
    target: str
    profile: str
    verdict: Verdict
    scope: str
    """The scope of the verdict."""
    started_at: str
    suite: str
    link: str = ""
    """The relative address of its page, where there is one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference between one environment and the first. `requirement` is empty for behaviour the interface leaves
    free."""

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
    cause: str = ""
    """The title of the cause of a failure."""
    violated: str = ""
    """The requirement that the cause of a failure violates."""


@dataclass(frozen=True, slots=True)
class Comparison:
    environments: tuple[Environment, ...]
    differences: tuple[Difference, ...]
    cells: Mapping[tuple[str, str], tuple[Outcome | None, ...]]
    """Requirement and operation -> the outcome in each environment, None where it has none."""
    operations: tuple[OperationInfo, ...]
    incomparable: tuple[str, ...] = ()
    """What cannot be compared, where the comparison was forced or the runs are of several depths."""
    unread: tuple[str, ...] = ()
    """The runs that could not be read, with the reason."""

    def kinds(self) -> dict[Kind, int]:
        """How many differences there are of each kind that occurs."""
        return {kind: count for kind in Kind if (count := sum(d.kind is kind for d in self.differences))}


def compare(
    runs: Sequence[Run],
    names: Sequence[str],
    *,
    force: bool = False,
    known_behaviours: Sequence[Behaviour] | None = None,
    links: Sequence[str] = (),
) -> Comparison:
    """Compares each run with the first. Raises UsageError where their checks differ, unless forced.

    `known_behaviours`: the behaviour of each run, where it was computed before. `links`: the addresses of their pages.
    """
    first = runs[0]
    incomparable = tuple(_incomparable(runs))
    if incomparable and not force:
        raise UsageError(incomparable[0], hint="run them with one version of the suite, or compare with --force")
    incomparable += tuple(_left_out(runs))
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
            link=links[index] if links else "",
        )
        for index, (run, name) in enumerate(zip(runs, names, strict=True))
    )
    behaviours = known_behaviours if known_behaviours is not None else [behaviour(run) for run in runs]
    differences: list[Difference] = []
    for environment, run, current in list(zip(environments, runs, behaviours, strict=True))[1:]:
        differences += _outcomes(environment.letter, first, run)
        differences += _choices(environment.letter, first, run, behaviours[0], current)
    differences.sort(key=lambda d: list(Kind).index(d.kind))
    return Comparison(environments, tuple(differences), _cells(runs), first.operations, incomparable)


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


def _left_out(runs: Sequence[Run]) -> Iterator[str]:
    depths = {run.depth for run in runs}
    for index, run in enumerate(runs):
        if run.depth == _QUICK and len(depths) > 1:
            yield f"{letter(index)} was asked in quick depth: what that leaves out is not compared"


def _is_left_out(run: Run, result: Result | None, other: Run) -> bool:
    """Whether the depth of a run left out a check that the other depth asks for."""
    return run.depth == _QUICK != other.depth and (result is None or result.outcome is Outcome.UNTESTED)


def _cells(runs: Sequence[Run]) -> dict[tuple[str, str], tuple[Outcome | None, ...]]:
    tables = [{row.id: row.operations for row in run.requirements} for run in runs]
    places = dict.fromkeys((name, operation) for table in tables for name in table for operation in table[name])
    return {
        (name, operation): tuple(table.get(name, {}).get(operation) for table in tables) for name, operation in places
    }


def _outcomes(environment: str, first: Run, other: Run) -> Iterator[Difference]:
    """Differences of outcomes. Cases that only one profile has are reported once for each requirement."""
    before, after = _by_key(first.results), _by_key(other.results)
    profiles_differ = first.profile.digest != other.profile.digest
    causes = {cause.id: cause for cause in other.causes}
    reported_places = set()
    for key in {**before, **after}:
        baseline, current = before.get(key), after.get(key)
        if _is_left_out(first, baseline, other) or _is_left_out(other, current, first):
            continue
        kind = _kind(baseline, current, profiles_differ=profiles_differ)
        result = current or baseline
        assert result is not None
        cause = causes.get(current.cause) if current and kind in (Kind.REGRESSED, Kind.WAIVED) else None
        if kind is None or (
            kind is Kind.PROFILE and (place := (result.requirement, result.operation)) in reported_places
        ):
            continue
        if kind is Kind.PROFILE:
            reported_places.add(place)
        yield Difference(
            kind=kind,
            environment=environment,
            requirement=result.requirement,
            operation=result.operation,
            text=_text(kind, baseline, current),
            check=result.check,
            case=result.case,
            before=baseline.counted_as if baseline else "",
            after=current.counted_as if current else "",
            cause=cause.title if cause else "",
            violated=cause.requirement if cause else "",
        )


def _by_key(results: Iterable[Result]) -> dict[tuple[str, str, str], Result]:
    return {(result.check, result.operation, result.case): result for result in results}


def _kind(baseline: Result | None, current: Result | None, *, profiles_differ: bool) -> Kind | None:
    before, after = baseline.outcome if baseline else None, current.outcome if current else None
    if before is after and (after is not Outcome.FAILED or _is_same_failure(baseline, current)):
        return None
    if after in (Outcome.FAILED, Outcome.BROKEN):
        return Kind.WAIVED if current is not None and current.waived_by is not None else Kind.REGRESSED
    if any(outcome in _OUT_OF_SCOPE for outcome in (before, after)):
        if profiles_differ:
            return Kind.PROFILE
        is_optional = current is not None and current.further
        return Kind.OPEN if after is None or (before in JUDGED_OUTCOMES and not is_optional) else None
    if after in _OPEN:
        return None if before in _OPEN else Kind.OPEN
    if before in (Outcome.FAILED, Outcome.BROKEN, *_OPEN):
        return Kind.FIXED
    return Kind.WARNED


def _is_same_failure(baseline: Result | None, current: Result | None) -> bool:
    """Whether two failures have one signature, and a waiver accepts both or neither."""
    if baseline is None or current is None:
        return True
    return baseline.signature == current.signature and (baseline.waived_by is None) == (current.waived_by is None)


def _text(kind: Kind, baseline: Result | None, current: Result | None) -> str:
    if kind is Kind.PROFILE:
        lacking = next((r for r in (current, baseline) if r is not None and r.fact), None)
        return f"only one profile states {lacking.fact}" if lacking else "only one profile calls for this case"
    result = baseline if kind is Kind.FIXED else current
    return (result.message if result else "") or "not run"


# Behaviour that the interface leaves free


def _choices(environment: str, first: Run, other: Run, before: Behaviour, after: Behaviour) -> Iterator[Difference]:
    yield from _statuses(environment, first, other, before, after)
    for kind, shape in before.shapes.items():
        if kind in after.shapes:
            yield from _shapes(environment, kind, shape, after.shapes[kind])
    for operation, times in before.times.items():
        if latency_shift := shift(times, after.times.get(operation, ())):
            yield Difference(Kind.LATENCY, environment, "", operation, str(latency_shift))


def _statuses(environment: str, first: Run, other: Run, before: Behaviour, after: Behaviour) -> Iterator[Difference]:
    """Requests that both answered conformingly, but with different statuses."""
    other_results = _by_key(other.results)
    for result in first.results:
        key = (result.check, result.operation, result.case)
        current = other_results.get(key)
        if current is None or {result.outcome, current.outcome} != {Outcome.PASSED}:
            continue
        first_statuses, other_statuses = before.statuses.get(key, {}), after.statuses.get(key, {})
        for purpose in first_statuses:
            if purpose in other_statuses and first_statuses[purpose] != other_statuses[purpose]:
                statuses = f"{first_statuses[purpose]} in A, {other_statuses[purpose]} in {environment}"
                text = f"{purpose or 'a request'} was answered {statuses}"
                yield Difference(
                    Kind.STATUS, environment, result.requirement, result.operation, text,
                    check=result.check, case=result.case, before=first_statuses[purpose], after=other_statuses[purpose],
                )  # fmt: skip


def _shapes(environment: str, kind: tuple[str, int], first: Shape, other: Shape) -> Iterator[Difference]:
    operation, status = kind
    if min(first.count, other.count) < _MIN_ANSWERS:
        return
    members = Kind.MEMBERS if status < 400 else Kind.ERROR
    for member_kind, first_members, other_members in (
        (members, first.members, other.members),
        (Kind.HEADERS, first.headers, other.headers),
    ):
        missing = sorted(
            name
            for name, count in first_members.items()
            if name not in other_members and count >= _MEMBER_SHARE * first.count
        )
        new = sorted(
            name
            for name, count in other_members.items()
            if name not in first_members and count >= _MEMBER_SHARE * other.count
        )
        if missing or new:
            parts = [f"only A has {_format_names(missing)}"] if missing else []
            parts += [f"only {environment} has {_format_names(new)}"] if new else []
            yield Difference(member_kind, environment, "", operation, f"{status}: {'; '.join(parts)}")
    if first.media != other.media and not first.media & other.media:
        media = f"{_format_names(sorted(first.media))} in A, {_format_names(sorted(other.media))} in {environment}"
        text = f"{status}: media type {media}"
        yield Difference(Kind.HEADERS, environment, "", operation, text)
    for place in sorted(first.types.keys() & other.types.keys()):
        baseline, current = first.types[place], other.types[place]
        if (
            baseline
            and current
            and not baseline & current
            and min(first.members[place], other.members[place]) >= _MIN_ANSWERS
        ):
            types = f"{'/'.join(sorted(baseline))} in A, {'/'.join(sorted(current))} in {environment}"
            text = f"{status}: {place or 'the body'} is {types}"
            yield Difference(Kind.SCHEMA, environment, "", operation, text)


def _format_names(names: Sequence[str]) -> str:
    suffix = f" and {len(names) - 6} more" if len(names) > 6 else ""
    return ", ".join(names[:6]) + suffix
