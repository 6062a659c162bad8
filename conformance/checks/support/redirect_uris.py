"""Spellings of a redirect URI that are not its own: almost the same one, and equivalent ones (RFC 3986 section 6.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit, urlunsplit


def _with_other_path(uri: str, change: Callable[[str], str]) -> str:
    """The same URI where it has no path: an empty one and "/" are equivalent (RFC 3986 section 6.2.3)."""
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(path=change(parts.path))) if parts.path.strip("/") else uri


def _with_query(uri: str) -> str:
    return f"{uri}{'&' if '?' in uri else '?'}more=1"


def _cut_short(path: str) -> str:
    return path.rstrip("/")[:-1]


ALMOST: Final[Mapping[str, Callable[[str], str]]] = {
    "path": lambda uri: f"{uri}/more",
    "query": _with_query,
    "host": lambda uri: uri.replace("://", "://other.", 1),
    "cut-short": lambda uri: _with_other_path(urlunsplit(urlsplit(uri)._replace(query="", fragment="")), _cut_short),
    "final-slash": lambda uri: f"{uri}/" if "?" in uri else _with_other_path(uri, lambda path: f"{path}/"),
    "case-of-the-path": lambda uri: _with_other_path(uri, str.swapcase),
}


def _with_default_port(uri: str) -> str:
    parts = urlsplit(uri)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    is_added = default and parts.hostname and parts.port is None
    return urlunsplit(parts._replace(netloc=f"{parts.netloc.rstrip(':')}:{default}")) if is_added else uri


def _with_host_in_other_case(uri: str) -> str:
    parts = urlsplit(uri)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}{host.swapcase()}"))


def _with_encoded_letter(uri: str) -> str:
    """With the first letter of its path percent-encoded."""
    parts = urlsplit(uri)
    at = next((at for at, character in enumerate(parts.path) if character.isascii() and character.isalpha()), None)
    if at is None or "%" in parts.path:
        return uri
    path = f"{parts.path[:at]}%{ord(parts.path[at]):02X}{parts.path[at + 1 :]}"
    return urlunsplit(parts._replace(path=path))


EQUIVALENT: Final[Mapping[str, Callable[[str], str]]] = {
    "default-port": _with_default_port,
    "case-of-the-host": _with_host_in_other_case,
    "percent-encoded-letter": _with_encoded_letter,
}
