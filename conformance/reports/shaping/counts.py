"""The numbers of a run in words: the same total, of the same things, in every report."""

from __future__ import annotations

from conformance.core.messages import plural
from conformance.core.model import Run
from conformance.core.outcomes import BAD_OUTCOMES
from conformance.reports.shaping.grouping import OUTCOMES

_INVARIANT = "invariant::"


def headline(run: Run) -> str:
    """`2,556 results of 2,356 checks and 200 invariants: 169 failed by 12 causes, 1 waived, 2,386 passed`."""
    return f"{results_text(run)}: {counts_text(run)}" if run.results else "no results"


def results_text(run: Run) -> str:
    """`2,556 results of 2,356 checks and 200 invariants`: the total of all counts, and what it counts.

    An invariant is judged on all exchanges of an operation, after the checks have sent them.
    """
    invariants = sum(result.check.startswith(_INVARIANT) for result in run.results)
    parts = [plural(len(run.results) - invariants, "check")] if len(run.results) > invariants else []
    parts += [plural(invariants, "invariant")] if invariants else []
    return f"{plural(len(run.results), 'result')} of {' and '.join(parts)}"


def counts_text(run: Run) -> str:
    """`169 failed by 12 causes, 1 waived, 2,386 passed`."""
    causes = sum(cause.outcome in BAD_OUTCOMES and cause.waived_by is None for cause in run.causes)
    names = [name for name in OUTCOMES if run.counts.get(name)]
    parts = [f"{run.counts[name]:,} {name}" for name in names]
    if names and names[0] in BAD_OUTCOMES and causes:
        parts[0] += f" by {plural(causes, 'cause')}"
    return ", ".join(parts)
