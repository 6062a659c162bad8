"""`report.html` without a browser: one file, inert, readable without its script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any, cast

import pytest

from conformance.core.model import Message, MissingFact, Run
from conformance.core.outcomes import Outcome
from conformance.reports import html
from tests.support.runs import OPERATIONS, exchange, result, run_of
from tests.support.values import replace


class Page(HTMLParser):
    """Tags with their attributes, the text of scripts and styles, and the visible text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, str]] = []
        self.said: list[str] = []
        self._in = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in = tag if tag in ("script", "style") else ""

    def handle_data(self, data: str) -> None:
        if self._in:
            self.raw.append((self._in, data))
        else:
            self.said.append(data)

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


@pytest.fixture(scope="module")
def page(small: Run) -> Page:
    return Page(html.render(small))


def data_of(page: Page) -> dict[str, dict[str, dict[str, object]]]:
    value: dict[str, dict[str, dict[str, object]]] = json.loads(
        next(d for tag, d in page.raw if d.startswith('{"results"'))
    )
    return value


@pytest.mark.parametrize("name", ["small", "big", "hostile"])
def test_the_page_asks_the_network_for_nothing(name: str, request: pytest.FixtureRequest) -> None:
    """No element loads anything, and the policy would let none."""
    found = Page(html.render(request.getfixturevalue(name)))
    for tag, attributes in found.tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "audio", "video", "source")
        assert "src" not in attributes
        assert "style" not in attributes
        assert not [key for key in attributes if key.startswith("on")]
        if tag == "a":
            assert re.fullmatch(r"#[a-z0-9-]+(\?outcome=[a-z]+&q=[\w.%+~-]*)?", attributes["href"] or "")
        if tag == "link":
            assert attributes["href"] == "data:,"
    policy = next(a["content"] or "" for t, a in found.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "connect" not in policy


def test_the_policy_names_exactly_the_style_and_the_script_of_the_page(page: Page) -> None:
    """By hash, so that nothing else may act."""
    policy = next(a["content"] or "" for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    for tag, text in page.raw:
        if not text.startswith("{"):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_text_adds_no_element(hostile: Run, page: Page) -> None:
    """Two script elements and one style, whatever the target wrote; and no template is evaluated in it."""
    text = html.render(hostile)
    found = Page(text)
    assert [t for t, _ in found.tags if t in ("script", "style")] == ["style", "script", "script"]
    assert {t for t, _ in found.tags} <= {t for t, _ in page.tags} | {"details", "summary"}
    assert "{{ 7*7 }}" in found.text
    assert data_of(found)["results"]


def test_the_page_is_readable_without_its_script(page: Page, small: Run) -> None:
    """Verdict, failures with clause and evidence, matrices, reasons, latency, and what failed or warned are markup."""
    for needed in (
        "Nonconformant",
        "A request whose authentication fails is answered 401.",
        "interface, section “Authentication, rule 1”",
        "200 with data of the installation",
        '-H "authorization: Bearer $CONFORMANCE_KEY_FULL"',
        "4 checks could not be judged because of it",
        "a fixture is needed: state fixtures.foreign",
        "keeps the verdict open",
        "the staging system is shared",
        "no check that provokes it was selected",
        "Waived until 2026-01-31",
        "decisive",
    ):
        assert needed in page.text, needed
    rows = [a["id"] for t, a in page.tags if t == "tr" and (a.get("id") or "").startswith("r-")]
    served = {Outcome.FAILED, Outcome.BROKEN, Outcome.WARNED}
    assert len(rows) == len(set(rows)) == sum(result.outcome in served for result in small.results)


def test_every_result_is_in_the_markup_or_in_the_data(page: Page, small: Run) -> None:
    """What the script adds has its outcome, check, requirement, operation, message and case."""
    data: Any = data_of(page)
    others = [[data["texts"][index] for index in row[1]] for row in data["others"]]
    assert len(data["results"]) + len(others) == len(small.results)
    passed = next(result for result in small.results if result.outcome is Outcome.PASSED)
    assert [passed.outcome, passed.check, passed.requirement, passed.operation] in [row[:4] for row in others]


def test_every_link_leads_somewhere(page: Page) -> None:
    """No anchor of the page is dead, and no id is given twice."""
    ids = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    added = {f"r-{row[0]}" for row in cast("Any", data_of(page))["others"]}
    links = {(a["href"] or "")[1:] for t, a in page.tags if t == "a"}
    assert {link for link in links if not link.startswith("results?")} <= set(ids) | added


def test_every_cell_says_its_outcome_in_words(page: Page) -> None:
    """Colour is never the only carrier: symbol and word stand in each cell of the matrix."""
    assert page.text.count("inconclusive") > 7
    assert "getApiKeyIdentity 429: no check that provokes it was selected" in page.text


def test_bodies_of_passed_exchanges_are_not_embedded() -> None:
    """Only what a result that is not well cites is evidence; its bodies are cut."""
    secretive, loud = exchange("x1", OPERATIONS[0]), exchange("x2", OPERATIONS[0])
    loud = replace(loud, response=replace(loud.response, body="L" * 50_000, body_bytes=50_000))
    secretive = replace(secretive, response=replace(secretive.response, body="QUIET"))
    results = [
        result("STA-2", OPERATIONS[0].id, Outcome.PASSED, exchanges=("x1",)),
        result("ENV-1", OPERATIONS[0].id, Outcome.FAILED, exchanges=("x2",)),
    ]
    text = html.render(run_of(results, [secretive, loud]))
    assert "QUIET" not in text
    assert max(len(found) for found in re.findall("L{100,}", text)) <= 4_000
    assert "cut, 50,000 bytes in all" in text


def test_less_than_a_whole_run_has_a_banner(small: Run, page: Page) -> None:
    """A filtered or interrupted run cannot be taken for a certificate."""
    text = Page(html.render(replace(small, filtered=True, interrupted="SIGINT"))).text
    assert "a filtered run certifies nothing" in text
    assert "Cut short: SIGINT" in text
    assert "certifies nothing" not in page.text


def replayed(first: str, repeat: str, observed: str, status: int = 200) -> str:
    """The page of one failure whose last exchange repeats an earlier one with another answer."""
    sent = [
        replace(
            exchange(name, OPERATIONS[1], code),
            url="http://t/a",
            purpose=purpose,
            response=Message((), body, len(body)),
        )
        for name, purpose, code, body in (("x1", "control", 200, first), ("x2", "replay", status, repeat))
    ]
    failure = result("IDEM-1", OPERATIONS[1].id, Outcome.FAILED, exchanges=("x1", "x2"), observed=observed)
    return html.render(run_of([failure], sent))


def test_a_replay_stands_beside_the_first_answer() -> None:
    """Both are indented, and only the member that the result names is marked in each."""
    page = replayed('{"data":{"id":"a","at":1}}', '{"data":{"id":"b","at":2}}', '/data/id: "b"')
    compared = page.split('<div class="compared">')[1].split("</pre></div>\n</div>")[0]
    assert re.findall("<mark>(.*?)</mark>", compared) == ["&#34;id&#34;: &#34;a&#34;,", "&#34;id&#34;: &#34;b&#34;,"]
    assert "    &#34;at&#34;: 2" in compared
    assert "First answer" in compared
    assert "Replay" in compared


def test_where_the_statuses_differ_no_line_is_marked() -> None:
    """The status decided."""
    page = replayed('{"data":{}}', '{"error":{}}', "409", 409)
    compared = page.split('<div class="compared">')[1].split("</pre></div>\n</div>")[0]
    assert "<mark>" not in compared
    assert "→ 409" in compared


def test_what_was_done_to_a_key_is_told_in_words() -> None:
    """The header, a sentence and the curl line say it; the line computes the key from its variable."""
    headers = (("Authorization", "Bearer «credential:full|drop:1»"),)
    sent = replace(exchange("x1", OPERATIONS[3], 200), request=Message(headers, "", 0))
    failure = result("AUTH-1", OPERATIONS[3].id, Outcome.FAILED, exchanges=("x1",), observed="200")
    page = Page(html.render(run_of([failure], [sent])))
    assert "Sent with the key full, its last character cut off." in page.text
    assert "Authorization: Bearer «credential:full, its last character cut off»" in page.text
    assert '"Authorization: Bearer ${CONFORMANCE_KEY_FULL%?}"' in page.text


def test_a_thin_profile_names_the_commands_that_fill_it(small: Run) -> None:
    """From ten missing facts on; each fact has the checks' own sentences and a link to its results."""
    facts = [
        MissingFact(
            f"search.f{n}", "a value is needed", 3, ("SRCH-1",), False, "a = 1", "b = 2", ("a value is needed",)
        )
        for n in range(10)
    ]
    thin, full = (html.render(replace(small, missing=tuple(facts[:count]))) for count in (10, 9))
    assert "<code>conformance probe</code>" in thin
    assert "<code>conformance init</code>" in thin
    assert "<code>conformance probe</code>" not in full
    assert 'href="#results?outcome=unstated&amp;q=search.f0"' in thin
    assert "<li>a value is needed</li>" in thin
