"""Reads an OpenAPI document, or schemas alone, from a file or URL, with the files that it refers to."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import httpx

from conformance.core import json_pointer as pointer
from conformance.core.errors import ProfileError, UsageError
from conformance.core.files import read_regular
from conformance.core.limited_call import start_call
from conformance.profile.model import Profile
from conformance.profile.schemas import parse_document

EXTERNAL: Final = "x-external"
"""The member of `components` that holds what stands in other files, or in other parts of the document."""
_MAX_BYTES: Final = 8 * 1024 * 1024
_MAX_FILES: Final = 50
_MAX_VALUES: Final = 300_000
_MAX_CHARACTERS: Final = 8 * 1024 * 1024
"""Of a document with all that it refers to, each part as often as another reference leads to it."""
_MAX_REDIRECTS: Final = 5
_MAX_UNREAD: Final = 10
_TIMEOUT_S: Final = 15.0
_LOOPBACK: Final = ("localhost", "127.0.0.1", "::1")
_URL: Final = re.compile(r"https?://", re.IGNORECASE)
_KEYWORDS: Final = frozenset({"type", "properties", "items", "enum", "const", "allOf", "anyOf", "oneOf", "$ref"})
_DOWNLOAD: Final = "download it and pass the file"
_HINT: Final = "an OpenAPI 3 document, or a map of names to JSON Schemas"

Read = Callable[[str], tuple[str, str]]
"""Location -> text, and its location after redirects. Raises UsageError or ProfileError."""


def read_openapi_document(source: str, profile: Profile) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The document at a path or URL as `{paths, components: {schemas, x-external}}`, whatever form it has.

    References to other files become references into `components`. Also returns which of those files were not read, and
    why. Raises UsageError or ProfileError.
    """
    is_url = bool(_URL.match(source))
    ends_at = time.monotonic() + (profile.limits.deadline_s or math.inf)
    read: Read = (lambda url: _fetch(url, source, profile, ends_at)) if is_url else _read_file
    document, location = _parse(source, read)
    base = _schemas_base(document, source)
    parts = _Parts(document, location, base, read, source)
    composed = _compose(parts.rewrite(document, location), base, parts.rewrite_all())
    return composed, tuple(parts.unread)[:_MAX_UNREAD]


def too_large(source: str) -> ProfileError:
    """The error about a document that takes more memory than one of the interface needs."""
    limits = f"{_MAX_VALUES:,} values or {_MAX_CHARACTERS // 2**20} MiB of text"
    hint = "pass a file with the schemas alone"
    return ProfileError(f"has more than {limits} with all that it refers to", where=source, hint=hint)


def is_readable_location(source: str) -> bool:
    """Whether it is the path of a file that exists, or an http or https URL; nothing is fetched."""
    return bool(_URL.match(source)) or ("\0" not in source and Path(source).is_file())


def _parse(location: str, read: Read) -> tuple[dict[str, Any], str]:
    text, location = read(location)
    if text.lstrip("\ufeff \t\r\n")[:200].lower().startswith(("<!doctype", "<html", "<?xml")):
        hint = "pass the address of the JSON or YAML document that the page loads"
        raise ProfileError("is a page, not a document in JSON or YAML", where=location, hint=hint)
    return parse_document(text, location), location


def _schemas_base(document: Mapping[str, Any], source: str) -> str:
    """The pointer to the map of schemas. Raises ProfileError if the document is of another kind."""
    if "swagger" in document:
        hint = "convert it to OpenAPI 3, with swagger2openapi for example"
        raise ProfileError("is a document of Swagger 2, which is not read", where=source, hint=hint)
    if "openapi" in document or isinstance(document.get("components"), dict):
        if not any(isinstance(document.get(name), dict) for name in ("paths", "components")):
            raise ProfileError("has neither paths nor components", where=source, hint=_HINT)
        return "/components/schemas"
    for base in ("/schemas", "/$defs", "/definitions", ""):
        schemas = pointer.get(document, base) if pointer.has(document, base) else None
        if isinstance(schemas, dict) and any(map(_is_schema, schemas.values())):
            return base
    raise ProfileError("is not an OpenAPI document", where=source, hint=_HINT)


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict) and not _KEYWORDS.isdisjoint(value)


def _compose(document: dict[str, Any], base: str, external: Mapping[str, Any]) -> dict[str, Any]:
    components = document.get("components")
    schemas = pointer.get(document, base) if pointer.has(document, base) else {}
    composed = {"openapi": str(document["openapi"])} if "openapi" in document else {}
    return {
        **composed,
        "paths": document["paths"] if isinstance(document.get("paths"), dict) else {},
        "components": {
            **(components if isinstance(components, dict) else {}),
            "schemas": schemas if isinstance(schemas, dict) else {},
            EXTERNAL: dict(external),
        },
    }


@dataclass
class _Parts:
    """What references of the document lead to, unless it stands in `components`."""

    root: dict[str, Any]
    source: str
    base: str
    read: Read
    stated_source: str
    """As the user stated it, before redirects."""
    contents: dict[str, Any] = field(default_factory=dict)
    """Name in `components.x-external` -> content, its references rewritten."""
    unread: dict[str, None] = field(default_factory=dict)
    """The files that were not read, each with its reason, in order."""
    _names: dict[tuple[str, str], str] = field(default_factory=dict)
    _documents: dict[str, Any] = field(default_factory=dict)
    _pending: list[tuple[str, Any, str]] = field(default_factory=list)
    """Name, content and location of parts that are still to be rewritten."""
    _values: int = 0
    _characters: int = 0

    def rewrite_all(self) -> dict[str, Any]:
        """The contents, after all parts that were referred to, and all that these refer to, were rewritten."""
        while self._pending:
            name, content, location = self._pending.pop()
            self.contents[name] = self.rewrite(content, location)
        return self.contents

    def rewrite(self, value: Any, location: str) -> Any:
        """A copy with references into `components` of the composed document. Those that lead nowhere stay.

        Raises ProfileError where all copies together are too large.
        """
        self._count(value)
        if isinstance(value, list):
            return [self.rewrite(item, location) for item in value]
        if not isinstance(value, dict):
            return value
        copy = {name: self.rewrite(item, location) for name, item in value.items() if name != "$ref"}
        if "$ref" not in value:
            return copy
        reference = value["$ref"]
        return {
            "$ref": self._reference(reference, location)
            if isinstance(reference, str)
            else self.rewrite(reference, location),
            **copy,
        }

    def _count(self, value: Any) -> None:
        """Counts a value and its own text: references to each level of a deep part would copy it as many times."""
        self._values += 1
        self._characters += (
            len(value) if isinstance(value, str) else sum(map(len, value)) if isinstance(value, dict) else 0
        )
        if self._values > _MAX_VALUES or self._characters > _MAX_CHARACTERS:
            raise too_large(self.stated_source)

    def _reference(self, reference: str, location: str) -> str:
        place, _, at = reference.partition("#")
        target = _join(location, place) if place else location
        if target == self.source and (at_components := self._own_component(at)):
            return f"#{at_components}"
        if (target, at) not in self._names and not self._add(target, at):
            return reference
        return f"#/components/{EXTERNAL}/{self._names[target, at]}"

    def _own_component(self, at: str) -> str:
        """The pointer in the composed document, for what stands in its `components`; else empty."""
        if at.startswith("/components/"):
            return at
        return f"/components/schemas{at[len(self.base) :]}" if at.startswith(f"{self.base}/") else ""

    def _add(self, location: str, at: str) -> bool:
        """Adds what stands there. False if it cannot be read."""
        try:
            content = pointer.get(self._document(location), at)
        except (UsageError, ProfileError) as error:
            self.unread[str(error)] = None
            return False
        except (KeyError, ValueError):
            return False
        words = re.findall(r"[A-Za-z0-9]+", f"{Path(urlsplit(location).path).stem} {at}")
        name = "_".join(words) or "part"
        while name in self.contents:
            name += "_"
        self._names[location, at] = name
        self.contents[name] = {}
        self._pending.append((name, content, location))
        return True

    def _document(self, location: str) -> Any:
        if location == self.source:
            return self.root
        if location not in self._documents:
            if len(self._documents) >= _MAX_FILES:
                raise UsageError(f"refers to more than {_MAX_FILES} files", where=self.source)
            self._documents[location] = {}
            self._documents[location], _ = _parse(location, self.read)
        return self._documents[location]


def _join(location: str, place: str) -> str:
    """The location of a relative reference. A file refers to files only, and only by a relative path."""
    if _URL.match(location):
        return urljoin(location, place)
    if "://" in place or place.startswith("/"):
        return place if "://" in place else ""
    return str(Path(location).parent / place)


def _read_file(location: str) -> tuple[str, str]:
    hint = f"for a URL write http://{location}" if re.match(r"[\w.-]+:\d+/|localhost/", location) else ""
    if _URL.match(location):
        raise UsageError("is not fetched: a file refers to files only", where=location, hint=_DOWNLOAD)
    if "://" in location:
        raise UsageError("is neither a file nor an http or https URL", where=location)
    try:
        return read_regular(Path(location)).decode("utf-8"), location
    except UnicodeDecodeError:
        raise ProfileError("is not UTF-8 text", where=location) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not the name of a file"
        raise ProfileError(f"cannot be read: {reason}", where=location, hint=hint) from None


def _fetch(url: str, source: str, profile: Profile, ends_at: float) -> tuple[str, str]:
    """The text at a URL, for a document whose URL the user stated: `source`. Raises UsageError.

    The time for the whole of it is limited: what is slow may send a byte now and then, or interim answers, for ever.
    """
    timeout_s = min(_TIMEOUT_S, ends_at - time.monotonic())
    if timeout_s <= 0:
        raise UsageError("is not fetched: the deadline is over", where=url, hint="pass the file")
    try:
        return start_call(lambda: _fetch_slowly(url, source, profile), "document")(timeout_s)
    except TimeoutError:
        raise UsageError(f"cannot be fetched within {timeout_s:.2g} s", where=url, hint="pass the file") from None


def _fetch_slowly(url: str, source: str, profile: Profile) -> tuple[str, str]:
    try:
        for _ in range(_MAX_REDIRECTS):
            if url == source:
                _require_own_host(url, profile)
            else:
                require_own_origin(url, source)
            with (
                _client_for(profile) as client,
                client.stream("GET", url, headers={"Accept": "application/json, application/yaml, */*"}) as response,
            ):
                if response.has_redirect_location:
                    url = urljoin(url, response.headers["Location"])
                    continue
                _require_success(response.status_code, url)
                return _decode(response.iter_bytes(), url), url
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
        raise UsageError(f"cannot be fetched: {error or type(error).__name__}", where=url) from None
    raise UsageError(f"redirects more than {_MAX_REDIRECTS} times", where=url)


def _client_for(profile: Profile) -> httpx.Client:
    """With the profile's proxy and TLS; follows no redirect."""
    verify: str | bool = str(profile.tls.ca_file) if profile.tls.ca_file else profile.tls.verify
    return httpx.Client(trust_env=False, verify=verify, timeout=_TIMEOUT_S, proxy=profile.limits.proxy or None)


def _require_own_host(source: str, profile: Profile) -> None:
    """The URL that the user stated is one of the target's host, or of this machine."""
    host = urlsplit(source).hostname
    if host != urlsplit(profile.base_url).hostname and host not in _LOOPBACK:
        raise UsageError(f"{host} is not the host of the base URL: not fetched", where=source, hint=_DOWNLOAD)


def require_own_origin(url: str, source: str) -> None:
    """The URL of a redirect or reference, which the target states, is one of the origin that the user stated.

    Other services of this machine and of the target's host may answer only to it. From http to https of the same host,
    at the default ports, servers redirect everyone: that is allowed.
    """
    stated = httpx.URL(source)
    allowed = [_origin(stated)]
    if _origin(stated) == ("http", stated.host, None):
        allowed.append(("https", stated.host, None))
    if _origin(httpx.URL(url)) not in allowed:
        problem = f"has another origin than {stated.scheme}://{stated.netloc.decode('ascii')}: not fetched"
        raise UsageError(problem, where=url, hint=_DOWNLOAD)


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    """Scheme, host and port, None for the default port; as the client reads them."""
    return url.scheme, url.host, url.port


def _require_success(status: int, url: str) -> None:
    if status == 200:
        return
    hint = "it needs a login: download it and pass the file" if status in (401, 403) else "is this its address?"
    raise UsageError(f"status {status} instead of 200", where=url, hint=hint)


def _decode(chunks: Iterator[bytes], url: str) -> str:
    body = b""
    for chunk in chunks:
        body += chunk
        if len(body) > _MAX_BYTES:
            raise UsageError("is longer than 8 MiB", where=url)
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("is not UTF-8 text", where=url) from None
