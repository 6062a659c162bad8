"""The composition root: opens everything that sends, for a run, for doctor and for probe."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from conformance.checks.support.context import Runtime, Settings
from conformance.checks.support.signals import OBSTACLES, Signal
from conformance.client.created_resources import CreatedResources
from conformance.client.fixtures import Fixtures, Members
from conformance.client.limit_watch import LimitWatch
from conformance.client.recorder import Recorder
from conformance.client.redaction.learn import Guard
from conformance.client.request_builder import Arranger
from conformance.client.send_errors import BudgetExhausted
from conformance.client.sender import Sender
from conformance.core.errors import ConformanceError, FixtureError
from conformance.core.model import Exchange
from conformance.journal.lines import FixtureSpent
from conformance.judge.invariants import Invariants
from conformance.judge.validators import Validators
from conformance.profile.behavior import RateLimit

if TYPE_CHECKING:
    from conformance.client.transport import Transport

_ENDINGS: Final = (ConformanceError, Signal, BudgetExhausted, *OBSTACLES)
"""What ends a check, or a run, and is reported with it."""
_CERTAIN_SHARE: Final = 0.5
"""The share of a stated limit that a run does not fall below: other clients, as other shards, may use the rest."""
_SAFE_SHARE: Final = 0.95
"""The share of a stated limit that a run does not exceed once it was limited: the clocks of both are not the same."""


def load_sender() -> None:
    """Imports the modules that send. The import is slow, so call this only before something is sent.

    Call it before other threads start: of two threads that import one module, one may see it half initialised. pytest
    examines unittest after a failed check, and hypothesis imports it.
    """
    for name in ("joserfc.jwk", "joserfc.jws", "conformance.client.transport", "unittest"):
        import_module(name)


def ignore_endings(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """An exception handler of the loop: logs the exception of an abandoned task, unless it is one that ends a check.

    Checks share tasks (a proven control, walks). When a deadline cancels all checks that wait for one, its exception is
    not retrieved, and asyncio would print a traceback.
    """
    if not isinstance(context.get("exception"), _ENDINGS):
        loop.default_exception_handler(context)


def _ignore_exchange(_: Exchange) -> None:
    """The default `on_exchange`: does nothing, since the recorder writes the journal."""


@asynccontextmanager
async def open_context(settings: Settings) -> AsyncIterator[Runtime]:
    """Opens what sends, with the profile's proxy, rate, budget and redaction. Closes every connection at the end."""
    from conformance.client.transport import Transport

    asyncio.get_running_loop().set_exception_handler(ignore_endings)
    profile = settings.profile
    validators = Validators(profile.schemas)
    ledger = CreatedResources(profile, settings.journal, settings.secrets)
    judge = Invariants(profile, validators).judge
    recorder = Recorder(
        settings.journal, settings.secrets, judge, ledger.note_answer, settings.on_exchange or _ignore_exchange
    )

    def spend(name: str, place: int) -> None:
        settings.journal.append(FixtureSpent(name, place))

    async def call(name: str, arguments: Mapping[str, Members], scope: Mapping[str, Any]) -> Any:
        return await (settings.call or runtime.call)(name, arguments, scope)

    def check_limits() -> None:
        runtime.sender.check_limits()

    fixtures = Fixtures(profile, ledger, spend, call=call, check_limits=check_limits)
    arranger = Arranger(profile, settings.contract, settings.keys, settings.secrets, fixtures, settings.run)
    async with Transport(
        profile.base_url, tls=profile.tls, timeout_s=profile.limits.timeout_s, proxy=profile.limits.proxy
    ) as transport:
        runtime = Runtime(settings, _make_sender(settings, transport, recorder), arranger, fixtures, validators)
        try:
            if settings.limits_provoked and profile.rate_limit.restore:
                with contextlib.suppress(FixtureError):  # it may have been restored
                    await fixtures.http(profile.rate_limit.restore, {}, "rate_limit.restore")
            yield runtime
        finally:
            await runtime.controls.aclose()
            await ledger.remove(fixtures.http)
            await fixtures.aclose()


def _make_sender(settings: Settings, transport: Transport, recorder: Recorder) -> Sender:
    profile = settings.profile
    ends_at = None if settings.remaining_s is None else time.monotonic() + settings.remaining_s
    watched_profile = profile if settings.watches_limits else None
    return Sender(
        transport,
        recorder,
        settings.secrets,
        profile.limits,
        concurrency=settings.concurrency,
        token_url=profile.oauth.token_url if profile.oauth else "",
        prefix=settings.prefix,
        requests_before=settings.requests_before,
        since_s=settings.since_s,
        guard=Guard(profile, settings.secrets),
        limit_watch=LimitWatch(watched_profile, ends_at=ends_at, first_ends_all=settings.fail_fast),
        pace=bounds_of_pace(profile.rate_limit),
    )


def bounds_of_pace(facts: RateLimit) -> tuple[float, float | None]:
    """The rates between which a run stays that the target limits.

    What is counted for each operation is no bound for all of them together.
    """
    in_force = facts.for_the_run if facts.prepare is not None else facts
    stated_rate = in_force.limit / in_force.window_s if in_force.limit and in_force.window_s else 0.0
    is_for_all = stated_rate and facts.per in ("key", "installation", "address")
    return _CERTAIN_SHARE * stated_rate, _SAFE_SHARE * stated_rate if is_for_all else None
