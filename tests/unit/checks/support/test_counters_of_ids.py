"""Numbers of one counter name one resource each; where each installation counts, two may have the same one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.counters_of_ids import is_one_counter
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

READ = CONTRACT.operations["quotePublicCartCheckout"]
_MADE = """
from pathlib import Path


def count(name, form="{}", step=1):
    file = Path(__file__).with_name(name)
    number = int(file.read_text()) + step if file.exists() else 7
    file.write_text(str(number))
    return {"id": form.format(number)}


def shared(*, context):
    return count("all")


def titled(*, context):
    return count("all", "ORD-2026-{:06}-x")


def own(*, context):
    return count("a", step=6)


def other(*, context):
    return count("b", step=2)


def unnumbered(*, context):
    return {"id": "cart-of-nobody"}
"""


@pytest.mark.parametrize(
    ("own", "foreign", "expected"),
    [
        ("shared", "shared", True),
        ("titled", "titled", True),
        ("own", "other", False),
        ("other", "own", False),
        ("own", "own", True),
        ("unnumbered", "unnumbered", False),
        ("shared", "", False),
        ("", "shared", False),
    ],
)
def test_numbers_that_ascend_by_turns_are_of_one_counter(
    own: str, foreign: str, expected: bool, judged: Any, answer: Any, tmp_path: Path
) -> None:
    """Those of a list are in no order of their making."""
    (tmp_path / "made.py").write_text(_MADE)
    values = tuple({"id": str(number)} for number in range(1000, 1030))

    def fixture(state: str, function: str) -> Fixture:
        made = {"python": f"{tmp_path / 'made.py'}:{function}"} if function else {"values": values}
        return Fixture("cart", state, **made)  # type: ignore[arg-type]

    async def law(case: Case) -> None:
        assert await is_one_counter(case, {"cart": "open"}, {"cart": "foreign"}) is expected
        assert not await is_one_counter(case, {"cart": "open"}, {})
        case.note("compared")

    facts: dict[str, Any] = {
        "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({"checkout:quote"}))},
        "fixtures": {"cart": {"open": fixture("open", own), "foreign": fixture("foreign", foreign)}},
        "operations": {READ.id: OperationFacts(path={"cartId": "{cart.id}"})},
    }
    result, _ = judged(lambda _arrived: answer(200, {"data": {}}), law, READ, **facts)
    assert list(result.notes) == ["compared"], (result.outcome, result.message)
