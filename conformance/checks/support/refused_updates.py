"""Updates of one endpoint that are refused for different reasons, and what the next good one shows of them.

A partial update answers with members that it does not name (`webhooks.kept`): a refused update that was stored shows
there. The checks of refusals share one endpoint, and each refused update names a value of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from conformance.checks.support.authorization import credentials_without_scope
from conformance.checks.support.case import Case
from conformance.checks.support.invalid_bodies import contract_breaks, is_against_schema
from conformance.checks.support.other_installations import other_key
from conformance.checks.support.replays import free_leaves
from conformance.checks.support.signals import Inconclusive
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson

CONFLICT: Final = "another payload under a used key"
INVALID: Final = "a body with a member of another type"
BAD_END: Final = "a body whose last member is of another type"
NO_KEY: Final = "no API key"
NO_SCOPE: Final = "an API key without the scope"
FOREIGN: Final = "an API key of another installation"


@dataclass(frozen=True)
class RefusedUpdates:
    """`refused` holds the answers by defect; `final` is the answer to the partial update after them."""

    first: Answer
    refused: Mapping[str, Answer]
    final: Answer


class _UpdateRecord:
    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self.updates: RefusedUpdates | None = None


async def expect_not_stored(case: Case, defect: str) -> None:
    """Violated where the update with this defect was refused and the next good one shows what it said."""
    webhooks = case.profile.webhooks
    case.require_case(webhooks.patch and webhooks.kept, "no partial update, and what it leaves alone, is stated")
    known = case.runtime.memory.setdefault("refused updates of one endpoint", _UpdateRecord())
    assert isinstance(known, _UpdateRecord)
    async with known.turn:
        if known.updates is None:
            known.updates = await _send_updates(case)
        else:
            case.answers += [answer.ref for answer in (known.updates.first, *known.updates.refused.values())]
    first, final, refused = known.updates.first, known.updates.final, known.updates.refused.get(defect)
    case.require_case(refused, f"no update with {defect} is known")
    assert refused is not None
    if not refused.is_refused:
        raise Inconclusive(f"{defect}: the update was answered {refused.summary}", refused)
    name, place = _kept_member(case, first.request, defect)
    final_value = pointer.get(final.value, place) if pointer.has(final.value, place) else None
    if strictjson.is_equal(final_value, refused.request.body[name]):
        message = f"an update with {defect} was answered {refused.summary} and yet stored: the next answer shows it"
        raise case.violation(message, first, refused, final, expected=f"the old {place}")
    is_shown = strictjson.is_equal(final_value, first.request.body[name])
    case.require_case(is_shown, f"{place} does not show what the last good update says")


async def _send_updates(case: Case) -> RefusedUpdates:
    request = await case.arrange()
    leaves = {defect: _free_text(case, request, _kept_member(case, request, defect)[0]) for defect in _DEFECTS}
    first = await case.control(request)
    refused = {}
    for number, (defect, change) in enumerate(_DEFECTS.items()):
        leaf = leaves[defect]
        text = f"{pointer.get(request.body, leaf)}-{number}"
        other = first.request.with_body(pointer.replace(first.request.body, leaf, text))
        if (bad := change(case, other)) is not None:
            refused[defect] = await case.send(bad, f"an update with {defect}")
    arranger = case.runtime.arranger  # with another {unique}: a target may refuse an update that changes nothing
    other = replace(first.request, scope={**first.request.scope, "unique": arranger.unique()})
    partial = other.with_body(await arranger.render_body(other, case.profile.webhooks.patch))
    final = await case.control(partial.with_fresh_key(), "a partial update")
    return RefusedUpdates(first, refused, final)


def _kept_member(case: Case, request: Request, defect: str) -> tuple[str, str]:
    """A member of the body that the partial update leaves alone, and its place in the answer. Inapplicable without.

    The first one, where the defect is behind it; else the last.
    """
    webhooks = case.profile.webhooks
    places = {pointer.tokens(where)[-1]: where for where in webhooks.kept if where}
    names = request.body if isinstance(request.body, dict) else ()
    found = [name for name in names if name in places and name not in (webhooks.patch or ())]
    found = [name for name in found if _free_text(case, request, name)]
    case.require_case(found, "the body names no text that a partial update leaves alone")
    name = found[0 if defect == BAD_END else -1]
    return name, places[name]


def _free_text(case: Case, request: Request, name: str) -> str:
    """The place of a text in that member which may have another ending; empty without one."""
    for where, leaf in reversed(free_leaves(request)):
        if not isinstance(leaf, str) or pointer.tokens(where)[0] != name:
            continue
        if not is_against_schema(case, request.with_body(pointer.replace(request.body, where, f"{leaf}-0"))):
            return str(where)
    return ""


def _under_the_used_key(_case: Case, other: Request) -> Request | None:
    return other


def _with_a_bad_member(case: Case, other: Request) -> Request | None:
    name, _ = _kept_member(case, other, INVALID)
    for found in contract_breaks(case.profile, case.operation).values():
        if found is not None and pointer.tokens(found[0])[0] != name:
            return found[1](other).with_fresh_key()
    return None


def _with_a_bad_end(case: Case, other: Request) -> Request | None:
    """The bad member stands behind all others, in the body, and behind the changed one in the schema if it can."""
    name, _ = _kept_member(case, other, BAD_END)
    for found in reversed(list(contract_breaks(case.profile, case.operation).values())):
        bad_name = pointer.tokens(found[0])[0] if found is not None else name
        if found is None or bad_name == name or not isinstance(bad := found[1](other).body, dict):
            continue
        if bad_name in bad:
            others = {member: value for member, value in bad.items() if member != bad_name}
            return other.with_body({**others, bad_name: bad[bad_name]}).with_fresh_key()
    return None


def _without_a_key(_case: Case, other: Request) -> Request | None:
    return other.with_fresh_key().with_authorization()


def _without_the_scope(case: Case, other: Request) -> Request | None:
    names = credentials_without_scope(case.profile, case.operation)
    return case.as_credential(other.with_fresh_key(), names[0]) if names else None


def _by_another_installation(case: Case, other: Request) -> Request | None:
    try:
        return case.as_credential(other.with_fresh_key(), other_key(case))
    except MissingFact:
        return None


_DEFECTS: Final[Mapping[str, Callable[[Case, Request], Request | None]]] = {
    CONFLICT: _under_the_used_key,
    INVALID: _with_a_bad_member,
    BAD_END: _with_a_bad_end,
    NO_KEY: _without_a_key,
    NO_SCOPE: _without_the_scope,
    FOREIGN: _by_another_installation,
}
