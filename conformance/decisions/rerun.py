"""The command that repeats a run or a part of it, built from the commands in its results."""

from __future__ import annotations

import shlex

from conformance.core.errors import UsageError
from conformance.core.model import Result, Run
from conformance.core.outcomes import Outcome

_RERUN_OUTCOMES = (Outcome.FAILED, Outcome.BROKEN, Outcome.INCONCLUSIVE, Outcome.UNTESTED)


def command(run: Run, *, failed: bool, profile: str = "") -> list[str]:
    """The arguments of the command, `conformance` first; with `failed`, only results that failed or were not judged.

    `profile` replaces the path that the run was started with.

    Raises UsageError where there is nothing to run again, or where the journal names a command that judges no target.
    """
    reproducible = [result for result in run.results if result.reproduce]
    if not reproducible:
        raise UsageError("the run does not record its command", hint="its journal is of another version")
    base, _ = _split_command(reproducible[0].reproduce)
    if base[:2] not in (["conformance", "run"], ["conformance", "demo"]):
        raise UsageError("the run records another command than `conformance run`", hint="its journal was changed")
    if profile and "--profile" in base:
        base[base.index("--profile") + 1] = profile
    if not failed:
        return base
    selected = [result for result in run.results if result.outcome in _RERUN_OUTCOMES]
    names = dict.fromkeys(name for result in selected for name in _names(run, result))
    if not names:
        raise UsageError("nothing failed in that run", hint="without --failed the whole run is repeated")
    return [*base, *(word for name in names for word in ("--only", name))]


def _names(run: Run, result: Result) -> list[str]:
    """The items to run for a result: itself, or for an invariant the items that sent its exchanges."""
    if result.reproduce:
        return _split_command(result.reproduce)[1]
    exchange_ids = set(result.exchanges)
    checks = {exchange.check for exchange in run.exchanges if exchange.id in exchange_ids}
    return [check.partition("::")[2] for check in sorted(checks) if "::" in check]


def _split_command(command_line: str) -> tuple[list[str], list[str]]:
    """A command without its `--only NAME`s, and those names."""
    words, base, names = iter(shlex.split(command_line)), [], []
    for word in words:
        if word == "--only":
            names.append(next(words, ""))
        elif word == "-k":
            next(words, "")
        else:
            base.append(word)
    return base, names
