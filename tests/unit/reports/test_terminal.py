"""The terminal: verdict first, wrapped at words, colours that mean something, commands that can be copied."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from conformance.core.model import Message, Run, Waiver
from conformance.core.outcomes import Outcome
from conformance.reports.terminal import FULL_GROUPS, print_summary, summary_lines, verdict_line, wrap
from tests.support.runs import JSON, OPERATIONS, exchange, result, run_of
from tests.support.values import replace

IDENTITY = "getApiKeyIdentity"


@pytest.mark.parametrize("name", ["small", "big", "hostile"])
@pytest.mark.parametrize("width", [80, 120])
def test_the_verdict_with_its_scope_comes_first(name: str, width: int, request: pytest.FixtureRequest) -> None:
    """Then the causes, then the gaps in one line that names where all of them stand."""
    run: Run = request.getfixturevalue(name)
    lines = summary_lines(run)
    assert lines[0] == verdict_line(run)
    assert run.scope.summary in lines[0]
    assert lines[-1].startswith("not judged: ")
    assert "summary.md" in lines[-1]
    wrapped = summary_lines(run, width)
    assert [line.split() for line in lines] != [line.split() for line in wrapped]
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(wrapped).split())


@pytest.mark.parametrize("width", [80, 120])
def test_lines_are_wrapped_at_words_and_commands_are_not(width: int, small: Run) -> None:
    """A curl line and the command that runs a check again are copied whole; everything else fits the terminal."""
    lines = summary_lines(small, width)
    commands = [line for line in lines if line.lstrip().startswith(("curl ", "again "))]
    assert len(commands) == 4
    assert max(map(len, commands)) > width
    rest = [line for line in lines if line not in commands]
    assert all(cell_len(line) <= width or len(max(line.split(), key=len)) + 17 > width for line in rest)


@given(st.text(alphabet="ab漢 ", max_size=200), st.integers(40, 90), st.integers(0, 20))
def test_wrapping_loses_no_word(text: str, width: int, hang: int) -> None:
    """And makes a line longer only by a word that fits no line."""
    lines = wrap(text, width, hang)
    assert " ".join(lines).split() == text.split()
    for line in lines:
        assert cell_len(line.rstrip()) <= width or any(hang + cell_len(word) > width for word in line.split())


def test_a_run_of_many_causes_shows_the_first_and_names_the_others() -> None:
    """Evidence for the first causes; one line for each other one; with --verbose evidence for all."""
    failed = [
        result("AUTH-1", IDENTITY, Outcome.FAILED, observed=str(status), reproduce=f"conformance run -k {status}")
        for status in range(400, 410)
    ]
    run = run_of(failed)
    heads = [line for line in summary_lines(run) if line.startswith("✕ ") and line[2].isdigit()]
    assert len(heads) == len(run.causes) == 10
    assert sum("     again" in line for line in summary_lines(run)) == FULL_GROUPS
    assert sum("     again" in line for line in summary_lines(run, verbose=True)) == 10


def test_a_refused_control_is_shown_once_with_its_answer() -> None:
    """Most of what is open rests on a few good requests that were refused, and their answers mostly say why."""
    operation = next(operation for operation in OPERATIONS if operation.id == "exchangeOAuthToken")
    body = '{"message": "the htu is another URL"}'
    refused = exchange("e1", operation, 401, response=Message(headers=JSON, body=body, body_bytes=len(body)))
    resting = [
        result(
            requirement,
            operation.id,
            Outcome.INCONCLUSIVE,
            message=f"the control of {operation.id} was answered 401 instead of 200",
            cause=f"control:{operation.id}",
            exchanges=(refused.id,),
        )
        for requirement in ("OA-1", "OA-2")
    ]
    run = run_of(resting, (refused,), proven=())
    lines = summary_lines(run)
    (head,) = [at for at, line in enumerate(lines) if line.startswith("? the control of")]
    assert lines[head].endswith("instead of 200 [2 results not judged because of it]")
    assert "the htu is another URL" in "".join(lines[head:])


def test_a_fixture_that_failed_is_shown_once_with_its_message() -> None:
    """Where a test API cannot be reached, nothing else says why so much is open; what was sent before does not."""
    sent = exchange("e1", OPERATIONS[0], 200, response=Message(headers=JSON, body="{}", body_bytes=2))
    message = "fixtures.cart.open: POST http://127.0.0.1:1/carts: Connect call failed"
    resting = [
        result(
            requirement,
            "quotePublicCart",
            Outcome.INCONCLUSIVE,
            message=message,
            cause="fixture:fixtures.cart.open",
            exchanges=(sent.id,),
        )
        for requirement in ("IDEM-1", "IDEM-2")
    ]
    lines = summary_lines(run_of(resting, (sent,), proven=()))
    assert f"? {message} [2 results not judged because of it]" in lines
    assert not [line for line in lines if "curl" in line]


def test_a_waived_cause_says_so_with_its_reason_and_is_not_red() -> None:
    """Whoever reads the terminal sees that it is accepted, why, and until when."""
    waiver = Waiver("AUTH-1", "a proxy", "edge", "EDGE-1", "2099-01-01", state="active")
    run = run_of([result("AUTH-1", IDENTITY, Outcome.FAILED, observed="200")], waivers=(waiver,))
    text = "\n".join(summary_lines(run))
    assert "◇ 1. AUTH-1" in text
    assert "[1 result] (waived until 2099-01-01 by edge (EDGE-1): a proxy)" in text
    assert "✕" not in text.replace("✕ nonconformant", "")


def test_every_gap_has_its_reason_with_verbose(small: Run) -> None:
    """What the one line counts, the option spells out."""
    text = "\n".join(summary_lines(small, verbose=True))
    for reason in ("3 open carts are needed, 1 was left", "nothing was sent", "state fixtures.foreign"):
        assert reason in text
        assert reason not in "\n".join(summary_lines(small))


def printed(run: Run, environment: dict[str, str], *, terminal: bool, width: int = 80) -> str:
    file = io.StringIO()
    console = Console(
        file=file, force_terminal=terminal, width=width, _environ={"TERM": "xterm-256color"} | environment
    )
    print_summary(console, run)
    return file.getvalue()


def test_colours_are_for_terminals_that_want_them(small: Run) -> None:
    """None with NO_COLOR, and none in a file, where lines are not wrapped either."""
    assert "\x1b[1;31m" in printed(small, {}, terminal=True)
    assert "\x1b[1;31m" not in printed(small, {"NO_COLOR": "1"}, terminal=True)
    plain = printed(small, {}, terminal=False)
    assert "\x1b" not in plain
    assert plain.splitlines() == summary_lines(small)


def test_nothing_is_red_where_nothing_failed() -> None:
    """A conformant run and an incomplete one have no red line."""
    passed = [result("VER-1", operation.id, Outcome.PASSED) for operation in OPERATIONS]
    for run in (run_of(passed), run_of([*passed, result("AUTH-1", IDENTITY, Outcome.INCONCLUSIVE)])):
        text = printed(replace(run, complete=True), {}, terminal=True)
        assert "\x1b[1;3" in text
        assert "\x1b[31m" not in text
        assert "\x1b[1;31m" not in text


def test_the_facts_that_a_profile_lacks_are_named() -> None:
    """Also where the verdict does not depend on them; of many, the first ones."""
    facts = [f"oauth.fact_{number}" for number in range(9)]
    run = run_of([result("OA-1", IDENTITY, Outcome.UNSTATED, case=fact, fact=fact) for fact in facts])
    assert "9 facts missing in the profile (oauth.fact_0, " in summary_lines(run)[-1]
    assert " more)" in summary_lines(run)[-1]
