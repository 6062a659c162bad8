"""Runs for the tests of reports: a small one with every outcome, a big one, and one whose every text is hostile."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable

from conformance.core.model import (
    Exchange,
    Message,
    OperationInfo,
    ProfileInfo,
    RequirementRow,
    Result,
    Run,
    Suite,
    Waiver,
)
from conformance.core.outcomes import Level, Outcome, Stability
from conformance.judge.assemble import assemble
from conformance.judge.causes import causes_of, with_causes
from conformance.judge.missing_facts import missing_facts
from conformance.judge.profile_places import with_places
from conformance.judge.scope import scope_of
from conformance.judge.verdict import counts_of, requirement_rows, tiers_of, verdict_of, with_waivers
from tests.support.journals import CONTRACT, END, journal
from tests.support.values import replace

OPERATIONS = tuple(operation.info for operation in CONTRACT.all)
REQUIREMENTS = tuple(CONTRACT.requirements.values())
PROVEN = frozenset(operation.id for operation in OPERATIONS)
LINES = {"base_url": 3, "credentials": 9, "idempotency": 20, "operations.quotePublicCart": 41}
"""Of the profile's keys."""
BASE = "https://shop.example.test/commerce"
JSON = (("content-type", "application/json"),)


def exchange(name: str, operation: OperationInfo, status: int | None = 200, **changes: object) -> Exchange:
    """One exchange as the journal holds it."""
    body = '{"data":{"id":"ep_17","state":"open"}}' if status == 200 else '{"error":{"code":"no","message":"refused"}}'
    made = Exchange(
        id=name,
        operation=operation.id,
        method=operation.method,
        url=BASE + operation.path.replace("{", "").replace("}", "-1"),
        request=Message(
            headers=(("authorization", "Bearer «credential:full»"), ("idempotency-key", f"run-7-{name}"), *JSON),
            body='{"revision":3}' if operation.method in ("POST", "PATCH", "DELETE") else "",
            body_bytes=14,
        ),
        status=status,
        response=Message(headers=(*JSON, ("x-request-id", f"req-{name}")), body=body, body_bytes=len(body)),
        at=0.5,
        duration_ms=12.5,
        credential="full",
        purpose="control",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def run_of(
    results: Iterable[Result],
    exchanges: Iterable[Exchange] = (),
    waivers: tuple[Waiver, ...] = (),
    *,
    proven: Collection[str] = PROVEN,
    **changes: object,
) -> Run:
    """A run of these results and no others, by the judge's functions. `proven`: operations with a proven control.

    What is counted of the exchanges is read from a small journal of them; the results that the invariants would add,
    and the proof of each control, are left out.
    """
    exchanges = tuple(exchanges)
    counted = assemble(journal(exchanges, end=END, filtered=True))
    unproven = [operation for operation in counted.coverage if operation not in proven]
    results = with_waivers(with_causes(results), waivers, unproven)
    unverified = bool(changes.get("unverified"))
    tiers = tiers_of(results, REQUIREMENTS, OPERATIONS, waivers, proven, whole=True, unverified=unverified)
    verdict = verdict_of(results, waivers, whole=True, unproven=unproven, tiers=tiers)
    run = replace(
        counted,
        suite=Suite("0.1.0", "a" * 64, "b" * 64),
        target=BASE,
        profile=ProfileInfo("staging", "c" * 64, "profiles/staging.toml", LINES),
        filtered=False,
        verdict=verdict,
        scope=scope_of(results, REQUIREMENTS, OPERATIONS, proven, unverified=unverified),
        tiers=tiers,
        counts=counts_of(results),
        requirements=requirement_rows(REQUIREMENTS, results),
        results=results,
        causes=with_places(causes_of(results, REQUIREMENTS), REQUIREMENTS, LINES),
        missing=missing_facts(results),
        waivers=waivers,
        exchanges=exchanges,
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def result(requirement: str, operation: str, outcome: Outcome, **changes: object) -> Result:
    subject, name = {"A": ("authentication", "absent_credential"), "I": ("idempotency", "replay_is_equal")}.get(
        requirement[0], ("contract", requirement.lower().replace("-", "_"))
    )
    check = f"check_{subject}::{name}"
    made = Result(
        check=check,
        requirement=requirement,
        operation=operation,
        case="",
        outcome=outcome,
        duration_ms=34.0,
        reproduce=f"conformance run --profile profiles/staging.toml -k '{name} and {operation}'",
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def small() -> Run:
    """A run with each outcome, a control on which others rest, a waiver, and a status nobody declared."""
    by_name = {o.id: o for o in OPERATIONS}
    generator = random.Random(7)
    exchanges: list[Exchange] = []
    results: list[Result] = []
    for index, requirement in enumerate(REQUIREMENTS):
        for position, operation in enumerate(OPERATIONS):
            if (index * 7 + position * 3) % 5 < 2:
                name = f"x{len(exchanges) + 1}"
                status = generator.choice((200, 200, 200, 400, 401, 403, 404, 409))
                took = generator.lognormvariate(3, 0.6) * (1 + position / 10)
                exchanges.append(exchange(name, operation, status, duration_ms=took, at=len(exchanges) / 30))
                passed = {"exchanges": (name,), "level": requirement.level}
                results.append(result(requirement.id, operation.id, Outcome.PASSED, **passed))
    results += _told(exchanges, by_name)
    waiver = Waiver(
        "ERR-1",
        "the gateway answers for the shop",
        "team-edge",
        "EDGE-41",
        "2026-01-31",
        "quotePublicCart",
        state="active",
    )
    stale = Waiver("RATE-2", "was mended in October", "team-edge", "EDGE-12", "2025-10-01", state="expired")
    return run_of(results, exchanges, (waiver, stale))


def _told(exchanges: list[Exchange], by_name: dict[str, OperationInfo]) -> list[Result]:
    """Results of every outcome but passed."""
    found = []
    for operation in ("getApiKeyIdentity", "checkoutPublicCart", "quotePublicCart", "revokePublicCart"):
        control = exchange(f"x{len(exchanges) + 1}", by_name[operation])
        bad = exchange(f"x{len(exchanges) + 2}", by_name[operation], purpose="no Authorization")
        bad = replace(bad, request=replace(bad.request, headers=JSON), credential="")
        exchanges += [control, bad]
        found.append(
            result(
                "AUTH-1",
                operation,
                Outcome.FAILED,
                case="no Authorization header",
                message="a request without a credential was served",
                expected="401 with PublicErrorResponse",
                observed="200 with data of the installation",
                exchanges=(control.id, bad.id),
                signature="AUTH-1:served:200",
            )
        )
    ticket = by_name["consumeHostedCheckoutBrowserTicket"]
    exchanges.append(exchange(f"x{len(exchanges) + 1}", ticket, 500))
    cause = f"control:{ticket.id}"
    observed = {"expected": "200 with {data: object}", "observed": "500", "exchanges": (exchanges[-1].id,)}
    found.append(
        result("STA-2", ticket.id, Outcome.FAILED, message="the control was not served", cause=cause, **observed)
    )
    rests = {"message": f"the control of {ticket.id} was not proven", "cause": cause}
    found += [result(name, ticket.id, Outcome.INCONCLUSIVE, **rests) for name in ("BODY-1", "BODY-2", "HO-2", "HO-3")]
    gate = {
        "message": "an HTML page instead of an error body",
        "observed": "text/html, 1,204 bytes",
        "expected": "JSON",
    }
    found.append(result("ERR-1", "quotePublicCart", Outcome.FAILED, **gate, check="invariant::ERR-1"))
    soft = {
        "message": "WWW-Authenticate is missing",
        "expected": "a challenge (RFC 9110)",
        "observed": "no such header",
    }
    found += [result("AUTH-3", o.id, Outcome.WARNED, **soft, level=Level.RECOMMENDED) for o in OPERATIONS[:5]]
    return [*found, *_gaps()]


def _gaps() -> list[Result]:
    """What was not judged: open, unstated, excluded, or a further case."""
    idle = {"message": "3 open carts are needed, 1 was left", "notes": ("the static list was used up",)}
    found = [result("IDEM-7", o.id, Outcome.INCONCLUSIVE, **idle) for o in OPERATIONS[10:13]]
    lacking = {"message": "a fixture is needed: state fixtures.foreign", "fact": "fixtures.foreign"}
    found += [result("TEN-1", o.id, Outcome.UNSTATED, **lacking) for o in OPERATIONS[5:13]]
    reason = "the staging system is shared"
    excluded = {"message": f"excluded by the profile (rate_limit): {reason}", "fact": "rate_limit", "exclusion": reason}
    found += [result("RATE-1", o.id, Outcome.INAPPLICABLE, **excluded) for o in OPERATIONS[:3]]
    further = {"message": "an optional case: no member of the body takes 1,500 characters", "further": True}
    found += [result("IDEM-4", o.id, Outcome.INAPPLICABLE, **further) for o in OPERATIONS[10:12]]
    found.append(result("OA-7", "exchangeOAuthToken", Outcome.UNTESTED, message="nothing was sent"))
    return found


def big(results: int = 1_000, exchanges: int = 20_000) -> Run:
    """A run of the size that the figures are demanded at; a third of its results tell of trouble."""
    generator = random.Random(11)
    sent = []
    for number in range(exchanges):
        operation = OPERATIONS[number % len(OPERATIONS)]
        status = generator.choice((200, 200, 200, 400, 401, 403, 404, 409, 429, 500))
        body = '{"data":{"items":[' + ",".join(f'"{generator.random()}"' for _ in range(60)) + "]}}"
        answer = Message(
            (*JSON, ("x-request-id", str(number)), ("date", "Thu, 20 Nov 2025 21:04:05 GMT")), body, len(body)
        )
        took = generator.lognormvariate(3, 0.7)
        sent.append(exchange(f"x{number}", operation, status, response=answer, duration_ms=took, at=number / 800))
    outcomes = (Outcome.PASSED,) * 15 + tuple(Outcome)
    judged = []
    for number in range(results):
        outcome = outcomes[number % len(outcomes)]
        requirement, operation = REQUIREMENTS[number % len(REQUIREMENTS)], OPERATIONS[(number // 3) % len(OPERATIONS)]
        cited = tuple(f"x{generator.randrange(exchanges)}" for _ in range(3))
        told = {} if outcome is Outcome.PASSED else {"message": f"message {number % 40} of it", "observed": "500"}
        judged.append(result(requirement.id, operation.id, outcome, case=f"case {number}", exchanges=cited, **told))
    return run_of(judged, sent)


PAYLOADS = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=2</script>",
    "<img src=x onerror=window.pwned=3>",
    '" onmouseover="window.pwned=4" autofocus onfocus="window.pwned=5',
    "<!--<script>",
    "]]></failure><failure/>",
    "javascript:window.pwned=6",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]52;c;cHduZWQ=\x07 \x9b2J",
    "\u202etxt.exe\u2066 \u200b\ufeff",
    "nul \x00 and \x08\x7f\x85",
    "lone \ud800 and \udfff, \ufffe\uffff",
    "{{ 7*7 }} {% raw %}",
    "| a | b |\n# head\n~~~\n``` [x](javascript:alert(1)) @everyone #1 <b>",
    "[bold red]markup[/] &amp; &lt;",
    "'; rm -rf / #$(id)`id`",
    "\u2028\u2029",
)


def _told_in(text: str) -> list[Result]:
    """Two results of each outcome, every member hostile, one message a megabyte long."""
    outcomes = [o for o in Outcome for _ in range(2)]
    return [
        Result(
            check=f"check_x::{text}",
            requirement="ENV-1" if number % 2 else text,
            operation=OPERATIONS[number].id if number % 2 else text,
            case=text,
            outcome=outcome,
            message=text + ("m" * 1_000_000 if number == 2 else ""),
            expected=text,
            observed=text,
            exchanges=("x0" + text, "x1", "x-missing"),
            reproduce=text,
            cause=text if number % 3 else "",
            fact=text,
            exclusion=text if outcome is Outcome.INAPPLICABLE else "",
            signature=text,
            notes=(text,) * 3,
        )
        for number, outcome in enumerate(outcomes)
    ]


def hostile() -> Run:
    """Every text that a target, a profile or an operating system can reach holds every payload."""
    text = " ".join(PAYLOADS)
    base = small()
    stale = Waiver(text, text, text, text, text, state="expired")
    sent = [
        replace(
            exchange("x0", OPERATIONS[0], 200),
            id="x0" + text,
            url=BASE + "/" + text,
            method="POST",
            request=Message(((text, text), ("authorization", "«credential:" + text + "»")), text, len(text)),
            response=Message((("x", text),), text, len(text)),
            trouble=text,
            purpose=text,
            credential=text,
        ),
        replace(exchange("x1", OPERATIONS[1], None), response=Message((), "y" * 1_000_000, 1_000_000), trouble=text),
    ]
    told = _told_in(text)
    row = RequirementRow(text, Level.REQUIRED, text, text, Outcome.FAILED, {text: Outcome.FAILED, "": Outcome.PASSED})
    return replace(
        run_of(
            told, sent, (replace(stale, reason=text, owner=text, issue=text, until=text, operation=text, case=text),)
        ),
        target=text,
        profile=ProfileInfo(text, text, text),
        started_at=text,
        finished_at=text,
        requirements=(*base.requirements, row),
        coverage={**base.coverage, text: {"200": 3, "777": 1}},
        coverage_reasons={**base.coverage_reasons, text: {"400": text}},
        operations=(*OPERATIONS, OperationInfo(text, "GET", "/" + text, Stability.STABLE)),
        interrupted=text,
        filtered=True,
        suite=Suite(text, text, text),
    )
