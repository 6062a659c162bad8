"""Being limited: Limits, and Errors, 429 (RATE-1, RATE-3, RATE-4, IDEM-8). Runs last and alone."""

from __future__ import annotations

from conformance.checks.case import Case
from conformance.checks.limits import provoke
from conformance.checks.registry import check
from conformance.checks.signals import Inconclusive
from conformance.client.answer import NO_VALUE
from conformance.judge.invariants import ERROR_SCHEMA


@check("RATE-1", exclusive=True)
async def a_limited_request_is_answered_429_with_an_error(case: Case) -> None:
    """What exceeds the limit is answered 429, and the 429 carries PublicErrorResponse."""
    limited = (await provoke(case)).limited
    if limited.value is NO_VALUE:
        raise case.violated("the 429 carries no JSON", limited, expected="PublicErrorResponse", observed="no JSON")
    if case.runtime.validators.knows(ERROR_SCHEMA):
        case.note(case.runtime.validators.problem(ERROR_SCHEMA, limited.value) or "the 429 matches the error schema")


@check("RATE-3", exclusive=True)
async def a_limit_recovers(case: Case) -> None:
    """Within the bound that the profile states, a limited operation answers again."""
    bound = case.profile.rate_limit.recovery_s
    case.need(bound is not None, "rate_limit.recovery_s", "a bound for the recovery is needed")
    provoked = await provoke(case)
    assert provoked.last is not None
    if provoked.recovered_after_s is None:
        raise case.violated(f"limited for longer than {bound:g} s", provoked.limited, provoked.last, expected="200")
    if not provoked.last.ok:
        raise Inconclusive(f"after the limit it answered {provoked.last.summary}", provoked.last)
    case.note(f"answered again after {provoked.recovered_after_s:.2f} s at most")


@check("RATE-4", on="idempotent", exclusive=True)
async def a_limited_request_has_no_effect(case: Case) -> None:
    """What is answered 429 leaves everything as it was; sent again, it has one effect."""
    case.need(
        case.operation.id in case.profile.effects, f"effects.{case.operation.id}", "a way to see the effect is needed"
    )
    provoked = await provoke(case)
    if provoked.spare is None or provoked.retried is None:
        raise Inconclusive("no good request was limited", provoked.limited)
    if provoked.happened:
        raise case.violated("a request that was answered 429 took effect", provoked.spare, expected="no effect")
    if provoked.retried.ok and provoked.after != 1:
        observed = str(provoked.after)
        raise case.violated(
            "sent again it took effect otherwise than once", provoked.retried, expected="1", observed=observed
        )


@check("IDEM-8", on="idempotent", exclusive=True)
async def a_limit_does_not_use_the_key_up(case: Case) -> None:
    """After a 429 the same call, with its key, still executes."""
    provoked = await provoke(case)
    if provoked.recovered_after_s is None:
        raise Inconclusive("the limit did not recover", provoked.limited, cause="rate limit")
    if provoked.spare is None or provoked.retried is None:
        case.need(False, "rate_limit.limit", "no good request could be limited while the burst was on")
        return
    case.answers.append(provoked.retried.counted)
    if not provoked.retried.ok:
        await case.control(await case.arrange())
        raise case.violated("a 429 has used the key up", provoked.spare, provoked.retried, expected="200")
