"""What is unusual in a good request and no reason to refuse it, and the call that has all of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from msgspec.structs import replace

from conformance.checks.support.case import Case
from conformance.checks.support.key_forms import forms_of_keys
from conformance.checks.support.media_types import IN_CAPITALS, JSON_TYPE, with_media_type
from conformance.checks.support.other_installations import ids_for_query
from conformance.checks.support.signals import OBSTACLES
from conformance.checks.support.sized_bodies import in_chunks
from conformance.client.request import Request, new_key
from conformance.client.response import Answer
from conformance.contract import load_contract

_HEADERS: Final = {
    "Accept": "text/html,application/xhtml+xml,application/json;q=0.9,*/*;q=0.8",
    "Prefer": "return=minimal",
}
_LANGUAGES: Final = ("fr-FR,fr;q=0.9,de;q=0.5", "de-DE,de;q=0.9,en;q=0.5")
_CODINGS: Final = ("identity", "deflate")
"""Of Accept-Encoding, besides the gzip of every other request: what the client can decode."""
_PARAMETERS: Final = {
    "limit": "abc",
    "offset": "-1",
    "cursor": "%00",
    "since": "yesterday",
    "fields": "a,,b[]",
    "order": "'",
    "filter[x]": "1",
}
"""None is declared by an operation of the interface."""


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


async def unusual_call(case: Case) -> Answer | None:
    """The answer to a good request that is unusual in each way that is no reason to refuse it, sent once an operation.

    It has the headers of a browser, a key of the first form, a media type in capitals and its content in chunks, and a
    read has undeclared parameters. Where the path has an id, its query has that of another installation's object. None
    where it is not 200, or the key's carrier is not known: each check then sends its own part alone.
    """
    idempotency = case.profile.idempotency if case.operation.idempotent else None
    if case.operation.idempotent and idempotency is None:
        return None

    async def send() -> Answer:
        request = as_browser(await case.arrange())
        if idempotency is not None:
            make_key = next(iter(forms_of_keys(case.profile).values()))
            request = request.with_key(make_key() if make_key else new_key(idempotency))
        if case.operation.has_body and JSON_TYPE in case.profile.bodies.media_types:
            request = with_media_type(request, IN_CAPITALS)
        if case.operation.has_body:
            request = in_chunks(request)
        if case.operation.is_read:
            request = with_parameters_of_others(request)
        with suppress(*OBSTACLES):  # the check of these ids says so
            request = with_undeclared(request, await ids_for_query(case))
        return await case.send(request, "a good request that is unusual in many ways")

    answer = await case.runtime.known_answers[f"unusual {case.operation.id}"].get_from(case, send)
    return answer if answer.ok else None


def with_parameters_of_others(request: Request) -> Request:
    """With parameters that the interface does not declare, and the media type of a body."""
    return request.with_query(**_PARAMETERS).with_header("Content-Type", JSON_TYPE)


def with_undeclared(request: Request, parameters: Mapping[str, str]) -> Request:
    """With these query parameters, but for those whose names the request or its key has in use."""
    idempotency = request.idempotency
    names_in_use = {name for name, _ in request.query} | ({idempotency.name} if idempotency else set())
    return request.with_query(**{name: value for name, value in parameters.items() if name not in names_in_use})
