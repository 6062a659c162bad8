"""Runs one check instance, converts its end into a `Result` and appends that to the journal."""

from __future__ import annotations

import hashlib
import re
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime
from conformance.checks.support.registry import Instance, cause_of
from conformance.checks.support.signals import Inapplicable, Inconclusive, Signal, Violation
from conformance.client.fixtures import NotSent
from conformance.client.recorder import current_check
from conformance.client.redaction.secrets import Secrets
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer, AnswerRef
from conformance.client.sender import BudgetExhausted, LimitPersists
from conformance.client.throttle import high_priority, start_order
from conformance.core.errors import FixtureError, JournalError
from conformance.core.model import Level, Outcome, Result
from conformance.journal.lines import CheckConcluded
from conformance.profile.exclusions import exclusion_of
from conformance.profile.model import Profile

_SHOWN = 12
_BEGUN = count(1)
_TIMES = 9
"""At most this many attempts of one check, while lost answers make its result uncertain."""
_UNSURE = (Outcome.FAILED, Outcome.WARNED, Outcome.INCONCLUSIVE)
_REDACTED_FIELDS = ("message", "expected", "observed", "reproduce", "cause", "fact", "exclusion")
"""Members of a result that may hold text of the target or of the profile."""
_BOUNDED = frozenset({"message", "expected", "observed"})
_LONGEST = 4096
_PASSING = re.compile(r"[0-9a-f]{8,}|\d{3,}[\w-]*\d|[\w-]*-\d+\b")
"""Text that differs between two runs of the same failure: ids, numbers, names with a counter."""


async def run(instance: Instance, runtime: Runtime) -> Result:
    """Runs one instance and returns its redacted result. Raises JournalError only."""
    current_check.set(instance.id)
    high_priority.set(instance.check.chain)
    start_order.set(next(_BEGUN))
    started = time.perf_counter()
    result, case = await _sure(instance, runtime)
    result = replace(result, duration_ms=round((time.perf_counter() - started) * 1000, 3), notes=tuple(case.notes))
    result = cleaned(result, runtime.settings.secrets)
    runtime.settings.journal.append(CheckConcluded(result))
    return result


async def _sure(instance: Instance, runtime: Runtime) -> tuple[Result, Case]:
    """Runs the check, each time with new fixtures, until no lost answer makes its result uncertain."""
    for _ in range(_TIMES):
        case = Case(runtime, instance.operation)
        result = await _conclude(instance, case)
        if result.outcome not in _UNSURE or not any(answer.possibly_applied for answer in case.answers):
            return result, case
    message = f"answers were lost, so that a request may have taken effect twice: {result.message}"
    return replace(result, outcome=Outcome.INCONCLUSIVE, message=message, signature=""), case


def redact_result(result: Result, clean: Callable[[str], str]) -> Result:
    """Applies `clean` to every member of a result that may hold text of the target or of the profile."""
    changes: dict[str, Any] = {name: clean(getattr(result, name)) for name in _REDACTED_FIELDS}
    return replace(result, **changes)


def cleaned(result: Result, secrets: Secrets) -> Result:
    """Redacts a result, then truncates its long members. The names of check and operation are not redacted."""
    told: dict[str, str] = {name: getattr(result, name) for name in _REDACTED_FIELDS}
    clean = secrets.cleaner([*told.values(), *result.notes])
    if clean is str and max(map(len, (*told.values(), *result.notes))) <= _LONGEST:
        return result
    words: dict[str, Any] = {
        name: secrets.excerpt(text, _LONGEST, clean) if name in _BOUNDED else clean(text) for name, text in told.items()
    }
    return replace(result, **words, notes=tuple(secrets.excerpt(note, _LONGEST, clean) for note in result.notes))


async def _conclude(instance: Instance, case: Case) -> Result:
    settings = case.runtime.settings
    blank = blank_result(
        instance, settings.contract.requirements[instance.check.requirement].level, settings.rerun_command
    )
    try:
        arguments = () if instance.check.cases is None else (instance.value,)
        await instance.check.function(case, *arguments)
    except Violation as signal:
        return _violation(blank, signal)
    except Inconclusive as signal:
        return _told(blank, Outcome.INCONCLUSIVE, signal, cause=signal.cause)
    except (MissingFact, NotSent, FixtureError, BudgetExhausted) as short:
        return _fallen_short(replace(blank, exchanges=_ids(case.answers)), case.profile, short)
    except Inapplicable as signal:
        message = f"a further case: {signal.message}" if signal.further else signal.message
        return replace(blank, outcome=Outcome.INAPPLICABLE, message=message, further=signal.further)
    except JournalError:
        raise
    except Exception as error:  # noqa: BLE001 - any other exception is an error of the suite
        where = traceback.extract_tb(error.__traceback__)[-1]
        message = f"the suite erred: {type(error).__name__}: {error} at {where.name}, line {where.lineno}"
        return replace(blank, outcome=Outcome.BROKEN, message=message, exchanges=_ids(case.answers))
    if case.warnings:
        return _violation(blank, case.warnings[0])
    if not case.answers:
        return replace(blank, outcome=Outcome.UNTESTED, message="nothing was sent")
    return replace(blank, outcome=Outcome.PASSED, exchanges=_ids(case.answers))


def blank_result(instance: Instance, level: Level, again: str) -> Result:
    """The result of a check that has not run yet."""
    return Result(
        check=instance.check.id,
        requirement=instance.check.requirement,
        operation=instance.operation.id,
        case=instance.case,
        outcome=Outcome.UNTESTED,
        level=level,
        reproduce=f"{again} --only '{instance.name}'",
    )


def missing_fact(profile: Profile, why: MissingFact) -> dict[str, Any]:
    """Members of a result for a missing fact: unstated, or inapplicable if the profile excludes the fact."""
    if excluded := exclusion_of(profile, why.key, why.credential):
        fact, reason = excluded
        message = f"excluded by the profile ({fact}): {reason}"
        return {"outcome": Outcome.INAPPLICABLE, "message": message, "fact": fact, "exclusion": reason}
    return {"outcome": Outcome.UNSTATED, "message": str(why), "fact": why.key}


def _fallen_short(
    blank: Result, profile: Profile, why: MissingFact | NotSent | FixtureError | BudgetExhausted
) -> Result:
    """The result of a check that could not be completed, for a reason other than the target's answers."""
    if isinstance(why, MissingFact):
        return replace(blank, **missing_fact(profile, why), exchanges=())
    if isinstance(why, NotSent):
        return replace(blank, message=str(why), cause="read-only")
    if isinstance(why, LimitPersists):
        known = (why.limit.first.id, why.limit.last.id)
        cause = cause_of(why.limit.requirement) or "rate limit"
        return replace(
            blank, outcome=Outcome.INCONCLUSIVE, message=f"rate limited: {why}", cause=cause, exchanges=known
        )
    if isinstance(why, BudgetExhausted):
        return replace(
            blank, outcome=Outcome.INCONCLUSIVE, message=f"not finished: {why}", cause=f"budget:{why}", exchanges=()
        )
    cause = why.where if why.where.startswith("control:") else f"fixture:{why.where}"
    return replace(blank, outcome=Outcome.INCONCLUSIVE, message=str(why), cause=cause)


def _violation(blank: Result, signal: Violation) -> Result:
    level = signal.level or blank.level
    binding = level in (Level.REQUIRED, Level.DECLARED)
    told = _told(replace(blank, level=level), Outcome.FAILED if binding else Outcome.WARNED, signal)
    named = "|".join((told.check, told.operation, told.case, told.expected, _PASSING.sub("#", told.observed)))
    return replace(told, signature=hashlib.sha256(named.encode("utf-8", "backslashreplace")).hexdigest()[:12])


def _told(blank: Result, outcome: Outcome, signal: Signal, cause: str = "") -> Result:
    return replace(
        blank,
        outcome=outcome,
        message=signal.message,
        expected=signal.expected,
        observed=signal.observed,
        exchanges=_ids(signal.answers),
        cause=cause,
    )


def _ids(answers: Sequence[Answer | AnswerRef]) -> tuple[str, ...]:
    return tuple(answer.id for answer in answers)[-_SHOWN:]
