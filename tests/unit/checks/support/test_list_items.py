"""The texts that may name an item of a list: those within arrays, and no short words or numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.checks.support.list_items import texts_of_items
from conformance.client.request import Request
from conformance.client.response import Answer
from tests.support.check_runs import CONTRACT


def listed(data: Any) -> frozenset[str]:
    request = Request(CONTRACT.operations["listInstallationWebhookDeliveries"])
    return texts_of_items(Answer("1", request, "", (), b"", 200, (), json.dumps({"data": data}).encode()))


@pytest.mark.parametrize(
    ("data", "texts"),
    [
        ({"deliveries": [{"id": "del_123456", "state": "sent", "n": 1234567, "of": {"id": "wh_654321"}}]}, 2),
        ({"deliveries": [], "viewer": "key_of_reader"}, 0),
        ({"deliveries": [{"id": "12345678"}]}, 0),
        ([{"id": "del_123456"}, {"id": "del_123456"}], 1),
        (None, 0),
    ],
)
def test_texts_of_items_are_found(data: Any, texts: int) -> None:
    assert len(listed(data)) == texts
