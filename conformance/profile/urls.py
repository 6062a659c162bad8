"""URLs of a profile: a placeholder is percent-encoded for its component (RFC 3986 section 2.4)."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, urlsplit

from conformance.profile.render import Scope, parse, render_text

_RESERVED: Final = "%:/?#[]@!$&'()*+,;="
"""Not encoded in literal text of the profile, which may contain escapes (RFC 3986 section 2.2)."""
_AUTHORITY: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^/?#]*")


def render_url(template: str, scope: Scope) -> str:
    """A URL with its placeholders filled in: each is one segment of the path, or one value of the query.

    A placeholder at the very start is a whole URL, and is not encoded. In the authority it may include a port.
    Raises UnknownPlaceholder, MalformedPlaceholder.
    """
    url = ""
    for piece in parse(template):
        if not piece.is_placeholder:
            url += _encode_literal(url, piece.text)
            continue
        value = render_text(piece.text, scope)
        url += _encode_literal(url, value) if not url else _encode(value, ":[]" if _AUTHORITY.fullmatch(url) else "")
    return url


def drop_empty_port(url: str) -> str:
    """A URL without a colon that no port follows, which means the default port (RFC 3986 section 6.2.3)."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc[:-1]).geturl() if parts.netloc.endswith(":") else url


def _encode_literal(before: str, text: str) -> str:
    """Text that is part of a URL already. A host name is not percent-encoded."""
    host = _AUTHORITY.match(before + text)
    end = max(0, host.end() - len(before)) if host else 0
    return text[:end] + _encode(text[end:], _RESERVED)


def _encode(text: str, safe: str) -> str:
    return quote(text, safe=safe, errors="surrogatepass")
