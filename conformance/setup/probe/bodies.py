"""Request bodies: unknown members, media types, size and depth."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final
from uuid import uuid4

from msgspec.structs import replace

from conformance.checks.support.sized_bodies import nest, pad
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.judge.validators import Validators
from conformance.setup.probe.context import ARRANGE_ERRORS, Probe
from conformance.setup.probe.operations import CREATE, UPDATE
from conformance.setup.probe.search import find_bound

_OTHERS: Final = ("quotePublicCart", "revokePublicCart", "removePublicCartPromotion", "checkoutPublicCart")
_SUFFIXED: Final = ("application/vnd.conformance.v1+json", "application/problem+json")
_FOREIGN: Final = (
    "application/json-seq",
    "application/jsonl",
    "text/json",
    "text/plain",
    "text/vnd.conformance.v1+json",
    "application/x-www-form-urlencoded",
)
_SIZES: Final = (
    16_384,
    32_768,
    50_000,
    65_536,
    100_000,
    102_400,
    131_072,
    200_000,
    250_000,
    262_144,
    500_000,
    524_288,
    1_000_000,
    1_048_576,
)
"""Usual limits in bytes."""
_DEPTHS: Final = (16, 32, 64, 128, 256, 512)


async def probe_bodies(probe: Probe) -> None:
    """States what was observed of bodies, where all operations that were tried do the same."""
    controls = await _try_each(probe, _subjects(probe), lambda request: request, "control")
    names = [name for name, answer in controls.items() if answer.ok]
    if not names:
        return
    await _probe_unknown_members(probe, names)
    await _probe_media_types(probe, names)
    if CREATE in names:
        await _probe_size(probe)
    if probe.draft.get("bodies", "unknown_members") in ("ignored", "kept") and CREATE in names:
        await _probe_depth(probe)


def _subjects(probe: Probe) -> list[str]:
    """Operations whose valid body is an object: those whose answer shows it, and another one."""
    controls = {name: answer for name, answer in probe.controls.items() if probe.is_proven(name)}
    usable = [name for name, answer in controls.items() if isinstance(answer.request.body, dict)]
    others = [name for name in _OTHERS if name in usable]
    return [name for name in (CREATE, UPDATE, *others[:1]) if name in usable]


async def _try_each(
    probe: Probe, names: list[str], change: Callable[[Request], Request], purpose: str
) -> dict[str, Answer]:
    """The answers to changed requests on new fixtures."""
    answers = {}
    for name in names:
        try:
            request = await probe.arrange(name)
        except ARRANGE_ERRORS:
            continue
        answers[name] = await probe.send(change(request), purpose)
    return answers


def _status_of(answers: Mapping[str, Answer]) -> int | None:
    """The status of all answers; None if they differ."""
    statuses = {answer.status for answer in answers.values()}
    return statuses.pop() if len(statuses) == 1 else None


def _listing(answers: Mapping[str, Answer]) -> str:
    return ", ".join(f"{name} {answer.summary}" for name, answer in answers.items())


async def _probe_unknown_members(probe: Probe, names: list[str]) -> None:
    text = f"Conformance{uuid4().hex[:12]}"
    answers = await _try_each(probe, names, lambda r: r.with_body({**r.body, f"x{text}": text}), "an unknown member")
    status, evidence = _status_of(answers), f'an unknown member "x{text[:11]}...": {_listing(answers)}'
    if status == 400:
        probe.draft.state(("bodies", "unknown_members"), "refused", evidence)
    if status != 200 or any(_is_against_schema(probe, answer.request) for answer in answers.values()):
        return
    within = await _try_each(probe, names, lambda r: _with_member_within(probe, r, text), "an unknown member within")
    echoes = {f'"{text}"' in a.body.decode("utf-8", "replace") for n, a in answers.items() if n in (CREATE, UPDATE)}
    if _status_of(within) == 200 and len(echoes) == 1:
        is_kept = echoes.pop()
        text = "and the answer shows it" if is_kept else "and no answer shows it"
        probe.draft.state(("bodies", "unknown_members"), "kept" if is_kept else "ignored", f"{evidence}, {text}")


def _is_against_schema(probe: Probe, request: Request) -> bool:
    schema, validators = request.operation.request_schema, Validators(probe.schemas)
    return validators.knows(schema) and bool(validators.problem(schema, request.document))


def _with_member_within(probe: Probe, request: Request, text: str) -> Request:
    """With an unknown member in the first object within the body, where the schema allows it."""
    for name, value in request.body.items():
        if isinstance(value, dict):
            changed = request.with_body({**request.body, name: {**value, f"y{text}": "within"}})
            return request if _is_against_schema(probe, changed) else changed
    return request


async def _probe_media_types(probe: Probe, names: list[str]) -> None:
    names = [name for name in names if name != UPDATE]
    statuses: dict[str, int | None] = {}
    for media_type in (*_SUFFIXED, *_FOREIGN):
        answers = await _try_each(probe, names, _with_media_type(media_type), f"Content-Type {media_type}")
        statuses[media_type] = _status_of(answers)
    suffixed, foreign = ({statuses[name] for name in group} for group in (_SUFFIXED, _FOREIGN))
    if foreign == {400} and suffixed in ({200}, {400}):
        found = ["application/json", *(["application/*+json"] if suffixed == {200} else [])]
        evidence = ", ".join(f"{status} with {name}" for name, status in statuses.items())
        probe.draft.state(("bodies", "media_types"), found, f"{' and '.join(names)}: {evidence}")
    answers = await _try_each(probe, names, _without_media_type, "no Content-Type")
    treatment = {200: "accepted", 400: "refused"}.get(_status_of(answers) or 0)
    if treatment:
        probe.draft.state(("bodies", "absent_media_type"), treatment, f"no Content-Type: {_listing(answers)}")


def _with_media_type(media_type: str) -> Callable[[Request], Request]:
    return lambda request: replace(request, media_type=media_type)


def _without_media_type(request: Request) -> Request:
    return request.with_raw_body(json.dumps(request.document).encode(), None)


async def _status(probe: Probe, change: Callable[[Request], Any], purpose: str) -> int | None:
    return (await probe.send(change(await probe.arrange(CREATE)), purpose)).status


async def _probe_size(probe: Probe) -> None:
    """Finds the usual limit such that a body of its size is accepted, and one of a byte more is answered 400."""

    async def status_of(size: int) -> int | None:
        return await _status(probe, lambda request: pad(request, size), f"a body of {size} bytes")

    limit = await first_refused(_SIZES, lambda size: _is_refused(status_of(size + 1)))
    if limit is not None and await status_of(limit) == 200:
        evidence = f"{CREATE}: 200 with a body of {limit} bytes, 400 with a byte more"
        probe.draft.state(("bodies", "max_bytes"), limit, evidence)


async def _is_refused(status: Awaitable[int | None]) -> bool:
    return await status == 400


async def first_refused(limits: tuple[int, ...], is_refused: Callable[[int], Awaitable[bool]]) -> int | None:
    """The first of some rising limits for which `is_refused` holds, by bisection; None if it holds for none."""
    low, high = 0, len(limits)
    while low < high:
        middle = (low + high) // 2
        if await is_refused(limits[middle]):
            high = middle
        else:
            low = middle + 1
    return limits[low] if low < len(limits) else None


async def _probe_depth(probe: Probe) -> None:
    async def accepts(depth: int) -> bool:
        return await _status(probe, lambda request: nest(request, depth, b""), f"{depth} levels") == 200

    if not await accepts(_DEPTHS[0] // 2):
        return
    bound = await find_bound(accepts, _DEPTHS, _DEPTHS[0] // 2)
    if bound.refused is None:
        return
    above = await _status(probe, lambda request: nest(request, bound.accepted + 1, b"1"), "a level more")
    if above == 400:
        evidence = f"{CREATE}: 200 with {bound.accepted} levels of objects and arrays, 400 with {bound.refused}"
        probe.draft.state(("bodies", "max_depth"), bound.accepted, evidence)
