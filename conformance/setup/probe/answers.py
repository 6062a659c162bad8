"""Volatile members of replays and errors, order of precedence of errors, rate limits and clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any, Final

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.setup.probe.access import IDENTITY
from conformance.setup.probe.context import Bench, Unarranged, settle
from conformance.setup.probe.idempotency import differences
from conformance.setup.probe.operations import CREATE, KINDS, UPDATE

_MOST_VOLATILE: Final = 12
_CLOCKS_AGREE_S: Final = 3
"""Tolerance for the clock offset: Date has a resolution of one second."""


async def replays(bench: Bench) -> None:
    """Replays successful requests, after a pause and after a change of the resource; states the members that differ."""
    if not bench.draft.knows("idempotency", "carrier"):
        return
    first = [a for a in bench.controls.values() if a.request.key and a.request.operation.idempotent and _repeatable(a)]
    firsts = [fresh for answer in first if (fresh := await _fresh(bench, answer.request.operation.id))]
    await settle()
    seen: dict[str, str] = {}
    for answer in firsts:
        _compare(bench, answer, await bench.send(answer.request, "replay"), "after a pause", seen)
    for one, other in _pairs(bench):
        await _after_change(bench, one, other, seen)
    if not bench.draft.stated("idempotency", "volatile"):
        if seen:
            told = "; ".join(f"{at} ({where})" for at, where in list(seen.items())[:4])
            bench.draft.state(
                ("idempotency", "volatile"), sorted(seen), f"differed in a replay: {told}. Remove members that must not"
            )
        elif firsts:
            bench.draft.note("idempotency", f"replays of {len(firsts)} operations were identical to the first answer")


def _repeatable(answer: Answer) -> bool:
    return answer.request.proof is None


async def _fresh(bench: Bench, name: str) -> Answer | None:
    try:
        answer = await bench.send(await bench.arrange(name), "first")
    except Unarranged:
        return None
    return answer if answer.ok else None


def _pairs(bench: Bench) -> Iterator[tuple[str, str]]:
    """Pairs of operations that are allowed in the same state of a fixture; the second one changes it."""
    by_state: dict[str, list[str]] = {}
    for name, answer in bench.controls.items():
        operation = answer.request.operation
        path = bench.draft.get("operations", name, "path") or {}
        if operation.idempotent and path and operation.path_parameters[0] != "id":
            by_state.setdefault(next(iter(path.values())), []).append(name)
    for names in by_state.values():
        yield names[0], names[0]
        yield from pairwise(names)
    if {CREATE, UPDATE} <= bench.controls.keys():
        yield CREATE, UPDATE


async def _after_change(bench: Bench, one: str, other: str, seen: dict[str, str]) -> None:
    try:
        first = await bench.send(await bench.arrange(one), "first")
        given = {"webhook": {"id": _created(bench, first)}} if one == CREATE else _members(first.request)
        changed = await bench.send(await bench.arrange(other, given=given), "change")
    except (*Unarranged, KeyError):
        return
    if first.ok and changed.ok:
        _compare(bench, first, await bench.send(first.request, "replay"), f"after {other}", seen)


def _created(bench: Bench, answer: Answer) -> Any:
    return pointer.get(answer.value, bench.draft.get("webhooks", "id") or "/data/id")


def _members(request: Request) -> dict[str, dict[str, Any]]:
    """The fixtures that a request uses, by kind."""
    given: dict[str, dict[str, Any]] = {}
    kinds = {kind for kind, _ in KINDS.values()}
    for name, value in request.scope.items():
        kind, _, rest = name.partition(".")
        if kind in kinds and rest:
            given.setdefault(kind, {})[rest.rpartition(".")[2]] = value
    return given


def _compare(bench: Bench, first: Answer, again: Answer, when: str, seen: dict[str, str]) -> None:
    name = first.request.operation.id
    if not again.ok:
        bench.draft.note("idempotency", f"{name}: a replay {when} got {again.summary} instead of 200")
        return
    found = {generalized(at) for at in differences(first.value, again.value)}
    if len(found) > _MOST_VOLATILE or any(at.lower().endswith("/data/id") for at in found):
        bench.draft.note("idempotency", f"{name}: a replay {when} got an unrelated answer: is the key ignored?")
        return
    for at in found:
        seen.setdefault(at, f"{name} {when}")


def generalized(at: str) -> str:
    """A pointer with `*` in place of every index."""
    return pointer.join(*("*" if token.isdigit() else token for token in pointer.tokens(at)))


async def errors(bench: Bench) -> None:
    """Repeats requests that were refused; states the members that differ between two answers to one request."""
    if bench.draft.stated("errors", "volatile"):
        return
    known: dict[tuple[str, int | None], Answer] = {}
    for answer in bench.answers:
        if answer.is_refused and isinstance(answer.value, dict) and answer.request.key is None:
            known.setdefault((answer.request.operation.id, answer.status), answer)
    if not bench.draft.knows("idempotency", "carrier"):  # otherwise `replays` has waited
        await settle()
    seen: dict[str, int] = {}
    compared = 0
    for first in list(known.values())[:6]:
        again = await bench.send(first.request, "error again")
        if again.status != first.status or not isinstance(again.value, dict):
            continue
        compared += 1
        found = {generalized(at) for at in differences(first.value, again.value)}
        for at in found if len(found) <= _MOST_VOLATILE else ():
            seen[at] = seen.get(at, 0) + 1
    if compared:
        why = f"differed between answers to one request, in up to {max(seen.values())} of {compared}" if seen else ""
        why = why or f"{compared} refused requests were repeated with identical answers"
        bench.draft.state(("errors", "volatile"), sorted(seen), why)


async def precedence(bench: Bench) -> None:
    """Notes which of two defects a response reports first. The interface defines no order, so no fact is stated."""
    told = [text async for text in _told(bench)]
    for text in told:
        bench.draft.note("errors", text)


async def _told(bench: Bench) -> Any:
    form = bench.draft.get("authorization", "format")
    unknown = form.replace("{key}", "unknown-key-0000")
    weak = _without(bench, "webhooks:write")
    broken = b'{"broken":'
    if CREATE in bench.controls:
        request = await bench.arrange(CREATE)
        both = await bench.send(request.with_authorization(unknown).with_raw_body(broken), "order")
        yield f"order of precedence: an unknown key and a malformed body (401 or 400): {both.summary}"
        if weak:
            both = await bench.send(bench.arranger.as_credential(request, weak).with_raw_body(broken), "order")
            yield f"order of precedence: a missing scope and a malformed body (403 or 400): {both.summary}"
        both = await bench.send(request.with_key(None).with_raw_body(broken), "order")
        yield f"no idempotency key and a malformed body: {both.summary}"
    if UPDATE in bench.controls:
        control = bench.controls[UPDATE].request
        request = replace(control.with_fresh_key(), path={"id": _unlike(str(control.path["id"]))})
        for change, what in (
            (request.with_authorization(unknown), "an unknown key and an unknown id (401 or 404)"),
            (request.with_raw_body(broken), "an unknown id and a malformed body (404 or 400)"),
            *(
                [(bench.arranger.as_credential(request, weak), "a missing scope and an unknown id (403 or 404)")]
                if weak
                else []
            ),
        ):
            both = await bench.send(change, "order")
            yield f"order of precedence: {what}: {both.summary}"


def _unlike(value: str) -> str:
    return value[:-1] + ("0" if value[-1:] != "0" else "1")


def _without(bench: Bench, scope: str) -> str:
    table: Mapping[str, Any] = bench.draft.get("credentials") or {}
    active = (name for name, told in table.items() if told.get("status") == "active" and scope not in told["scopes"])
    return next(active, "")


def surroundings(bench: Bench) -> None:
    """Notes the rate limit headers and the clock offset of all answers."""
    names = {n.lower(): v for a in bench.answers for n, v in a.headers if _of_limits(n)}
    for name, value in list(names.items())[:6]:
        bench.draft.note("rate_limit", bench.clean(f"header {name}: {value}"))
    limited = sum(answer.status == 429 for answer in bench.answers)
    bench.draft.note("rate_limit", f"{bench.flow.requests} requests of the probe, {limited} of them 429 after retries")
    if (offset := _clock(bench.answers)) is not None:
        told = f"differs by {offset:+.0f} s" if abs(offset) > _CLOCKS_AGREE_S else "agrees with the local clock"
        bench.draft.note("oauth", f"the clock of the target (Date) {told}")


def _of_limits(name: str) -> bool:
    small = name.lower()
    return small.startswith(("ratelimit", "x-ratelimit", "x-rate-limit")) or small == "retry-after"


def _clock(answers: Iterable[Answer]) -> float | None:
    for answer in reversed(list(answers)):
        try:
            return parsedate_to_datetime(answer.header("Date") or "").timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            continue
    return None


async def limits(bench: Bench, at_most: int) -> None:
    """Sends up to `at_most` requests with one key until a 429, and measures the recovery time. 0: sends none."""
    if not at_most or IDENTITY not in bench.controls or bench.draft.stated("rate_limit"):
        return
    request = bench.controls[IDENTITY].request
    request = bench.arranger.as_credential(request, list(bench.draft.get("credentials"))[-1])
    began, sent, limited = time.monotonic(), 0, None
    while sent < at_most and limited is None:
        sent += 1
        answer = await bench.send(request, "rate limit", take=frozenset({429}))
        limited = answer if answer.status == 429 else None
    took = time.monotonic() - began
    if limited is None:
        bench.draft.note("rate_limit", f"no 429 in {sent} requests in {took:.1f} s")
        return
    stopped = time.monotonic()
    for pause in (0.2, 0.5, 1, 2, 5, 10, 20):
        await asyncio.sleep(pause)
        if (await bench.send(request, "recovery", take=frozenset({429}))).ok:
            break
    seen = f"429 after {sent} requests in {took:.1f} s, 200 again {time.monotonic() - stopped:.1f} s later"
    bench.draft.note("rate_limit", seen)
    bench.draft.state(("rate_limit", "provoke"), True, "as allowed by --provoke-429")
    bench.draft.state(
        ("rate_limit", "credential"),
        list(bench.draft.get("credentials"))[-1],
        "the last key; prefer one that no other check uses",
    )
    bench.draft.state(("rate_limit", "max_requests"), max(at_most, sent), "as allowed by --provoke-429")
    bench.tell(f"  rate limit: {seen}")
