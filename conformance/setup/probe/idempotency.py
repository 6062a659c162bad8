"""Where the idempotency key travels, by trying to replay; what it looks like; what becomes of a call without one."""

from __future__ import annotations

import re
import secrets as random_source
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.client.request import NO_BODY, Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.profile.model import Idempotency
from conformance.setup.conventions import KEY_NAMES
from conformance.setup.probe.context import Bench, Unarranged

_PARAMETERS: Final = ("idempotencyKey", "idempotency_key", "idempotency-key", "requestKey")
_POINTERS: Final = (
    "/idempotencyKey",
    "/idempotency_key",
    "/idempotency-key",
    "/idempotency/key",
    "/meta/idempotencyKey",
    "/context/idempotencyKey",
    "/requestKey",
    "/requestId",
    "/key",
    "/_key",
    "/context/key",
)
_SUSPECTS: Final = 6
_SUBJECTS_TRIED: Final = 2
"""So many whose every place is tried: the first may have been refused for its body."""
_SUBJECTS: Final = (
    "createInstallationWebhook",
    "quotePublicCart",
    "revokePublicCart",
    "requestStorefrontOrderAfterSales",
    "cancelHostedCheckoutBrowser",
)
"""What it is tried on: that which creates something, or failing that something of a cart or an order."""
_ID: Final = re.compile(r"(^|[^a-z])(id|ref|uuid|number)$|Id$|Ref$|_id$", re.IGNORECASE)
_PER_CALL: Final = re.compile(r"request|trace|correlation|span", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Where a key may travel: `at` is a header's or a parameter's name, or a pointer into the body."""

    carrier: str
    at: str

    def __str__(self) -> str:
        return f"{self.carrier} {self.at}"

    @property
    def idempotency(self) -> Idempotency:
        if self.carrier == "body":
            return Idempotency("body", pointer=self.at)
        return Idempotency(self.carrier, self.at)


@dataclass(frozen=True)
class Form:
    """A look of keys. `value` is what a profile says of it; None: nothing."""

    name: str
    value: Any
    make: Callable[[], str]


def _drawn(alphabet: str, length: int) -> str:
    return "".join(random_source.choice(alphabet) for _ in range(length))


_HEX: Final = "0123456789abcdef"
_SMALL: Final = string.ascii_lowercase + string.digits
FORMS: Final = (
    Form("uuid", None, lambda: str(uuid.uuid4())),
    Form("32 hexadecimal digits", {"pattern": "[0-9a-f]{32}"}, lambda: _drawn(_HEX, 32)),
    Form("24 small letters and digits", {"pattern": "[a-z0-9]{24}"}, lambda: _drawn(_SMALL, 24)),
    Form("18 digits", {"pattern": "[1-9][0-9]{17}"}, lambda: "1" + _drawn(string.digits, 17)),
    Form("idem_ and 24 hexadecimal digits", {"pattern": "idem_[0-9a-f]{24}"}, lambda: f"idem_{_drawn(_HEX, 24)}"),
    Form(
        "a ULID", {"pattern": "0[0-9A-HJKMNP-TV-Z]{25}"}, lambda: "0" + _drawn("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 25)
    ),
)
"""The usual ones, the likeliest first."""


async def carrier(bench: Bench) -> None:
    """Tries places until a key in one of them makes a difference, and says which and how that was seen."""
    if bench.draft.knows("idempotency", "carrier"):
        return
    learnt = 0
    for name in _SUBJECTS:
        try:
            bare = (await bench.arrange(name)).with_key(None)
        except Unarranged as error:
            bench.tell(f"  cannot try {name}: {error}")
            continue
        first = await bench.send(bare, "without a key")
        if first.status not in (200, 400):
            bench.tell(f"  {name} without a key is answered {first.summary}: nothing to learn there")
            continue
        if await (_accepted if first.ok else _refused)(bench, name, first):
            return
        learnt += 1
        if first.ok or learnt == _SUBJECTS_TRIED:
            break
    bench.draft.todo(
        "idempotency", 'carrier = "header"', "header, query or body: where the key travels; 10 operations need it"
    )
    bench.draft.todo(
        "idempotency", 'name = "Idempotency-Key"', 'of the header or parameter; for a body: pointer = "/..."'
    )
    bench.tell("  idempotency: no place of a key was found")


async def _refused(bench: Bench, name: str, first: Answer) -> bool:
    """Without a key it is refused: the place is the one with which it is answered 200.

    Where a uuid is refused as well, but otherwise than no key at all, other looks of keys are tried in that place.
    """
    noise = differences(first.value, (await bench.send(first.request, "without a key")).value)
    suspects: list[Place] = []
    for place in places(bench):
        answer = await _tried(bench, name, place, FORMS[0], first)
        if answer is None:
            continue
        if answer.ok:
            return True
        if differences(first.value, answer.value) - noise:
            suspects.append(place)
    for form in FORMS[1:]:
        for place in suspects[:_SUSPECTS]:
            answer = await _tried(bench, name, place, form, first)
            if answer is not None and answer.ok:
                return True
    bench.tell(f"  {name} is answered {first.summary} with a key in any of the usual places, and without one")
    return False


async def _tried(bench: Bench, name: str, place: Place, form: Form, first: Answer) -> Answer | None:
    """The answer with a key there; a 200 is the proof, and stated."""
    request = await _placed(bench, name, place, form.make())
    if request is None:
        return None
    answer = await bench.send(request, "idempotency")
    if answer.ok:
        again = await bench.send(request, "replay")
        other = await bench.send(request.with_key(form.make()), "another key")
        seen = f"{name}: {first.summary} without a key, 200 with one there, {_told(answer, again, other)}"
        _state(bench, place, form, seen)
        bench.draft.state(("idempotency", "missing_key"), "refused", f"{name} without a key: {first.summary}")
        await _odd_key(bench, name, place, form)
    return answer


async def _accepted(bench: Bench, name: str, first: Answer) -> bool:
    """Without a key it is accepted: the place is the one where the same key twice has the same outcome."""
    second = await bench.send((await bench.arrange(name)).with_key(None), "without a key")
    telling = telling_apart(first.value, second.value)
    suspects: list[Place] = []
    for place in places(bench):
        if await _replays(bench, name, place, FORMS[0], telling, suspects):
            return True
    for form in FORMS[1:]:
        for place in suspects[:_SUSPECTS]:
            if await _replays(bench, name, place, form, telling, []):
                return True
    bench.tell(f"  {name} does the same again with a key in any of the usual places, and without one")
    return False


async def _replays(
    bench: Bench, name: str, place: Place, form: Form, telling: frozenset[str], suspects: list[Place]
) -> bool:
    """Whether the same key has the same outcome twice, and another key another. A refusal is suspect: it is read."""
    request = await _placed(bench, name, place, form.make())
    if request is None:
        return False
    answer = await bench.send(request, "idempotency")
    if not answer.ok:
        suspects.append(place)
        return False
    again = await bench.send(request, "replay")
    if not _same_outcome(answer, again, telling):
        return False
    other = await bench.send(request.with_key(form.make()), "another key")
    if other.ok and _same_outcome(answer, other, telling):
        return False  # the outcome is always the same: nothing follows
    _state(bench, place, form, f"{name}: {_told(answer, again, other)}")
    bench.draft.state(("idempotency", "missing_key"), "accepted", f"{name} without a key: 200")
    await _odd_key(bench, name, place, form)
    return True


def places(bench: Bench) -> Iterator[Place]:
    """The likely ones, what the target's own document names first."""
    told = [Place(*place) for place in bench.described.key_places]
    usual = [Place("header", name) for name in KEY_NAMES]
    usual += [Place("query", name) for name in (*_PARAMETERS, *KEY_NAMES)]
    usual += [Place("body", at) for at in _POINTERS]
    yield from dict.fromkeys([*told, *usual])


async def _placed(bench: Bench, name: str, place: Place, key: str) -> Request | None:
    """A request on fixtures of its own, with a key there; None where the body cannot carry one."""
    request = replace(await bench.arrange(name), idempotency=place.idempotency, key=key)
    if place.carrier != "body":
        return request
    if request.body is NO_BODY or not isinstance(request.body, dict):
        return None
    try:
        pointer.put(request.body, place.at, key)
    except (KeyError, ValueError):
        return None
    return request


def differences(one: Any, other: Any) -> frozenset[str]:
    """The pointers at which two values differ, arrays by index."""
    left, right = dict(pointer.leaves(one)), dict(pointer.leaves(other))
    return frozenset(
        at
        for at in left.keys() | right.keys()
        if at not in left or at not in right or not strictjson.is_equal(left[at], right[at])
    )


def telling_apart(one: Any, other: Any) -> frozenset[str]:
    """The pointers at which two creations differ as two things do: their ids, else what differs of `data`."""
    differing = differences(one, other)
    own = {at for at in differing if not _PER_CALL.search(at)}
    ids = {at for at in own if _ID.search(pointer.tokens(at)[-1])}
    return frozenset(ids or {at for at in own if at.startswith("/data/")} or differing)


def _same_outcome(one: Answer, other: Answer, telling: frozenset[str]) -> bool:
    if not (one.ok and other.ok) or not telling:
        return False
    return all(_at(one.value, at) == _at(other.value, at) is not None for at in telling)


def _at(value: Any, at: str) -> Any:
    return pointer.get(value, at) if pointer.has(value, at) else None


def _told(answer: Answer, again: Answer, other: Answer) -> str:
    same = again.ok and strictjson.is_equal(answer.value, again.value)
    replay = "the same answer to the same key" if same else f"{again.summary} to the same key"
    differs = not (other.ok and strictjson.is_equal(answer.value, other.value))
    return f"{replay}, {'another' if differs else 'the same too'} to another key"


def _state(bench: Bench, place: Place, form: Form, evidence: str) -> None:
    bench.draft.state(("idempotency", "carrier"), place.carrier, evidence)
    member = "pointer" if place.carrier == "body" else "name"
    bench.draft.state(("idempotency", member), place.at, "there the key makes the difference")
    if form.value is not None:
        bench.draft.state(("idempotency", "format"), form.value, f"a uuid is refused, {form.name} accepted; widen it")
    bench.tell(f"  idempotency key: {place}, {form.name}")


async def _odd_key(bench: Bench, name: str, place: Place, form: Form) -> None:
    """What no uuid looks like: accepted, keys are free; refused, a rule is likely and only a person knows it."""
    if bench.draft.knows("idempotency", "format"):
        return
    request = await _placed(bench, name, place, f"odd key_{_drawn(_SMALL, 9)}~!")
    if request is None:
        return
    answer = await bench.send(request, "an odd key")
    if answer.ok:
        bench.draft.state(("idempotency", "format"), "any", f"{name}: 200 with a key that no rule would allow")
    elif form.name == "uuid":
        note = f"{name} answers {answer.summary} to a key that is no uuid, 200 to one that is"
        bench.draft.todo("idempotency", 'format = "uuid"', f"what a key looks like: {note}")


async def missing_keys(bench: Bench) -> None:
    """Whether the other operations treat a missing key alike; where they do not, nothing can be said."""
    stated = bench.draft.get("idempotency", "missing_key")
    if stated is None or bench.draft.stated("idempotency", "missing_key"):
        return
    seen: dict[str, str] = {}
    for name, control in list(bench.controls.items()):
        if not control.request.operation.idempotent or control.request.key is None:
            continue
        try:
            answer = await bench.send((await bench.arrange(name)).with_key(None), "without a key")
        except Unarranged:
            continue
        seen[name] = "accepted" if answer.ok else "refused" if answer.status == 400 else answer.summary
    others = {name: how for name, how in seen.items() if how != stated}
    if others:
        bench.draft.retract(("idempotency", "missing_key"))
        told = ", ".join(f"{name} {how}" for name, how in sorted(seen.items()))
        bench.draft.todo("idempotency", 'missing_key = "refused"', f"not the same everywhere: {told}")
    elif seen:
        evidence = f"{len(seen)} operations without a key: all {stated}"
        bench.draft.state(("idempotency", "missing_key"), stated, evidence)
