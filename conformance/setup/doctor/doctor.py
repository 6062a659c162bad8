"""`conformance doctor`: proves the facts of a profile against the target before a run."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from conformance.checks.support.context import Runtime
from conformance.client.reachability import reach
from conformance.client.send_errors import BudgetExhausted, LimitPersists, TargetSilent
from conformance.core import json_pointer as pointer
from conformance.core.messages import join_values
from conformance.core.model import Exchange
from conformance.core.run_options import RunOptions
from conformance.engine.open_context import open_context
from conformance.engine.session import Session
from conformance.journal.journal import MemoryJournal
from conformance.journal.lines import ExchangeRecorded
from conformance.profile.subschema import Root
from conformance.setup.doctor import addresses, credentials, fixtures, placeholders
from conformance.setup.doctor.behavior import LIMIT_PURPOSES
from conformance.setup.doctor.facts import Fact, note, open_question, proven, unsure, wrong
from conformance.setup.doctor.operations import OperationStages
from conformance.setup.doctor.run_limit import run_limit_facts
from conformance.setup.plan.plan import Plan, plan

ProgressCallback = Callable[[str], None]
Stage = Callable[[Runtime], Awaitable[list[Fact]]]
_STAGES = (
    "address",
    "clock",
    "credentials",
    "fixtures",
    "placeholders",
    "controls",
    "idempotency",
    "errors",
    "search",
    "pointers",
    "effects",
    "transitions",
    "bodies",
    "lifetimes",
    "order",
    "limit_switch",
)
_PROGRESS_EVERY_S = 1.0
_LIMIT_HEADERS = ("ratelimit", "x-ratelimit", "x-rate-limit", "retry-after")


def examine(options: RunOptions, on_progress: ProgressCallback, *, spend: bool) -> tuple[list[Fact], Plan]:
    """The facts of a profile, and the plan of a run. `spend` uses up listed fixtures.

    The callback gets a line at the start of each stage and every second: the stage, the requests, the time.

    Raises ConformanceError for a profile that does not load, a missing secret, and an unreachable target.
    """
    journal = MemoryJournal()
    session = Session(options, journal=journal)
    facts = [proven("profile", f"{session.profile.name}: every key is known, every secret is available")]
    reach(session.profile, session.deadline_s)
    facts += [*_host_facts(session), *_tls_facts(session)]
    facts += asyncio.run(_run_stages(session, on_progress, spend=spend))
    if not any(fact.name == "base_url" for fact in facts):  # it may have stopped answering
        facts.append(proven("base_url", f"{session.profile.base_url} answers"))
    exchanges = [line.exchange for line in journal.lines if isinstance(line, ExchangeRecorded)]
    facts += [*_schema_facts(session, exchanges), *_body_facts(session), *_rate_limit_facts(session, exchanges)]
    run_plan = plan(session.profile, session.contract, session.instances, session.concurrency)
    clean = session.secrets.clean
    return [
        replace(fact, message=clean(fact.message), advice=clean(fact.advice))
        for fact in (*facts, *_need_facts(run_plan))
    ], run_plan


async def _run_stages(session: Session, on_progress: ProgressCallback, *, spend: bool) -> list[Fact]:
    facts: list[Fact] = []
    async with open_context(session.settings_for(())) as runtime:
        operation_stages = OperationStages(runtime, spend=spend)
        stages: tuple[Stage, ...] = (
            addresses.address_facts,
            credentials.clock_facts,
            credentials.credential_facts,
            fixtures.fixture_facts,
            placeholders.placeholder_facts,
            *(_stage_of(operation_stages, name) for name in _STAGES[5:]),
        )
        progress = _Progress(runtime, on_progress)
        try:
            async with asyncio.timeout(session.deadline_s), progress:
                for name, stage in zip(_STAGES, stages, strict=True):
                    progress.enter(name)
                    facts += await stage(runtime)
                    if (name == "address" and facts) or (name == "credentials" and _has_no_key(facts)):
                        break  # without the address or an accepted key, nothing more can be proven
        except TargetSilent as error:
            facts.append(wrong("base_url", str(error), "is there a proxy between this machine and the service?"))
        except TimeoutError:
            message = (
                f"ended early, at the stage {progress.stage}: the deadline of {session.deadline_s:g} s was reached"
            )
            facts.append(open_question("limits", message, "give a larger --deadline"))
        except BudgetExhausted as error:
            message = f"ended early, at the stage {progress.stage}: {error}"
            is_of_target = isinstance(error, LimitPersists)
            advice = "try again later, or state a lower limits.rate" if is_of_target else "raise the limit"
            facts.append(open_question("limits", message, advice))
    return facts


def _has_no_key(facts: list[Fact]) -> bool:
    """Whether keys are stated, and none was accepted."""
    found = [fact for fact in facts if fact.name == "authorization.format"]
    keys = [fact for fact in facts if fact.name.startswith("credentials.")]
    return any(fact.state == "wrong" for fact in found) or (not found and any(fact.is_open for fact in keys))


class _Progress:
    """Tells a callback the stage, the requests and the time, at each stage and every second."""

    def __init__(self, runtime: Runtime, on_progress: ProgressCallback) -> None:
        self.stage = _STAGES[0]
        self._runtime = runtime
        self._on_progress = on_progress
        self._started = time.monotonic()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> None:
        self._task = asyncio.ensure_future(self._repeat())

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()

    def enter(self, stage: str) -> None:
        self.stage = stage
        self._tell()

    def _tell(self) -> None:
        elapsed_s = time.monotonic() - self._started
        self._on_progress(f"proving {self.stage}: {self._runtime.sender.requests:,} requests, {elapsed_s:.0f} s")

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(_PROGRESS_EVERY_S)
            self._tell()


def _stage_of(operation_stages: OperationStages, name: str) -> Stage:
    stage: Callable[[], Awaitable[list[Fact]]] = getattr(operation_stages, name)
    return lambda _: stage()


def _host_facts(session: Session) -> Iterator[Fact]:
    """All hosts that requests are sent to."""
    profile = session.profile
    urls = [fixture.http.url for states in profile.fixtures.values() for fixture in states.values() if fixture.http]
    urls += [sign.http.url for signs in profile.effects.values() for sign in signs if sign.http]
    urls += [call.url for call in (profile.rate_limit.prepare, profile.rate_limit.restore) if call]
    urls += [cleanup.http.url for cleanup in profile.cleanup.values()]
    other_hosts = sorted({urlsplit(url).netloc for url in urls} - {urlsplit(profile.base_url).netloc})
    yield note("hosts", f"{urlsplit(profile.base_url).netloc} and {', '.join(other_hosts) or 'no other'}")


def _tls_facts(session: Session) -> Iterator[Fact]:
    parts = urlsplit(session.profile.base_url)
    if parts.scheme != "https":
        loopback = parts.hostname in ("127.0.0.1", "::1", "localhost")
        if not loopback:
            yield unsure("tls", "plain http: keys are sent unencrypted", "use https")
        return
    if not session.profile.tls.verify:
        yield unsure("tls.verify", "the certificate is not verified", "state tls.ca_file instead")
        return
    if session.profile.limits.proxy:
        yield note("tls", "verified, through the proxy")
        return
    with suppress(OSError, ssl.SSLError, ValueError):  # `reach` has verified it; this reads its expiry date
        ca_file = session.profile.tls.ca_file
        context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
        with (
            socket.create_connection((parts.hostname or "", parts.port or 443), timeout=5) as tcp_socket,
            context.wrap_socket(tcp_socket, server_hostname=parts.hostname) as tls_socket,
        ):
            days = (ssl.cert_time_to_seconds(str((tls_socket.getpeercert() or {})["notAfter"])) - time.time()) / 86_400
            message = f"{tls_socket.version()}, verified, the certificate expires in {days:.0f} days"
            yield proven("tls", message) if days > 14 else unsure("tls", message, "renew it")


def _schema_facts(session: Session, exchanges: list[Exchange]) -> Iterator[Fact]:
    """Whether real answers validate. A finding is due to the schema or to the target; the schema is reported."""
    if not session.profile.schemas.by_name:
        yield note("schemas", "none are stated", "with [schemas], answers and bodies are judged in detail")
        return
    problems: dict[str, str] = {}
    judged_count = 0
    about_schemas = {"ENV-4"} | ({"ERR-1"} if "PublicErrorResponse" in session.profile.schemas.by_name else set())
    for exchange in exchanges:
        judged_count += bool(about_schemas & set(exchange.judged))
        for finding in exchange.findings:
            if finding.requirement in about_schemas:
                operation = session.contract.operations[exchange.operation]
                name = operation.response_schema if exchange.status == 200 else "PublicErrorResponse"
                problems.setdefault(name, f"{exchange.operation}, {exchange.status}: {finding.message}")
    for name, message in problems.items():
        yield wrong(f"schemas.{name}", message, "is the schema right? If it is, a run will report the target")
    if not problems and judged_count:
        yield proven("schemas", f"{judged_count} answers validate")


def _body_facts(session: Session) -> Iterator[Fact]:
    """The members that a schema names and the good body lacks: a check of a member changes the value that it has."""
    profile = session.profile
    key = pointer.tokens(profile.idempotency.place)[:1] if profile.idempotency and profile.idempotency.place else []
    for name, facts in profile.operations.items():
        schema = profile.body_schema(session.contract.operations[name].request_schema)
        if not isinstance(facts.body, Mapping) or not isinstance(schema, Mapping):
            continue
        members = {member for part in Root(schema).subschemas(schema, []) for member in part.get("properties", ())}
        if absent := sorted(members - facts.body.keys() - {*key}):
            message = f"has no {join_values(absent, 5)}, which the schema names: some checks of them are left out"
            yield note(f"operations.{name}.body", message, "give each optional member a value, also one that is false")


def _rate_limit_facts(session: Session, exchanges: list[Exchange]) -> Iterator[Fact]:
    exchanges = [exchange for exchange in exchanges if exchange.purpose not in LIMIT_PURPOSES]
    limited = sum(exchange.status == 429 for exchange in exchanges)
    headers = {
        name: value
        for entry in exchanges
        for name, value in entry.response.headers
        if name.lower().startswith(_LIMIT_HEADERS)
    }
    observations = [f"{limited} of {len(exchanges)} answers were 429"] if limited else []
    observations += [f"{name}: {value}" for name, value in list(headers.items())[:4]]
    if not observations:
        yield note("rate limit", f"none seen in {len(exchanges)} requests")
    elif limited and session.profile.limits.rate is None and "rate_limit" not in session.profile.exclusions:
        yield unsure("limits.rate", "; ".join(observations), "state a rate that the target accepts: runs become faster")
    else:
        yield note("rate limit", "; ".join(observations))
    yield from run_limit_facts(session.profile.rate_limit, exchanges)


def _need_facts(run_plan: Plan) -> Iterator[Fact]:
    for need in run_plan.needs:
        name = f"fixtures.{need.fixture}.values"
        if need.is_short:
            yield unsure(name, f"{need.listed} are listed, a full run uses up to {need.maximum}", "list more")
        elif need.listed is not None:
            yield proven(name, f"{need.listed} are listed, a full run uses up to {need.maximum}")
