"""The headers of a browser, and the good call with them that two checks share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.client.request import Request
from conformance.client.response import Answer
from conformance.contract import load_contract

_HEADERS: Final = {
    "Accept": "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8",
    "Prefer": "return=minimal",
}
_LANGUAGES: Final = ("fr-FR,fr;q=0.9,de;q=0.5", "de-DE,de;q=0.9,en;q=0.5")
_CODINGS: Final = ("identity", "deflate")
"""Of Accept-Encoding, besides the gzip of every other request: what the client can decode."""


def as_browser(request: Request) -> Request:
    """With the headers of a browser, but for Origin: which origins a target serves is not shown.

    Operations that are next to each other in the contract have another language and another content coding.
    """
    place = load_contract().all.index(request.operation)
    headers = {
        **_HEADERS,
        "Accept-Language": _LANGUAGES[place % len(_LANGUAGES)],
        "Accept-Encoding": _CODINGS[place % len(_CODINGS)],
    }
    return with_headers(request, headers)


def with_headers(request: Request, headers: Mapping[str, str]) -> Request:
    """With these headers in place of those of the same names."""
    others = tuple(pair for pair in request.headers if pair[0] not in headers)
    return replace(request, headers=(*others, *headers.items()))


async def call_of_a_browser(case: Case, make_key: Callable[[], str]) -> Answer:
    """The answer to a good request with the headers of a browser and a key, sent once for each operation.

    Where it is not 200, either may be the reason: each check then sends what it asks about alone.
    """

    async def send() -> Answer:
        request = as_browser((await case.arrange()).with_key(make_key()))
        return await case.send(request, "the headers of a browser, and a well-formed key")

    return await case.runtime.known_answers[f"browser on {case.operation.id}"].get_from(case, send)
