"""Facts about fixtures: each provider yields one with the members that templates use, and the target knows it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping

from conformance.checks.support.context import Runtime
from conformance.client.fixtures import Members, NotSent
from conformance.client.request_builder import MissingFact
from conformance.client.response import Answer
from conformance.contract import Operation
from conformance.core.errors import FixtureError
from conformance.profile.render import placeholders
from conformance.profile.resources import Fixture
from conformance.setup.doctor.facts import Fact, note, obstacle, proven, unsure, wrong


async def fixture_facts(runtime: Runtime) -> list[Fact]:
    """One fact for each fixture; all providers are called concurrently."""
    profile = runtime.settings.profile
    if not profile.fixtures:
        return [note("fixtures", "none are stated", "operations with path parameters are not judged")]
    fixtures = [fixture for states in profile.fixtures.values() for fixture in states.values()]
    return list(await asyncio.gather(*(_fixture_fact(runtime, fixture) for fixture in fixtures)))


async def _fixture_fact(runtime: Runtime, fixture: Fixture) -> Fact:
    name = f"fixtures.{fixture.name}"
    scope = dict(runtime.arranger.constants())  # as for an arranged request
    try:
        members = await runtime.fixtures.get_shared(fixture, scope)
    except FixtureError as error:
        source = f"{error.where}: " if error.where and error.where != name else ""
        return wrong(name, f"{source}{error.message}", error.hint or "check its provider")
    except (NotSent, MissingFact) as reason:
        return note(name, f"not created: {reason}")
    used = set(_used_members(runtime, fixture))
    if absent := sorted(used - set(members)):
        names = ", ".join(sorted(members)) or "none"
        return wrong(name, f"has no member {absent[0]!r}, which [operations] uses; it has {names}", "correct `members`")
    return await _read_fact(runtime, fixture, members, name)


def _used_members(runtime: Runtime, fixture: Fixture) -> Iterator[str]:
    """The members that templates use of a fixture of this kind, in this state or in any."""
    known = runtime.arranger.constants()
    for facts in runtime.settings.profile.operations.values():
        for name in placeholders([dict(facts.path), *facts.all_bodies, dict(facts.query)]):
            kind, _, rest = name.partition(".")
            state, _, member = rest.rpartition(".")
            if name not in known and kind == fixture.kind and state in ("", fixture.state) and not fixture.is_foreign:
                yield member


async def _read_fact(runtime: Runtime, fixture: Fixture, members: Members, name: str) -> Fact:
    """Whether a read of this kind finds the fixture, or does not find a foreign one."""
    read = next(iter(_read_operations(runtime, fixture)), None)
    example = next((f"{key}={value}" for key, value in members.items() if isinstance(value, str | int)), "a fixture")
    if read is None:
        return proven(name, "yields a fixture")
    try:
        answer = await _send_read(runtime, read, {fixture.kind: members})
    except (MissingFact, FixtureError, NotSent) as error:
        return unsure(name, f"yields {example}; {read.id} could not be called: {error}")
    if found := obstacle(name, f"yields {example}; {read.id}", answer):
        return found
    if fixture.is_foreign:
        if answer.ok:
            return wrong(name, f"{example} is readable with the home installation's key", "use another installation's")
        return proven(name, f"yields {example}, hidden from the home installation: {answer.summary}")
    if answer.status == 404 and _is_hidden(runtime, fixture):
        return proven(name, f"yields {example}, which {read.id} answers 404, as [[transitions]] states of that state")
    if answer.status == 404:
        return wrong(name, f"yields {example}, and {read.id} answers 404 for it", "does it exist in this installation?")
    return proven(name, f"yields {example}, known to {read.id}: {answer.summary}")


def _is_hidden(runtime: Runtime, fixture: Fixture) -> bool:
    """Whether the profile states that an operation is refused with 404 in that state, as an absent one is."""
    transitions = runtime.settings.profile.transitions
    return any(t.fixture == fixture.name and not (t.after or t.leads_to) and t.status == 404 for t in transitions)


def _read_operations(runtime: Runtime, fixture: Fixture) -> Iterator[Operation]:
    for operation in runtime.settings.contract.all:
        path = dict(runtime.arranger.facts(operation).path)
        if operation.is_read and any(name.partition(".")[0] == fixture.kind for name in placeholders(path)):
            yield operation


async def _send_read(runtime: Runtime, read: Operation, preset: Mapping[str, Members]) -> Answer:
    return await runtime.sender.send(await runtime.arranger.arrange(read, preset=preset), "fixture known")
