"""Names in a profile that must refer to something: operations, fixtures, placeholders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from conformance.profile.render import ANSWER, MalformedPlaceholder, placeholders
from conformance.profile.resources import FOREIGN, default_state
from conformance.profile.schema import facts_schema, walk
from conformance.profile.source import Key, Problem, did_you_mean, nearest

PROVIDERS = ("values", "http", "command", "python", "call", "from")
SUITE_NAMES = ("unique", "pkce.verifier", "pkce.challenge", "pkce.method", "dpop.jkt", "oauth.code_age_s")
"""The placeholders that the suite fills in."""
_OAUTH_MEMBERS = ("client_id", "redirect_uri")


def fixture_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    for kind, states in document.get("fixtures", {}).items():
        if kind in ("unique", "var", "env", "pkce", "dpop"):
            yield Problem(("fixtures", kind), "cannot be a kind: placeholders of the suite begin with it")
        for state, table in states.items():
            yield from _provider_problems(("fixtures", kind, state), table, states)


def _provider_problems(key: Key, table: Mapping[str, Any], states: Mapping[str, Any]) -> Iterator[Problem]:
    providers = [name for name in PROVIDERS if name in table]
    if len(providers) != 1:
        message = "has two providers: " + " and ".join(providers) if providers else "has no provider"
        yield Problem((*key, providers[1]) if providers else key, message, f"exactly one of {', '.join(PROVIDERS)}")
    if ("from" in table) != bool(table.get("via")):
        missing = "via" if "from" in table else "from"
        yield Problem(
            key, f"lacks the key {missing}", "`via` lists the operations that lead from the state `from` to this one"
        )
    if "items" in table and not {"http", "command", "python"} & table.keys():
        yield Problem((*key, "items"), "only http, command and python return several fixtures")
    yield from _foreign_problems(key, table)
    yield from _origin_problems(key, table, states)


def _foreign_problems(key: Key, table: Mapping[str, Any]) -> Iterator[Problem]:
    if table.get("foreign") is False and key[-1] == FOREIGN:
        yield Problem((*key, "foreign"), f"is false in the state {FOREIGN!r}", "give the state another name")
    hint = "state values, http, command or python"
    if table.get("foreign"):
        for provider in ("call", "from"):
            if provider in table:
                yield Problem(
                    (*key, "foreign"), f"is stated beside {provider}: the suite makes its own resources", hint
                )
    elif key[-1] == FOREIGN and "call" in table:
        yield Problem((*key, "call"), f"makes an own resource of the suite, in the state {FOREIGN!r}", hint)


def _origin_problems(key: Key, table: Mapping[str, Any], states: Mapping[str, Any]) -> Iterator[Problem]:
    seen, state = {str(key[-1])}, str(table.get("from", ""))
    if state and state not in states:
        others = [name for name in states if name != key[-1]]
        yield Problem((*key, "from"), f"unknown state {state}", nearest(state, others))
    while state in states:
        if state in seen:
            yield Problem((*key, "from"), "forms a cycle")
            return
        seen.add(state)
        state = str(states[state].get("from", ""))


def placeholder_problems(document: Mapping[str, Any]) -> Iterator[Problem]:
    """Placeholders that are never filled in. Malformed ones are reported by `Substitution`."""
    for key, text, declared in walk(document, facts_schema()):
        if not isinstance(text, str) or declared.get("x-placeholders") != "run":
            continue
        try:
            names = sorted(placeholders(text), key=text.index)
        except MalformedPlaceholder:
            continue
        for name in names:
            if problem := _placeholder_problem(key, name, document) or _placement_problem(key, name):
                yield problem


def _placeholder_problem(key: Key, name: str, document: Mapping[str, Any]) -> Problem | None:
    space, *rest = name.split(".")
    fixtures, oauth = document.get("fixtures", {}), document.get("oauth", {})
    if name in SUITE_NAMES and space in ("pkce", "dpop", "oauth") and "oauth" not in document:
        return Problem(key, f"{{{name}}} needs the table [oauth]")
    if name in SUITE_NAMES or space in ("var", "env") or name.startswith(ANSWER):
        return None
    if space == "oauth" and len(rest) == 1 and rest[0] in _OAUTH_MEMBERS:
        if oauth.get(rest[0]):
            return None
        return Problem(key, f"{{{name}}} is not stated", f"add {rest[0]} to [oauth]")
    if space in ("unique", "pkce", "dpop") or space not in fixtures or not rest:
        known = [*SUITE_NAMES, *(f"oauth.{member}" for member in _OAUTH_MEMBERS)]
        hint = did_you_mean(name, known) or did_you_mean(space, fixtures) or f"add [fixtures.{space}.STATE]"
        return Problem(key, f"unknown placeholder {{{name}}}", hint)
    return _member_problem(key, name, rest, fixtures[space])


def _placement_problem(key: Key, name: str) -> Problem | None:
    """A placeholder that exists, and cannot be filled in at that place of the profile."""
    kind = name.partition(".")[0]
    if kind in ("var", "env"):
        return None
    if name.startswith(ANSWER):
        hint = "only [effects] observes a call after its answer"
        return None if key[0] == "effects" else Problem(key, f"{{{name}}} is not known here", hint)
    if key[0] == "rate_limit":
        hint = "only {var.NAME} and {env.NAME} can be used here"
        return Problem(key, f"{{{name}}} is not known when limits are prepared and restored", hint)
    if key[0] == "cleanup" and kind != key[1]:
        return Problem(
            key, f"{{{name}}} is not known when a {key[1]} is removed", f"only {{{key[1]}.MEMBER}} can be used here"
        )
    suite_names = (*SUITE_NAMES, *(f"oauth.{member}" for member in _OAUTH_MEMBERS))
    if key[0] == "fixtures" and name not in suite_names:
        hint = "fixtures are created independently: use from and via, or create both in one call"
        return Problem(key, f"{{{name}}} belongs to a fixture", hint)
    return None


def _member_problem(key: Key, name: str, rest: list[str], states: Mapping[str, Any]) -> Problem | None:
    if len(rest) > 2:
        return Problem(key, f"{{{name}}} has too many parts", "{KIND.MEMBER} or {KIND.STATE.MEMBER}")
    state = rest[0] if len(rest) == 2 else default_state(states)
    if state is None:
        hint = f"add [fixtures.{name.partition('.')[0]}.STATE] of the installation that the profile's keys belong to"
        return Problem(key, f"{{{name}}} has no state but {FOREIGN!r}, which is another installation's", hint)
    if state not in states:
        return Problem(key, f"unknown state in {{{name}}}", nearest(state, states))
    members = _known_members(states[state])
    if members is not None and rest[-1] not in members:
        return Problem(key, f"unknown member in {{{name}}}", nearest(rest[-1], members))
    return None


def _known_members(fixture: Mapping[str, Any]) -> list[str] | None:
    """The members that a fixture always has, or None where they depend on its provider."""
    if fixture.get("members"):
        return list(fixture["members"])
    if "values" in fixture:
        return sorted(set.intersection(*(set(entry) for entry in fixture["values"])))
    return None
