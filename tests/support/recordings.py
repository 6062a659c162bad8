"""HAR files as recorders write them, made of a few values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

BASE = "https://shop.example/commerce"
JSON = {"content-type": "application/json"}
GOOD = '{"data":{"id":"cfg_1"}}'


def entry(
    path: str = "/api/v1/runtime-config",
    status: int = 200,
    text: str | None = GOOD,
    *,
    method: str = "GET",
    base: str = BASE,
    sent: Mapping[str, str] | None = None,
    body: str | None = None,
    headers: Mapping[str, str] | None = None,
    at: int = 0,
    **changes: Any,
) -> dict[str, Any]:
    """One entry. `changes` replace its members; `content` adds to that of the response."""
    content = {
        "size": len((text or "").encode("utf-8", "surrogatepass")),
        "mimeType": "application/json",
        **changes.pop("content", {}),
    }
    content |= {"text": text} if text is not None else {}
    request: dict[str, Any] = {
        "method": method,
        "url": base + path,
        "headers": pairs(sent or {}),
        "bodySize": len((body or "").encode()),
    }
    request |= {"postData": {"mimeType": "application/json", "text": body}} if body is not None else {}
    made = {
        "startedDateTime": f"2030-01-15T00:00:{at % 60:02d}.000Z",
        "time": 12.5,
        "request": request,
        "response": {"status": status, "statusText": "", "headers": pairs(JSON if headers is None else headers)},
    }
    made["response"]["content"] = content
    return {**made, **changes}


def pairs(headers: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]


def har(entries: Iterable[Any]) -> bytes:
    return json.dumps({"log": {"version": "1.2", "creator": {"name": "test"}, "entries": list(entries)}}).encode()


def profile(folder: Path, more: str = "") -> Path:
    """A profile that says as little as one can, for the target of the recordings."""
    path = folder / "shop.toml"
    path.write_text(f'name = "shop"\nbase_url = "{BASE}"\n[authorization]\nformat = "Bearer {{key}}"\n{more}')
    return path
