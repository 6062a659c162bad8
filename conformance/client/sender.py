"""Sends every request of a run: budget, pace, back-off after 429s and gateway trouble, DPoP nonce, record."""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, Final, TypeVar

from msgspec.structs import replace

from conformance.client.content_uses import ContentUses
from conformance.client.fixtures import NotSent
from conformance.client.key_uses import KeyUses
from conformance.client.limit_watch import LimitWatch
from conformance.client.memory_budget import MemoryBudget
from conformance.client.raw_socket import Moment
from conformance.client.recorder import Recorder
from conformance.client.redaction.learn import Guard
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import Request, Wire, repeatable
from conformance.client.response import LAST_ATTEMPT, Answer
from conformance.client.retry_after import retry_after_s
from conformance.client.send_errors import BudgetExhausted, LimitPersists, TargetSilent
from conformance.client.throttle import AdaptivePacer, ConcurrencyLimiter, Pacer, StartAllowance, start_allowance
from conformance.client.wait_stats import WaitStats
from conformance.journal.lines import TrafficStats
from conformance.profile.model import Limits

if TYPE_CHECKING:
    from conformance.client.transport import Transport

_T = TypeVar("_T")

GATEWAY_ATTEMPTS: Final = 20
"""Maximum number of attempts, where every other request meets gateway trouble."""
_CHANCE_LOSS: Final = 1e-6
"""Accepted probability that a request meets only accidental gateway trouble in all of its attempts."""
HOPELESS_ATTEMPTS: Final = 4
"""Attempts after repeats failed several times: the trouble is tied to the request."""
_JITTER: Final = random.Random()
"""A separate generator: hypothesis observes the state of the module's generator in another thread."""
_CHALLENGES: Final = 2
"""Maximum number of DPoP nonce challenges for one answer: concurrent requests may use up the first nonce."""
_LONGEST_WAIT_S: Final = 5.0
_LONGEST_RETRY_AFTER_S: Final = 30.0
_DEAD_AFTER: Final = 60
"""After this many consecutive exchanges without an answer the target counts as unreachable."""
_TRUNCATED_BODY_LIMIT: Final = 64 * 1024
"""Number of bytes kept as evidence of a body that is too long to be judged."""
_PROOF: Final = 40
"""A shorter value is not a usable proof, but a word that a check sends instead."""


class Sender:
    """Sends requests for all checks of a run. Not thread-safe: it lives in the engine's event loop."""

    def __init__(
        self,
        transport: Transport,
        recorder: Recorder,
        secrets: Secrets,
        limits: Limits,
        *,
        concurrency: int,
        token_url: str = "",
        prefix: str = "x",
        requests_before: int = 0,
        since_s: float = 0.0,
        guard: Guard | None = None,
        limit_watch: LimitWatch | None = None,
        pace: tuple[float, float | None] = (0.0, None),
    ) -> None:
        """`requests_before`: of earlier segments; `since_s`: seconds since the run began; `pace`: see AdaptivePacer."""
        self.limiter = ConcurrencyLimiter(concurrency)
        self.wait_stats = WaitStats()
        self.requests = requests_before
        self.limit_reached = ""
        self.transport = transport
        self._recorder = recorder
        self._secrets = secrets
        self._limits = limits
        self._memory_budget = MemoryBudget()
        self._pacer = Pacer(limits.rate)
        self.adaptive_pacer = AdaptivePacer(pace)
        self._retry_successes: deque[bool] = deque(maxlen=8)
        """For the last requests that met gateway trouble: whether repeating helped."""
        self._gateway_troubles: deque[bool] = deque(maxlen=60)
        """For the last requests: whether the first attempt met gateway trouble."""
        self._token_url = token_url
        self._prefix = prefix
        self._guard = guard
        self.limit_watch = limit_watch or LimitWatch(None)
        self.limit_watch.on_found(self.adaptive_pacer.reset)
        self._ids = count(1)
        self.nonce = ""
        self._silent_count = 0
        self._is_examined = False
        self._is_silent = False
        self._known_read: Request | None = None
        self._trouble = ""
        self.slowest_s: dict[str, float] = {}
        """By operation: the duration of its slowest 200."""
        self.key_uses = KeyUses()
        self.content_uses = ContentUses()
        self._began = time.perf_counter() - since_s

    @property
    def traffic_stats(self) -> TrafficStats:
        """Traffic statistics for the last line of the journal: waits, lost answers, rate, concurrency."""
        slowest = self.adaptive_pacer.slowest_rate
        return TrafficStats(
            waited_s=round(self.wait_stats.total_s, 3),
            waited_clock_s=round(self.wait_stats.clock_s, 3),
            limited=self.wait_stats.counts["429"],
            lost=self.wait_stats.counts["lost"],
            most_in_flight=self.limiter.most_in_flight,
            slowest_rate=round(slowest, 2) if slowest else None,
        )

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run began: the clock of `Answer.at`."""
        return time.perf_counter() - self._began

    @property
    def waited_s(self) -> float:
        """Total seconds waited, over all requests."""
        return self.wait_stats.total_s

    async def send(
        self,
        request: Request,
        purpose: str = "",
        *,
        accept_statuses: frozenset[int] = frozenset(),
        patience_s: float | None = None,
    ) -> Answer:
        """Sends a request until it gets an answer to judge.

        A 429 is waited out and gateway trouble is retried, unless the status is in `accept_statuses`. What persists is
        returned. Raises BudgetExhausted, LimitPersists where only 429 would follow, and NotSent for a request that a
        read-only run must not send.
        """
        patience = self._limits.patience_s if patience_s is None else patience_s
        limited_count, trouble_count, challenges, first, is_lost, nonce, waited_s = 0, 0, 0, "", False, "", 0.0
        while True:
            deliberate, fresh = 429 in accept_statuses, is_lost or purpose == LAST_ATTEMPT
            answer = await self._send_once(request, purpose, first, nonce, deliberate=deliberate, fresh=fresh)
            if not first:
                self._gateway_troubles.append(answer.gateway_trouble)
            first = first or answer.id
            if answer.status == 429 and 429 not in accept_statuses:
                limited_count += 1
                reason, wait = "429", self._back_off(answer, limited_count)
                if waited_s + wait > patience:
                    break
                await self.limit_watch.consider(request, self._repeat_after_recovery, self.limiter.idle)
            elif answer.gateway_trouble and (answer.status or 0) not in accept_statuses:
                trouble_count += 1
                reason, wait = "lost", min(0.5, 0.05 * 2**trouble_count)
                is_lost = is_lost or answer.status is None
                if trouble_count >= self._attempts:
                    break
            elif (challenge := self._challenge(answer)) and challenges < _CHALLENGES:
                nonce = challenge  # a server may accept each nonce once: concurrent requests have nonces of their own
                challenges += 1
                continue
            else:
                self._learn(answer)
                break
            waited_s += wait
            if request.proof is not None:
                request = request.with_proof(request.proof.for_retry())
            async with self.wait_stats.measure(reason, wait):
                await (self.limit_watch.pause(wait) if reason == "429" else asyncio.sleep(wait))
        return self._note_loss(answer, is_lost=is_lost) if trouble_count else answer

    def _note_loss(self, answer: Answer, *, is_lost: bool) -> Answer:
        """Marks the answer to a request that met gateway trouble before. `is_lost`: an answer was lost."""
        self._retry_successes.append(not answer.gateway_trouble)
        # a gateway may answer 502 to 504 after the work was done; where nothing else is answered, that is the answer
        is_doubtful = is_lost or not answer.gateway_trouble
        return replace(answer, follows_loss=True, possibly_applied=is_doubtful and not repeatable(answer.request))

    @property
    def _attempts(self) -> int:
        """The number of attempts before gateway trouble counts as the answer."""
        if len(self._retry_successes) >= 3 and sum(self._retry_successes) * 2 < len(self._retry_successes):
            return HOPELESS_ATTEMPTS
        share = (sum(self._gateway_troubles) + 1) / (len(self._gateway_troubles) + 2)
        attempts = math.ceil(math.log(_CHANCE_LOSS) / math.log(share))
        return max(HOPELESS_ATTEMPTS, min(GATEWAY_ATTEMPTS, attempts))

    @contextlib.asynccontextmanager
    async def reserve_starts(self, count: int = 1, *, silence_s: float = 0.0) -> AsyncIterator[None]:
        """Requests of this context that accept a 429 go out as soon as they are sent: evenly spaced, none would compete
        with another one, and no burst would exceed a limit.

        The pace is kept on the average: `count` starts are waited for first, so that a target that limits them has room
        for all, and what follows waits for those beyond them. Within another such context nothing is waited for.

        `silence_s`: seconds before them in which nothing is sent, where the limit of a run leaves no room for them.
        """
        if start_allowance.get() is not None:
            yield
            return
        for reason, pacer in (("rate", self._pacer), *((("pace", self.adaptive_pacer),) if count > 1 else ())):
            if pacer.rate:
                async with self.wait_stats.measure(reason):
                    for _ in range(count):
                        await pacer()
        allowance = StartAllowance(count)
        token = start_allowance.set(allowance)
        try:
            if count > 1:
                await self.limiter.reserve(allowance, self.limiter.limit if silence_s else count)
                await asyncio.sleep(silence_s)
                self.limiter.release(allowance, remaining=count)
            yield
        finally:
            start_allowance.reset(token)
            self.limiter.release(allowance)

    async def abandon(self, request: Request, moment: Moment) -> bool:
        """Sends a request and abandons its answer; returns whether it was sent as far as `moment`."""

        async def leave() -> bool:
            self.requests += 1
            wire, _ = self._serialize(request, self.nonce)
            self.key_uses.note(request, self.elapsed_s, self.elapsed_s)
            return await self.transport.abandon(wire, moment)

        return await self._in_turn(request, leave, deliberate=True)

    def _back_off(self, answer: Answer, attempt: int) -> float:
        own_wait_s = _JITTER.uniform(0.5, 1) * float(min(_LONGEST_WAIT_S, 0.05 * 2**attempt))
        stated_wait_s = retry_after_s(answer) or 0.0
        return max(own_wait_s, min(stated_wait_s, _LONGEST_RETRY_AFTER_S) + _JITTER.uniform(0, 0.05))

    def _challenge(self, answer: Answer) -> str:
        """The nonce that a server demanded in place of the request's (RFC 9449 section 8), or the empty string."""
        nonce = answer.fresh_nonce
        is_challenge = answer.request.proof is not None and answer.status in (400, 401) and nonce != answer.nonce
        return nonce if is_challenge else ""

    def _learn(self, answer: Answer) -> None:
        """Remembers the nonce of an answer (RFC 9449 section 8.2), or of its request, for the next requests."""
        self.nonce = answer.fresh_nonce or (answer.nonce if answer.ok else "") or self.nonce

    async def _resume(self) -> None:
        """Returns when sending is allowed: a pause for the recovery of a limit may be long."""
        if self.limit_watch.is_silent:
            async with self.wait_stats.measure("recovery"):
                await self.limit_watch.resume()

    async def _keep_pace(self, *, deliberate: bool) -> None:
        """Keeps the rate of the profile and the adaptive rate that the target was found to accept."""
        allowance = start_allowance.get() if deliberate else None
        if allowance is not None:
            allowance.take(self._pacer)
            return
        for reason, pace in (("rate", self._pacer), ("pace", self.adaptive_pacer)):
            if pace.rate and not (deliberate and pace is self.adaptive_pacer):
                async with self.wait_stats.measure(reason):
                    await pace()

    async def _in_turn(self, request: Request, exchange: Callable[[], Awaitable[_T]], *, deliberate: bool) -> _T:
        """Calls `exchange` when the budget, the pace, a pause and the other requests allow it."""
        while True:
            self._check_budget(request)
            await self._resume()
            await self._keep_pace(deliberate=deliberate)
            async with self.limiter:
                if not self.limit_watch.is_silent:
                    self._check_budget(request)
                    return await exchange()

    async def _send_once(
        self, request: Request, purpose: str, retry_of: str, nonce: str, *, deliberate: bool, fresh: bool
    ) -> Answer:
        """`nonce`: for the proof, in place of the last one received. `fresh`: on a new connection.

        `deliberate`: a 429 is provoked, and says nothing about the rate that the target accepts.
        """

        async def exchange() -> Answer:
            if limit := self.limit_watch.lasting_limit(request):
                raise LimitPersists(limit)
            return await self._exchange(request, purpose, nonce, fresh=fresh)

        answer = await self._in_turn(request, exchange, deliberate=deliberate)
        await self._examine_silence(answer)
        self.limit_watch.note(answer, deliberate=deliberate)
        if not deliberate:
            self.limiter.note_answer(answer.status == 429)
            self.adaptive_pacer.note_answer(answer.status == 429)
        await asyncio.sleep(0)  # the request that waited for this one's place goes out before this answer is judged
        if self._guard is not None:
            self._guard.note_answer(answer)
        self._recorder.record(answer, retry_of)
        return answer

    async def examine_limits(self) -> None:
        """Pauses sending and examines whether the callers last answered 429 are limited permanently."""
        await self.limit_watch.examine(self._repeat_after_recovery, self.limiter.idle)

    async def _repeat_after_recovery(self, request: Request) -> Answer:
        """One more attempt while other sending is paused."""
        self._check_budget(request)
        answer = await self._exchange(request, "after the recovery", "")
        self.limit_watch.note(answer, deliberate=False)
        if self._guard is not None:
            self._guard.note_answer(answer)
        self._recorder.record(answer)
        return answer

    async def _examine_silence(self, answer: Answer) -> None:
        """Sends a read that was answered before the target counts as unreachable: many calls may bring lost answers."""
        if answer.ok and (answer.request.method or answer.request.operation.method) == "GET":
            self._known_read = answer.request
        if self._silent_count < _DEAD_AFTER or self._is_examined:
            return
        if self._known_read is not None:
            self._is_examined = True  # the other lanes go on until it is known
            self._recorder.record(await self._exchange(self._known_read, "whether the target still answers", ""))
            self._is_examined = False
        self._is_silent = self._silent_count >= _DEAD_AFTER

    def _check_budget(self, request: Request) -> None:
        if self._limits.read_only and (request.method or request.operation.method) != "GET":
            raise NotSent(f"the run is read-only, and {request.operation.id} may change state")
        self.check_limits()

    def check_limits(self) -> None:
        """Raises BudgetExhausted where the run may send nothing more, TargetSilent where the target is silent."""
        if self.requests >= self._limits.max_requests:
            self.limit_reached = f"max_requests = {self._limits.max_requests}"
        if self._is_silent:
            self.limit_reached = f"the target stopped answering: {self._trouble}"
            raise TargetSilent(self.limit_reached)
        if self.limit_reached:
            raise BudgetExhausted(self.limit_reached)

    def _serialize(self, request: Request, nonce: str) -> tuple[Wire, str]:
        if self._guard is not None:
            self._guard.note_request(request)
        wire = request.wire(self.transport.prefix)
        url = self.transport.origin + wire.target
        if request.proof is not None:
            proof_text = request.proof.write(wire.method, self._token_url or url.split("?")[0], nonce)
            # every encoding of the whole proof contains the encoded signature
            signature = proof_text.rpartition(".")[2]
            is_secret = len(signature) >= _PROOF and len({*signature}) > 1  # one of zeros is a usual text
            proof = signature if is_secret else proof_text
            self._secrets.add_ephemeral_secrets("dpop.proof", [proof] if len(proof) >= _PROOF else [])
            headers = wire.headers + (("DPoP", proof_text),) * request.proof.copies
            wire = replace(wire, headers=headers)
        return wire, url

    async def _exchange(self, request: Request, purpose: str, nonce: str, *, fresh: bool = False) -> Answer:
        self.requests += 1
        nonce = (nonce or self.nonce) if request.proof is not None else ""
        wire, url = self._serialize(request, nonce)
        at = self.elapsed_s
        raw = await self.transport.send(wire, fresh=fresh)
        self.key_uses.note(request, at, at + raw.duration_s)
        self._silent_count = self._silent_count + 1 if raw.status is None else 0
        if self._silent_count == _DEAD_AFTER:
            self._trouble = " ".join(self._secrets.clean_truncated(raw.trouble).split())[:200]
        if raw.status == 200:
            name = request.operation.id
            self.slowest_s[name] = max(raw.duration_s, self.slowest_s.get(name, 0.0))
        answer = Answer(
            id=f"{self._prefix}{next(self._ids)}",
            request=request,
            url=url,
            sent_headers=wire.headers,
            sent_body=wire.content or b"",
            status=raw.status,
            headers=raw.headers,
            body=raw.body[:_TRUNCATED_BODY_LIMIT] if raw.truncated else raw.body,
            truncated=raw.truncated,
            trouble=raw.trouble,
            at=at,
            duration_s=raw.duration_s,
            purpose=purpose,
            nonce=nonce,
        )
        self.content_uses.note(answer)
        if await self._memory_budget.admit(answer):
            return answer
        return replace(answer, body=answer.body[:_TRUNCATED_BODY_LIMIT], truncated=True, is_discarded=True)
