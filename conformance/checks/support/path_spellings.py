"""Other spellings of an operation's path, which a router may read as the same path and a rule before it may not."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from msgspec import structs

from conformance.client.request import Request


def _upper(path: str) -> str:
    return "/".join(part if part.startswith("{") else part.upper() for part in path.split("/"))


def encode_letter(path: str) -> str:
    """The path with the second letter of its last segment percent-encoded (RFC 3986, section 6.2.2.2)."""
    at = path.rindex("/") + 2
    return f"{path[:at]}%{ord(path[at]):02X}{path[at + 1 :]}"


def encode_letter_before(path: str) -> str:
    """The path with the second letter of the segment behind the version percent-encoded: rules often go by prefix."""
    at = path.index("/", path.index("/v1/") + 1) + 2
    return f"{path[:at]}%{ord(path[at]):02X}{path[at + 1 :]}"


PLAIN_SPELLINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "an encoded letter": encode_letter,
    "an encoded letter in its prefix": encode_letter_before,
    "a slash more behind the version": lambda path: path.replace("/v1/", "/v1//", 1),
    "capitals behind the version": lambda path: re.sub("(?<=/v1/)[^/]+", lambda part: part[0].upper(), path, count=1),
    "a path parameter": lambda path: f"{path};x=1",
    "a suffix": lambda path: f"{path}.json",
    "a detour over a public path": lambda path: path.replace("/api/v1/", "/api/v1/search/%2e%2e/", 1),
}
SPELLINGS: Final[Mapping[str, Callable[[str], str]]] = {
    "a slash behind it": lambda path: f"{path}/",
    "a slash before it": lambda path: f"/{path}",
    "capitals": _upper,
}


def with_spelling(request: Request, spell: Callable[[str], str], name: str) -> Request:
    """The request to another spelling of its path. It is not an operation of the interface: no invariant judges it."""
    operation = replace(request.operation, path=spell(request.operation.path))
    return structs.replace(request, operation=operation, raw_path={"": name})
