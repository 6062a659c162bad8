"""What decided in an answer is marked: what the result says it observed, and nothing that is merely named alike."""

from __future__ import annotations

import pytest

from conformance.core.model import Exchange, Finding, Message, Result
from conformance.core.outcomes import Outcome
from conformance.reports import html
from conformance.reports.shaping.layout import Line, lines_of
from conformance.reports.shaping.marks import Marks, marked_lines, marks, pieces
from tests.support.runs import OPERATIONS, PAYLOADS, exchange, result, run_of
from tests.support.values import replace

BODY = '{"data":{"state":"revoked","revision":3,"items":[{"id":"a"},{"id":"b"}]}}'


def failure(**texts: str) -> Result:
    return result("AUTH-1", "getApiKeyIdentity", Outcome.FAILED, exchanges=("x1",), **texts)


def answer(body: str = BODY, findings: tuple[Finding, ...] = ()) -> Exchange:
    made = exchange("x1", OPERATIONS[3], 200, findings=findings)
    headers = (("WWW-Authenticate", "Bearer"), ("content-type", "text/html"))
    return replace(made, response=Message(headers, body, len(body)))


def marked(result: Result, exchange: Exchange) -> list[str]:
    """The marked headers and lines."""
    found = marks(result, exchange)
    lines = lines_of(exchange.response)
    headers = [name for name, value in exchange.response.headers if found.has_header(name, value)]
    return headers + [lines[at].text.strip().rstrip(",") for at in marked_lines(lines, found)]


@pytest.mark.parametrize(
    ("texts", "decisive"),
    [
        ({"observed": "'revoked'"}, ['"state": "revoked"']),
        ({"observed": "another value at /data/items/1/id"}, ['"id": "b"']),
        ({"observed": "/data/revision: 3\n/data/lost: absent"}, ['"revision": 3']),
        ({"message": "/data/revision is not a text"}, ['"revision": 3']),
        ({"message": "the header WWW-Authenticate is odd"}, ["WWW-Authenticate"]),
        ({"observed": 'media type "text/html"'}, ["content-type"]),
        ({"message": "the key 'revoked' was not answered 401", "observed": "200"}, []),
        ({"message": "the key 'revoked' was accepted"}, []),
        ({"message": "it was revoked"}, []),
        ({"observed": "'closed'"}, []),
    ],
)
def test_what_was_observed_is_marked(texts: dict[str, str], decisive: list[str]) -> None:
    """The member at a pointer, a whole value, a header; neither the name of a key nor a plain word."""
    assert marked(failure(**texts), answer()) == decisive


def test_findings_of_the_same_requirement_mark_too() -> None:
    """An invariant's finding names what it saw; another one's does not count."""
    own, other = Finding("AUTH-1", "x", "'revoked' is none"), Finding("ENV-1", "x", "/data/revision is none")
    assert marked(failure(), answer(findings=(own, other))) == ['"state": "revoked"']
    header = Finding("AUTH-1", "media-type", "JSON is sent as text/html")
    assert marked(failure(), answer(findings=(header,))) == ["content-type"]


def test_marks_are_few() -> None:
    """However much is quoted."""
    words = [f"word-{number}" for number in range(50)]
    found = marks(failure(observed=" ".join(f"'{word}'" for word in words)), answer())
    assert 0 < len(found.values) < 20


def test_the_pieces_of_a_text_are_the_text() -> None:
    """For a body on one line: members and values, with their quotes."""
    words = Marks(places=("/data/id",), values=("b",)).words
    assert words == ('"id"', '"b"')
    assert pieces('{"id":1,"a":"b"}', words) == [
        ("{", False),
        ('"id"', True),
        (':1,"a":', False),
        ('"b"', True),
        ("}", False),
    ]
    assert pieces("a", ()) == [("a", False)]


def test_marking_opens_no_way_into_the_page() -> None:
    """A hostile answer is marked as text."""
    payload = next(payload for payload in PAYLOADS if payload.startswith("<script>"))
    page = html.render(run_of([failure(observed=f"'{payload}'")], [answer(payload)]))
    assert "<mark>&lt;script&gt;" in page
    assert "<script>window" not in page
    assert "<img" not in page


def test_a_line_of_an_array_is_its_value() -> None:
    """An item has no name before it."""
    assert Marks(values=("a",)).has_line(Line('    "a",', "/data/0"))
