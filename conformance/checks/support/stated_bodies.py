"""The other valid bodies of an operation that the profile states: several checks judge the answer to each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conformance.checks.support.authorization import ALLOWED, names
from conformance.checks.support.case import Case
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.profile.model import Profile
from conformance.profile.resources import OperationFacts

_FIRST: Final = 2
"""The number of the first other body; the usual one is the first of all."""


def other_bodies(profile: Profile, operation: Operation) -> Mapping[str, int | None]:
    """Name of a case -> index in `bodies`; one case without an index where the profile states no other body."""
    bodies = profile.operations.get(operation.id, OperationFacts()).bodies
    return {f"body-{index + _FIRST}": index for index in range(len(bodies))} or {"": None}


async def answer_to_body(case: Case, index: int) -> Answer:
    """The answer to the other body with this index, sent with the key of the fewest scopes that suffice.

    Raises what `Case.send` raises, and the next check then sends the call again.
    """
    able = names(case.profile, case.operation, ALLOWED) if case.operation.scope else ()
    least = min(able, key=lambda name: len(case.profile.credentials[name].scopes), default="")

    async def send() -> Answer:
        return await send_body(case, index, credential=least)

    return await case.runtime.known_answers[f"body {index + _FIRST} of {case.operation.id}"].get_from(case, send)


async def send_body(case: Case, index: int, credential: str = "") -> Answer:
    """The answer to the other body with this index, on a resource of its own."""
    request = await case.arrange(credential=credential)
    body = await case.runtime.arranger.render_body(request, case.facts.bodies[index])
    return await case.send(request.with_body(body), f"body {index + _FIRST}")
