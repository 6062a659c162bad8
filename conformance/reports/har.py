"""`exchanges.har`: every exchange as HAR 1.2, for a browser's developer tools or any HAR viewer.

Bodies and headers are those of the journal, redacted and bounded; bodies beyond the budget of the file are omitted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from conformance.core.model import Exchange, Message, Run
from conformance.core.observed_traffic import TRUNCATED
from conformance.core.query import parameters, without_fragment
from conformance.reports.shaping.grouping import exchange_line
from conformance.reports.shaping.text import cut, dumps, whole_file

FILE = "exchanges.har"
BODY_LIMIT = 4_000
_URL_CHARACTERS = ":/?#[]@!$&'()*+,;=%"
_URI = re.compile(r"[\w.~:/?#\[\]@!$&'()*+,;=-]*", re.ASCII)
_PLAIN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
"""A percent sign that escapes nothing. HAR demands a URI, and some checks send none."""
BUDGET = 10_000_000
"""Characters of all bodies together."""


def write_file(run: Run, directory: Path) -> Path:
    """Written entry by entry, so that memory does not grow with the journal."""
    path = directory / FILE
    creator = {"name": "commerce-conformance", "version": run.suite.version or "unknown"}
    with whole_file(path) as file:
        file.write(b'{"log":{"version":"1.2","creator":' + _encode(creator) + b',"entries":[')
        pages: dict[str, str] = {}
        for number, entry in enumerate(entries(run)):
            file.write((b",\n" if number else b"\n") + _encode(entry))
            pages.setdefault(entry["pageref"], entry["startedDateTime"])
        file.write(b'\n],"pages":' + _encode([_page(*page) for page in pages.items()]) + b"}}\n")
    return path


def _encode(value: Any) -> bytes:
    return dumps(value, indent=None).rstrip().encode()


def entries(run: Run) -> Iterator[dict[str, Any]]:
    """The entries of the log in the order of the run."""
    remaining = BUDGET
    start = _start_time(run)
    for exchange in run.exchanges:
        limit = BODY_LIMIT if remaining > 0 else 0
        remaining -= min(limit, len(exchange.request.body)) + min(limit, len(exchange.response.body))
        yield _entry(exchange, start, limit)


def _page(check: str, started: str) -> dict[str, Any]:
    """A check as a page, so that a viewer shows its exchanges together."""
    return {"id": check, "title": check, "startedDateTime": started, "pageTimings": {}}


def _start_time(run: Run) -> datetime:
    try:
        return datetime.fromisoformat(run.started_at)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)


def _time_of(exchange: Exchange, started: datetime) -> datetime:
    """The start of the run in place of a time that no date has, as in a changed journal."""
    try:
        return started + timedelta(seconds=exchange.at)
    except OverflowError:
        return started


def _entry(exchange: Exchange, started: datetime, limit: int) -> dict[str, Any]:
    return {
        "pageref": cut(exchange.check, 200) or "preparation",
        "startedDateTime": _time_of(exchange, started).isoformat(),
        "time": exchange.duration_ms,
        "request": _request(exchange, limit),
        "response": _response(exchange, limit),
        "cache": {},
        "timings": {"send": 0, "wait": exchange.duration_ms, "receive": 0},
        "comment": f"{exchange.operation} {cut(exchange_line(exchange), 400)}",
    }


def _request(exchange: Exchange, limit: int) -> dict[str, Any]:
    message = exchange.request
    query = _query(exchange.url) if "?" in exchange.url else []
    value = {
        "method": exchange.method,
        "url": _uri(exchange.url),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(message),
        "queryString": query,
        "headersSize": -1,
        "bodySize": message.body_bytes,
    }
    if message.body:
        value["postData"] = {"mimeType": _mime(message), **_text(message, limit)}
    return value


def _uri(url: str) -> str:
    if _URI.fullmatch(url):  # as most are
        return url
    return _PLAIN_PERCENT.sub("%25", quote(url, _URL_CHARACTERS, errors="replace"))


def _query(url: str) -> list[dict[str, str]]:
    query = without_fragment(url).partition("?")[2]
    return [{"name": name, "value": text} for name, text in parameters(query)]


def _response(exchange: Exchange, limit: int) -> dict[str, Any]:
    message = exchange.response
    content = {"size": message.body_bytes, "mimeType": _mime(message), **_text(message, limit)}
    return {
        "status": exchange.status or 0,
        "statusText": exchange.trouble,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(message),
        "content": content,
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": message.body_bytes,
    }


def _text(message: Message, limit: int) -> dict[str, str]:
    """The body, and a comment where it is cut. Its length does not show that: redaction changes it too."""
    text = {"text": cut(message.body, limit)}
    return {**text, "comment": TRUNCATED} if message.truncated or len(message.body) > limit else text


def _headers(message: Message) -> list[msgspec.Raw]:
    return [_header(name, value) for name, value in message.headers[:60]]


@lru_cache(maxsize=4096)
def _header(name: str, value: str) -> msgspec.Raw:
    """A header as JSON: exchanges share most of theirs."""
    return msgspec.Raw(_encode({"name": name, "value": cut(value, 1_000)}))


def _mime(message: Message) -> str:
    return next((value for name, value in message.headers if name.lower() == "content-type"), "")
