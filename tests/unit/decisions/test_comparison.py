"""Runs side by side: each difference is of the kind that it is, and equal runs have none."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from markdown_it import MarkdownIt

from conformance.core.errors import UsageError
from conformance.core.model import Message, ProfileInfo, Result, Run, Suite, Waiver
from conformance.core.outcomes import Outcome
from conformance.decisions import comparison_report as sidebyside
from conformance.decisions.comparison import Kind, compare
from conformance.decisions.latency import shift
from tests.support.runs import OPERATIONS, PAYLOADS, exchange, result, run_of
from tests.support.values import replace

IDENTITY = next(o for o in OPERATIONS if o.id == "getApiKeyIdentity")


def passing(**changes: Any) -> Result:
    return result("AUTH-1", IDENTITY.id, Outcome.PASSED, **changes)


def judged(outcome: Outcome, **changes: Any) -> Run:
    return run_of([result("AUTH-1", IDENTITY.id, outcome, signature="s", message="m", **changes)])


def kinds(*runs: Run, **more: Any) -> list[Kind]:
    return [one.kind for one in compare(runs, [f"run {n}" for n in range(len(runs))], **more).differences]


def answering(
    body: Any, status: int = 200, count: int = 10, headers: Any = (), ms: Any = lambda n: 10.0 + n % 3
) -> Run:
    """A run of good requests that were all answered so."""
    text = json.dumps(body)
    message = Message((("content-type", "application/json"), *headers), text, len(text))
    sent = [exchange(f"x{n}", IDENTITY, status, response=message, duration_ms=ms(n)) for n in range(count)]
    return run_of([passing(exchanges=("x0",))], sent)


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (Outcome.PASSED, Outcome.FAILED, Kind.REGRESSED),
        (Outcome.INAPPLICABLE, Outcome.FAILED, Kind.REGRESSED),
        (Outcome.FAILED, Outcome.PASSED, Kind.FIXED),
        (Outcome.INCONCLUSIVE, Outcome.PASSED, Kind.FIXED),
        (Outcome.PASSED, Outcome.INCONCLUSIVE, Kind.OPEN),
        (Outcome.PASSED, Outcome.UNTESTED, Kind.OPEN),
        (Outcome.PASSED, Outcome.INAPPLICABLE, Kind.OPEN),
        (Outcome.FAILED, Outcome.UNSTATED, Kind.OPEN),
        (Outcome.INAPPLICABLE, Outcome.PASSED, None),
        (Outcome.PASSED, Outcome.WARNED, Kind.WARNED),
        (Outcome.UNTESTED, Outcome.INCONCLUSIVE, None),
        (Outcome.PASSED, Outcome.PASSED, None),
        (Outcome.FAILED, Outcome.FAILED, None),
    ],
)
def test_an_outcome_that_changed_is_classed(before: Outcome, after: Outcome, kind: Kind | None) -> None:
    """By what it was and what it is."""
    assert kinds(judged(before), judged(after)) == ([kind] if kind else [])


def test_an_optional_case_may_be_judged_in_one_run_only() -> None:
    """Whether it exists depends on values that are new in each run, such as an id without letters."""
    assert kinds(judged(Outcome.PASSED), judged(Outcome.INAPPLICABLE, further=True)) == []


def test_what_quick_depth_leaves_out_is_not_compared() -> None:
    """Neither fixed by the run that asks it, nor open in the one that does not; between equal depths it is open."""
    quick, standard = replace(judged(Outcome.UNTESTED), depth="quick"), judged(Outcome.PASSED)
    assert kinds(quick, standard) == kinds(standard, quick) == []
    (text,) = compare([standard, quick], ["a", "b"]).incomparable
    assert text.startswith("B was asked in quick depth")
    assert kinds(replace(standard, depth="quick"), quick) == [Kind.OPEN]
    assert kinds(replace(standard, depth="quick"), judged(Outcome.FAILED)) == [Kind.REGRESSED]


def test_another_failure_of_the_same_check_is_a_regression() -> None:
    """It has another signature."""
    other = run_of([result("AUTH-1", IDENTITY.id, Outcome.FAILED, signature="t", message="m")])
    assert kinds(judged(Outcome.FAILED), other) == [Kind.REGRESSED]


def test_a_failure_that_a_waiver_accepts_is_no_regression() -> None:
    """It is waived, and says so; once the waiver is gone, the same failure is one."""
    waiver = Waiver("AUTH-1", "a proxy", "edge", "EDGE-1", "2099-01-01", state="active")
    (failed,) = judged(Outcome.FAILED).results
    waived = run_of([failed], waivers=(waiver,))
    assert kinds(judged(Outcome.PASSED), waived) == kinds(judged(Outcome.FAILED), waived) == [Kind.WAIVED]
    assert kinds(waived, waived) == []
    assert kinds(waived, judged(Outcome.FAILED)) == [Kind.REGRESSED]
    (difference,) = compare([judged(Outcome.PASSED), waived], ["a", "b"]).differences
    assert (difference.before, difference.after) == ("passed", "waived")


def test_what_only_one_profile_states_is_the_profiles_doing() -> None:
    """Inapplicable here, judged there: the target did nothing otherwise."""
    without = replace(judged(Outcome.INAPPLICABLE, fact="fixtures.foreign"), profile=ProfileInfo("b", "d" * 64))
    comparison = compare([judged(Outcome.PASSED), without], ["a", "b"])
    assert [(one.kind, one.text) for one in comparison.differences] == [
        (Kind.PROFILE, "only one profile states fixtures.foreign")
    ]


def test_equal_runs_do_not_differ(small: Run) -> None:
    """Neither in outcomes nor in behaviour."""
    assert kinds(small, small, small) == []


@pytest.mark.parametrize(
    ("mine", "other", "kind"),
    [
        (answering({"data": {"id": "1"}}), answering({"data": {"id": "1", "note": "x"}}), Kind.MEMBERS),
        (answering({"data": {"id": "1"}}), answering({"data": {"id": 1}}), Kind.SCHEMA),
        (answering({"error": {"code": "x"}}, 400), answering({"code": "x"}, 400), Kind.ERROR),
        (answering({}), answering({}, headers=(("x-served-by", "b"),)), Kind.HEADERS),
        (answering({}, count=40), answering({}, count=40, ms=lambda n: 30.0 + n % 3), Kind.LATENCY),
    ],
)
def test_free_behaviour_is_told_by_its_kind(mine: Run, other: Run, kind: Kind) -> None:
    """Both conform; what differs is said, and is not a regression."""
    found = kinds(mine, other)
    assert kind in found
    assert Kind.REGRESSED not in found


def test_the_status_that_each_chose_is_told() -> None:
    """The same request, both within the interface, answered with another status."""
    runs = []
    for status in (401, 403):
        sent = exchange("x1", IDENTITY, status, purpose="two defects")
        runs.append(run_of([passing(exchanges=("x1",))], [sent]))
    comparison = compare(runs, ["a", "b"])
    assert [(d.kind, d.before, d.after) for d in comparison.differences] == [(Kind.STATUS, "401", "403")]


def test_few_answers_say_nothing() -> None:
    """Four bodies are not a habit, and one slow answer is not a shift."""
    assert kinds(answering({"data": {"id": 1}}, count=4), answering({"data": {"id": "1"}}, count=4)) == []
    assert shift([10.0] * 19, [100.0] * 19) is None


def test_a_shift_needs_size_and_certainty() -> None:
    """Not what chance may bring about, nor what nobody would notice."""
    assert shift([10.0 + n % 9 for n in range(50)], [10.5 + n % 9 for n in range(50)]) is None
    slower = shift([10.0 + n % 9 for n in range(50)], [30.0 + n % 9 for n in range(50)])
    assert slower is not None
    assert slower.low > 1 and slower.delta == 1


def test_runs_of_other_checks_are_not_compared() -> None:
    """Unless forced; then it is said what cannot be compared."""
    other = replace(judged(Outcome.PASSED), suite=Suite("0.2.0", "a" * 64, "e" * 64))
    with pytest.raises(UsageError, match="other checks"):
        kinds(judged(Outcome.PASSED), other)
    forced = compare([judged(Outcome.PASSED), other], ["a", "b"], force=True)
    assert forced.incomparable
    assert "not comparable" in "\n".join(sidebyside.lines(forced))


def test_ten_environments_are_one_table() -> None:
    """A letter each; a row shows all of them."""
    runs = [judged(Outcome.PASSED)] * 9 + [judged(Outcome.FAILED)]
    comparison = compare(runs, [f"env {n}" for n in range(10)])
    (row,) = [row for row in sidebyside.table(comparison) if row["differs"]]
    assert [cell["symbol"] for cell in row["cells"]] == ["✓"] * 9 + ["✕"]
    assert "| A | B | C | D | E | F | G | H | I | J |" in sidebyside.markdown(comparison)


def test_no_text_of_a_target_acts() -> None:
    """In no format: it is escaped in HTML and Markdown, and stripped for the terminal."""
    text = " ".join(PAYLOADS)
    evil = run_of([result("AUTH-1", IDENTITY.id, Outcome.FAILED, message=text, case=text, signature=text)], target=text)
    comparison = compare([run_of([]), evil], [text, text])
    page = sidebyside.html(comparison)
    assert "<script>window" not in page and "<img" not in page
    assert page.count("<script>") == 1
    assert not any("\x1b" in line for line in sidebyside.lines(comparison))
    json.loads(sidebyside.as_json(comparison))
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(sidebyside.markdown(comparison))
    assert not re.search("<(?:script|img|a) ", rendered) and "<script>" not in rendered


def test_a_waived_failure_is_no_regression() -> None:
    """It is counted apart; that it came is still said."""
    waiver = Waiver("AUTH-1", "known", "team", "ISSUE-1", "2099-01-01", state="active")
    waived = run_of([result("AUTH-1", IDENTITY.id, Outcome.FAILED, signature="s")], (), (waiver,))
    assert kinds(judged(Outcome.PASSED), waived) == [Kind.WAIVED]


def test_results_that_differ_in_one_way_are_one_row() -> None:
    """What regressed comes first, by its cause: the operations, the number of results, the runs that have it."""
    operations = [operation.id for operation in OPERATIONS[:4]]
    good, bad = (
        run_of([result("AUTH-1", name, outcome, observed="200", message=f"{name} was served") for name in operations])
        for outcome in (Outcome.PASSED, Outcome.FAILED)
    )
    ((kind, (row,)),) = sidebyside.groups(compare([good, bad, bad], ["a", "b", "c"]))
    assert kind is Kind.REGRESSED
    assert (row.environments, row.operations, row.results) == (("B", "C"), tuple(operations), 8)
    assert row.text == bad.causes[0].title


def test_what_was_not_judged_for_one_reason_is_one_row_of_all_its_requirements() -> None:
    """A control that failed leaves dozens of requirements open."""
    good, bad = (
        run_of([result(name, "quotePublicCart", outcome, message="no control") for name in ("AUTH-1", "BODY-1")])
        for outcome in (Outcome.PASSED, Outcome.INCONCLUSIVE)
    )
    ((_, (row,)),) = sidebyside.groups(compare([good, bad], ["a", "b"]))
    assert (row.requirements, row.operations, row.results) == (("AUTH-1", "BODY-1"), ("quotePublicCart",), 2)


def test_the_page_links_to_the_runs_and_names_those_that_were_not_read() -> None:
    """In the terminal, as JSON, as Markdown and on the page."""
    runs = [judged(Outcome.PASSED), judged(Outcome.FAILED)]
    comparison = replace(compare(runs, ["a", "b"], links=["../a/report.html", ""]), unread=("c: not a JSON document",))
    page = sidebyside.html(comparison)
    assert re.findall('href="([^"]+html)"', page) == ["../a/report.html"]
    assert page.index("1 regressed") < page.index("<main")
    for text in (
        page,
        "\n".join(sidebyside.lines(comparison)),
        sidebyside.as_json(comparison),
        sidebyside.markdown(comparison),
    ):
        assert "c: not a JSON document" in text
