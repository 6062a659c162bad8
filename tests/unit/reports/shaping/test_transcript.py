"""Each cause of failure is told with the exchange that decided it and a curl line, on the terminal and the job page."""

from __future__ import annotations

import pytest

from conformance.core.model import Exchange, Message, Run
from conformance.core.outcomes import Outcome
from conformance.reports import summary, terminal
from conformance.reports.shaping import transcript
from tests.support.runs import PAYLOADS, result, run_of


def exchange(
    name: str, body: str = '{"data": {"state": "open", "id": "cart-1"}}', status: int | None = 200
) -> Exchange:
    sent = Message((("Authorization", "«credential:full»"),), '{"reason": "again"}', 19)
    return Exchange(
        id=name,
        operation="quotePublicCart",
        method="POST",
        url="http://127.0.0.1:1/api/v1/open/storefront/carts/cart-1/quote",
        request=sent,
        status=status,
        response=Message((("Content-Type", "application/json"),), body, len(body)),
        at=0.0,
        duration_ms=3.0,
        credential="full",
        trouble="" if status else "reset",
        check="",
        purpose="replay",
    )


def failed(**changes: object) -> Run:
    told = {"message": "the replay differs at 'state'", "observed": "'open'", "exchanges": ("x1", "x2"), **changes}
    one = result("IDEM-1", "quotePublicCart", Outcome.FAILED, **told)
    return run_of([one], [exchange("x1"), exchange("x2")])


@pytest.mark.parametrize("lines", [lambda run: "\n".join(terminal.summary_lines(run)), summary.render])
def test_the_deciding_exchange_is_shown(lines: object) -> None:
    """Request line, body, status, the words that decided between marks, and a curl line that reads its secret."""
    text = lines(failed())  # type: ignore[operator]
    assert "> POST http://127.0.0.1:1/api/v1/open/storefront/carts/cart-1/quote" in text
    assert "▶ 200 after 3.0 ms" in text
    assert '"state": ▶"open"◀' in text or '▶"state": "open",◀' in text
    assert "CONFORMANCE_KEY_FULL=… curl -sS -i -X POST" in text
    assert "$CONFORMANCE_KEY_FULL" in text


def test_no_answer_is_told_as_such() -> None:
    run = run_of([result("IDEM-1", "quotePublicCart", Outcome.FAILED, exchanges=("x9",))], [exchange("x9", "", None)])
    assert "▶ no answer: reset" in "\n".join(terminal.summary_lines(run))


def test_a_failure_without_exchanges_is_told_without(small: Run) -> None:
    """A cause may rest on none, or on ones that the journal lost."""
    text = "\n".join(terminal.summary_lines(failed(exchanges=("gone",))))
    assert "curl" not in text
    assert transcript.deciding(small, result("IDEM-1", "quotePublicCart", Outcome.FAILED)) is None


@pytest.mark.parametrize("payload", PAYLOADS)
def test_nothing_of_the_target_ends_the_block(payload: str) -> None:
    """Every line of it begins with a sign of ours: no fence, no heading, nothing that a terminal obeys."""
    hostile = exchange("x1", f"~~~\n# heading\n{payload}\n```\n")
    run = run_of([result("IDEM-1", "quotePublicCart", Outcome.FAILED, exchanges=("x1",))], [hostile])
    inside = summary.render(run).split("~~~text\n")[1].split("\n~~~\n")[0]
    assert all(line[:1] in "><▶!" for line in inside.split("\n"))
    assert "\x1b" not in "\n".join(terminal.summary_lines(run))
