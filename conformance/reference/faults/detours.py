"""Faults of ways around a check, by another spelling of a path or of the Authorization header: AUTH, SCO, TEN."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from conformance.reference.call import Call, Caller, Refusal
from conformance.reference.keys import CALLERS
from conformance.reference.policy import Policy, evolve
from conformance.reference.registry import fault

_READINESS = "getInstallationCredentialReadiness"
_KEY_PATHS = b"/api/v1/open/"
_SUFFIX = re.compile(rb"\.json$")
_SLASH = re.compile(rb"(?<=/v1)/(?=/)")
_OPEN = b"/open/"
_DOTS = re.compile(rb"/[^/]+/(?:\.|%2[eE]){2}(?=/)")
_FULL = CALLERS["full"]


def _header(call: Call) -> str:
    return call.request.first_header(b"authorization")


def _with_fallback(policy: Policy, find: Callable[[Call], Caller | None]) -> Policy:
    """A call whose key is refused has the caller that is found for it in another way, if any."""

    def authenticate(call: Call) -> Caller:
        try:
            return policy.authenticate(call)
        except Refusal:
            caller = find(call)
            if caller is None or not caller.active:
                raise
            return caller

    return evolve(policy, authenticate=authenticate)


def _with_detour(policy: Policy, detour: re.Pattern[bytes]) -> Policy:
    """A path leads to its operation with this detour too, and then needs no key."""
    changed = evolve(policy, split=lambda path: policy.split(detour.sub(b"", path)))
    return _with_fallback(changed, lambda call: _FULL if detour.search(call.request.path) else None)


def _with_scope_exception(policy: Policy, is_exempt: Callable[[Call], bool]) -> Policy:
    return evolve(policy, permits=lambda call, caller: policy.permits(call, caller) or is_exempt(call))


@fault(
    "F824",
    requirement="AUTH-1",
    title="an encoded letter in the prefix of a path leads past authentication",
    source="a filter for /api/v1/open/* that matches the raw path, before a router that decodes it (CWE-177)",
)
def encoded_prefix(policy: Policy) -> Policy:
    return _with_fallback(policy, lambda call: None if call.request.path.startswith(_KEY_PATHS) else _FULL)


@fault(
    "F825",
    requirement="AUTH-1",
    title="the suffix .json leads past authentication",
    source="Spring's suffix patterns: the router takes a suffix away that the rules of the filter do not know",
)
def suffix_of_a_format(policy: Policy) -> Policy:
    return _with_detour(policy, _SUFFIX)


@fault(
    "X218",
    requirement="AUTH-1",
    title="a second slash behind the version leads past authentication",
    source="rules by prefix of the raw path, before a router that merges slashes",
)
def second_slash(policy: Policy) -> Policy:
    return _with_detour(policy, _SLASH)


@fault(
    "X219",
    requirement="AUTH-1",
    title="capitals behind the version lead past authentication",
    source="rules that regard the case of a path, before a router that does not",
)
def capitals_behind_the_version(policy: Policy) -> Policy:
    changed = evolve(policy, split=lambda path: policy.split(path.replace(_OPEN.upper(), _OPEN)))
    return _with_fallback(changed, lambda call: _FULL if _OPEN.upper() in call.request.path else None)


@fault(
    "F826",
    requirement="AUTH-1",
    title="dot segments behind a public prefix lead past authentication",
    source="rules of a proxy by prefix of the raw path, before a server that resolves dot segments (CWE-22)",
)
def dots_behind_a_public_prefix(policy: Policy) -> Policy:
    return _with_detour(policy, _DOTS)


@fault(
    "F827",
    requirement="SCO-1",
    title="an encoded letter before the last segment of a path leads past the scope",
    source="scopes by pattern of the raw path, of which only the last segment is decoded (CWE-177)",
)
def encoded_letter_before_the_last_segment(policy: Policy) -> Policy:
    return _with_scope_exception(policy, lambda call: b"%" in call.request.path.rpartition(b"/")[0])


@fault(
    "F834",
    requirement="SCO-1",
    title="a key with its scheme in lower case has every scope",
    source="a middleware for scopes that reads `Bearer` alone, and lets pass what another one is to refuse",
)
def no_scope_in_lower_case(policy: Policy) -> Policy:
    return _with_scope_exception(policy, lambda call: _header(call).startswith("bearer "))


@fault(
    "F835",
    requirement="TEN-2",
    title="readiness asked for with a scheme in lower case is that of the first installation",
    operations=(_READINESS,),
    source="a handler that reads the header itself, and takes the default tenant where it finds no `Bearer`",
)
def default_tenant_of_readiness(policy: Policy) -> Policy:
    def authenticate(call: Call) -> Caller:
        caller = policy.authenticate(call)
        is_misread = call.operation == _READINESS and _header(call).startswith("bearer ")
        return replace(caller, installation=_FULL.installation) if is_misread else caller

    return evolve(policy, authenticate=authenticate)


@fault(
    "F839",
    requirement="AUTH-1",
    title="a key is a part of the SQL statement that looks it up",
    source="SQL by concatenation (CWE-89)",
)
def key_in_a_statement(policy: Policy) -> Policy:
    def find(call: Call) -> Caller | None:
        scheme, _, key = _header(call).partition(" ")
        if scheme.casefold() != "bearer":
            return None
        rows = [(name, secret) for name, secret in call.keys.secrets.items() if CALLERS[name].active]
        with closing(sqlite3.connect(":memory:")) as db:
            db.execute("CREATE TABLE keys (name TEXT, secret TEXT)")
            db.executemany("INSERT INTO keys VALUES (?, ?)", rows)
            row = db.execute(f"SELECT name FROM keys WHERE secret = '{key}'").fetchone()  # noqa: S608 - the defect
        return CALLERS[row[0]] if row else None

    return _with_fallback(policy, find)


@fault(
    "F842",
    requirement="AUTH-5",
    title="the scheme is found anywhere in the header",
    source="a regular expression that is searched for instead of matched from the start",
)
def scheme_anywhere(policy: Policy) -> Policy:
    def find(call: Call) -> Caller | None:
        return call.keys.by_secret(_header(call).partition("Bearer ")[2].strip())

    return _with_fallback(policy, find)


@fault(
    "F843",
    requirement="TEN-1",
    title="an id with an encoded letter leads to the objects of every installation",
    source="a rule that compares the owner of the raw id, finds none, and has nothing to refuse (CWE-177)",
)
def encoded_id(policy: Policy) -> Policy:
    def sees(call: Call, installation: str) -> bool:
        return policy.sees(call, installation) or call.resource.encode() not in call.request.path.split(b"/")

    return evolve(policy, sees=sees)


@fault(
    "F860",
    requirement="AUTH-1",
    title="with a query string any key is accepted",
    source="a filter that verifies keys for the exact URLs of a list, before a router that ignores the query",
)
def any_key_with_a_query(policy: Policy) -> Policy:
    return _with_fallback(policy, lambda call: _FULL if call.request.query and _header(call) else None)


@fault(
    "F861",
    requirement="SCO-1",
    title="with a query string an operation needs no scope",
    source="rules by exact URL, from the request line with its query: what no rule matches is permitted",
)
def no_scope_with_a_query(policy: Policy) -> Policy:
    return _with_scope_exception(policy, lambda call: bool(call.request.query))


@fault(
    "X176",
    requirement="AUTH-1",
    title="a URL with the path of a public operation in its query needs no valid key",
    source="a filter that looks for public paths in the whole request line",
)
def public_path_in_the_query(policy: Policy) -> Policy:
    return _with_fallback(policy, lambda call: _FULL if b"/v1/search" in call.request.query else None)
