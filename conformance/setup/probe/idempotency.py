"""Carrier and format of the idempotency key, found by replays; treatment of a missing key."""

from __future__ import annotations

import re
import secrets as random_source
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, product
from typing import Any, Final

from msgspec import structs

from conformance.client.pattern import sample
from conformance.client.request import NO_BODY, Request
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.profile.behavior import Idempotency
from conformance.setup.conventions import IDEMPOTENCY_KEY_NAMES
from conformance.setup.probe.context import ARRANGE_ERRORS, Probe

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
_MAX_SUSPECTS: Final = 6
_MAX_WRITTEN_SUSPECTS: Final = 2
_WRITTEN: Final = ('"{key}"', "key={key}", "uuid:{key}", "urn:uuid:{key}", "id={key}")
"""Forms of a key: a string of RFC 8941, or after a word."""
_MAX_OPERATIONS: Final = 2
"""Number of operations on which all locations are tried: the first may be refused because of its body."""
_OPERATIONS: Final = (
    "createInstallationWebhook",
    "quotePublicCart",
    "revokePublicCart",
    "requestStorefrontOrderAfterSales",
    "cancelHostedCheckoutBrowser",
)
"""Operations to try: first the one that needs no fixture."""
_ID_NAME: Final = re.compile(r"(^|[^a-z])(id|ref|uuid|number)$|Id$|Ref$|_id$", re.IGNORECASE)
_PER_REQUEST: Final = re.compile(r"request|trace|correlation|span", re.IGNORECASE)


@dataclass(frozen=True)
class KeyLocation:
    """A location of the key: `name` is the name of a header or parameter, or a JSON pointer into the body."""

    carrier: str
    name: str
    written: str = "{key}"

    def __str__(self) -> str:
        return f"{self.carrier} {self.name}" + (f", written {self.written}" if self.written != "{key}" else "")

    @property
    def idempotency(self) -> Idempotency:
        if self.carrier == "body":
            return Idempotency("body", pointer=self.name, written=self.written)
        return Idempotency(self.carrier, self.name, written=self.written)


@dataclass(frozen=True)
class KeyFormat:
    """A format of keys. `value` is `idempotency.format` in the profile; None: the default."""

    name: str
    value: Any
    generate: Callable[[], str]


def _random_text(alphabet: str, length: int) -> str:
    return "".join(random_source.choice(alphabet) for _ in range(length))


_HEX: Final = "0123456789abcdef"
_BASE36: Final = string.ascii_lowercase + string.digits
KEY_FORMATS: Final = (
    KeyFormat("uuid", None, lambda: str(uuid.uuid4())),
    KeyFormat("32 hexadecimal digits", {"pattern": "[0-9a-f]{32}"}, lambda: _random_text(_HEX, 32)),
    KeyFormat("24 small letters and digits", {"pattern": "[a-z0-9]{24}"}, lambda: _random_text(_BASE36, 24)),
    KeyFormat("18 digits", {"pattern": "[1-9][0-9]{17}"}, lambda: "1" + _random_text(string.digits, 17)),
    KeyFormat(
        "idem_ and 24 hexadecimal digits", {"pattern": "idem_[0-9a-f]{24}"}, lambda: f"idem_{_random_text(_HEX, 24)}"
    ),
    KeyFormat(
        "a ULID",
        {"pattern": "0[0-9A-HJKMNP-TV-Z]{25}"},
        lambda: "0" + _random_text("0123456789ABCDEFGHJKMNPQRSTVWXYZ", 25),
    ),
)
"""Most common first."""


def key_formats(probe: Probe) -> list[KeyFormat]:
    """UUIDs, the formats of the document, and then other common ones."""
    patterns = probe.openapi.key_patterns
    documented = [KeyFormat("the pattern of the document", {"pattern": p}, partial(_match, p)) for p in patterns]
    return [KEY_FORMATS[0], *documented, *KEY_FORMATS[1:]]


def _match(pattern: str) -> str:
    return sample(pattern, random_source.SystemRandom())


async def probe_key_location(probe: Probe) -> None:
    """Tries locations until a key in one of them changes the outcome, and states it with the evidence."""
    if probe.draft.has("idempotency", "carrier"):
        return
    attempts = 0
    for name in _OPERATIONS:
        try:
            keyless = _without_key_members(probe, (await probe.arrange(name)).with_key(None))
        except ARRANGE_ERRORS as error:
            probe.echo(f"  cannot try {name}: {error}")
            continue
        first = await probe.send(keyless, "without a key")
        if first.status not in (200, 400):
            probe.echo(f"  {name} without a key gets {first.summary}: skipped")
            continue
        if await (_find_if_accepted if first.ok else _find_if_refused)(probe, name, first):
            return
        attempts += 1
        if first.ok or attempts == _MAX_OPERATIONS:
            break
    probe.draft.todo(
        "idempotency", 'carrier = "header"', "header, query or body: the carrier of the key; 10 operations need it"
    )
    probe.draft.todo(
        "idempotency", 'name = "Idempotency-Key"', 'name of the header or parameter; in a body: pointer = "/..."'
    )
    probe.echo("  idempotency key: location not found; state [idempotency] carrier and name in the draft")


def _without_key_members(probe: Probe, request: Request) -> Request:
    """The body without the members that may carry the key: a body generated from a schema has them."""
    for carrier, at in probe.openapi.key_locations:
        if carrier == "body" and pointer.has(request.body, at):
            request = request.with_body(pointer.remove(request.body, at))
    return request


async def _find_if_refused(probe: Probe, name: str, first: Answer) -> bool:
    """Finds the location of the key if a request without a key is refused: the one that gets 200.

    If a UUID is refused with another answer than a missing key, other formats are tried in that location.
    """
    noise = differences(first.value, (await probe.send(first.request, "without a key")).value)
    suspects: list[KeyLocation] = []
    for location in key_locations(probe):
        answer = await _try_location(probe, name, location, KEY_FORMATS[0], first)
        if answer is None:
            continue
        if answer.ok:
            return True
        if differences(first.value, answer.value) - noise:
            suspects.append(location)
    for location, key_format in _other_forms(probe, suspects or list(islice(key_locations(probe), 1))):
        answer = await _try_location(probe, name, location, key_format, first)
        if answer is not None and answer.ok:
            return True
    probe.echo(f"  {name} gets {first.summary} with a key in each common location, and without one")
    return False


def _other_forms(probe: Probe, suspects: list[KeyLocation]) -> Iterator[tuple[KeyLocation, KeyFormat]]:
    """The suspected locations with other formats of keys, and then with other ways to write each."""
    formats = key_formats(probe)
    yield from product(suspects[:_MAX_SUSPECTS], formats[1:])
    for key_format, written in product(formats, _WRITTEN):
        for location in suspects[:_MAX_WRITTEN_SUSPECTS]:
            yield replace(location, written=written), key_format


async def _try_location(
    probe: Probe, name: str, location: KeyLocation, key_format: KeyFormat, first: Answer
) -> Answer | None:
    """The answer with a key in the location; if it is 200, the location is stated."""
    request = await _request_with_key(probe, name, location, key_format.generate())
    if request is None:
        return None
    answer = await probe.send(request, "idempotency")
    if answer.ok:
        repeat = await probe.send(request, "replay")
        other = await probe.send(request.with_key(key_format.generate()), "another key")
        evidence = f"{name}: {first.summary} without a key, 200 with one, {_describe_replay(answer, repeat, other)}"
        _state_location(probe, location, key_format, evidence)
        probe.draft.state(("idempotency", "missing_key"), "refused", f"{name} without a key: {first.summary}")
    return answer


async def _find_if_accepted(probe: Probe, name: str, first: Answer) -> bool:
    """Finds the location of the key if a request without a key is accepted: equal keys have equal outcomes there."""
    keyless = _without_key_members(probe, (await probe.arrange(name)).with_key(None))
    second = await probe.send(keyless, "without a key")
    identifiers = identifying_pointers(first.value, second.value)
    suspects: list[KeyLocation] = []
    for location in key_locations(probe):
        if await _try_replay(probe, name, location, KEY_FORMATS[0], identifiers, suspects):
            return True
    for location, key_format in _other_forms(probe, suspects):
        if await _try_replay(probe, name, location, key_format, identifiers, []):
            return True
    probe.echo(f"  {name} is repeated with a key in each common location, and without one")
    return False


async def _try_replay(
    probe: Probe,
    name: str,
    location: KeyLocation,
    key_format: KeyFormat,
    identifiers: frozenset[str],
    suspects: list[KeyLocation],
) -> bool:
    """Whether equal keys have equal outcomes, and different keys different ones. A refused location is a suspect."""
    request = await _request_with_key(probe, name, location, key_format.generate())
    if request is None:
        return False
    answer = await probe.send(request, "idempotency")
    if not answer.ok:
        suspects.append(location)
        return False
    repeat = await probe.send(request, "replay")
    if not _same_outcome(answer, repeat, identifiers):
        return False
    other = await probe.send(request.with_key(key_format.generate()), "another key")
    if other.ok and _same_outcome(answer, other, identifiers):
        return False  # the outcome does not depend on the key
    if location.carrier == "body" and await _is_part_of_content(probe, name, location, answer, identifiers):
        return False
    _state_location(probe, location, key_format, f"{name}: {_describe_replay(answer, repeat, other)}")
    probe.draft.state(("idempotency", "missing_key"), "accepted", f"{name} without a key: 200")
    return True


async def _is_part_of_content(
    probe: Probe, name: str, location: KeyLocation, answer: Answer, identifiers: frozenset[str]
) -> bool:
    """Whether another body with the same member is another call: where a call is known by its content, any member is
    part of that."""
    other = await _request_with_key(probe, name, location, answer.request.key or "")
    if other is None:
        return False
    same_resource = structs.replace(other, path=answer.request.path)
    changed = await probe.send(same_resource, "the same key, another body")
    return changed.ok and not _same_outcome(answer, changed, identifiers)


def key_locations(probe: Probe) -> Iterator[KeyLocation]:
    """Locations to try, those of the OpenAPI document first."""
    documented = [KeyLocation(*location) for location in probe.openapi.key_locations]
    common = [KeyLocation("header", name) for name in IDEMPOTENCY_KEY_NAMES]
    common += [KeyLocation("query", name) for name in (*_PARAMETERS, *IDEMPOTENCY_KEY_NAMES)]
    common += [KeyLocation("body", at) for at in _POINTERS]
    yield from dict.fromkeys([*documented, *common])


async def _request_with_key(probe: Probe, name: str, location: KeyLocation, key: str) -> Request | None:
    """A request on new fixtures with a key in the location; None if the body cannot contain it."""
    request = structs.replace(await probe.arrange(name), idempotency=location.idempotency, key=key)
    if location.carrier != "body":
        return request
    if request.body is NO_BODY or not isinstance(request.body, dict):
        return None
    try:
        pointer.put(request.body, location.name, location.idempotency.write(key))
    except (KeyError, ValueError):
        return None
    return request


def differences(first: Any, second: Any) -> frozenset[str]:
    """The JSON pointers at which two values differ; arrays are compared by index."""
    first_leaves, second_leaves = dict(pointer.leaves(first)), dict(pointer.leaves(second))
    return frozenset(
        at
        for at in first_leaves.keys() | second_leaves.keys()
        if at not in first_leaves
        or at not in second_leaves
        or not strictjson.is_equal(first_leaves[at], second_leaves[at])
    )


def identifying_pointers(first: Any, second: Any) -> frozenset[str]:
    """The pointers that identify a created resource: ids that differ, else other differences in `data`."""
    differing = differences(first, second)
    candidates = {at for at in differing if not _PER_REQUEST.search(at)}
    ids = {at for at in candidates if _ID_NAME.search(pointer.tokens(at)[-1])}
    return frozenset(ids or {at for at in candidates if at.startswith("/data/")} or differing)


def _same_outcome(first: Answer, second: Answer, identifiers: frozenset[str]) -> bool:
    if not (first.ok and second.ok) or not identifiers:
        return False
    return all(_value_at(first.value, at) == _value_at(second.value, at) is not None for at in identifiers)


def _value_at(value: Any, at: str) -> Any:
    return pointer.get(value, at) if pointer.has(value, at) else None


def _describe_replay(answer: Answer, repeat: Answer, other: Answer) -> str:
    same = repeat.ok and strictjson.is_equal(answer.value, repeat.value)
    replay = "an identical answer to the same key" if same else f"{repeat.summary} to the same key"
    differs = not (other.ok and strictjson.is_equal(answer.value, other.value))
    return f"{replay}, {'a different' if differs else 'an identical'} answer to another key"


def _state_location(probe: Probe, location: KeyLocation, key_format: KeyFormat, evidence: str) -> None:
    probe.draft.state(("idempotency", "carrier"), location.carrier, evidence)
    member = "pointer" if location.carrier == "body" else "name"
    probe.draft.state(("idempotency", member), location.name, "the key in this location changes the outcome")
    if location.written != "{key}":
        probe.draft.state(("idempotency", "written"), location.written, "the key alone is refused")
    if key_format.value is not None:
        probe.draft.state(
            ("idempotency", "format"), key_format.value, f"a UUID is refused, {key_format.name} accepted; widen it"
        )
    probe.echo(f"  idempotency key: {location}, {key_format.name}")


async def probe_missing_keys(probe: Probe) -> None:
    """Compares all operations for a missing key; if they differ, `missing_key` becomes a TODO."""
    expected = probe.draft.get("idempotency", "missing_key")
    if expected is None or probe.draft.is_stated("idempotency", "missing_key"):
        return
    treatments: dict[str, str] = {}
    for name, control in list(probe.controls.items()):
        if not control.request.operation.idempotent or control.request.key is None:
            continue
        try:
            answer = await probe.send((await probe.arrange(name)).with_key(None), "without a key")
        except ARRANGE_ERRORS:
            continue
        treatments[name] = "accepted" if answer.ok else "refused" if answer.status == 400 else answer.summary
    deviations = {name: treatment for name, treatment in treatments.items() if treatment != expected}
    if deviations:
        probe.draft.retract(("idempotency", "missing_key"))
        summary = ", ".join(f"{name} {treatment}" for name, treatment in sorted(treatments.items()))
        probe.draft.todo("idempotency", 'missing_key = "refused"', f"differs between operations: {summary}")
    elif treatments:
        evidence = f"{len(treatments)} operations without a key: all {expected}"
        probe.draft.state(("idempotency", "missing_key"), expected, evidence)
