"""What an observed run saw, and what to send for the rest, in the words of every report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from conformance.core.messages import plural
from conformance.core.model import Run
from conformance.core.observed_traffic import ObservedTraffic
from conformance.reports.shaping.text import cut, one_line

_NAMES = 4
_PATHS = 8


class Advice(NamedTuple):
    """What to send to some operations, and the requirements that it would decide."""

    text: str
    operations: tuple[str, ...]
    requirements: tuple[str, ...]


def statement(run: Run) -> str:
    """`Observed: 5,662 exchanges of HAR checkout.har decided 9 of the 11 requirements that traffic can decide.`"""
    observed = run.observed
    if observed is None:
        return ""
    sources = names(tuple(cut(source, 80) for source in observed.sources))
    decided = f"{len(observed.decided)} of the {len(observed.decidable)} requirements that traffic can decide"
    bodies = " Of bodies only shapes and types were kept." if observed.bodies == "shape" else ""
    return (
        f"Observed: {plural(run.traffic.requests, 'exchange')} of {sources} decided {decided}. Nothing was sent, so "
        f"that nothing more can be said: an observed run is never conformant.{bodies}"
    )


def left_out(observed: ObservedTraffic) -> list[str]:
    """The exchanges that were not judged, each kind with its number."""
    found = [f"{plural(observed.foreign, 'exchange')} with other hosts"] if observed.foreign else []
    found += [f"{plural(count, 'exchange')}: {one_line(reason, 100)}" for reason, count in observed.skipped.items()]
    if observed.unknown:
        count = sum(observed.unknown.values())
        verb, noun = ("is not an", "operation") if count == 1 else ("are not", "operations")
        listed = sorted(observed.unknown.items(), key=lambda item: -item[1])
        examples = ", ".join(f"{one_line(name, 120)} ({count:,})" for name, count in listed[:_PATHS])
        rest = f" and {len(listed) - _PATHS} more" if len(listed) > _PATHS else ""
        found.append(f"{plural(count, 'request')} to the target that {verb} {noun} of the interface: {examples}{rest}")
    return found


def advice(observed: ObservedTraffic) -> list[Advice]:
    """What to send to close each gap; what would decide most first."""
    requirements: dict[tuple[str, str], dict[str, None]] = {}
    for gap in observed.gaps:
        requirements.setdefault((gap.operation, gap.advice), {})[gap.requirement] = None
    operations: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (operation, text), found in requirements.items():
        operations.setdefault((text, tuple(found)), []).append(operation)
    listed = [Advice(text, tuple(places), found) for (text, found), places in operations.items()]
    return sorted(listed, key=lambda item: -len(item.operations) * len(item.requirements))


def advice_text(item: Advice) -> str:
    """`not seen in the traffic; send a valid request: a, b and 3 more (ENV-1, ENV-2)`."""
    return f"{one_line(item.text, 200)}: {names(item.operations)} ({names(item.requirements, 8)})"


def names(found: Sequence[str], limit: int = _NAMES) -> str:
    return ", ".join(found[:limit]) + (f" and {len(found) - limit} more" if len(found) > limit else "")
