"""Which hostile bodies an operation gets, and that what resembles a URL stands where the body has one."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from conformance.checks import check_hostile
from conformance.checks.check_hostile import URLS, a_hostile_body_is_survived
from conformance.core.outcomes import Outcome
from conformance.profile.model import Credential, Limits, Profile, SecretSource
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT, profile

CREATE, UPDATE, QUOTE = (
    CONTRACT.operations[name] for name in ("createInstallationWebhook", "updateInstallationWebhook", "quotePublicCart")
)
WITH_URL = OperationFacts(body={"name": "a", "target": {"url": "https://hooks.example:8443/{unique}"}})
CREDENTIALS = {"full": Credential("full", SecretSource(env="X"), frozenset({CREATE.scope}))}
PLAIN = OperationFacts(body={"name": "http, or not"})


def stated(**operations: OperationFacts) -> Profile:
    return replace(profile("http://127.0.0.1:1"), operations=operations, limits=Limits(depth="normal"))


def urls_of(target: Profile, operation: Any) -> set[str]:
    return URLS.keys() & check_hostile._hostile_bodies(target, operation)


def test_operations_with_a_url_share_what_resembles_one() -> None:
    both = stated(**{CREATE.id: WITH_URL, UPDATE.id: WITH_URL, QUOTE.id: PLAIN})
    assert urls_of(both, CREATE) | urls_of(both, UPDATE) == URLS.keys()
    assert not urls_of(both, CREATE) & urls_of(both, UPDATE)
    assert not urls_of(both, QUOTE)
    assert urls_of(stated(**{CREATE.id: WITH_URL}), CREATE) == URLS.keys()


@pytest.mark.parametrize(("status", "outcome"), [(200, Outcome.PASSED), (400, Outcome.PASSED), (500, Outcome.FAILED)])
@pytest.mark.parametrize(
    ("name", "sent"),
    [("url-with-open-bracket", "https://["), ("url-with-port-99999", "https://hooks.example:99999/")],
)
def test_a_text_that_resembles_a_url_may_be_refused_or_stored_but_breaks_nothing(
    judged: Any, answer: Any, name: str, sent: str, status: int, outcome: Outcome
) -> None:
    """The port and the bracket stand in the place of the URL, wherever the body has it."""

    def script(arrived: Any) -> bytes:
        is_hostile = json.loads(arrived.body)["target"]["url"].startswith(sent)
        found = status if is_hostile else 200
        return bytes(answer(found, {"data": {}} if found == 200 else {"error": "no"}))

    law = partial(a_hostile_body_is_survived, make=URLS[name])
    result, _ = judged(script, law, CREATE, operations={CREATE.id: WITH_URL}, credentials=CREDENTIALS)
    assert result.outcome is outcome, (result.message, result.observed)
