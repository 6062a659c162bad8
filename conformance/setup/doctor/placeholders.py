"""Facts about placeholders: each has a value, and what looks like one is one."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from conformance.checks.support.context import Runtime
from conformance.checks.support.signs import sign_key
from conformance.client.fixtures import Members, NotSent
from conformance.client.request_builder import MissingFact
from conformance.core.errors import FixtureError
from conformance.profile.model import Profile
from conformance.profile.render import ANSWER, parse, placeholders
from conformance.profile.resources import FOREIGN, Fixture, HttpCall, OperationFacts, default_state
from conformance.setup.doctor.facts import Fact, proven, wrong

_WRITTEN: Final = re.compile(r"\{([a-z_]+(?:\.[\w-]+)*)\}")
_UNIQUE: Final = "unique"


class Place(NamedTuple):
    """A template of the profile, by its key."""

    key: str
    template: Any


async def placeholder_facts(runtime: Runtime) -> list[Fact]:
    """What is wrong with the placeholders of operations, effects and fixtures; or that all of them have a value."""
    members = await _members_of_fixtures(runtime)
    return facts_of(runtime.settings.profile, members, runtime.arranger.constants())


def facts_of(profile: Profile, members: Mapping[str, Members], constants: Mapping[str, Any]) -> list[Fact]:
    """The same, from the members of the fixtures by `kind.state`, and the values that the suite itself fills in."""
    facts, number = [], 0
    for place in places(profile):
        names = [name for name in placeholders(place.template) if not name.startswith(ANSWER)]
        known = {**_values(profile, members, names), **constants}
        number += len(names)
        facts += [fact for name in sorted(names) if (fact := _value_fact(profile, place, name, known))]
        facts += _literal_facts(profile, place, constants.keys())
    facts += _unused_facts(profile)
    return facts or [proven("placeholders", f"{number} of {number} have a value")]


def places(profile: Profile) -> Iterator[Place]:
    """Every template of the profile that a run renders, except those of calls that no request depends on."""
    for name, facts in profile.operations.items():
        key = f"operations.{name}"
        yield Place(f"{key}.body", facts.body)
        for kind in ("bodies", "conflicts"):
            yield from (Place(f"{key}.{kind}[{index}]", body) for index, body in enumerate(getattr(facts, kind)))
        for table in ("path", "query", "headers", "unknown"):
            yield from (Place(f"{key}.{table}.{name}", value) for name, value in getattr(facts, table).items())
    yield from (Place(f"search.query.{name}", value) for name, value in profile.search.query.items())
    yield Place("webhooks.patch", dict(profile.webhooks.patch or {}))
    for name, signs in profile.effects.items():
        yield from (Place(sign_key(name, index, len(signs)), list(sign.templates)) for index, sign in enumerate(signs))
    for states in profile.fixtures.values():
        yield from (Place(f"fixtures.{fixture.name}", _templates(fixture)) for fixture in states.values())


def _templates(fixture: Fixture) -> list[Any]:
    call = fixture.http
    return [list(map(dict, fixture.values)), *(_templates_of_call(call) if call else ()), list(fixture.command)]


def _templates_of_call(call: HttpCall) -> tuple[Any, ...]:
    return call.url, call.json, dict(call.headers)


async def _members_of_fixtures(runtime: Runtime) -> Mapping[str, Members]:
    """The members of each fixture that can be provided, by its name; reads share them."""
    found: dict[str, Members] = {}
    for states in runtime.settings.profile.fixtures.values():
        for fixture in states.values():
            try:
                found[fixture.name] = await runtime.fixtures.get_shared(fixture, runtime.arranger.constants())
            except (FixtureError, NotSent, MissingFact):
                continue  # a fact of its own
    return found


def _values(profile: Profile, members: Mapping[str, Members], names: Collection[str]) -> dict[str, Any]:
    """The values of the placeholders for members of fixtures that have been provided; None: there is no such member."""
    values: dict[str, Any] = {}
    for name in names:
        kind, _, suffix = name.partition(".")
        state, _, member = suffix.rpartition(".")
        candidates = _states(profile, kind, state)
        provided = [members[f"{kind}.{item}"] for item in candidates if f"{kind}.{item}" in members]
        if provided:
            values[name] = next((found[member] for found in provided if member in found), None)
    return values


def _states(profile: Profile, kind: str, state: str) -> list[str]:
    """The states that a placeholder may refer to, the default first: a sign's is that of the request's fixture."""
    states = profile.fixtures.get(kind, {})
    if state:
        return [state]
    default = default_state(states)
    return [*([default] if default else []), *(name for name in states if name not in (default, FOREIGN))]


def _value_fact(profile: Profile, place: Place, name: str, known: Mapping[str, Any]) -> Fact | None:
    """What is wrong with the value of one placeholder; None where nothing is, or where its fixture has a fact."""
    if name not in known:
        return None
    if known[name] is None:
        return wrong(place.key, f"{{{name}}} has no value: no fixture of its kind has this member", "correct the name")
    if known[name] in ("", [], {}):
        advice = f"state {name}" if name.startswith("oauth.") and profile.oauth else "correct its source"
        return wrong(place.key, f"{{{name}}} renders to nothing", advice)
    return None


def _literal_facts(profile: Profile, place: Place, constants: Collection[str]) -> Iterator[Fact]:
    """Texts that look like a placeholder, and whose braces are written twice, so that they are the same each time."""
    for text in _texts(place.template):
        literal = "".join(piece.text for piece in parse(text) if not piece.is_placeholder)
        for name in _WRITTEN.findall(literal):
            if name in constants or name.partition(".")[0] in profile.fixtures:
                message = f"{{{{{name}}}}} is the text {{{name}}}, the same each time, and no placeholder"
                yield wrong(place.key, message, f"write {{{name}}} with one pair of braces")


def _unused_facts(profile: Profile) -> Iterator[Fact]:
    """Signs that count by {unique}, which no request of the operation has."""
    for name, signs in profile.effects.items():
        facts = profile.operations.get(name, OperationFacts())
        templates = [facts.body, dict(facts.path), dict(facts.query), dict(facts.headers)]
        for index, sign in enumerate(signs):
            if _UNIQUE in placeholders(list(sign.templates)) - placeholders(templates):
                message = f"counts by {{{_UNIQUE}}}, and no request of {name} has it"
                advice = f"use {{{_UNIQUE}}} in operations.{name}.body, or count by another value"
                yield wrong(sign_key(name, index, len(signs)), message, advice)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
