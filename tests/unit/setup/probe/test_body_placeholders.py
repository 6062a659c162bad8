"""Members of a body that have the names of known values get their placeholders."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.setup.probe.body_placeholders import token_members, with_placeholders

TICKET = {"ticket": "{session.open.ticket}"}
WHOLE = {"grant_type": "authorization_code", "code": "{oauth.code}", "code_verifier": "{pkce.verifier}"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"ticket": "x"}, {"ticket": "{session.open.ticket}"}),
        ({"Ticket": "x", "note": "{a}"}, {"Ticket": "{session.open.ticket}", "note": "{{a}}"}),
        ({"note": "x"}, None),
        ({}, None),
        (["ticket"], None),
    ],
)
def test_a_member_with_the_name_of_a_known_value_gets_its_placeholder(body: Any, expected: Any) -> None:
    assert with_placeholders(body, TICKET) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"required": list(WHOLE)}, WHOLE),
        ({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"required": list(WHOLE)}}}, WHOLE),
        ({"required": [*WHOLE, "audience"]}, None),
        ({"type": "object"}, None),
        (True, None),
        (None, None),
    ],
)
def test_a_token_request_is_made_only_of_members_with_known_names(schema: Any, expected: Any) -> None:
    assert token_members(schema) == expected
