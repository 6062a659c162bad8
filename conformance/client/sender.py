"""The one way out to the target: budget, pace, back-off after 429s and gateway trouble, the DPoP nonce, the record."""

from __future__ import annotations

import asyncio
import email.utils
import math
import random
import time
from collections import deque
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Final

from conformance.client.fixtures import NotSent
from conformance.client.limit_watch import LastingLimit, LimitWatch
from conformance.client.memory_budget import Room
from conformance.client.raw_socket import Moment
from conformance.client.recorder import Recorder
from conformance.client.redaction.learn import Guard
from conformance.client.redaction.secrets import Secrets
from conformance.client.request import Request, Wire, repeatable
from conformance.client.response import Answer
from conformance.client.throttle import Follower, Gate, Pacer
from conformance.client.wait_stats import Waiting
from conformance.journal.lines import TrafficStats
from conformance.profile.model import Limits

if TYPE_CHECKING:
    from conformance.client.transport import Transport

GATEWAY_ATTEMPTS: Final = 20
"""At most, where every other request meets gateway trouble."""
_UNANSWERED: Final = 1e-6
"""As often as that may trouble that comes by chance be all that a request gets, however many repeats that takes."""
HOPELESS_ATTEMPTS: Final = 4
"""Once repeating did not help several times: the trouble is tied to what is asked."""
_JITTER: Final = random.Random()
"""Not the module's own, whose state hypothesis watches while it draws in another thread."""
_CHALLENGES: Final = 2
"""So many DPoP nonces are followed for one answer: with several requests in flight the first may be spent already."""
_LONGEST_WAIT_S: Final = 5.0
_LONGEST_RETRY_AFTER_S: Final = 30.0
_DEAD_AFTER: Final = 60
"""So many exchanges in a row without any answer, and the target counts as gone."""
_KEPT: Final = 64 * 1024
"""So much is kept of a body that is too long to be judged: some evidence."""
_PROOF: Final = 40
"""What is shorter is no proof that anybody could use, but a word that a check put in its place."""


class BudgetExhausted(Exception):
    """No more requests may be sent in this run; says which limit was reached."""


class TargetSilent(BudgetExhausted):
    """Nothing that can be read came for so long that nobody asks any more; says what came instead."""


class StillLimited(BudgetExhausted):
    """Nothing more is sent for a caller, or under an idempotency key, whose limit does not end."""

    def __init__(self, limit: LastingLimit) -> None:
        super().__init__(limit.message)
        self.limit = limit


class Flow:
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
        sent: int = 0,
        since_s: float = 0.0,
        guard: Guard | None = None,
        limit_watch: LimitWatch | None = None,
    ) -> None:
        """`sent`: requests of earlier parts of the run; `since_s`: how long ago the run began."""
        self.gate = Gate(concurrency)
        self.waiting = Waiting()
        self.requests = sent
        self.exhausted = ""
        self._transport = transport
        self._recorder = recorder
        self._secrets = secrets
        self._limits = limits
        self._room = Room()
        self._pace = Pacer(limits.rate)
        self.follow = Follower()
        self._helped: deque[bool] = deque(maxlen=8)
        """Of the last requests that met gateway trouble, whether repeating helped."""
        self._met: deque[bool] = deque(maxlen=60)
        """Of the last requests, whether they met it at first."""
        self._token_url = token_url
        self._prefix = prefix
        self._guard = guard
        self.limit_watch = limit_watch or LimitWatch(None)
        self.limit_watch.on_found(self.follow.forget)
        self._ids = count(1)
        self.nonce = ""
        self._silent = 0
        self._trouble = ""
        self.slowest_s: dict[str, float] = {}
        """By operation, how long its slowest 200 took."""
        self._began = time.perf_counter() - since_s

    @property
    def traffic_stats(self) -> TrafficStats:
        """For the journal's last line."""
        slowest = self.follow.slowest
        return TrafficStats(
            waited_s=round(self.waiting.total_s, 3),
            waited_clock_s=round(self.waiting.clock_s, 3),
            limited=self.waiting.times["429"],
            lost=self.waiting.times["lost"],
            most_in_flight=self.gate.most_in_flight,
            slowest_rate=round(slowest, 2) if slowest else None,
        )

    @property
    def waited_s(self) -> float:
        """Added up over all requests."""
        return self.waiting.total_s

    async def send(
        self,
        request: Request,
        purpose: str = "",
        *,
        take: frozenset[int] = frozenset(),
        patience_s: float | None = None,
    ) -> Answer:
        """One answer that is worth judging.

        A 429 is waited out and gateway trouble repeated, unless its status is in `take`. What persists is returned as
        it is. Raises BudgetExhausted, StillLimited where nothing but 429 would come, and NotSent for a request that a
        read-only run must not send.
        """
        patience = self._limits.patience_s if patience_s is None else patience_s
        limited = troubled = challenges = 0
        waited = 0.0
        first, lost, nonce = "", False, ""
        while True:
            answer = await self._once(request, purpose, first, nonce, deliberate=429 in take)
            if not first:
                first = answer.id
                self._met.append(answer.gateway_trouble)
            if answer.status == 429 and 429 not in take:
                limited += 1
                why, wait = "429", self._back_off(answer, limited)
                if waited + wait > patience:
                    break
                await self.limit_watch.consider(request, self._ask_again, self.gate.idle)
            elif answer.gateway_trouble and (answer.status or 0) not in take:
                troubled += 1
                why, wait = "lost", min(0.5, 0.05 * 2**troubled)
                lost = lost or answer.status is None
                if troubled >= self._attempts:
                    break
            elif (challenge := self._challenge(answer)) and challenges < _CHALLENGES:
                nonce = challenge  # a server may want each one just once: of several requests each has its own
                challenges += 1
                continue
            else:
                self._learn(answer)
                break
            waited += wait
            async with self.waiting.out(why, wait):
                await (self.limit_watch.pause(wait) if why == "429" else asyncio.sleep(wait))
        if troubled:
            self._helped.append(not answer.gateway_trouble)
        return replace(answer, doubtful=True) if lost and not repeatable(request) else answer

    @property
    def _attempts(self) -> int:
        """How often gateway trouble is met before it is an answer."""
        if len(self._helped) >= 3 and sum(self._helped) * 2 < len(self._helped):
            return HOPELESS_ATTEMPTS
        share = (sum(self._met) + 1) / (len(self._met) + 2)
        needed = math.ceil(math.log(_UNANSWERED) / math.log(share))
        return max(HOPELESS_ATTEMPTS, min(GATEWAY_ATTEMPTS, needed))

    async def abandon(self, request: Request, moment: Moment) -> bool:
        """Sends a request whose answer nobody waits for; tells whether it was sent as far as `moment` says."""
        self._check_budget(request)
        await self.limit_watch.resume()
        await self._in_turn(deliberate=True)
        async with self.gate:
            self.requests += 1
            wire, _ = self._written(request, self.nonce)
            return await self._transport.abandon(wire, moment)

    def _back_off(self, answer: Answer, attempt: int) -> float:
        own = _JITTER.uniform(0.5, 1) * float(min(_LONGEST_WAIT_S, 0.05 * 2**attempt))
        told = _retry_after(answer.header("Retry-After")) or 0.0
        return max(own, min(told, _LONGEST_RETRY_AFTER_S) + _JITTER.uniform(0, 0.05))

    def _challenge(self, answer: Answer) -> str:
        """The nonce that a server demanded instead of the request's (RFC 9449 section 8), or nothing."""
        nonce = _told_nonce(answer)
        demanded = answer.request.proof is not None and answer.status in (400, 401) and nonce != answer.nonce
        return nonce if demanded else ""

    def _learn(self, answer: Answer) -> None:
        """Keeps for the next requests the nonce that comes with an answer (section 8.2), or that it was given for."""
        self.nonce = _told_nonce(answer) or (answer.nonce if answer.ok else "") or self.nonce

    async def _in_turn(self, *, deliberate: bool) -> None:
        """Keeps the pace that the profile states, and the one that the target was found to bear."""
        for why, pace in (("rate", self._pace), ("pace", self.follow)):
            if pace.rate and not (deliberate and pace is self.follow):
                async with self.waiting.out(why):
                    await pace()

    async def _once(self, request: Request, purpose: str, retry_of: str, nonce: str, *, deliberate: bool) -> Answer:
        """`nonce`: of a proof, instead of the last one that was seen.

        `deliberate`: a 429 is what is wanted, and says nothing about how much the target bears.
        """
        answer = None
        while answer is None:
            self._check_budget(request)
            await self.limit_watch.resume()
            await self._in_turn(deliberate=deliberate)
            async with self.gate:
                if self.limit_watch.silent:
                    continue
                self._check_budget(request)
                if lasting := self.limit_watch.lasting(request):
                    raise StillLimited(lasting)
                self.requests += 1
                answer = await self._exchange(request, purpose, nonce)
        self.limit_watch.note(answer, deliberate=deliberate)
        if not deliberate:
            self.gate.tell(answer.status == 429)
            self.follow.tell(answer.status == 429)
        if self._guard is not None:
            self._guard.received(answer)
        self._recorder.record(answer, retry_of)
        return answer

    async def examine_limits(self) -> None:
        """Finds out now, in silence, whether what was last answered 429 is limited for good."""
        await self.limit_watch.examine(self._ask_again, self.gate.idle)

    async def _ask_again(self, request: Request) -> Answer:
        """One more attempt, while nothing else may be sent."""
        self._check_budget(request)
        self.requests += 1
        answer = await self._exchange(request, "after the recovery", "")
        self.limit_watch.note(answer, deliberate=False)
        if self._guard is not None:
            self._guard.received(answer)
        self._recorder.record(answer)
        return answer

    def _check_budget(self, request: Request) -> None:
        if self._limits.read_only and (request.method or request.operation.method) != "GET":
            raise NotSent(f"the run is read-only, and {request.operation.id} may change state")
        if self.requests >= self._limits.max_requests:
            self.exhausted = f"max_requests = {self._limits.max_requests}"
        if self._silent >= _DEAD_AFTER:
            self.exhausted = f"the target stopped answering: {self._trouble}"
            raise TargetSilent(self.exhausted)
        if self.exhausted:
            raise BudgetExhausted(self.exhausted)

    def _written(self, request: Request, nonce: str) -> tuple[Wire, str]:
        if self._guard is not None:
            self._guard.sent(request)
        wire = request.wire(self._transport.prefix)
        url = self._transport.origin + wire.target
        if request.proof is not None:
            written = request.proof.write(wire.method, self._token_url or url.split("?")[0], nonce)
            signature = written.rpartition(".")[2]  # in every encoding of the whole proof that of its end stands, too
            proof = signature if len(signature) >= _PROOF else written
            self._secrets.passing("dpop.proof", [proof] if len(proof) >= _PROOF else [])
            headers = wire.headers + (("DPoP", written),) * request.proof.copies
            wire = replace(wire, headers=headers, exact=wire.exact or request.proof.copies > 1)
        return wire, url

    async def _exchange(self, request: Request, purpose: str, nonce: str) -> Answer:
        nonce = (nonce or self.nonce) if request.proof is not None else ""
        wire, url = self._written(request, nonce)
        at = time.perf_counter() - self._began
        raw = await self._transport.send(wire)
        self._silent = self._silent + 1 if raw.status is None else 0
        if self._silent == _DEAD_AFTER:
            self._trouble = " ".join(self._secrets.clean_torn(raw.trouble).split())[:200]
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
            body=raw.body[:_KEPT] if raw.truncated else raw.body,
            truncated=raw.truncated,
            trouble=raw.trouble,
            at=at,
            duration_s=raw.duration_s,
            purpose=purpose,
            nonce=nonce,
        )
        if await self._room.admit(answer):
            return answer
        trouble = f"{len(answer.body):,} bytes are more than the suite holds beside other large answers"
        return replace(answer, status=None, headers=(), body=b"", trouble=trouble)


def _told_nonce(answer: Answer) -> str:
    nonce = answer.header("DPoP-Nonce") or ""
    return nonce if len(nonce) < 1024 else ""


def _retry_after(value: str | None) -> float | None:
    """Seconds, from delay-seconds or an HTTP-date (RFC 9110 section 10.2.3); None where it says nothing usable."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
