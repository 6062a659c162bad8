"""Runs one check instance, converts its end into a `Result` and appends that to the journal."""

from __future__ import annotations

import hashlib
import re
import time
import traceback
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.context import Runtime
from conformance.checks.support.equal_calls import equal_call, is_about_equal_call
from conformance.checks.support.lost_answers import examine_loss
from conformance.checks.support.registry import Instance, cause_of
from conformance.checks.support.signals import OBSTACLES, Inapplicable, Inconclusive, Signal, Violation
from conformance.checks.support.superseded_codes import examine_codes
from conformance.client.fixtures import NotSent
from conformance.client.recorder import current_check
from conformance.client.redaction.secrets import Secrets
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer, AnswerRef
from conformance.client.send_errors import BudgetExhausted, LimitPersists
from conformance.client.throttle import high_priority, start_order
from conformance.core.errors import FixtureError, JournalError
from conformance.core.model import Result
from conformance.core.outcomes import Level, Outcome
from conformance.journal.lines import CheckConcluded
from conformance.profile.exclusions import exclusion_of
from conformance.profile.model import Profile

_MAX_EXCHANGES = 12
_START_NUMBERS = count(1)
_MAX_ATTEMPTS = 9
"""At most this many attempts of one check, while lost answers make its result uncertain."""
_MAX_OLD_CODES = 3
"""The same, while codes, tickets or keys may have expired that waited for their turn, or calls at once were limited."""
_MAX_ERRATIC = 3
"""The same, while calls are answered with an undeclared 5xx, and another attempt ends in another way."""
_MAX_RENEWALS = 2
"""The same, while fixtures that all reads share may have ended."""
_UNCERTAIN_OUTCOMES = (Outcome.FAILED, Outcome.WARNED, Outcome.INCONCLUSIVE)
_REDACTED_FIELDS = ("message", "expected", "observed", "reproduce", "cause", "fact", "exclusion")
"""Members of a result that may hold text of the target or of the profile."""
_TRUNCATED_FIELDS = frozenset({"message", "expected", "observed"})
_MAX_LENGTH = 4096
_VOLATILE_TEXT = re.compile(r"[0-9a-f]{8,}|\d{3,}[\w-]{0,99}\d|[\w-]{0,99}-\d+\b")
"""Text that differs between two runs of the same failure: ids, numbers, names with a counter.

Bounded, since the target decides how long one word of `observed` is: the time would grow with its square."""


async def run(instance: Instance, runtime: Runtime) -> Result:
    """Runs one instance and returns its redacted result. Raises JournalError only."""
    current_check.set(instance.id)
    high_priority.set(instance.check.chain)
    start_order.set(next(_START_NUMBERS))
    started = time.perf_counter()
    result, case = await _run_until_certain(instance, runtime)
    result = replace(result, duration_ms=round((time.perf_counter() - started) * 1000, 3), notes=tuple(case.notes))
    result = redact_and_truncate(result, runtime.settings.secrets)
    runtime.settings.journal.append(CheckConcluded(result))
    return result


async def _run_until_certain(instance: Instance, runtime: Runtime) -> tuple[Result, Case]:
    """Runs the check, each time with new fixtures, until no lost answer and no old code, ticket or key leaves doubt.

    A fixture that all reads share may end within a run, as carts do: then they share another one. An undeclared 5xx is
    STA-1's question; it is another requirement's, too, where a second attempt ends in the same way.
    """
    last_end: tuple[str, ...] = ()
    for attempt in range(1, _MAX_ATTEMPTS + 1):
        case = Case(runtime, instance.operation, is_repeated=attempt > 1)
        result = await _run_once(instance, case)
        if result.outcome not in _UNCERTAIN_OUTCOMES:
            return result, case
        end = (result.outcome, result.signature or result.cause)
        if case.doubts.has_server_error and attempt < _MAX_ERRATIC and end != last_end:
            last_end = end
            continue
        is_lost = any(answer.possibly_applied for answer in case.answers)
        if not (is_lost or case.doubts.are_about_time):
            renewals = [runtime.fixtures.renew_shared(*item) for item in case.doubts.missing_fixtures.items()]
            if attempt > _MAX_RENEWALS or not any(renewals):
                return result, case
            continue
        if not is_lost and attempt == _MAX_OLD_CODES:
            break
        if case.doubts.expired_code_s:
            runtime.fixtures.drop_batches()
        if case.doubts.are_about_time:  # what waited for too long does not wait behind others again
            high_priority.set(True)
            start_order.set(0)
    if not (is_lost or case.doubts.expired_code_s):
        return result, case
    reason = (
        "answers were lost, so that a request may have taken effect twice"
        if is_lost
        else f"a code, ticket or new resource was {case.doubts.expired_code_s:.0f} s old before the pace let it through"
    )
    message = f"{reason}: {result.message}"
    return replace(result, outcome=Outcome.INCONCLUSIVE, message=message, signature=""), case


def redact_result(result: Result, clean: Callable[[str], str]) -> Result:
    """Applies `clean` to every member of a result that may hold text of the target or of the profile."""
    changes: dict[str, Any] = {name: clean(getattr(result, name)) for name in _REDACTED_FIELDS}
    return replace(result, **changes, notes=tuple(map(clean, result.notes)))


def redact_and_truncate(result: Result, secrets: Secrets) -> Result:
    """Redacts a result, then truncates its long members. The names of check and operation are not redacted."""
    texts: dict[str, str] = {name: getattr(result, name) for name in _REDACTED_FIELDS}
    clean = secrets.cleaner([*texts.values(), *result.notes])
    if clean is str and max(map(len, (*texts.values(), *result.notes))) <= _MAX_LENGTH:
        return result
    changes: dict[str, Any] = {
        name: secrets.excerpt(text, _MAX_LENGTH, clean) if name in _TRUNCATED_FIELDS else clean(text)
        for name, text in texts.items()
    }
    return replace(result, **changes, notes=tuple(secrets.excerpt(note, _MAX_LENGTH, clean) for note in result.notes))


async def _run_once(instance: Instance, case: Case) -> Result:
    settings = case.runtime.settings
    blank = blank_result(
        instance, settings.contract.requirements[instance.check.requirement].level, settings.rerun_command
    )
    try:
        if instance.check.judges_keys and case.operation.idempotent and case.profile.idempotency is None:
            raise MissingFact("idempotency", f"{instance.operation.id} must be called with an idempotency key")
        arguments = () if instance.check.cases is None else (instance.value,)
        await instance.check.function(case, *arguments)
    except (Violation, Inconclusive) as signal:
        if isinstance(signal, Violation):
            signal = await examine_codes(case, signal)
        else:
            await examine_loss(case, signal)
        return _judgement(blank, case, signal, instance.check.rests_on)
    except (*OBSTACLES, BudgetExhausted) as obstacle:
        return _incomplete_result(replace(blank, exchanges=_exchange_ids(case.answers)), case.profile, obstacle)
    except Inapplicable as signal:
        message = f"an optional case: {signal.message}" if signal.further else signal.message
        return replace(blank, outcome=Outcome.INAPPLICABLE, message=message, further=signal.further)
    except JournalError:
        raise
    except Exception as error:  # noqa: BLE001 - any other exception is an error of the suite
        frame = traceback.extract_tb(error.__traceback__)[-1]
        message = f"the suite erred: {type(error).__name__}: {error} at {frame.name}, line {frame.lineno}"
        return replace(blank, outcome=Outcome.BROKEN, message=message, exchanges=_exchange_ids(case.answers))
    if case.warnings:
        return _violation_result(blank, case.warnings[0], instance.check.rests_on)
    if not case.answers:
        return replace(blank, outcome=Outcome.UNTESTED, message="nothing was sent")
    return replace(blank, outcome=Outcome.PASSED, exchanges=_exchange_ids(case.answers))


def _judgement(blank: Result, case: Case, signal: Violation | Inconclusive, rests_on: str) -> Result:
    if is_about_equal_call(case, signal):
        return _incomplete_result(blank, case.profile, equal_call(signal.message))
    if isinstance(signal, Violation):
        return _violation_result(blank, signal, rests_on)
    return _signal_result(blank, Outcome.INCONCLUSIVE, signal, cause=signal.cause)


def blank_result(instance: Instance, level: Level, rerun_command: str) -> Result:
    """The result of a check that has not run yet."""
    return Result(
        check=instance.check.id,
        requirement=instance.check.requirement,
        operation=instance.operation.id,
        case=instance.case,
        outcome=Outcome.UNTESTED,
        level=level,
        reproduce=f"{rerun_command} --only '{instance.name}'",
    )


def missing_fact_members(profile: Profile, missing: MissingFact, operation: str) -> dict[str, Any]:
    """Members of a result for a missing fact: unstated, or inapplicable if the profile excludes the fact."""
    if exclusion := exclusion_of(profile, missing.key, missing.credential, operation):
        fact, reason = exclusion
        message = f"excluded by the profile ({fact}): {reason}"
        return {"outcome": Outcome.INAPPLICABLE, "message": message, "fact": fact, "exclusion": reason}
    return {"outcome": Outcome.UNSTATED, "message": str(missing), "fact": missing.key}


def _incomplete_result(
    blank: Result, profile: Profile, obstacle: MissingFact | NotSent | FixtureError | BudgetExhausted
) -> Result:
    """The result of a check that could not be completed, for a reason other than the target's answers."""
    if isinstance(obstacle, MissingFact):
        return replace(blank, **missing_fact_members(profile, obstacle, blank.operation), exchanges=())
    if isinstance(obstacle, NotSent):
        return replace(blank, message=str(obstacle), cause="read-only")
    if isinstance(obstacle, LimitPersists):
        limit_exchanges = (obstacle.limit.first.id, obstacle.limit.last.id)
        cause = cause_of(obstacle.limit.requirement) or "rate limit"
        return replace(
            blank,
            outcome=Outcome.INCONCLUSIVE,
            message=f"rate limited: {obstacle}",
            cause=cause,
            exchanges=limit_exchanges,
        )
    if isinstance(obstacle, BudgetExhausted):
        return replace(
            blank,
            outcome=Outcome.INCONCLUSIVE,
            message=f"not finished: {obstacle}",
            cause=f"budget:{obstacle}",
            exchanges=(),
        )
    cause = obstacle.where if obstacle.where.startswith("control:") else f"fixture:{obstacle.where}"
    return replace(blank, outcome=Outcome.INCONCLUSIVE, message=str(obstacle), cause=cause)


def _violation_result(blank: Result, signal: Violation, rests_on: str) -> Result:
    level = signal.level or blank.level
    binding = level in (Level.REQUIRED, Level.DECLARED)
    outcome = Outcome.FAILED if binding else Outcome.WARNED
    explanation = signal.explanation or (f"effect:{rests_on}:{blank.operation}" if rests_on else "")
    result = _signal_result(replace(blank, level=level, kind=signal.kind), outcome, signal, cause=explanation)
    observed = _VOLATILE_TEXT.sub("#", result.observed[:_MAX_LENGTH])
    deviation = (signal.identity,) if signal.identity else (result.expected, observed)
    identity = "|".join((result.check, result.operation, result.case, *deviation))
    return replace(result, signature=hashlib.sha256(identity.encode("utf-8", "backslashreplace")).hexdigest()[:12])


def _signal_result(blank: Result, outcome: Outcome, signal: Signal, cause: str = "") -> Result:
    return replace(
        blank,
        outcome=outcome,
        message=signal.message,
        expected=signal.expected,
        observed=signal.observed,
        exchanges=_exchange_ids(signal.answers),
        cause=cause,
    )


def _exchange_ids(answers: Sequence[Answer | AnswerRef]) -> tuple[str, ...]:
    return tuple(answer.id for answer in answers)[-_MAX_EXCHANGES:]
