"""Idempotency keys of a stated format, PKCE verifiers and the age of proofs: what a check makes up is of that make."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import re
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.checks.check_dpop import (
    _EDGES,
    a_proof_from_another_hour_is_refused,
    a_proof_is_accepted_up_to_the_stated_age,
)
from conformance.checks.check_generated import keys_that_differ_are_different_calls
from conformance.checks.check_idempotency_isolation import every_well_formed_key_is_accepted
from conformance.checks.check_oauth import _DEFECTIVE_VERIFIERS
from conformance.checks.check_oauth_binding import a_proof_is_used_once
from conformance.checks.check_oauth_challenges import a_plain_challenge_is_of_no_use
from conformance.checks.check_oauth_lifetimes import a_code_ends_when_stated
from conformance.checks.check_proof_reuse import a_used_proof_is_remembered, a_used_proof_is_treated_as_stated
from conformance.checks.support import certainty
from conformance.checks.support.case import Case
from conformance.client.dpop import new_verifier
from conformance.client.request import is_well_formed, malformed_key, new_key
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Idempotency
from conformance.profile.model import Credential, Limits, SecretSource
from conformance.profile.resources import OperationFacts
from tests.support.check_runs import CONTRACT
from tests.support.code_exchanges import age_s_of, exchanging

CREATE = CONTRACT.operations["createInstallationWebhook"]
UNRESERVED = re.compile(r"[A-Za-z0-9._~-]{43,128}")
"""RFC 7636 section 4.1."""


def pattern(text: str) -> Idempotency:
    return Idempotency("header", name="Idempotency-Key", format="pattern", pattern=text)


# Keys


PATTERNS = ["[g-z]{12}", "[xyz][a-z0-9]{20}", "k-[0-9]{12}-[89]", "[a-f]{30}[02468]", "(?=.*7)[0-9]{20}"]


@pytest.mark.parametrize("text", PATTERNS)
@pytest.mark.parametrize("position", [0, -1, None], ids=["first", "last", "generated"])
def test_keys_are_drawn_until_one_has_a_neighbour(judged: Any, answer: Any, text: str, position: int | None) -> None:
    """A target of that format judges them; where no key can have a neighbour, that is said, and never `untested`."""

    def script(arrived: Any) -> bytes:
        good = re.fullmatch(text, "".join(arrived.all("idempotency-key")))
        return bytes(answer(200 if good else 400, {"data": {}} if good else {"error": "key"}))

    async def law(case: Case) -> None:
        await keys_that_differ_are_different_calls(case, position)

    for _ in range(3):
        result, _ = judged(script, law, CREATE, idempotency=pattern(text), operations={CREATE.id: OperationFacts({})},
                           keys={}, credentials=_all())  # fmt: skip
        never = (text.startswith("k-") and position == 0) or (text.endswith("[02468]") and position == -1)
        assert result.outcome is (Outcome.INAPPLICABLE if never else Outcome.PASSED), result


def _all() -> Any:
    return {"full": Credential("full", SecretSource(env="X"), frozenset({"webhooks:write", "catalog:read"}))}


@given(st.sampled_from([*PATTERNS, "[ -~]{1,200}", "[a-z ]{1,64}", ".{1,400}"]))
def test_a_key_of_another_format_is_of_another_format(text: str) -> None:
    """Or there is none: what the profile takes is never sent as if it were none of its keys."""
    idempotency = pattern(text)
    assert is_well_formed(idempotency, new_key(idempotency))
    other = malformed_key(idempotency)
    assert not other or not re.fullmatch(text, other)
    assert other or text == ".{1,400}"


def test_a_well_formed_key_is_not_sent_as_one_of_another_format(judged: Any, answer: Any) -> None:
    async def law(case: Case) -> None:
        await every_well_formed_key_is_accepted(case, (lambda: "a key", False))

    facts = {CREATE.id: OperationFacts({})}
    result, target = judged(lambda _: answer(200, {"data": {}}), law, CREATE, credentials=_all(),
                            idempotency=pattern("[a-z ]{1,64}"), operations=facts)  # fmt: skip
    assert result.outcome is Outcome.PASSED, result
    odd = [key for a in target.arrived if not re.fullmatch("[a-z ]{1,64}", key := "".join(a.all("idempotency-key")))]
    assert len(odd) == 1 and odd[0] != "no such format"


# Verifiers


def test_verifiers_and_challenges_have_legitimate_lengths() -> None:
    """Those of the controls, those that are the wrong ones, and that of a plain challenge, which is its verifier.

    Those with white space are wrong by nothing else.
    """
    verifier = new_verifier()
    made = [verifier, *(change(verifier) for change in _DEFECTIVE_VERIFIERS.values())]
    texts = [value for value in made if isinstance(value, str) and value]
    assert all(UNRESERVED.fullmatch(text) or text.strip() == verifier for text in texts)


@pytest.mark.parametrize("how", ["refused at the token endpoint", "exchanged", "not issued"])
def test_a_fixture_that_fails_is_not_the_target_s_refusal(judged: Any, answer: Any, how: str) -> None:
    """A plain challenge: only what the target itself answers to the exchange says anything of it."""
    plain: set[str] = set()

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            name, is_plain = f"code-{time.perf_counter_ns()}", arrived.json["method"] == "plain"
            if is_plain:
                plain.add(name)
                assert UNRESERVED.fullmatch(arrived.json["challenge"])
            return bytes(answer(500) if is_plain and how == "not issued" else answer(200, {"code": name}))
        assert UNRESERVED.fullmatch(arrived.json["verifier"])
        refused = arrived.json["code"] in plain and how != "exchanged"
        return bytes(answer(400 if refused else 200, {"error": "no"} if refused else {"data": {}}))

    result, _ = exchanging(judged, script, a_plain_challenge_is_of_no_use)
    expected = {"refused at the token endpoint": Outcome.PASSED, "exchanged": Outcome.FAILED}
    assert result.outcome is expected.get(how, Outcome.INCONCLUSIVE), result
    assert how != "not issued" or result.cause == "fixture:fixtures.oauth.code"


def test_a_profile_may_say_that_there_is_no_plain_code(judged: Any, answer: Any) -> None:
    """Its source of codes may be told the method all the same, and refuse any other than S256."""

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes" and arrived.json["method"] == "plain":
            return bytes(answer(400, {"error": "S256 only"}))
        return bytes(answer(200, {"code": f"code-{time.perf_counter_ns()}", "data": {}}))

    excluded = {"fixtures.oauth.plain": "the authorization endpoint refuses it"}
    result, _ = exchanging(judged, script, a_plain_challenge_is_of_no_use, exclusions=excluded)
    assert (result.outcome, result.exclusion) == (Outcome.INAPPLICABLE, *excluded.values()), result


@pytest.mark.parametrize("law", [a_proof_is_used_once, a_used_proof_is_remembered])
@pytest.mark.parametrize(
    ("reuse", "is_remembered", "outcome"),
    [("retry", True, Outcome.PASSED), ("retry", False, Outcome.FAILED), ("accepted", False, Outcome.INAPPLICABLE)],
)
def test_a_used_proof_is_what_the_profile_says(
    judged: Any, answer: Any, law: Any, reuse: str, *, is_remembered: bool, outcome: Outcome
) -> None:
    seen: set[str] = set()

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            return bytes(answer(200, {"code": f"code-{time.perf_counter_ns()}"}))
        payload = "".join(arrived.all("dpop")).split(".")[1]
        proof = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["jti"]
        good = proof not in seen
        seen.update({proof} if is_remembered else ())
        return bytes(answer(200 if good else 400, {"data": {}} if good else {"error": "no"}))

    result, _ = exchanging(judged, script, law, proof_reuse=reuse)
    assert result.outcome is outcome, result


class AgingCodes:
    """A target that refuses so many exchanges after the first one."""

    def __init__(self, answer: Any, refused: int) -> None:
        self._answer, self._refused = answer, refused
        self.exchanges = 0

    def __call__(self, arrived: Any) -> bytes:
        if arrived.target == "/codes":
            return bytes(self._answer(200, {"code": f"code-{time.perf_counter_ns()}"}))
        self.exchanges += 1
        good = self.exchanges == 1 or self.exchanges > 1 + self._refused
        return bytes(self._answer(200 if good else 400, {"data": {}} if good else {"error": "no"}))


@pytest.mark.parametrize("refused", [1, 9], ids=["once", "always"])
@pytest.mark.parametrize("is_old", [True, False], ids=["old", "new"])
def test_a_code_that_waited_for_the_pace_is_no_failure(
    judged: Any, answer: Any, monkeypatch: pytest.MonkeyPatch, *, refused: int, is_old: bool
) -> None:
    """It may have expired: the check runs again with another code, and is inconclusive where that waits as long."""
    monkeypatch.setattr(certainty, "_LEAST_LIFETIME_S", 0.0 if is_old else 60.0)

    async def law(case: Case) -> None:
        await case.runtime.controls.prove(case.operation)
        refusal = await case.send(await case.arrange(), "a good exchange")
        if not refusal.ok:
            raise case.violation("a good exchange was refused", refusal)

    result, _ = exchanging(judged, AgingCodes(answer, refused), law)
    late = Outcome.PASSED if refused == 1 else Outcome.INCONCLUSIVE
    assert result.outcome is (late if is_old else Outcome.FAILED), result
    assert result.outcome is not Outcome.INCONCLUSIVE or "s old before the pace" in result.message


# Proofs


@pytest.mark.parametrize("age_s", [3600.0, -3600.0], ids=["old", "ahead"])
def test_an_allowance_of_nearly_an_hour_is_kept_to(judged: Any, answer: Any, age_s: float) -> None:
    """A proof is as far off as to be refused still when it arrives, rounded and late."""

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            return bytes(answer(200, {"code": f"code-{time.perf_counter_ns()}"}))
        good = abs(age_s_of(arrived)) <= 3599.9
        return bytes(answer(200 if good else 401, {"data": {}} if good else {"error": "iat"}))

    async def law(case: Case) -> None:
        await a_proof_from_another_hour_is_refused(case, (age_s, 0))

    result, _ = exchanging(judged, script, law, clock_allowance_s=3599.9)
    assert result.outcome is Outcome.PASSED, result


def _judging_age(
    answer: Any, behind_s: float, ahead_s: float, clock_s: float = 0.0, delay_s: float = 0.0, *, has_date: bool = True
) -> Any:
    """A target with these bounds whose clock, which its Date shows, is `clock_s` ahead of this one."""

    async def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            return bytes(answer(200, {"code": f"code-{time.perf_counter_ns()}"}))
        good = -ahead_s <= age_s_of(arrived) + clock_s <= behind_s
        if not good:
            await asyncio.sleep(delay_s)
        date = {"Date": email.utils.formatdate(time.time() + clock_s, usegmt=True)} if has_date else {}
        return bytes(answer(200 if good else 401, {"data": {}} if good else {"error": "iat"}, **date))

    return script


BOUNDS = {"clock_behind_s": 60, "clock_ahead_s": 20}


@pytest.mark.parametrize("edge", _EDGES)
@pytest.mark.parametrize(
    ("behind_s", "ahead_s", "clock_s", "wrong"),
    [
        (60, 20, 0, ""),
        (60, 20, 2.5, ""),
        (60, 20, -2.5, ""),
        (60, 20, 6, ""),
        (60, 20, 20, ""),
        (60, 20, -20, ""),
        (70, 20, 0, "just-outside-behind"),
        (50, 20, 0, "just-inside-behind"),
        (60, 30, 0, "just-outside-ahead"),
        (60, 10, 0, "just-inside-ahead"),
    ],
)
def test_bounds_of_iat_are_judged_by_every_possible_clock(
    judged: Any, answer: Any, edge: str, behind_s: float, ahead_s: float, clock_s: float, wrong: str
) -> None:
    """A target that keeps its bounds by a clock that differs is not failed; one with other bounds is."""

    async def law(case: Case) -> None:
        await a_proof_is_accepted_up_to_the_stated_age(case, _EDGES[edge])

    result, _ = exchanging(judged, _judging_age(answer, behind_s, ahead_s, clock_s), law, **BOUNDS)
    assert result.outcome is (Outcome.FAILED if edge == wrong else Outcome.PASSED), result


@pytest.mark.parametrize("edge", _EDGES)
@pytest.mark.parametrize(
    ("behind_s", "ahead_s", "clock_s", "wrong"),
    [
        (60, 20, -8, ""),
        (60, 20, 8, ""),
        (80, 20, 0, "just-outside-behind"),
        (40, 20, 0, "just-inside-behind"),
        (60, 40, 0, "just-outside-ahead"),
        (60, 2, 0, "just-inside-ahead"),
    ],
)
def test_a_clock_that_no_date_shows_may_be_seconds_off(
    judged: Any, answer: Any, edge: str, behind_s: float, ahead_s: float, clock_s: float, wrong: str
) -> None:
    """A bound of such a target is judged from farther away."""

    async def law(case: Case) -> None:
        await a_proof_is_accepted_up_to_the_stated_age(case, _EDGES[edge])

    script = _judging_age(answer, behind_s, ahead_s, clock_s, has_date=False)
    result, _ = exchanging(judged, script, law, **BOUNDS)
    assert result.outcome is (Outcome.FAILED if edge == wrong else Outcome.PASSED), result


@pytest.mark.parametrize("slow", [False, True], ids=["at once", "after 5 s"])
def test_a_proof_that_was_long_under_way_may_be_too_old(
    judged: Any, answer: Any, slow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused a little before the stated age: at once that is wrong, after a slow request nobody knows."""
    monkeypatch.undo()

    async def law(case: Case) -> None:
        await a_proof_is_accepted_up_to_the_stated_age(case, _EDGES["just-inside-behind"])

    def with_time(*given: Any, **more: Any) -> Any:
        return judged(*given, limits=Limits(timeout_s=9, patience_s=0.2), **more)

    script = _judging_age(answer, 1.9, 20, delay_s=5 if slow else 0)
    result, _ = exchanging(with_time, script, law, clock_behind_s=7, clock_ahead_s=20)
    assert result.outcome is (Outcome.INCONCLUSIVE if slow else Outcome.FAILED), result


@pytest.mark.parametrize("reuse", ["refused", "retry", "accepted"])
@pytest.mark.parametrize("kind", ["retry", "another-exchange"])
@pytest.mark.parametrize("takes", [True, False])
def test_a_used_proof_is_judged_by_what_is_stated(judged: Any, answer: Any, reuse: str, kind: str, takes: bool) -> None:
    """The proof that comes again is the same text, and either answer is right for one of the words."""
    seen: list[str] = []

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            return bytes(answer(200, {"code": f"code-{time.perf_counter_ns()}"}))
        again = (text := "".join(arrived.all("dpop"))) in seen
        seen.append(text)
        good = takes or not again
        return bytes(answer(200 if good else 401, {"data": {}} if good else {"error": "proof"}))

    async def law(case: Case) -> None:
        await a_used_proof_is_treated_as_stated(case, kind == "retry")

    result, _ = exchanging(judged, script, law, proof_reuse=reuse)
    right = takes == (reuse == "accepted" or (reuse == "retry" and kind == "retry"))
    assert result.outcome is (Outcome.PASSED if right else Outcome.FAILED), result


@pytest.mark.parametrize(
    ("lifetime_s", "outcomes"),
    [(4.0, (Outcome.PASSED, Outcome.PASSED)), (2.0, (Outcome.FAILED, Outcome.PASSED)),
     (9.0, (Outcome.PASSED, Outcome.FAILED))],
    ids=["as stated", "shorter", "longer"],
)  # fmt: skip
def test_a_code_of_four_seconds_is_waited_for(
    judged: Any, answer: Any, lifetime_s: float, outcomes: tuple[Outcome, Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that makes no old codes is asked for one, which grows old."""
    monkeypatch.undo()
    codes: dict[str, float] = {}

    def script(arrived: Any) -> bytes:
        if arrived.target == "/codes":
            codes[name := f"code-{len(codes):08}"] = time.monotonic()
            return bytes(answer(200, {"code": name}))
        good = time.monotonic() - codes[arrived.json["code"]] <= lifetime_s
        return bytes(answer(200 if good else 400, {"data": {}} if good else {"error": "code"}))

    async def law(case: Case, is_old: bool) -> None:
        await a_code_ends_when_stated(case, is_old)

    for is_old, outcome in zip((False, True), outcomes, strict=True):
        result, _ = exchanging(judged, script, partial(law, is_old=is_old), code_lifetime_s=4)
        assert result.outcome is outcome, result


def test_a_code_of_an_hour_is_not_waited_for(judged: Any, answer: Any) -> None:
    async def law(case: Case) -> None:
        await a_code_ends_when_stated(case, is_old=True)

    result, _ = exchanging(judged, lambda _: answer(200, {"code": "code-00000001", "data": {}}), law,
                            code_lifetime_s=3600)  # fmt: skip
    assert result.outcome is Outcome.INAPPLICABLE, result
