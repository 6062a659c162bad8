"""Media types of bodies, beside those that the profile states."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Final

from msgspec.structs import replace

from conformance.client.request import Request

JSON_TYPE: Final = "application/json"
IN_CAPITALS: Final = "Application/JSON"
SUBTYPE: Final = "vnd.conformance.v1"


def with_media_type(request: Request, media_type: str | None) -> Request:
    """The same body under another media type; None: under none."""
    if media_type is not None:
        return replace(request, media_type=media_type)
    return request.with_raw_body(json.dumps(request.document).encode(), None)


def other_media_types(media_types: tuple[str, ...]) -> list[str]:
    """Media types just outside the list: of another kind, with its suffix, and with the beginning of one of it."""
    has_suffix = any("*" in name for name in media_types)
    near = f"text/{SUBTYPE}+json" if has_suffix else f"application/{SUBTYPE}+json"
    longer = [f"{name}5" for name in media_types if "*" not in name][:1]
    patterns = [name.casefold() for name in media_types]
    return [
        name
        for name in ("text/plain", near, *longer)
        if not any(fnmatchcase(name.casefold(), pattern) for pattern in patterns)
    ]
