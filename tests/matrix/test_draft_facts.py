"""The comparison of drafts with true profiles (`tests/support/draft_truth.py`)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.draft_truth import assumptions, compare, is_true

TRUTH: dict[str, Any] = {
    "authorization": {"format": "Bearer {key}", "scheme": {"none": "several are accepted"}},
    "credentials": {
        "full": {"scopes": ["catalog:read", "webhooks:read"], "installation": "A"},
        "other": {"scopes": [], "installation": "B"},
        "old": {"scopes": ["catalog:read"], "status": "revoked"},
    },
    "idempotency": {"carrier": "header", "name": "K", "format": "uuid", "written": "{key}"},
    "search": {"query": {"q": "x"}, "page_size_max": 50, "category": "shoes"},
    "oauth": {"clock_allowance_s": 60, "client_id": "c", "status": {"bad_grant": 400, "bad_body": 401}},
}
DRAFT = """
name = "mine"

[authorization]
format = "Bearer {key}"  # 200
scheme = "required"

[credentials.full]
scopes = ["webhooks:read", "catalog:read"]
installation = "inst_A"
status = "active"

[credentials.other]
# TODO unknown
scopes = ["catalog:read"]
installation = "inst_B"

[idempotency]
carrier = "header"
name = "Key"
format = "any"  # TODO assumed

[search]
query = { q = "y" }
page_size_max = 50
category = "mugs"
past_the_end = "empty"

[oauth]
client_id = "c"
clock_behind_s = 60
clock_ahead_s = 30
status = { bad_grant = 400 }
"""


def test_each_fact_of_a_draft_is_true_or_false_or_undecided() -> None:
    found = compare(DRAFT, TRUTH, {"oauth": {"client_id": "c"}})
    assert found.false == {
        "authorization.scheme": ("required", {"none": "several are accepted"}),
        "idempotency.name": ("Key", "K"),
        "oauth.clock_ahead_s": (30, 60),
    }
    assert found.undecided == {"search.past_the_end": "empty"}
    assert {"authorization.format", "credentials.full.installation", "oauth.status.bad_grant"} <= set(found.true)
    assert set(found.missing) == {
        "credentials.other.scopes",
        "credentials.old.status",
        "idempotency.format",
        "oauth.status.bad_body",
    }
    assert found.share == len(found.true) / (len(found.true) + 3 + 4)


def test_a_fact_with_a_todo_is_an_assumption() -> None:
    assert assumptions(DRAFT) == {("credentials", "other", "scopes"), ("idempotency", "format")}
    assert assumptions('# format = "uuid" # TODO the format\n[search]\n') == set()


@pytest.mark.parametrize(
    ("key", "drafted", "truth", "expected"),
    [
        ("idempotency.format", {"pattern": "[a-z]{20}"}, {"pattern": "[a-z0-9]{16,64}"}, True),
        ("idempotency.format", {"pattern": "[a-z]{8}"}, {"pattern": "[a-z0-9]{16,64}"}, False),
        ("idempotency.format", "any", "uuid", False),
        ("idempotency.format", "uuid", "any", True),
        ("errors.volatile", ["/id"], ["/id", "/at"], True),
        ("errors.volatile", ["/id", "/code"], ["/id"], False),
        ("bodies.media_types", ["a/b"], ["a/b", "c/d"], False),
        ("search.locales", ["de", "en"], ["en", "de"], True),
        ("search.q_max", 200, {"none": "any length"}, False),
        ("search.cursor", {"none": "seen"}, {"none": "stated"}, True),
        ("search.cursor", {"none": "seen"}, "/meta/next", False),
        ("answers.fresh_headers", ["a"], ["a", "b"], True),
    ],
)
def test_what_is_true(key: str, drafted: Any, truth: Any, expected: bool) -> None:
    """A narrower format and a part of the volatile members are true; a part of the media types is not."""
    assert is_true(tuple(key.split(".")), drafted, truth) is expected


def test_the_key_alone_is_a_format_where_the_scheme_is_optional() -> None:
    text = '[authorization]\nformat = "{key}"\n'
    truth = {"authorization": {"format": "Key {key}", "scheme": "optional"}}
    assert not compare(text, truth, {}).false
    assert compare(text, {"authorization": {"format": "Key {key}"}}, {}).false


def test_names_of_headers_and_ascending_orders_are_written_in_several_ways() -> None:
    text = '[answers]\nfresh_headers = ["x-request-id"]\n[search]\nsorts = { a = { by = "/a" } }\n'
    orders = {"a": {"by": "/a", "order": "ascending"}}
    truth = {"answers": {"fresh_headers": ["X-Request-Id"]}, "search": {"sorts": orders}}
    assert compare(text, truth, {}).share == 1
    assert compare(text.replace("/a", "/b"), truth, {}).false


def test_two_ways_to_say_the_same_are_equal() -> None:
    """A path has one operation, and with another format accepted any format is."""
    truth = {"idempotency": {"format": "uuid", "other_format": "accepted", "namespace": ["credential", "path"]}}
    text = '[idempotency]\nformat = "any"\nnamespace = ["credential", "operation", "path"]\n'
    assert compare(text, truth, {}).share == 1
