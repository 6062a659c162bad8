"""Volatile members of replays and errors, order of precedence of errors, rate limit headers and clock."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from itertools import pairwise
from typing import Any, Final

from msgspec.structs import replace

from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.setup.probe.context import ARRANGE_ERRORS, UNKNOWN_KEY, Probe, wait_for_clock_tick
from conformance.setup.probe.idempotency import differences
from conformance.setup.probe.operations import CREATE, PARAMETER_FIXTURES, UPDATE

_MAX_VOLATILE: Final = 12
_CLOCK_TOLERANCE_S: Final = 3
"""Tolerance for the clock offset: Date has a resolution of one second."""


async def probe_replays(probe: Probe) -> None:
    """Replays successful requests, after a pause and after a change of the resource; states the members that differ."""
    if not probe.draft.has("idempotency", "carrier"):
        return
    controls = [
        a for a in probe.controls.values() if a.request.key and a.request.operation.idempotent and _is_repeatable(a)
    ]
    answers = [fresh for answer in controls if (fresh := await _send_fresh(probe, answer.request.operation.id))]
    await wait_for_clock_tick()
    volatile: dict[str, str] = {}
    for answer in answers:
        _compare_replay(probe, answer, await probe.send(answer.request, "replay"), "after a pause", volatile)
    for name, change in _operation_pairs(probe):
        await _replay_after_change(probe, name, change, volatile)
    if not probe.draft.is_stated("idempotency", "volatile"):
        if volatile:
            listing = "; ".join(f"{at} ({source})" for at, source in list(volatile.items())[:4])
            probe.draft.state(
                ("idempotency", "volatile"),
                sorted(volatile),
                f"differed in a replay: {listing}. Remove members that must not",
            )
        elif answers:
            probe.draft.note("idempotency", f"replays of {len(answers)} operations were identical to the first answer")


def _is_repeatable(answer: Answer) -> bool:
    return answer.request.proof is None


async def _send_fresh(probe: Probe, name: str) -> Answer | None:
    try:
        answer = await probe.send(await probe.arrange(name), "first")
    except ARRANGE_ERRORS:
        return None
    return answer if answer.ok else None


def _operation_pairs(probe: Probe) -> Iterator[tuple[str, str]]:
    """Pairs of operations that are allowed in the same state of a fixture; the second one changes it."""
    by_state: dict[str, list[str]] = {}
    for name, answer in probe.controls.items():
        operation = answer.request.operation
        path = probe.draft.get("operations", name, "path") or {}
        if operation.idempotent and path and operation.path_parameters[0] != "id":
            by_state.setdefault(next(iter(path.values())), []).append(name)
    for names in by_state.values():
        yield names[0], names[0]
        yield from pairwise(names)
    if {CREATE, UPDATE} <= probe.controls.keys():
        yield CREATE, UPDATE


async def _replay_after_change(probe: Probe, name: str, change: str, volatile: dict[str, str]) -> None:
    try:
        first = await probe.send(await probe.arrange(name), "first")
        preset = {"webhook": {"id": _created_id(probe, first)}} if name == CREATE else _fixtures_of(first.request)
        changed = await probe.send(await probe.arrange(change, preset=preset), "change")
    except (*ARRANGE_ERRORS, KeyError):
        return
    if first.ok and changed.ok:
        _compare_replay(probe, first, await probe.send(first.request, "replay"), f"after {change}", volatile)


def _created_id(probe: Probe, answer: Answer) -> Any:
    return pointer.get(answer.value, probe.draft.get("webhooks", "id") or "/data/id")


def _fixtures_of(request: Request) -> dict[str, dict[str, Any]]:
    """The fixtures that a request uses, by kind."""
    fixtures: dict[str, dict[str, Any]] = {}
    kinds = {kind for kind, _ in PARAMETER_FIXTURES.values()}
    for name, value in request.scope.items():
        kind, _, rest = name.partition(".")
        if kind in kinds and rest:
            fixtures.setdefault(kind, {})[rest.rpartition(".")[2]] = value
    return fixtures


def _compare_replay(probe: Probe, first: Answer, replay: Answer, when: str, volatile: dict[str, str]) -> None:
    name = first.request.operation.id
    if not replay.ok:
        probe.draft.note("idempotency", f"{name}: a replay {when} got {replay.summary} instead of 200")
        return
    differing = {generalize_pointer(at) for at in differences(first.value, replay.value)}
    if len(differing) > _MAX_VOLATILE or any(at.lower().endswith("/data/id") for at in differing):
        probe.draft.note("idempotency", f"{name}: a replay {when} got an unrelated answer: is the key ignored?")
        return
    for at in differing:
        volatile.setdefault(at, f"{name} {when}")


def generalize_pointer(at: str) -> str:
    """A pointer with `*` in place of every index."""
    return pointer.join(*("*" if token.isdigit() else token for token in pointer.tokens(at)))


async def probe_errors(probe: Probe) -> None:
    """Repeats requests that were refused; states the members that differ between two answers to one request."""
    if probe.draft.is_stated("errors", "volatile"):
        return
    refusals: dict[tuple[str, int | None], Answer] = {}
    for answer in probe.answers:
        if answer.is_refused and isinstance(answer.value, dict) and answer.request.key is None:
            refusals.setdefault((answer.request.operation.id, answer.status), answer)
    if not probe.draft.has("idempotency", "carrier"):  # otherwise `probe_replays` has waited
        await wait_for_clock_tick()
    counts: dict[str, int] = {}
    compared = 0
    for first in list(refusals.values())[:6]:
        repeat = await probe.send(first.request, "error again")
        if repeat.status != first.status or not isinstance(repeat.value, dict):
            continue
        compared += 1
        differing = {generalize_pointer(at) for at in differences(first.value, repeat.value)}
        for at in differing if len(differing) <= _MAX_VOLATILE else ():
            counts[at] = counts.get(at, 0) + 1
    if compared:
        evidence = (
            f"differed between answers to one request, in up to {max(counts.values())} of {compared}" if counts else ""
        )
        evidence = evidence or f"{compared} refused requests were repeated with identical answers"
        probe.draft.state(("errors", "volatile"), sorted(counts), evidence)


async def probe_precedence(probe: Probe) -> None:
    """Notes which of two defects a response reports first. The interface defines no order, so no fact is stated."""
    notes = [text async for text in _precedence_notes(probe)]
    for text in notes:
        probe.draft.note("errors", text)


async def _precedence_notes(probe: Probe) -> Any:
    template = probe.draft.get("authorization", "format")
    unknown_key = template.replace("{key}", "unknown-key-0000")
    limited_key = _credential_without(probe, "webhooks:write")
    malformed = b'{"broken":'
    if CREATE in probe.controls:
        request = await probe.arrange(CREATE)
        answer = await probe.send(
            request.with_authorization(unknown_key, credential=UNKNOWN_KEY).with_raw_body(malformed), "order"
        )
        yield f"order of precedence: an unknown key and a malformed body (401 or 400): {answer.summary}"
        if limited_key:
            answer = await probe.send(
                probe.arranger.as_credential(request, limited_key).with_raw_body(malformed), "order"
            )
            yield f"order of precedence: a missing scope and a malformed body (403 or 400): {answer.summary}"
        answer = await probe.send(request.with_key(None).with_raw_body(malformed), "order")
        yield f"no idempotency key and a malformed body: {answer.summary}"
    if UPDATE in probe.controls:
        control = probe.controls[UPDATE].request
        request = replace(control.with_fresh_key(), path={"id": _change_last_character(str(control.path["id"]))})
        for defective, description in (
            (
                request.with_authorization(unknown_key, credential=UNKNOWN_KEY),
                "an unknown key and an unknown id (401 or 404)",
            ),
            (request.with_raw_body(malformed), "an unknown id and a malformed body (404 or 400)"),
            *(
                [(probe.arranger.as_credential(request, limited_key), "a missing scope and an unknown id (403 or 404)")]
                if limited_key
                else []
            ),
        ):
            answer = await probe.send(defective, "order")
            yield f"order of precedence: {description}: {answer.summary}"


def _change_last_character(value: str) -> str:
    return value[:-1] + ("0" if value[-1:] != "0" else "1")


def _credential_without(probe: Probe, scope: str) -> str:
    table: Mapping[str, Any] = probe.draft.get("credentials") or {}
    active = (
        name
        for name, credential in table.items()
        if credential.get("status") == "active" and scope not in credential["scopes"]
    )
    return next(active, "")


def note_headers(probe: Probe) -> None:
    """Notes the rate limit headers and the clock offset of all answers."""
    headers = {n.lower(): v for a in probe.answers for n, v in a.headers if _is_rate_limit_header(n)}
    for name, value in list(headers.items())[:6]:
        probe.draft.note("rate_limit", probe.clean(f"header {name}: {value}"))
    limited = sum(answer.status == 429 for answer in probe.answers)
    probe.draft.note(
        "rate_limit", f"{probe.sender.requests} requests of the probe, {limited} of them 429 after retries"
    )
    if (offset := clock_offset(probe)) is not None:
        comparison = (
            f"differs by {offset:+.0f} s" if abs(offset) > _CLOCK_TOLERANCE_S else "agrees with the local clock"
        )
        probe.draft.note("oauth", f"the clock of the target (Date) {comparison}")


def _is_rate_limit_header(name: str) -> bool:
    lowercase = name.lower()
    return lowercase.startswith(("ratelimit", "x-ratelimit", "x-rate-limit")) or lowercase == "retry-after"


def clock_offset(probe: Probe) -> float | None:
    """Seconds by which the target's clock is ahead, by the last Date and the moment when it arrived."""
    for answer in reversed(probe.answers):
        age_s = probe.sender.elapsed_s - answer.at - answer.duration_s
        try:
            return parsedate_to_datetime(answer.header("Date") or "").timestamp() - (time.time() - age_s)
        except (ValueError, TypeError, OverflowError):
            continue
    return None
