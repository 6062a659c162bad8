"""Headers that are new in each answer."""

from __future__ import annotations

from conformance.setup.probe.answer_rules import fresh_headers


def test_a_header_is_new_if_all_answers_have_it_with_different_values() -> None:
    """The time of an answer is new too where answers are slow, and is left out."""
    headers = [
        {"date": "1", "x-request-id": "a", "x-node": "1", "x-part": "a"},
        {"date": "2", "x-request-id": "b", "x-node": "1", "x-part": "b"},
        {"date": "3", "x-request-id": "c", "x-node": "2"},
    ]
    assert fresh_headers(headers) == ["x-request-id"]
    assert fresh_headers([*headers, headers[0]]) == []
    assert fresh_headers([]) == []
