"""Other operations on one resource: what they answer shows whether a refusal is about the resource or the operation."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import Final

from conformance.checks.support.case import Case
from conformance.checks.support.signals import OBSTACLES, Inconclusive
from conformance.checks.support.transitions import LATER_S
from conformance.client.fixtures import Members
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.profile.render import placeholders

_MAX_ATTEMPTS: Final = 3


async def refused_by_one_operation(case: Case, refused: Answer) -> tuple[Answer, Answer] | None:
    """The same refusal again some time later, and the 200 of another operation on that resource after it.

    None where there is none: the resource itself may be the reason, or what the caller may do with it. A refusal that
    passes by itself is none either, since a copy that one operation reads may be behind, nor is that of a generated
    body, which may name what does not exist.
    """
    if case.has_generated_body:
        return None
    await asyncio.sleep(max(LATER_S, case.profile.visible_after_s(case.operation.id)))
    later = await case.send_with_retry(refused.request.with_fresh_key(), "the same call some time later")
    if later.status != refused.status:
        return None
    kinds = {name.partition(".")[0]: name for name in refused.request.fixtures.members}
    preset = {kind: refused.request.fixtures.members[name] for kind, name in kinds.items()}
    attempts = 0
    for operation in _siblings(case):
        with contextlib.suppress(Inconclusive, *OBSTACLES):  # what cannot be called shows nothing
            answer = await _call_sibling(case, operation, refused.request, preset)
            if answer is not None and answer.ok:
                return later, answer
            attempts += answer is not None
        if attempts == _MAX_ATTEMPTS:
            break
    return None


def _siblings(case: Case) -> list[Operation]:
    """The operations with the same parameter in their path, those first that read.

    They name in their bodies what the operation names in its own, such as a ticket: it may be what is refused.
    """
    parameters = case.operation.path_parameters
    own_names = {name for name in _names_in_body(case, case.operation) if name != "unique"}
    found = [
        other
        for other in case.contract.all
        if other != case.operation and parameters and other.path_parameters == parameters
        if own_names <= _names_in_body(case, other)
    ]
    return sorted(found, key=lambda operation: not operation.is_read)


def _names_in_body(case: Case, operation: Operation) -> frozenset[str]:
    body = case.runtime.arranger.facts(operation).body
    return placeholders(body) if body is not None else frozenset()


async def _call_sibling(
    case: Case, operation: Operation, refused: Request, preset: Mapping[str, Members]
) -> Answer | None:
    """The answer of another operation on the very resource; None where its path names another one."""
    request = await case.arrange(operation, preset=preset, prove_control=False)
    if dict(request.path) != dict(refused.path):
        return None
    return await case.send_with_retry(request, f"{operation.id} on the same resource")
