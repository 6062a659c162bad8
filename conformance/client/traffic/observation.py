"""One exchange of other clients, as complete as its source has it."""

from __future__ import annotations

from dataclasses import dataclass

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Observation:
    """One request and its answer. A body that the source does not have is None; one that it has in part is `cut`.

    `status` is None where no answer was read, and `trouble` then says why. `started` is in seconds since 1970, None
    where the source does not say.
    """

    method: str
    url: str
    """With scheme and host, and without a fragment."""
    request_headers: Headers
    request_body: bytes | None
    status: int | None
    headers: Headers
    body: bytes | None
    started: float | None = None
    duration_s: float = 0.0
    trouble: str = ""
    request_cut: bool = False
    cut: bool = False
    """The answer's body is longer than what the source has of it."""
    has_credentials: bool = True
    """Whether a header Authorization that was sent would be among `request_headers`: some recorders remove it."""


def header(headers: Headers, name: str) -> str | None:
    """The first header of that name (lower case)."""
    return next((value for known, value in headers if known.lower() == name), None)
