"""The authorization matrix: every operation that takes an API key x every credential that the profile names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from conformance.client.request import Request
from conformance.contract import Operation
from conformance.profile.installations import is_foreign, is_of_home
from conformance.profile.model import Credential, Profile

ALLOWED: Final = "allowed"
LACKS_SCOPE: Final = "lacking"
"""An active key without the operation's scope."""
INACTIVE: Final = "spent"
"""Revoked or expired."""
OTHER_INSTALLATION: Final = "other installation"
"""An active key of another installation than the one of the operation's resource."""
UNKNOWN_INSTALLATION: Final = "unknown installation"
"""An active key whose installation is not stated, where others are: what it may do with a resource is not known."""
RESERVED: Final = "spared"
"""Reserved for the rate limit checks, since requests are counted by key; another key has the same scopes."""

_SCOPE_HEADERS: Final = ("X-Authenticated-Scope", "X-Scope", "X-Scopes", "X-OAuth-Scopes")
_PUBLIC_PATHS: Final = "/api/v1/catalog/,/api/v1/oauth/token,/api/v1/hosted/,/api/v1/runtime-config,/api/v1/search"


def with_undeclared_parameter(request: Request) -> Request:
    """The request with a query parameter of no operation, whose value has the paths of public ones (RFC 3986, 3.4).

    A rule may not hold that compares whole URLs, or that looks for a public path in them. A target may refuse a
    parameter that it does not know.
    """
    return request.with_raw_query("xConformanceProbe", _PUBLIC_PATHS)


def with_scope_headers(request: Request, scope: str) -> Request:
    """With headers in which gateways name the scopes of a caller to services; unchanged for no scope."""
    for header in _SCOPE_HEADERS if scope else ():
        request = request.with_header(header, scope)
    return request


def category_of(profile: Profile, operation: Operation, credential: Credential) -> str:
    """The category of a credential for an operation."""
    if not credential.active:
        return INACTIVE
    if operation.path_parameters and not is_of_home(profile, credential):
        return OTHER_INSTALLATION if is_foreign(profile, credential) else UNKNOWN_INSTALLATION
    if operation.scope and operation.scope not in credential.scopes:
        return LACKS_SCOPE
    equivalents = [
        c for c in profile.credentials.values() if c is not credential and c.active and c.scopes == credential.scopes
    ]
    return RESERVED if credential.name == profile.rate_limit.credential and equivalents else ALLOWED


def names(profile: Profile, operation: Operation, category: str) -> list[str]:
    """The credentials of one category."""
    return [
        name
        for name, credential in profile.credentials.items()
        if category_of(profile, operation, credential) == category
    ]


def credentials_without_scope(profile: Profile, operation: Operation) -> list[str]:
    """The active keys of the home installation without an operation's scope."""
    lacking = names(profile, operation, LACKS_SCOPE)
    return [name for name in lacking if is_of_home(profile, profile.credentials[name])]


def has_category(profile: Profile, operation: Operation, category: str) -> Callable[[Credential], bool]:
    """A test whether a credential is of one category, for exclusions of the profile."""
    return lambda credential: category_of(profile, operation, credential) == category


def cases(category: str) -> Callable[[Profile, Operation], Mapping[str, str]]:
    """Cases for a check: one for each credential of a category, or an empty one."""

    def of(profile: Profile, operation: Operation) -> Mapping[str, str]:
        return {name: name for name in names(profile, operation, category)} or {"": ""}

    return of
