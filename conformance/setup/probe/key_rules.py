"""The rules of idempotency keys: format, case, what a key belongs to, stored answers, duplicates in flight."""

from __future__ import annotations

import asyncio
import string
import uuid
from collections.abc import Mapping
from typing import Any, Final

from conformance.checks.support.invalid_bodies import contract_breaks
from conformance.checks.support.replays import have_equal_values
from conformance.checks.support.transitions import WayOut, find_ways_out
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.core import strict_json as strictjson
from conformance.profile.render import placeholders
from conformance.setup.probe.context import ARRANGE_ERRORS, Probe
from conformance.setup.probe.isolation import fellow_credential, foreign_credential
from conformance.setup.probe.operations import CREATE, UPDATE

_QUOTE: Final = "quotePublicCart"
_REVOKE: Final = "revokePublicCart"
_DUPLICATES: Final = 6
_TIMED: Final = 3
_HEAD_START_S: Final = 0.008
"""Seconds: less may pass between two requests of one burst at a busy target."""
_BURSTS: Final = {CREATE: 2, _QUOTE: 1}
"""Operation -> number of bursts."""
_IN_BURST: Final = frozenset({409, 429, 500, 502, 503, 504})


async def probe_key_rules(probe: Probe) -> None:
    if not probe.draft.has("idempotency", "carrier"):
        return
    for rule in (probe_key_case, probe_in_flight, _probe_namespace, _probe_kept):
        try:
            await rule(probe)
        except ARRANGE_ERRORS as error:
            probe.draft.note("idempotency", probe.clean(f"{rule.__name__.strip('_').replace('_', ' ')}: {error}"))


def _is_repeat(probe: Probe, first: Answer, second: Answer) -> bool:
    """Whether two answers are equal but for volatile members."""
    volatile = tuple(probe.draft.get("idempotency", "volatile") or ())
    return first.status == second.status and have_equal_values(first, second, volatile)


async def _is_separate(probe: Probe, first: Answer, second: Answer) -> bool | None:
    """Whether the second answer is that of a call of its own; None if that is unknown."""
    if second.ok:
        return None if _is_repeat(probe, first, second) else True
    if second.status == 409:
        fresh = await probe.send(second.request.with_fresh_key(), "another key")
        return False if fresh.ok else None
    return None


async def probe_key_case(probe: Probe) -> None:
    """Sends another payload under a key in the other case: its own call, or a conflict."""
    key = str(uuid.uuid4())
    form = probe.draft.get("idempotency", "format")
    if CREATE not in probe.controls or isinstance(form, Mapping):
        return
    first = await probe.send((await probe.arrange(CREATE)).with_key(key), "a key")
    request = (await probe.arrange(CREATE)).with_key(key.upper())
    if not first.ok or strictjson.is_equal(first.request.body, request.body):
        return
    second = await probe.send(request, "the key in capitals")
    is_separate = await _is_separate(probe, first, second)
    if is_separate is not None:
        treatment = "sensitive" if is_separate else "insensitive"
        evidence = f"{CREATE}: {second.summary} for another body under a used key in capitals"
        probe.draft.state(("idempotency", "case"), treatment, evidence)


async def probe_key_format(probe: Probe) -> None:
    """Sends keys that are not UUIDs: if all are accepted, any format is; if all are refused, the format is a UUID."""
    if not probe.draft.has("idempotency", "carrier") or probe.draft.has("idempotency", "format"):
        return
    if CREATE not in probe.controls:
        probe.draft.todo("idempotency", 'format = "uuid"', "the format of a key; a UUID is accepted")
        return
    key = str(uuid.uuid4())
    arbitrary = (
        f"odd key_{uuid.uuid4().hex[:9]}~!",
        uuid.uuid4().hex + string.ascii_uppercase,
        f"{uuid.uuid4().hex}{string.ascii_lowercase[6:]}-_.~:/+=@",
    )
    near = (f"{key}0", key[:-1], f"{key[:-1]}g", f"{key}!")
    answers = [await _send_with_key(probe, text) for text in (*arbitrary, *near)]
    versions = [await _send_with_key(probe, str(uuid.UUID(int=uuid.uuid4().int, version=n))) for n in (1, 3, 5)]
    if all(answer.ok for answer in answers):
        evidence = f"{CREATE}: 200 with {len(answers)} keys that are not UUIDs"
        probe.draft.state(("idempotency", "format"), "any", evidence)
    elif {answer.status for answer in answers} == {400} and all(answer.ok for answer in versions):
        evidence = f"{CREATE}: 200 with UUIDs, 400 with {len(answers)} other keys, some of them nearly UUIDs"
        probe.draft.state(("idempotency", "format"), "uuid", evidence)
        probe.draft.state(("idempotency", "other_format"), "refused", evidence)
    else:
        listing = ", ".join(f"{a.summary} with {a.request.key}" for a in answers)
        probe.draft.todo("idempotency", 'format = "uuid"', probe.clean(f"the format of a key; {listing}"))


async def _send_with_key(probe: Probe, key: str) -> Answer:
    return await probe.send((await probe.arrange(CREATE)).with_key(key), "a key of another format")


async def probe_in_flight(probe: Probe) -> None:
    """Sends duplicates at once: a 409 beside a 200 is a conflict in flight.

    That they wait is seen only where a call takes much longer than its replay: otherwise none may have overlapped.
    """
    overlapping = 0
    for name, bursts in _BURSTS.items():
        for _ in range(bursts if probe.is_proven(name) else 0):
            request = await probe.arrange(name)
            sent = [probe.send(request, "a duplicate", accept_statuses=_IN_BURST) for _ in range(_DUPLICATES)]
            answers = await asyncio.gather(*sent)
            good, conflicts = [a for a in answers if a.ok], [a for a in answers if a.status == 409]
            if not good or not _is_repeat(probe, good[0], await _settle(probe, request)):
                return
            if conflicts:
                evidence = f"{name}: {len(conflicts)} of {_DUPLICATES} duplicates at once got 409, and 200 afterwards"
                probe.draft.state(("idempotency", "in_flight"), "conflict", evidence)
                return
            first_end = min(answer.at + answer.duration_s for answer in good)
            overlapping += len([a for a in good if a.at < first_end - _HEAD_START_S])
    if overlapping > _DUPLICATES and await _is_slow(probe):
        evidence = f"{overlapping} duplicates of slow calls, sent before the first answer, got the same 200"
        probe.draft.state(("idempotency", "in_flight"), "waits", evidence)


async def _is_slow(probe: Probe) -> bool:
    """Whether each call takes longer than each replay, by more than chance."""
    if not probe.is_proven(CREATE):
        return False
    first = [await probe.send(await probe.arrange(CREATE), "a call alone") for _ in range(_TIMED)]
    repeats = [await probe.send(answer.request, "a replay alone") for answer in first]
    if not all(answer.ok for answer in (*first, *repeats)):
        return False
    return min(a.duration_s for a in first) > 2 * max(a.duration_s for a in repeats) + _HEAD_START_S


async def _settle(probe: Probe, request: Request) -> Answer:
    """The answer after duplicates; a 409 of a call that is still in progress is given a moment."""
    answer = await probe.send(request, "after the duplicates")
    for pause_s in (0.1, 0.3, 0.8):
        if answer.status != 409:
            break
        await asyncio.sleep(pause_s)
        answer = await probe.send(request, "after the duplicates")
    return answer


async def _probe_namespace(probe: Probe) -> None:
    """Sends used keys on another path and operation and with other credentials, to see to what a key belongs."""
    path = await _on_another_path(probe)
    operations = {await _on_another_operation(probe), await _on_the_same_resource(probe)}
    credential = await _with_another_credential(probe, fellow_credential(probe, "webhooks:write"))
    installation = await _with_another_credential(probe, foreign_credential(probe, "webhooks:write"))
    operation = operations.pop() if len(operations) == 1 else None
    if path is None or operation is None or credential is None or (path and not operation):
        return
    if installation is None or (credential and not installation):
        return
    is_separate = {
        "credential": credential,
        "installation": installation and not credential,
        "operation": operation,
        "path": path,
    }
    found = [part for part, separate in is_separate.items() if separate]
    words = {
        name: "200" if separate else "409" for name, separate in {**is_separate, "installation": installation}.items()
    }
    listing = ", ".join(f"another {name} {status}" for name, status in words.items())
    probe.draft.state(("idempotency", "namespace"), found, f"the same key under {listing}")


async def _on_another_path(probe: Probe) -> bool | None:
    for name in (_QUOTE, UPDATE, _REVOKE):
        if name not in probe.controls or _names_fixture(probe, name):
            continue
        first = await probe.send(await probe.arrange(name), "first")
        request = (await probe.arrange(name)).with_body(first.request.body).with_key(first.request.key)
        if first.ok and request.path != first.request.path:
            return await _is_separate(probe, first, await probe.send(request, "the same key on another path"))
    return None


def _names_fixture(probe: Probe, name: str) -> bool:
    """Whether the body depends on the resource in the path."""
    return bool(placeholders(probe.draft.get("operations", name, "body") or {}) - {"unique"})


async def _on_another_operation(probe: Probe) -> bool | None:
    if not {CREATE, UPDATE} <= probe.controls.keys():
        return None
    first = await probe.send(await probe.arrange(CREATE), "first")
    second = await probe.send((await probe.arrange(UPDATE)).with_key(first.request.key), "its key on another operation")
    return await _is_separate(probe, first, second) if first.ok else None


async def _on_the_same_resource(probe: Probe) -> bool | None:
    """The key of a quote, with its body, on the revocation of the same cart."""
    if not {_QUOTE, _REVOKE} <= probe.controls.keys() or _names_fixture(probe, _QUOTE):
        return None
    first = await probe.send(await probe.arrange(_QUOTE), "first")
    members = next(iter(first.request.fixtures.members.values()), None)
    if not first.ok or members is None:
        return None
    request = await probe.arrange(_REVOKE, preset={"cart": members})
    request = request.with_body(first.request.body).with_key(first.request.key)
    return await _is_separate(probe, first, await probe.send(request, "its key on another operation"))


async def _with_another_credential(probe: Probe, name: str) -> bool | None:
    """Another body under the key of another credential."""
    if not name or CREATE not in probe.controls:
        return None
    first = await probe.send(await probe.arrange(CREATE), "first")
    request = probe.arranger.as_credential(await probe.arrange(CREATE), name).with_key(first.request.key)
    if not first.ok or strictjson.is_equal(first.request.body, request.body):
        return None
    return await _is_separate(probe, first, await probe.send(request, "its key with another credential"))


async def _probe_kept(probe: Probe) -> None:
    """States the statuses whose answers are stored, if it was seen for 200, 400, 404 and 409."""
    observed = {
        200: await _is_200_kept(probe),
        400: await _is_400_kept(probe),
        404: await _is_404_kept(probe),
        409: await _is_409_kept(probe),
    }
    if observed[200] and None not in observed.values():
        free = [str(status) for status, is_kept in observed.items() if not is_kept]
        evidence = "each status was tried: the key of another answer is free" if free else "each status was tried"
        probe.draft.state(
            ("idempotency", "kept"), [status for status, is_kept in observed.items() if is_kept], evidence
        )


async def _is_200_kept(probe: Probe) -> bool | None:
    if CREATE not in probe.controls:
        return None
    first = await probe.send(await probe.arrange(CREATE), "first")
    return _is_repeat(probe, first, await probe.send(first.request, "again")) if first.ok else None


async def _is_400_kept(probe: Probe) -> bool | None:
    """A valid body under the key of an invalid one."""
    request = await probe.arrange(CREATE)
    found = next(iter(contract_breaks(probe.profile, probe.operation(CREATE)).values()), None)
    bad = found[1](request) if found else request.with_body({})
    if (await probe.send(bad, "an invalid body")).status != 400:
        return None
    second = await probe.send(request, "a valid body under the same key")
    if second.ok:
        return False
    fresh = await probe.send(request.with_fresh_key(), "another key")
    return True if second.status in (400, 409) and fresh.ok else None


async def _is_404_kept(probe: Probe) -> bool | None:
    """Another payload under the key of a 404."""
    for name in (UPDATE, _QUOTE, _REVOKE):
        if name not in probe.controls or not probe.draft.has("operations", name, "unknown"):
            continue
        request = await probe.arrange(name)
        body = await _other_body(probe, name, request)
        if body is None:
            continue
        unknown = request.with_path(**await probe.arranger.unknown_path_values(request))
        lone = await probe.send(unknown.with_body(body).with_fresh_key(), "another payload, alone")
        first = await probe.send(unknown, "an unknown resource")
        second = await probe.send(unknown.with_body(body), "another payload under the same key")
        if first.status == lone.status == 404 and second.status in (404, 409):
            return second.status == 409
    return None


async def _other_body(probe: Probe, name: str, request: Request) -> Any:
    """Another valid body of an operation; None if none is known."""
    templates = [*(probe.draft.get("operations", name, "bodies") or ()), probe.draft.get("operations", name, "body")]
    for template in templates:
        body = await probe.arranger.render_body(request, template) if template is not None else None
        if body is not None and not strictjson.is_equal(body, request.body):
            return body
    return None


async def _is_409_kept(probe: Probe) -> bool | None:
    """The same call again, after another one has ended the state that it conflicted with."""
    for operation in probe.contract.idempotent:
        if operation.id not in probe.controls or not operation.path_parameters:
            continue
        for way in find_ways_out(probe.profile, operation):
            if way.change in probe.controls:
                return await _try_way_out(probe, operation.id, way)
    return await _is_conflict_kept(probe)


async def _is_conflict_kept(probe: Probe) -> bool | None:
    """Another payload under the key of a state conflict: refused as a used key is, or as the state is."""
    for transition in probe.profile.transitions:
        name = transition.operation
        if transition.leads_to or transition.status != 409 or transition.after or name not in probe.controls:
            continue
        kind, _, state = transition.fixture.partition(".")
        request = await probe.arrange(name, use={kind: state})
        body = await _other_body(probe, name, request)
        if body is None:
            continue
        used = await probe.send(await probe.arrange(name), "a call")
        other = used.request.with_body(body if not _names_fixture(probe, name) else used.request.body)
        mismatch = await probe.send(other, "another payload under its key")
        first = await probe.send(request, "in a state that it conflicts with")
        lone = await probe.send(request.with_body(body).with_fresh_key(), "another payload, alone")
        second = await probe.send(request.with_body(body), "another payload under the same key")
        if {answer.status for answer in (mismatch, first, lone, second)} != {409} or _is_same_error(
            probe, mismatch, first
        ):
            continue
        as_state, as_key = _is_same_error(probe, second, lone), _is_same_error(probe, second, mismatch)
        if _is_same_error(probe, first, lone) and as_state != as_key:
            return as_key
    return None


def _is_same_error(probe: Probe, first: Answer, second: Answer) -> bool:
    volatile = tuple(probe.draft.get("errors", "volatile") or ())
    return have_equal_values(first, second, volatile)


async def _try_way_out(probe: Probe, name: str, way: WayOut) -> bool | None:
    kind, _, state = way.transition.fixture.partition(".")
    request = await probe.arrange(name, use={kind: state})
    members = next((m for key, m in request.fixtures.members.items() if key.partition(".")[0] == kind), None)
    if members is None:
        return None
    for before in way.transition.after:
        await probe.send(await probe.arrange(before, preset={kind: members}), f"{before} before")
    first = await probe.send(request, "in a state that it conflicts with")
    change = await probe.send(
        await probe.arrange(way.change, preset={kind: members}), "a change that ends the conflict"
    )
    if first.status != 409 or not change.ok:
        return None
    second = await probe.send(request, "the same call after the change")
    if second.ok:
        return False
    fresh = await probe.send(request.with_fresh_key(), "another key after the change")
    return True if second.status == 409 and fresh.ok else None
