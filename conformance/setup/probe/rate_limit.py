"""A provoked rate limit: after how many requests, how long it lasts, and whether its Retry-After is true."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from conformance.checks.support.retry_after import SLACK_S
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.client.retry_after import retry_after_s
from conformance.setup.probe.access import IDENTITY
from conformance.setup.probe.context import Probe

_PAUSES_S: Final = (0.2, 0.5, 1, 2, 5, 10, 20)
_LONGEST_WAIT_S: Final = 30.0
_LEAST_REFUSALS: Final = 3
"""A single 429 without Retry-After may come from another layer than the others."""


async def probe_rate_limit(probe: Probe, max_requests: int) -> None:
    """Sends up to `max_requests` requests with one key until a 429, and measures the recovery time. 0: sends none."""
    if not max_requests or IDENTITY not in probe.controls or probe.draft.is_stated("rate_limit"):
        return
    credential = list(probe.draft.get("credentials"))[-1]
    request = probe.arranger.as_credential(probe.controls[IDENTITY].request, credential)
    started, count, limited = time.monotonic(), 0, None
    while count < max_requests and limited is None:
        count += 1
        answer = await _send(probe, request, "rate limit")
        limited = answer if answer.status == 429 else None
    elapsed_s = time.monotonic() - started
    if limited is None:
        probe.draft.note("rate_limit", f"no 429 in {count} requests in {elapsed_s:.1f} s")
        return
    limited_at = time.monotonic()
    refusals = await _refusals(probe, request, limited)
    is_true = await _is_true(probe, request, refusals)
    await _recover(probe, request)
    evidence = f"429 after {count} requests in {elapsed_s:.1f} s, 200 again {time.monotonic() - limited_at:.1f} s later"
    probe.draft.note("rate_limit", evidence)
    probe.draft.state(("rate_limit", "provoke"), True, "as allowed by --provoke-429")
    probe.draft.state(("rate_limit", "credential"), credential, "the last key; prefer one that no other check uses")
    probe.draft.state(("rate_limit", "max_requests"), max(max_requests, count), "as allowed by --provoke-429")
    _state_retry_after(probe, refusals, is_true=is_true)
    probe.echo(f"  rate limit: {evidence}")


async def _send(probe: Probe, request: Request, purpose: str) -> Answer:
    return await probe.send(request, purpose, accept_statuses=frozenset({429}))


async def _refusals(probe: Probe, request: Request, limited: Answer) -> list[Answer]:
    """Some 429 of one burst."""
    more = [await _send(probe, request, "rate limit") for _ in range(_LEAST_REFUSALS - 1)]
    return [limited, *(answer for answer in more if answer.status == 429)]


async def _is_true(probe: Probe, request: Request, refusals: list[Answer]) -> bool:
    """Whether the request is answered again after the Retry-After of the last 429, with nothing sent in between."""
    delay_s = retry_after_s(refusals[-1])
    if delay_s is None or delay_s > _LONGEST_WAIT_S:
        return False
    await asyncio.sleep(delay_s + SLACK_S)
    return (await _send(probe, request, "after Retry-After")).ok


async def _recover(probe: Probe, request: Request) -> None:
    for pause_s in _PAUSES_S:
        if (await _send(probe, request, "recovery")).ok:
            return
        await asyncio.sleep(pause_s)


def _state_retry_after(probe: Probe, refusals: list[Answer], *, is_true: bool) -> None:
    headers = [answer.header("Retry-After") for answer in refusals]
    if is_true and all(retry_after_s(answer) is not None for answer in refusals):
        evidence = f"Retry-After: {headers[-1]} with {len(headers)} of {len(headers)} 429, and 200 after this time"
        probe.draft.state(("rate_limit", "retry_after"), True, probe.clean(evidence))
    elif len(headers) >= _LEAST_REFUSALS and not any(headers):
        probe.draft.state(("rate_limit", "retry_after"), False, f"{len(headers)} 429 had no Retry-After")
    else:
        listing = ", ".join(header or "none" for header in headers)
        reason = probe.clean(
            f"if it says when the request is answered again; Retry-After of {len(headers)} 429: {listing}"
        )
        probe.draft.todo("rate_limit", "retry_after = true", reason)
