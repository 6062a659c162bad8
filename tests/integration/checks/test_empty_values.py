"""Updates that name a member with an empty value: ignored they are a warning, and what is shown then is open."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_webhooks import patch_takes_an_empty_value
from conformance.core.outcomes import Outcome
from conformance.profile.model import Schemas
from conformance.profile.resources import OperationFacts
from tests.support.webhook_endpoints import CREATE, UPDATE, Merge, endpoint_facts, endpoint_target, replace_members


def _ignoring(*values: Any) -> Merge:
    return lambda old, changes: {**old, **{name: value for name, value in changes.items() if value not in values}}


_FREE = {"type": "string", "minLength": 0}
NULLABLE = {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}


@pytest.mark.parametrize(
    ("label", "merge", "refused", "outcome"),
    [
        (_FREE, replace_members, (), Outcome.PASSED),
        (_FREE, lambda old, changes: {**old, **changes, "label": "none"}, (), Outcome.PASSED),
        (_FREE, _ignoring(""), (), Outcome.WARNED),
        (_FREE, _ignoring(None), (), Outcome.PASSED),
        (NULLABLE, replace_members, (), Outcome.PASSED),
        (NULLABLE, _ignoring(None), (), Outcome.WARNED),
        (_FREE, _ignoring(""), ({"label", "tags"},), Outcome.WARNED),
        (_FREE, _ignoring(""), ({"label", "tags"}, {"label"}), Outcome.PASSED),
        (_FREE, _ignoring(""), ({"label", "tags"}, {"label"}, {"tags"}), Outcome.INAPPLICABLE),
        ({"type": "string", "minLength": 1}, _ignoring([]), (), Outcome.WARNED),
    ],
    ids=[
        "a text",
        "a default in its place",
        "a text that is ignored",
        "null that is not named",
        "null",
        "null that is ignored",
        "both refused together",
        "the text refused",
        "all refused",
        "a list that is ignored",
    ],
)
def test_an_update_with_an_empty_value_is_not_ignored(
    judged: Any, answer: Any, label: Any, merge: Merge, refused: tuple[set[str], ...], outcome: Outcome
) -> None:
    """What the member shows afterwards is open, but for its old value; a refusal says nothing."""
    target = endpoint_target(answer, merge)

    def script(arrived: Any) -> bytes:
        if arrived.method == "PATCH" and arrived.json.keys() in refused:
            return bytes(answer(400, {"error": "no"}))
        return bytes(target(arrived))

    members = {"label": label, "tags": {"type": "array", "items": {"type": "string"}}}
    facts = endpoint_facts(schemas=Schemas(by_name={UPDATE.request_schema: {"type": "object", "properties": members}}))
    create = {"url": "https://example.com/{unique}", "label": "first", "tags": ["a"]}
    facts["operations"] = {**facts["operations"], CREATE.id: OperationFacts(body=create)}
    result, _ = judged(script, patch_takes_an_empty_value, UPDATE, **facts)
    assert result.outcome is outcome, result


def test_an_empty_value_shows_in_a_slow_copy_some_time_later(judged: Any, answer: Any) -> None:
    members = {"label": _FREE}
    facts = endpoint_facts(schemas=Schemas(by_name={UPDATE.request_schema: {"type": "object", "properties": members}}))
    target = endpoint_target(answer, replace_members)
    looks = 0

    def script(arrived: Any) -> bytes:
        nonlocal looks
        after = bytes(target(arrived))
        looks += arrived.method == "PATCH"
        if arrived.method == "PATCH" and looks < 3:
            return bytes(answer(200, {"data": {"id": "new-1", "label": "first"}}))
        return after

    result, _ = judged(script, patch_takes_an_empty_value, UPDATE, **facts)
    assert result.outcome is Outcome.PASSED, result
