"""Calls of another installation on what is its own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.checks.support.case import Case
from conformance.checks.support.counters_of_ids import is_one_counter
from conformance.checks.support.effects import Oracle
from conformance.checks.support.installation_names import with_installation_headers
from conformance.checks.support.replays import are_alike
from conformance.checks.support.signals import Inconclusive, Violation
from conformance.checks.support.transitions import SETTLE_S
from conformance.checks.support.unknown_ids import is_distinctive
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core import json_pointer as pointer
from conformance.core import strict_json as strictjson
from conformance.core.messages import join_values
from conformance.core.model import REFUSAL_STATUSES
from conformance.profile.installations import is_foreign
from conformance.profile.model import Credential
from conformance.profile.render import placeholders
from conformance.profile.resources import foreign_states

_CONFLICT: Final = 409
_PAUSES_S: Final = (0.3, 0.6)


async def expect_out_of_reach(
    case: Case,
    path: Mapping[str, str],
    purpose: str,
    credential: str = "",
    templates: Sequence[Any] = (),
    owner: str = "",
) -> Answer:
    """The refusal of the control with these path values, with this key of another installation, or with another body.

    Violated where it is not refused. Numbers are judged only where it is seen that both name the same object, or that
    one counter gives them: each installation may count its own. `templates` holds the body to send instead of the
    control's, if any; headers name the installation `owner`, if any.
    """

    async def refuse(request: Request) -> Answer:
        changed = with_installation_headers(request.with_path(**path), owner)
        changed = case.as_credential(changed, credential) if credential else changed
        is_numbered = not all(map(is_distinctive, changed.path.values()))
        for template in templates if not is_numbered else ():
            changed = changed.with_body(await case.runtime.arranger.render_body(request, template))
        oracle = await Oracle.watch_if_visible(case, request) if is_numbered and not case.operation.is_read else None
        control = request.with_fresh_key()
        try:
            return await case.refusal(changed, REFUSAL_STATUSES, purpose, any_refusal=True, control=control)
        except Violation as violation:
            answer = violation.answers[-1]
            is_doubtful = answer.ok and is_numbered and not await _is_same_object(case, request, answer, oracle)
            if is_doubtful and not await is_one_counter(case, _states_in_path(case), foreign_of(case, case.operation)):
                message = "each installation may number its own objects, and that id may name two"
                raise Inconclusive(message, answer, cause="ids that are numbers") from violation
            raise

    return await case.share_control(refuse, purpose)


async def _is_same_object(case: Case, request: Request, stranger: Answer, oracle: Oracle | None) -> bool:
    """Whether another installation's 200 is seen to be about the own object: in what it shows, or by its effect.

    What it shows counts where it is what the owner is shown, and another object is shown otherwise, ids apart.
    """
    if request.path != stranger.request.path:
        return False
    if not case.operation.is_read:
        return oracle is not None and bool(await oracle.count_visible_effects())
    other_request = await case.arrange(use=_states_in_path(case))
    other, known = await case.control(other_request, "another object"), await case.control(request, "the own object")
    return are_alike(case, known, stranger) and not strictjson.is_equal(_nameless(other), _nameless(known))


def _states_in_path(case: Case) -> dict[str, str]:
    """Kind -> state, of the fixtures that the operation's path names."""
    parts = [(name.partition(".")[0], name.split(".")[1:-1]) for name in placeholders(dict(case.facts.path))]
    found = [case.runtime.fixtures.find(kind, state[0] if state else None) for kind, state in parts]
    return {fixture.kind: fixture.state for fixture in found if fixture is not None}


def _nameless(answer: Answer) -> Any:
    """What an answer shows, without the ids in its path."""
    ids = set(answer.request.path.values())
    return [(place, value) for place, value in pointer.leaves(answer.value) if str(value) not in ids]


@dataclass(frozen=True)
class Views:
    """What two installations are shown under one id, before and after a change by the first.

    An id that is a number may name an object of each. That both answers change in the same way says that it names one,
    and so does what is shown to the second one after the change alone, as to the owner.
    """

    case: Case
    reads: tuple[Request, Request]
    """By the owner, and by the other one."""
    before: tuple[Answer, Answer]

    @classmethod
    async def watch(cls, case: Case, read: Request, owner: str) -> Views | None:
        """None where an id is not a number, or both are shown different objects; `read` is that of the second one."""
        if all(map(is_distinctive, read.path.values())):
            return None
        reads = (case.as_credential(read, owner), read)
        first, second = await _views(case, reads)
        is_of_interest = first.ok and (second.is_refused or (second.ok and are_alike(case, first, second)))
        return cls(case, reads, (first, second)) if is_of_interest else None

    async def change_of_both(self) -> Answer | None:
        """The second one's answer that shows the owner's change; None where not both show one. A copy may be older."""
        for pause_s in (0.0, *_PAUSES_S):
            await asyncio.sleep(pause_s)
            first, second = await _views(self.case, self.reads)
            is_new = self.before[1].is_refused or not are_alike(self.case, self.before[0], first)
            if first.ok and second.ok and is_new and are_alike(self.case, first, second):
                return second
        return None


async def _views(case: Case, reads: tuple[Request, Request]) -> tuple[Answer, Answer]:
    first, second = reads
    return await case.send(first, "a read by the owner"), await case.send(second, "a read by another installation")


def other_key(case: Case, *operations: str) -> str:
    """An active key of another installation with the scopes of these operations, or of the case's. Unstated without.

    A profile that excludes a second installation excludes its keys, whatever their scopes would be.
    """
    scopes = {case.contract.operations[name].scope for name in operations or (case.operation.id,)} - {""}

    def is_usable(candidate: Credential) -> bool:
        return candidate.active and is_foreign(case.profile, candidate)

    keys = case.profile.credentials.values()
    found = [key.name for key in keys if is_usable(key) and scopes <= key.scopes]
    suffix = f" with {join_values(sorted(scopes))}" if scopes else ""
    case.need_credential(found, f"an active key of a second installation{suffix} is needed", is_usable)
    return found[0]


async def send_unlocked(case: Case, bad: Request, purpose: str, request: Request) -> Answer:
    """The answer to a request for an object of another installation, which its owner's call may lock for a moment.

    `request`: the owner's, as for `send_with_retry`.
    """
    answer = await case.send_with_retry(bad, purpose, request)
    if answer.status != _CONFLICT:
        return answer
    await asyncio.sleep(SETTLE_S)
    return await case.send_with_retry(bad.with_fresh_key(), f"{purpose}, later", request)


def foreign_of(case: Case, operation: Operation) -> Mapping[str, str]:
    """Kind -> a state of another installation, for the ids in the operation's path; empty without one."""
    path = case.runtime.arranger.facts(operation).path
    kinds = {name.partition(".")[0] for name in placeholders(dict(path))}
    states = {kind: foreign_states(case.profile.fixtures.get(kind, {})) for kind in kinds}
    return {kind: found[0] for kind, found in states.items() if found}


async def ids_for_query(case: Case) -> dict[str, str]:
    """Query parameters that could name the object of the path -> the id of another installation's, which calls share.

    Empty without one, and for a public operation. Raises one of `OBSTACLES` where a fixture fails.
    """
    use = foreign_of(case, case.operation)
    if not use or case.operation.auth != "api_key":
        return {}
    request = await case.runtime.arranger.arrange(case.operation, use=use, shared=True)
    foreign_id = request.path[case.operation.path_parameters[0]]
    return dict.fromkeys(_names_of_id(case.operation), foreign_id)


def _names_of_id(operation: Operation) -> list[str]:
    """The parameter of the path, and names that are made of the segment before it."""
    name = operation.path_parameters[0]
    before, _, _ = operation.path.partition(f"/{{{name}}}")
    kind = before.rpartition("/")[2].removesuffix("s")
    return list(dict.fromkeys((name, "id", f"{kind}Id", f"{kind}_id")))


async def events_of(case: Case, key: str) -> list[Request]:
    """Calls of another installation on its own orders and carts, any of which may cause a delivery."""
    scopes = case.profile.credentials[key].scopes
    requests = []
    for operation in case.contract.select(["orders", "carts"]):
        if operation.idempotent and (not operation.scope or operation.scope in scopes):
            use = foreign_of(case, operation)
            try:
                if use:
                    requests.append(await case.arrange(operation, use=use, credential=key, prove_control=False))
            except MissingFact:
                continue
    return requests
