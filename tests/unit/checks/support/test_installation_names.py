"""The name of an installation is what identity shows at the stated place, asked once for each key."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.support.case import Case
from conformance.checks.support.installation_names import name_of_installation
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Tenancy
from tests.support.check_runs import CONTRACT


@pytest.mark.parametrize(("where", "name"), [("/data/of", "inst_7"), ("/data/none", ""), ("", "")])
def test_identity_names_the_installation(judged: Any, answer: Any, where: str, name: str) -> None:
    async def law(case: Case) -> None:
        assert [await name_of_installation(case, "full") for _ in range(2)] == [name, name]

    readiness = CONTRACT.operations["getInstallationCredentialReadiness"]
    stated = Tenancy(installation_in_identity=where)
    result, target = judged(lambda _: answer(200, {"data": {"of": "inst_7"}}), law, readiness, tenancy=stated)
    assert result.outcome is (Outcome.PASSED if where else Outcome.UNTESTED), result.message
    assert [request.target.endswith("/identity") for request in target.arrived] == ([True] if where else [])
