"""Members of bodies that may carry the idempotency key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conformance.contract import load_contract
from conformance.profile.behavior import Authorization
from conformance.profile.model import Profile
from conformance.setup.probe.openapi import read_openapi


def _body(**own: Any) -> dict[str, Any]:
    call = {"type": "object", "properties": {"mark": {"type": "string"}}, "required": ["mark"]}
    return {"type": "object", "properties": {"call": call, "note": {"type": "string"}, **own}, "required": ["call"]}


def test_a_text_that_all_bodies_share_may_be_the_key(tmp_path: Path) -> None:
    """Whatever its name; a text that only some have is none."""
    names = [operation.request_schema for operation in load_contract().idempotent]
    schemas = {name: _body() for name in names}
    del schemas["PublicWebhookCreateRequest"]["properties"]["note"]
    path = tmp_path / "shop.json"
    path.write_text(json.dumps({"components": {"schemas": schemas}}))
    profile = Profile("p", "http://127.0.0.1:9", Authorization("Bearer {key}"))
    assert read_openapi(str(path), profile, load_contract()).key_locations == (("body", "/call/mark"),)
