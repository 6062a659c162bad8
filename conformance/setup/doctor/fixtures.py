"""Facts about fixtures: each provider yields one, with the members that are asked of it, and the target knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from conformance.checks.support.context import Runtime
from conformance.client.fixtures import Members, NotSent
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.errors import FixtureError
from conformance.profile.model import FOREIGN, Fixture
from conformance.profile.render import placeholders
from conformance.setup.doctor.facts import Fact, note, proven, unsure, wrong


async def stock(runtime: Runtime) -> list[Fact]:
    """One fact a fixture, all providers asked at once."""
    profile = runtime.settings.profile
    if not profile.fixtures:
        return [note("fixtures", "none are stated", "without, no operation with a path parameter is judged")]
    every = [fixture for states in profile.fixtures.values() for fixture in states.values()]
    return list(await asyncio.gather(*(_fixture(runtime, fixture) for fixture in every)))


async def _fixture(runtime: Runtime, fixture: Fixture) -> Fact:
    name = f"fixtures.{fixture.name}"
    scope = dict(runtime.arranger.constants())  # what an arranged request would have
    try:
        members = await runtime.fixtures.get_shared(fixture, scope)
    except FixtureError as error:
        return wrong(error.where or name, error.message, error.hint or "look at its provider")
    except NotSent as refused:
        return note(name, f"not made: {refused}")
    wanted = set(_members(runtime, fixture))
    if lost := sorted(wanted - set(members)):
        has = ", ".join(sorted(members)) or "none"
        return wrong(name, f"has no member {lost[0]!r}, which [operations] asks for; it has {has}", "mend `members`")
    return await _known(runtime, fixture, members, name)


def _members(runtime: Runtime, fixture: Fixture) -> Iterator[str]:
    """What templates ask of this kind, in this state or in whatever state is used."""
    own = runtime.arranger.constants()
    for facts in runtime.settings.profile.operations.values():
        for name in placeholders([dict(facts.path), facts.body, list(facts.bodies), dict(facts.query)]):
            kind, _, rest = name.partition(".")
            state, _, member = rest.rpartition(".")
            if name not in own and kind == fixture.kind and state in ("", fixture.state) and fixture.state != FOREIGN:
                yield member


async def _known(runtime: Runtime, fixture: Fixture, members: Members, name: str) -> Fact:
    """A read that uses the kind finds it; what belongs to others, it must not find."""
    read = next(iter(_reads(runtime, fixture)), None)
    shown = next((f"{key}={value}" for key, value in members.items() if isinstance(value, str | int)), "one")
    if read is None:
        return proven(name, "yields one")
    try:
        answer = await _answer(runtime, read, {fixture.kind: members})
    except (MissingFact, FixtureError, NotSent) as error:
        return unsure(name, f"yields {shown}; {read.id} could not be asked: {error}")
    if fixture.state == FOREIGN:
        if answer.ok:
            return wrong(name, f"{shown} is read by the home installation's key", "take one of another installation")
        return proven(name, f"yields {shown}, hidden from the home installation: {answer.summary}")
    if answer.status == 404:
        return wrong(name, f"yields {shown}, and {read.id} answers 404 for it", "does it exist, in this installation?")
    return proven(name, f"yields {shown}, known to {read.id}: {answer.summary}")


def _reads(runtime: Runtime, fixture: Fixture) -> Iterator[Operation]:
    for operation in runtime.settings.contract.all:
        path = dict(runtime.arranger.facts(operation).path)
        if operation.method == "GET" and any(name.partition(".")[0] == fixture.kind for name in placeholders(path)):
            yield operation


async def _answer(runtime: Runtime, read: Operation, given: Mapping[str, Members]) -> Answer:
    return await runtime.sender.send(await runtime.arranger.arrange(read, preset=given), "fixture known")
