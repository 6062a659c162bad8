"""Keys that people made up for a test environment: they differ in a character, and each is a good one."""

from __future__ import annotations

import base64
import binascii
from typing import Any

import pytest

from conformance.checks.check_authentication import NEAR_MISSES, a_defective_credential_is_answered_401
from conformance.checks.check_generated import no_neighbour_of_a_key_is_accepted
from conformance.checks.support.case import Case
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Authorization
from tests.support.check_runs import KEY

NEAR = {name: change(KEY).apply(KEY) for name, change in NEAR_MISSES.items()}
NEAR |= {f"replaced-{at}": KEY[:at] + "A" + KEY[at + 1 :] for at in range(len(KEY))}
NEAR |= {"b": KEY.replace("k", "B", 1), "other-hyphen": f"{KEY[:5]}-{KEY[5:]}"}


def _accepting(keys: set[str], answer: Any) -> Any:
    def script(arrived: Any) -> bytes:
        given = "".join(arrived.all("authorization")).removeprefix("Bearer ")
        return bytes(answer(200 if given in keys else 401, {"data": {}} if given in keys else {"error": "no"}))

    return script


@pytest.mark.parametrize("known", [True, False], ids=["of the profile", "of nobody"])
def test_a_neighbour_that_is_another_good_key_is_not_sent(judged: Any, answer: Any, *, known: bool) -> None:
    """What the target accepts beside the profile's own keys is told; those are not held against it."""
    accepts = _accepting({KEY, *NEAR.values()}, answer)
    result, target = judged(accepts, no_neighbour_of_a_key_is_accepted, examples=400, keys=NEAR if known else {})
    assert result.outcome is (Outcome.PASSED if known else Outcome.FAILED), result
    sent = {"".join(one.all("authorization")).removeprefix("Bearer ") for one in target.arrived}
    assert bool(sent & set(NEAR.values())) is not known


@pytest.mark.parametrize("name", sorted(NEAR_MISSES))
@pytest.mark.parametrize("known", [True, False], ids=["of the profile", "of nobody"])
def test_a_near_miss_that_is_another_good_key_is_not_sent(judged: Any, answer: Any, name: str, *, known: bool) -> None:
    """Then the case does not exist. A key of small letters may be good in capitals: that is a warning."""

    async def law(case: Case) -> None:
        await a_defective_credential_is_answered_401(case, name)

    result, _ = judged(_accepting({KEY, *NEAR.values()}, answer), law, keys=NEAR if known else {})
    seen = Outcome.WARNED if name == "case-flipped" else Outcome.FAILED  # the profile says nothing of the case
    assert result.outcome is (Outcome.INAPPLICABLE if known else seen), result
    assert ("another credential" in result.message) is known


def test_a_key_without_letters_has_no_other_case(judged: Any, answer: Any) -> None:
    """Nothing is sent in its place: a check that sends another defect would pass without its own."""

    async def law(case: Case) -> None:
        await a_defective_credential_is_answered_401(case, "case-flipped")

    result, target = judged(_accepting({"0123456789"}, answer), law, keys={"full": "0123456789"})
    assert (result.outcome, target.arrived) == (Outcome.INAPPLICABLE, []), result


CASE_OF_KEYS = [("sensitive", Outcome.FAILED), ("any", Outcome.INAPPLICABLE), ("", Outcome.WARNED)]


@pytest.mark.parametrize(("stated", "outcome"), CASE_OF_KEYS)
@pytest.mark.parametrize("key", ["Key-aBcD42", "0123abcd"], ids=["letters of both cases", "hexadecimal"])
def test_a_key_in_the_other_case_is_judged_as_stated(
    judged: Any, answer: Any, key: str, stated: str, outcome: Outcome
) -> None:
    """The interface does not say that the case of a key counts: many services compare keys without it."""

    async def law(case: Case) -> None:
        await a_defective_credential_is_answered_401(case, "case-flipped")

    accepts = _accepting({key, key.swapcase()}, answer)
    authorization = Authorization("Bearer {key}", key_case=stated)
    result, target = judged(accepts, law, authorization=authorization, keys={"full": key})
    assert result.outcome is outcome, result
    assert bool(target.arrived) is (stated != "any")


@pytest.mark.parametrize("name", sorted({*NEAR_MISSES} - {"case-flipped"}))
def test_a_key_in_base64_may_be_read_up_to_its_padding(judged: Any, answer: Any, name: str) -> None:
    """As Basic credentials are by decoders that stop there: what follows is not a part of the key."""
    key = base64.b64encode(b"acme:a-secret-of-a-shop").decode()
    assert key.endswith("=")

    async def law(case: Case) -> None:
        await a_defective_credential_is_answered_401(case, name)

    def script(arrived: Any) -> bytes:
        given = "".join(arrived.all("authorization")).removeprefix("Basic ")
        try:
            is_good = base64.b64decode(given) == base64.b64decode(key)
        except binascii.Error:
            is_good = False
        return bytes(answer(200 if is_good else 401, {"data": {}} if is_good else {"error": "no"}))

    result, target = judged(script, law, authorization=Authorization("Basic {key}"), keys={"full": key})
    assert result.outcome is Outcome.PASSED, result
    assert target.arrived


@pytest.mark.parametrize("last", "aA70z")
def test_a_last_character_that_is_not_compared_is_seen(judged: Any, answer: Any, last: str) -> None:
    """Whatever it is: a key in the other case says nothing."""
    key = f"sk_0123456789{last}"

    def script(arrived: Any) -> bytes:
        given = "".join(arrived.all("authorization")).removeprefix("Bearer ")
        is_good = len(given) == len(key) and given[:-1] == key[:-1]
        return bytes(answer(200 if is_good else 401, {"data": {}} if is_good else {"error": "no"}))

    result, _ = judged(script, no_neighbour_of_a_key_is_accepted, examples=2, keys={"full": key})
    assert result.outcome is Outcome.FAILED, result


@pytest.mark.parametrize(
    ("label", "secret", "place"),
    [
        ("", "9f8e7d6c5b4a39281706f5e4d3c2b1a0", "-us6"),
        ("commerceplatform_production_full_access_", "Xy7Kq2Lm9PzR4tVw", ""),
    ],
)
@pytest.mark.parametrize("name", sorted(NEAR_MISSES))
def test_a_near_miss_is_one_of_the_secret(label: str, secret: str, place: str, name: str) -> None:
    """A service may read neither the label before it nor the name of a place behind it."""
    key = f"{label}{secret}{place}"
    assert NEAR_MISSES[name](key).apply(key).rpartition("_")[2].partition("-")[0] != secret


@pytest.mark.parametrize("place", ["", "-us6"])
def test_no_neighbour_differs_in_what_stands_around_a_key_alone(judged: Any, answer: Any, place: str) -> None:
    secret = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"

    def script(arrived: Any) -> bytes:
        given = "".join(arrived.all("authorization")).removeprefix("Bearer ")
        is_good = given.partition("-")[0] == secret if place else given == secret
        return bytes(answer(200 if is_good else 401, {"data": {}} if is_good else {"error": "no"}))

    result, target = judged(script, no_neighbour_of_a_key_is_accepted, examples=200, keys={"full": secret + place})
    assert result.outcome is Outcome.PASSED, result
    assert len(target.arrived) > 20
