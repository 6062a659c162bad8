"""A command, not a test: sees which instances of checks find each fault, and writes `conformance/runner/first.json`.

Run it after a fault or a check was added: `python -m tests.matrix.count_kills`. It takes a while: of each fault it runs
what is known to find it (`conformance/checks/kills.json`), and everything where an invariant is.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from conformance.checks.catalog import KILLS
from conformance.checks.support.registry import Instance, all_checks, instances
from conformance.contract import load_contract
from conformance.core.model import Run
from conformance.core.outcomes import Outcome
from conformance.engine.in_process import judge, reference_options
from conformance.judge.invariant_results import INVARIANTS, is_binding
from conformance.profile.loader import load_profile
from conformance.runner import embedded_reference as embedded
from conformance.runner import priority as ordering

PROFILE = embedded.bundled_profiles() / "reference.toml"


def known() -> Mapping[str, Instance]:
    """What a run against the reference consists of, by id; but for what must run alone, which never comes first."""
    profile = load_profile(PROFILE, base_url="http://localhost", variables={"control": "http://localhost"})
    found = instances(all_checks(), profile, load_contract())
    return {one.id: one for one in found if not one.check.exclusive}


def killers(run: Run, known: Mapping[str, Instance]) -> set[str]:
    """The ids of the instances that failed, or on whose behalf something was sent that violated an invariant.

    A control is proven for whichever of its operation's comes first: then each of them finds it.
    """
    found = {
        f"{r.check}[{r.operation}{'-' * bool(r.case)}{r.case}]" for r in run.results if r.outcome is Outcome.FAILED
    }
    for exchange in run.exchanges:
        if not any(is_binding(finding) for finding in exchange.findings):
            continue
        if exchange.check == "control":
            found |= {name for name, one in known.items() if one.operation.id == exchange.operation}
        found.add(exchange.check)
    return found & known.keys()


def counted(faults: Mapping[str, frozenset[str]], known: Mapping[str, Instance]) -> Iterator[tuple[str, set[str]]]:
    """Each fault, and what finds it."""
    with (
        embedded.reference() as service,
        embedded.environment(service.environment),
        tempfile.TemporaryDirectory() as folder,
    ):
        for name, by in faults.items():
            options = reference_options(service.base_url, service.control_url, name, PROFILE, Path(folder) / name)
            whole = bool(by & set(INVARIANTS))
            run = judge(
                options, lambda one, by=by, whole=whole: whole or one.check.requirement in by, keep_journal=False
            )  # type: ignore[misc]
            found = killers(run, known)
            print(name, len(found), f"{run.traffic.requests:,} requests", flush=True)
            yield name, found


def recorded() -> dict[str, frozenset[str]]:
    """By fault, the requirements that are known to go red."""
    table = json.loads(KILLS.read_text(encoding="utf-8"))["faults"]
    return {name: frozenset(fault["by"]) for name, fault in table.items()}


def cover(killers: Mapping[str, Iterable[str]], prices: Mapping[str, float]) -> list[str]:
    """By fault, the ids of the instances that find it -> as few of them as find all, the most for a request first."""
    left = {fault: frozenset(found) & prices.keys() for fault, found in killers.items()}
    chosen = []
    while left := {fault: found for fault, found in left.items() if found}:
        counts = Counter(name for found in left.values() for name in found)
        best = min(counts, key=lambda name: (-counts[name] / prices[name], name))
        chosen.append(best)
        left = {fault: found for fault, found in left.items() if best not in found}
    return chosen


def main() -> None:
    everything = known()
    prices = {name: ordering.expected_cost(one) for name, one in everything.items()}
    chosen = cover(dict(counted(recorded(), everything)), prices)
    ordering.LEADERS_FILE.write_text(json.dumps(chosen, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
