"""The forms that idempotency keys of a stated format have."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from conformance.checks.support.case import Case
from conformance.client.request import new_key
from conformance.profile.behavior import Idempotency
from conformance.profile.model import Profile

MakeKey = Callable[[], str]


def forms_of_keys(profile: Profile) -> Mapping[str, MakeKey | None]:
    """What makes a new key of each form; None where the profile states no format."""
    idempotency = profile.idempotency
    if idempotency is None or not idempotency.format:
        return {"": None}
    if idempotency.format == "uuid":
        return {"version-4": lambda: str(uuid.uuid4()), "version-1": lambda: str(uuid.uuid1())}
    if idempotency.format == "any":
        return {"short": lambda: uuid.uuid4().hex[:10], "long": lambda: uuid.uuid4().hex * 2}
    return {f"sample-{number}": lambda: new_key(idempotency, "any") for number in range(1, 4)}


def stated_idempotency(case: Case, fact: str, reason: str) -> Idempotency:
    """What the profile states of keys. Unstated without their carrier, their format or this fact."""
    idempotency = case.profile.idempotency
    case.need(idempotency, "idempotency", "the key's carrier is needed")
    assert idempotency is not None
    case.need(idempotency.format, "idempotency.format", "the key's format is needed")
    if fact == "other_format":
        case.require_applicable(idempotency.format != "any", "every key is of the stated format")
    case.need(getattr(idempotency, fact), f"idempotency.{fact}", reason)
    return idempotency


def swap_case(idempotency: Idempotency, key: str) -> str:
    """The key in the other case; a UUID in capitals."""
    return key.upper() if idempotency.format == "uuid" else key.swapcase()
