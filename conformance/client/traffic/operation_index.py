"""URL and method -> the operation of the interface that they call, if any."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final, NamedTuple
from urllib.parse import SplitResult, unquote, urlsplit

from conformance.contract import Contract, Operation

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PARAMETER: Final = re.compile(r"\\\{(\w+)\\\}")
_ORDINARY_SEGMENT: Final = re.compile(
    r"(?!\.{1,2}$)(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%(?!2[eEfF]|5[cC]|00)[0-9a-fA-F]{2})+"
)
"""A segment of a path that every server reads alike: neither an encoded slash nor a dot segment."""


class Call(NamedTuple):
    """An operation with the parameters of its path. `unusual`: servers may read the path differently."""

    operation: Operation
    path: dict[str, str]
    unusual: dict[str, str]


class OperationIndex:
    """The operations below a base URL."""

    def __init__(self, contract: Contract, base_url: str) -> None:
        base = urlsplit(base_url)
        self._origin = _origin(base)
        self._prefix = base.path.rstrip("/")
        self._start = base_url.rstrip("/") + "/"
        self._templates: dict[tuple[str, int], list[tuple[re.Pattern[str], Operation]]] = defaultdict(list)
        for operation in contract.all:
            pattern = re.compile(_PARAMETER.sub(r"(?P<\1>[^/]+)", re.escape(operation.path)))
            self._templates[operation.method, operation.path.count("/")].append((pattern, operation))

    def path_of(self, url: str) -> str | None:
        """The path below the base URL; None for another host, another port or prefix, or no URL."""
        if url.startswith(self._start):
            return url[len(self._start) - 1 :].partition("?")[0]
        try:
            parts = urlsplit(url)
            is_target = _origin(parts) == self._origin
        except ValueError:
            return None
        is_below = not self._prefix or parts.path == self._prefix or parts.path.startswith(self._prefix + "/")
        return parts.path[len(self._prefix) :] if is_target and is_below else None

    def find(self, method: str, path: str) -> Call | None:
        """The operation that a method and a path below the base URL call."""
        for pattern, operation in self._templates.get((method, path.count("/")), ()):
            if match := pattern.fullmatch(path):
                raw = match.groupdict()
                unusual = {name: value for name, value in raw.items() if not _ORDINARY_SEGMENT.fullmatch(value)}
                plain = {name: unquote(value) for name, value in raw.items() if name not in unusual}
                return Call(operation, plain, unusual)
        return None


def _origin(parts: SplitResult) -> tuple[str, str, int]:
    """Raises ValueError on an invalid port."""
    return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
