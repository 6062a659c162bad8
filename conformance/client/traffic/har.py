"""HAR 1.2 -> observations, entry by entry, in memory that does not grow with the file.

Written for what browsers, Playwright, mitmproxy and this suite write. What an entry lacks is not known, and is not
judged: a body without text, times, headers that a recorder removes.
"""

from __future__ import annotations

import base64
import binascii
import gzip
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from io import BufferedReader
from typing import IO, Any, Final, cast

import ijson

from conformance.client.traffic.nesting import EntryLimitError, NestingGuard
from conformance.client.traffic.observation import Headers, Observation, header
from conformance.core.errors import UsageError
from conformance.core.messages import plural
from conformance.core.observed_traffic import TRUNCATED
from conformance.core.strict_json import NestingLimitError

_BOM: Final = b"\xef\xbb\xbf"
_WIDE_BOMS: Final = (b"\xff\xfe", b"\xfe\xff")
_PEEK: Final = 4096
_BUFFER: Final = 1 << 16
_MAX_STATUS: Final = 999
_FRACTION: Final = re.compile(r"(\.\d{6})\d+")
_FROM_CACHE: Final = ("_fromCache", "_fromDiskCache", "_servedFromCache")


class UnreadableEntry(ValueError):
    """An entry that is not an exchange. The message says why, in words that are counted."""


def read_har(file: BufferedReader, where: str) -> Iterator[Observation | str]:
    """The exchanges of a HAR file in its order; for an entry that is none, the reason why.

    Raises UsageError on a file that is not HAR 1.2, or that ends early: after the entries before that place.
    """
    reader, count = _HarEntries(), 0
    try:
        stream = NestingGuard(_without_bom(file, where))
        for entry in ijson.items(stream, "log.entries.item", use_float=True, buf_size=_BUFFER):
            count += 1
            stream.begin_entry()
            yield reader.read(entry)
    except EntryLimitError as error:
        hint = _read_before(count) or "an entry is one exchange, with its bodies"
        raise UsageError(f"is {error}{_after(count)}", where=where, hint=hint) from None
    except NestingLimitError as error:
        hint = _read_before(count) or "a recorder nests some ten levels"
        raise UsageError(f"is {error}{_after(count)}", where=where, hint=hint) from None
    except (ijson.JSONError, UnicodeDecodeError, EOFError, gzip.BadGzipFile, ValueError) as error:
        hint = _read_before(count) or "a HAR file (HAR 1.2) is JSON in UTF-8"
        raise UsageError(f"{_problem(str(error))}{_after(count)}", where=where, hint=hint) from None
    except OSError as error:
        raise UsageError(error.strerror or "cannot be read", where=where) from None
    if not count:
        raise UsageError("has no log.entries: it is not HAR 1.2, or has no entries", where=where)


def _problem(message: str) -> str:
    """The problem of a file, by the message of the parser, whose further lines quote the file."""
    first_line = message.partition("\n")[0]
    if first_line.startswith("parse error: ") and "overflow" in first_line:
        return "has a number that is too large"
    return "ends early" if "ncomplete" in message or "parse error: premature" in message else "is not JSON"


def _read_before(count: int) -> str:
    verb = "was" if count == 1 else "were"
    return f"{plural(count, 'entry', 'entries')} before that place {verb} read" if count else ""


def _after(count: int) -> str:
    return f" after entry {count}" if count else ""


def _without_bom(file: BufferedReader, where: str) -> IO[bytes]:
    start = file.peek(_PEEK)[:4]
    if start.startswith(b"PK\x03\x04"):
        raise UsageError("is a ZIP archive", where=where, hint="unpack it, and name the .har file in it")
    if start.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if start.startswith(_WIDE_BOMS):
        raise UsageError("is UTF-16", where=where, hint="a HAR file is UTF-8: convert it first")
    if start.startswith(_BOM):
        file.read(len(_BOM))
    return file


class _HarEntries:
    """Reads the entries of one file."""

    def __init__(self) -> None:
        self._has_credentials = False
        """Whether an entry had a header Authorization: a recorder that removes it removes all of them."""

    def read(self, entry: Any) -> Observation | str:
        try:
            return self._observation(entry)
        except UnreadableEntry as problem:
            return str(problem)

    def _observation(self, entry: Any) -> Observation:
        request, response = _object(entry, "request"), _object(entry, "response")
        if any(entry.get(name) or response.get(name) for name in _FROM_CACHE):
            raise UnreadableEntry("answered by the recorder's cache")
        url, method = request.get("url"), request.get("method")
        if not isinstance(url, str) or not isinstance(method, str):
            raise UnreadableEntry("an entry without method or URL")
        sent_headers, headers = _headers(request), _headers(response)
        self._has_credentials = self._has_credentials or header(sent_headers, "authorization") is not None
        sent_body, request_cut = _request_body(request)
        content = response.get("content")
        body, cut = _content(content if isinstance(content, dict) else {}, headers)
        status = _status(response)
        if not headers and status is not None and isinstance(content, dict) and content.get("mimeType"):
            headers = (("content-type", str(content["mimeType"])),)
        return Observation(
            method=method.upper(),
            url=url.partition("#")[0],
            request_headers=sent_headers,
            request_body=sent_body,
            status=status,
            headers=headers,
            body=body,
            started=_time(entry.get("startedDateTime")),
            duration_s=_seconds(entry.get("time")),
            trouble="" if status is not None else _trouble(response),
            request_cut=request_cut,
            cut=cut,
            has_credentials=self._has_credentials,
        )


def _object(entry: Any, name: str) -> dict[str, Any]:
    value = entry.get(name) if isinstance(entry, dict) else None
    if not isinstance(value, dict):
        raise UnreadableEntry(f"an entry without {name}")
    return value


def _headers(message: Mapping[str, Any]) -> Headers:
    """Without the pseudo headers of HTTP/2, which some recorders list (RFC 9113 section 8.3)."""
    listed = message.get("headers")
    found = []
    for item in listed if isinstance(listed, list) else ():
        name, value = (item.get("name"), item.get("value")) if isinstance(item, dict) else (None, None)
        if isinstance(name, str) and isinstance(value, str) and not name.startswith(":"):
            found.append((name, value))
    return tuple(found)


def _request_body(request: Mapping[str, Any]) -> tuple[bytes | None, bool]:
    """The body, and whether it is longer than what is recorded; None for a request without one."""
    size = request.get("bodySize")
    data = request.get("postData")
    if not isinstance(data, dict) or not isinstance(text := data.get("text"), str):
        is_missing = isinstance(data, dict) or (isinstance(size, (int, float)) and size > 0)
        return (b"" if is_missing else None), is_missing
    body = _decode(text, data.get("encoding"))
    return body, _is_cut(data, size, body)


def _content(content: Mapping[str, Any], headers: Headers) -> tuple[bytes | None, bool]:
    """The answer's body, decoded, and whether it is longer than what is recorded; None where it is not recorded."""
    text, size = content.get("text"), content.get("size")
    if not isinstance(text, str):
        return None, False
    body = _decode(text, content.get("encoding"))
    if body.startswith(b"\x1f\x8b") and (header(headers, "content-encoding") or "").strip().lower() == "gzip":
        try:
            body = gzip.decompress(body)
        except (OSError, EOFError):
            return None, False
    return body, _is_cut(content, size, body)


def _is_cut(recorded: Mapping[str, Any], size: object, body: bytes) -> bool:
    """Whether a body is recorded in part: as its writer says, or because it is shorter than its size."""
    return recorded.get("comment") == TRUNCATED or (
        isinstance(size, (int, float)) and size > len(body) and not _is_json(body)
    )


def _is_json(body: bytes) -> bool:
    """Whether a body is whole although it is shorter than its size: redaction shortens too."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def _decode(text: str, encoding: object) -> bytes:
    if encoding == "base64":
        try:
            return base64.b64decode(text, validate=False)
        except (binascii.Error, ValueError):
            raise UnreadableEntry("a body that is not base64") from None
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate: the recorder has changed the bytes
        raise UnreadableEntry("a body with half a surrogate pair") from None


def _status(response: Mapping[str, Any]) -> int | None:
    status = response.get("status")
    is_status = isinstance(status, (int, float)) and not isinstance(status, bool) and 0 < status <= _MAX_STATUS
    return int(cast("float", status)) if is_status else None


def _trouble(response: Mapping[str, Any]) -> str:
    texts = (response.get(name) for name in ("_error", "_failureText", "statusText"))
    return next((text for text in texts if isinstance(text, str) and text), "no answer was recorded")


def _time(value: object) -> float | None:
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(_FRACTION.sub(r"\1", value)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def _seconds(value: object) -> float:
    is_duration = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9
    return cast("float", value) / 1000 if is_duration else 0.0
