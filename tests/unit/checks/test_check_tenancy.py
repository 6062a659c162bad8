"""What a body names belongs to the resource that it is about (TEN-1)."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.check_tenancy import a_body_names_no_part_of_another_installations_object
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, SecretSource
from conformance.profile.resources import Fixture, OperationFacts
from tests.support.check_runs import CONTRACT

AFTER_SALES = CONTRACT.operations["requestStorefrontOrderAfterSales"]


def orders(name: str, lines: str) -> tuple[dict[str, str], ...]:
    """Orders with a line each; `lines` is the same one of all, or a format of its number."""
    return tuple({"id": f"{name}-{n:04}x", "lineId": lines.format(f"{name}{n:04}y")} for n in range(20))


@pytest.mark.parametrize(
    ("lines", "accepted", "outcome"),
    [
        ("line-{}", ("own",), Outcome.PASSED),
        ("line-{}", ("own", "foreign"), Outcome.FAILED),
        ("line-{}", ("own", "foreign", "unknown"), Outcome.INAPPLICABLE),
        ("sku-shirt-blue", ("own", "foreign"), Outcome.INAPPLICABLE),
        ("sku-shirt-blue", ("own",), Outcome.INAPPLICABLE),
        ("1", ("own", "foreign"), Outcome.INAPPLICABLE),
    ],
    ids=["its own lines", "lines of any order", "not looked up", "goods of a catalogue", "goods of its own", "numbers"],
)
def test_a_line_of_another_installations_order_is_refused(
    judged: Any, answer: Any, lines: str, accepted: tuple[str, ...], outcome: Outcome
) -> None:
    """Only where a line that does not exist is refused, and each order has lines of its own: goods belong to nobody."""
    own_orders, foreign_orders = orders("own", lines), orders("foreign", lines)
    owner = {order["lineId"]: "foreign" for order in foreign_orders}

    def script(arrived: Any) -> bytes:
        order = next((one for one in own_orders if f"/{one['id']}/" in arrived.target), None)
        if order is None:
            return bytes(answer(404, {"error": "no such order"}))
        line = arrived.json["lineId"]
        is_good = ("own" if line == order["lineId"] else owner.get(line, "unknown")) in accepted
        return bytes(answer(200 if is_good else 400, {"data": {}} if is_good else {"error": "no such line"}))

    facts: dict[str, Any] = {
        "operations": {
            AFTER_SALES.id: OperationFacts(body={"lineId": "{order.lineId}"}, path={"orderId": "{order.id}"})
        },
        "credentials": {"full": Credential("full", SecretSource(env="X"), frozenset({AFTER_SALES.scope}))},
        "fixtures": {
            "order": {
                "eligible": Fixture("order", "eligible", values=own_orders),
                "foreign": Fixture("order", "foreign", values=foreign_orders),
            }
        },
    }
    result, _ = judged(script, a_body_names_no_part_of_another_installations_object, AFTER_SALES, **facts)
    assert result.outcome is outcome, result
