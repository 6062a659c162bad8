"""The command that runs a run, or a part of it, once more: made of the commands that its results tell."""

from __future__ import annotations

import shlex

from conformance.core.errors import UsageError
from conformance.core.model import Outcome, Result, Run

_WORTH = (Outcome.FAILED, Outcome.BROKEN, Outcome.INCONCLUSIVE, Outcome.UNTESTED)


def command(run: Run, *, failed: bool, profile: str = "") -> list[str]:
    """The words of the command, `conformance` first; with `failed`, only of what failed or was not judged.

    `profile` stands in for the path that the run was made with.

    Raises UsageError where there is nothing to run again.
    """
    told = [result for result in run.results if result.reproduce]
    if not told:
        raise UsageError("the run does not tell how it was made", hint="its journal is of another version")
    base, _ = _split(told[0].reproduce)
    if profile and "--profile" in base:
        base[base.index("--profile") + 1] = profile
    if not failed:
        return base
    wanted = [result for result in run.results if result.outcome in _WORTH]
    names = dict.fromkeys(name for result in wanted for name in _names(run, result))
    if not names:
        raise UsageError("nothing failed in that run", hint="without --failed all of it is run again")
    return [*base, *(word for name in names for word in ("--only", name))]


def _names(run: Run, result: Result) -> list[str]:
    """The items to run for a result: itself, or, of an invariant, those in whose exchanges it was seen."""
    if result.reproduce:
        return _split(result.reproduce)[1]
    seen = set(result.exchanges)
    checks = {exchange.check for exchange in run.exchanges if exchange.id in seen}
    return [check.partition("::")[2] for check in sorted(checks) if "::" in check]


def _split(told: str) -> tuple[list[str], list[str]]:
    """A command without its `--only NAME`s, and those names."""
    words, base, names = iter(shlex.split(told)), [], []
    for word in words:
        if word == "--only":
            names.append(next(words, ""))
        elif word == "-k":
            next(words, "")
        else:
            base.append(word)
    return base, names
