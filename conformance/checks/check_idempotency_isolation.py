"""Whose key it is: credentials, refusals, formats (IDEM-6, IDEM-8, IDEM-9, IDEM-10, IDEM-11)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from conformance.checks.support.authorization import LACKING, SPENT, lacking, suits
from conformance.checks.support.case import Case
from conformance.checks.support.context import control_failed
from conformance.checks.support.effects import given_of
from conformance.checks.support.registry import check
from conformance.checks.support.replays import alike, without
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request, malformed_key, new_key, well_formed
from conformance.contract import Operation
from conformance.core import strict_json as strictjson
from conformance.core.model import Level
from conformance.profile.model import Idempotency, Profile

_KEYED = ("api-key idempotent",)
_SCOPED = ("scoped idempotent",)


@check("IDEM-6", on=_KEYED)
async def a_key_of_another_installation_is_another_call(case: Case) -> None:
    """The same key and body from another installation never bring back the first one's answer."""
    other = case.stranger()
    first = await case.control(await case.arrange())
    theirs = await case.send(case.as_credential(first.request, other), "the same call from another installation")
    if theirs.status == 409 and not case.operation.path_parameters:
        case.warn("another installation's key conflicts with this one's", first, theirs, expected="a call of its own")
    if not theirs.ok:
        return
    own = await case.control(await case.arrange(), "a call of its own")
    if alike(case, first, theirs) and not alike(case, first, own):
        raise case.violated("another installation was given the first one's answer", first, theirs, expected="not that")


def _no_credential(case: Case, request: Request) -> Request:
    return request.with_authorization()


def _bad_credential(case: Case, request: Request) -> Request:
    return request.with_authorization(case.profile.authorization.replace("{key}", "no-key-of-anyone-0000"))


def _unscoped(case: Case, request: Request) -> Request:
    names = lacking(case.profile, case.operation)
    absent = suits(case.profile, case.operation, LACKING)
    case.need_credential(names, f"a key without the scope {case.operation.scope} is needed", absent)
    return case.as_credential(request, names[0])


def _revoked(case: Case, request: Request) -> Request:
    names = [c.name for c in case.profile.credentials.values() if not c.active]
    absent = suits(case.profile, case.operation, SPENT)
    case.need_credential(names, "a key with status revoked or expired is needed", absent)
    return case.as_credential(request, names[0])


Refuse = Callable[[Case, Request], Request]


@check("IDEM-8", on=_KEYED, cases={"401-none": _no_credential, "401-bad": _bad_credential, "403": _unscoped})
async def a_refusal_does_not_use_the_key_up(case: Case, refuse: Refuse) -> None:
    """After a 401 or 403 the same key, with the good credential, still executes."""
    request = await case.arrange()
    refused = await case.send(refuse(case, request), "refused with the key")
    if not refused.refused:
        raise Inconclusive("the defective credential was not refused", refused, cause=f"control:{case.operation.id}")
    good = await case.send(request, "the same key, good credential")
    if good.ok:
        return
    await case.control(await case.arrange())
    if good.status not in (401, 403, 409) or good.gateway_trouble:
        raise Inconclusive(f"the good credential was answered {good.summary}", refused, good)
    raise case.violated("a refusal has used the key up", refused, good, expected="200")


@check("IDEM-9", on=_KEYED, cases={"none": (_no_credential, 401), "bad": (_bad_credential, 401),
                                  "revoked": (_revoked, 401), "unscoped": (_unscoped, 403)})  # fmt: skip
async def a_known_key_is_no_credential(case: Case, how: tuple[Refuse, int]) -> None:
    """A call that was answered before is answered again only to who may make it."""
    refuse, expected = how
    request = await case.arrange()
    alone = await case.send(refuse(case, request).with_fresh_key(), "an unknown key")
    if alone.status != expected:
        cause = f"control:{case.operation.id}"
        raise Inconclusive(f"the defective credential is answered {alone.summary} anyway", alone, cause=cause)
    first = await case.control(request)
    again = await case.send(refuse(case, first.request), "a known key")
    if again.status != expected:
        raise case.violated("a known key was answered without a good credential", first, again, expected=str(expected))


def _well_formed(profile: Profile, operation: Operation) -> Mapping[str, Callable[[], str] | None]:
    idempotency = profile.idempotency
    if idempotency is None or not idempotency.format:
        return {"": None}
    if idempotency.format == "uuid":
        return {"version-4": lambda: str(uuid.uuid4()), "version-1": lambda: str(uuid.uuid1())}
    if idempotency.format == "any":
        return {"short": lambda: uuid.uuid4().hex[:10], "long": lambda: uuid.uuid4().hex * 2}
    return {f"sample-{number}": lambda: new_key(idempotency) for number in range(1, 4)}


@check("IDEM-10", cases=_well_formed)
async def every_well_formed_key_is_accepted(case: Case, make: Callable[[], str] | None) -> None:
    """A key of the format that the profile declares is accepted; what becomes of another is recorded."""
    case.need(make, "idempotency.format", "the key's format is needed")
    assert make is not None
    key, idempotency = make(), case.profile.idempotency
    assert idempotency is not None
    case.further(well_formed(idempotency, key), "no key of the stated pattern could be made")
    request = await case.arrange()
    answer = await case.send(request.with_key(key), "a well-formed key")
    if not answer.ok:
        await case.control(await case.arrange())
        raise case.violated("a well-formed idempotency key was refused", answer, expected="200")
    if other := malformed_key(idempotency) if idempotency.format != "any" else "":
        odd = await case.send((await case.arrange()).with_key(other), "a key of another format")
        case.note(f"a key of another format is answered {odd.summary}")


def _with_key(read: Request, idempotency: Idempotency) -> Request:
    """A request of an operation without idempotency, with a key where the others carry theirs."""
    key = new_key(idempotency)
    if idempotency.carrier == "header":
        return read.with_header(idempotency.name, key)
    return read.with_query(**{idempotency.name: key})


@check("IDEM-11", on="plain")
async def a_plain_operation_needs_no_key(case: Case) -> None:
    """An operation without idempotency is answered without an idempotency key, and does not ask for one."""
    request = await case.arrange(proven=False)
    answer = await case.send(request, "no idempotency key")
    if answer.ok:
        return
    idempotency = case.profile.idempotency
    if idempotency is None or idempotency.carrier == "body":
        raise control_failed(answer)
    keyed = await case.send(_with_key(request, idempotency), "an idempotency key")
    again = await case.send(request, "no idempotency key again")
    if again.ok or not keyed.ok:
        raise control_failed(answer)
    raise case.violated("an idempotency key is asked for", keyed, again, expected="200", level=Level.REQUIRED)


@check("IDEM-11", on=("api-key read",))
async def a_key_on_a_read_changes_nothing(case: Case) -> None:
    """A read that carries an idempotency key is answered afresh after the state has changed."""
    idempotency = case.profile.idempotency
    case.need(idempotency, "idempotency", "the key's carrier is needed")
    assert idempotency is not None
    case.exists(idempotency.carrier != "body", "a read has no body to carry a key")
    case.need(case.profile.effects, "effects", "a way to see an effect is needed")
    writers = [name for name, effect in case.profile.effects.items() if effect.operation == case.operation.id]
    case.exists(writers, "no effect that the profile names is seen through this read")
    write = await case.arrange(case.contract.operations[writers[0]])
    read = await case.arrange(given=given_of(write), proven=False)
    keyed = _with_key(read, idempotency)
    before = await case.control(keyed, "a read with a key")
    await case.control(write, "a change")
    fresh, again = await case.control(read, "a read without a key"), await case.control(keyed, "the keyed read again")
    values = [without(answer.value, case.volatile) for answer in (before, fresh, again)]
    if not strictjson.same(values[0], values[1]) and strictjson.same(values[0], values[2]):
        raise case.violated(
            "a read with a key was replayed", before, fresh, again, expected="the state after the change"
        )
