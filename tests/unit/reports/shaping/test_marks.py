"""The decisive part of an answer is marked: what the failure's own words quote, and nothing that they do not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.core.model import Finding, Message
from conformance.core.outcomes import Outcome
from conformance.reports import html
from conformance.reports.shaping.marks import MAX_WORDS, marks, pieces
from tests.support.runs import OPERATIONS, PAYLOADS, exchange, result, run_of

BODY = '{"data":{"state":"open","revision":3}}'


def failure(**told: str) -> object:
    return result("AUTH-1", "getApiKeyIdentity", Outcome.FAILED, exchanges=("x1",), **told)


def answer(body: str = BODY, findings: tuple[Finding, ...] = ()) -> object:
    made = exchange("x1", OPERATIONS[3], 200, findings=findings)
    headers = (("WWW-Authenticate", "Bearer"), ("content-type", "text/html"))
    return replace(made, response=Message(headers, body, len(body)))


@pytest.mark.parametrize(
    ("told", "marked"),
    [
        ({"observed": "'open'"}, ("open",)),
        ({"message": "/data/revision is no text"}, ("revision",)),
        ({"message": "the header WWW-Authenticate is odd"}, ("WWW-Authenticate",)),
        ({"observed": 'media type "text/html"'}, ("text/html",)),
        ({"message": "it was open"}, ()),
        ({"observed": "'closed'"}, ()),
    ],
)
def test_what_is_quoted_and_there_is_marked(told: dict[str, str], marked: tuple[str, ...]) -> None:
    """A value, a member by its pointer, a header; neither plain words nor what the answer does not hold."""
    assert marks(failure(**told), answer()) == marked  # type: ignore[arg-type]


def test_findings_of_the_same_requirement_mark_too() -> None:
    """An invariant tells in its finding what it saw."""
    own, other = Finding("AUTH-1", "x", "'open' is none"), Finding("ENV-1", "x", "'revision' is none")
    assert marks(failure(), answer(findings=(own, other))) == ("open",)  # type: ignore[arg-type]


def test_marks_are_few_and_the_pieces_are_the_text() -> None:
    """However much is quoted; the longest wins where they overlap."""
    words = [f"word-{number}" for number in range(50)]
    found = marks(failure(message=" ".join(f"'{word}'" for word in words)), answer(" ".join(words)))  # type: ignore[arg-type]
    assert len(found) == MAX_WORDS
    text = "a Word-1 b word-12"
    assert pieces(text, ("word-12", "word-1")) == [("a ", False), ("Word-1", True), (" b ", False), ("word-12", True)]
    assert pieces(text, ()) == [(text, False)]


def test_marking_opens_no_way_into_the_page() -> None:
    """A hostile answer is marked as text."""
    text = " ".join(PAYLOADS)
    quoted = " ".join(f"'{payload}'" for payload in PAYLOADS)
    page = html.render(run_of([failure(observed=quoted)], [answer(text)]))  # type: ignore[list-item]
    assert "<mark>&lt;script&gt;" in page
    assert "<script>window" not in page and "<img" not in page
