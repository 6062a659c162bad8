"""Whether the limit that is stated for the run can be the one that doctor's own requests met, without a burst."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from conformance.checks.support.bursts import max_allowed
from conformance.core.model import Exchange
from conformance.profile.behavior import RateLimit
from conformance.setup.doctor.facts import Fact, note, unsure, wrong

_KEY = "rate_limit.run_limit"


def run_limit_facts(stated: RateLimit, exchanges: Iterable[Exchange]) -> Iterator[Fact]:
    """`exchanges`: those that were not sent to meet a limit. Where too few were sent, only a run can tell."""
    facts = stated.for_the_run
    if facts.limit is None or facts.window_s is None:
        return
    limit = f"{facts.limit} in {facts.window_s:g} s"
    excess = next((found for calls in _by_caller(exchanges) if (found := _excess(facts, calls))), "")
    if excess:
        yield wrong(_KEY, f"{excess}, and {limit} are stated", "state the limit that is in force, with its window")
    elif facts.max_requests <= facts.limit:
        message = f"a burst of {facts.max_requests} requests stays below {limit}: no run can tell"
        yield unsure(_KEY, message, f"rate_limit.max_requests = {int(facts.limit * facts.tolerance) + 1}, or more")
    else:
        yield note(_KEY, f"doctor sent too little to meet {limit}")


def _by_caller(exchanges: Iterable[Exchange]) -> Iterable[Sequence[Exchange]]:
    """The exchanges that were answered 200, by credential and operation: no limit counts more finely."""
    groups: dict[tuple[str, str], list[Exchange]] = defaultdict(list)
    for exchange in sorted(exchanges, key=lambda exchange: exchange.at):
        if exchange.status == 200:
            groups[exchange.credential, exchange.operation].append(exchange)
    return groups.values()


def _excess(facts: RateLimit, exchanges: Sequence[Exchange]) -> str:
    """A time in which more were answered than the limit allows; empty where there is none."""
    for first, start in enumerate(exchanges):
        for count, end in enumerate(exchanges[first:], 1):
            seconds = end.at + end.duration_ms / 1000 - start.at
            if count > max_allowed(facts, seconds):
                return f"{count} requests for {start.operation} were answered 200 in {seconds:.2f} s"
    return ""
