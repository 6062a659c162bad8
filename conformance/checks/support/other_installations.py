"""Calls of another installation on what is its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.messages import join_values
from conformance.profile.model import Credential
from conformance.profile.render import placeholders
from conformance.profile.resources import foreign_states

_REFUSAL_STATUSES: Final = (400, 401, 403, 404, 409)


async def expect_out_of_reach(case: Case, path: Mapping[str, str], purpose: str, credential: str = "") -> Answer:
    """The refusal of the control with these path values, or with this key, of another installation.

    Violated where it is not refused.
    """

    def change(request: Request) -> Request:
        changed = request.with_path(**path)
        return case.as_credential(changed, credential) if credential else changed

    return await case.shared_negative(change, _REFUSAL_STATUSES, purpose, any_refusal=True)


def other_key(case: Case, *operations: str) -> str:
    """An active key of another installation with the scopes of these operations. Unstated without one."""
    home = case.runtime.arranger.home
    scopes = {case.contract.operations[name].scope for name in operations} - {None, ""}

    def suits(candidate: Credential) -> bool:
        return candidate.active and candidate.installation != home and scopes <= candidate.scopes

    found = [name for name, candidate in case.profile.credentials.items() if suits(candidate)]
    case.need_credential(
        found, f"an active key of a second installation with {join_values(sorted(scopes))} is needed", suits
    )
    return found[0]


def foreign_of(case: Case, operation: Operation) -> Mapping[str, str]:
    """Kind -> a state of another installation, for the ids in the operation's path; empty without one."""
    path = case.runtime.arranger.facts(operation).path
    kinds = {name.partition(".")[0] for name in placeholders(dict(path))}
    states = {kind: foreign_states(case.profile.fixtures.get(kind, {})) for kind in kinds}
    return {kind: found[0] for kind, found in states.items() if found}


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
