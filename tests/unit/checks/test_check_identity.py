"""What identity shows of a key is read in every form, and never against a service that shows it another way (IDN-1)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from conformance.checks.check_identity import (
    identity_differs_from_key_to_key,
    identity_shows_the_scopes_of_the_calling_key,
    keys_at_once_get_their_own_identities,
)
from conformance.checks.support.identity import SCOPES, candidates, extra_scopes, missing_scopes, scopes_at
from conformance.core.outcomes import Outcome
from conformance.profile.behavior import Identity, Tenancy
from conformance.profile.model import Credential, SecretSource

KEYS = {"full": SCOPES, "reader": ("webhooks:read",), "none": (), "other": SCOPES}
FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list": lambda scopes: {"scopes": scopes},
    "list with further scopes": lambda scopes: {"scopes": [*scopes, "reports:read"]},
    "text": lambda scopes: {"key": {"scope": " ".join(scopes)}},
    "commas": lambda scopes: {"scope": ",".join(["key:any", *scopes])},
    "objects": lambda scopes: {"scopes": [{"name": s, "deprecated": False} for s in scopes]},
    "described objects": lambda scopes: {"scopes": [{"name": s, "about": "Implies webhooks:read."} for s in scopes]},
    "flags": lambda scopes: {"scopes": [{"name": s, "granted": s in scopes} for s in SCOPES]},
    "states": lambda scopes: {"scopes": [{"name": s, "state": "granted" if s in scopes else "denied"} for s in SCOPES]},
    "members": lambda scopes: {"scopes": {s: s in scopes for s in SCOPES}},
    "available beside": lambda scopes: {"available": list(SCOPES), "scopes": scopes},
    "missing beside": lambda scopes: {"granted": scopes, "missing": [s for s in SCOPES if s not in scopes]},
    "grants": lambda scopes: {"grants": [{"installation": "A", "scopes": scopes}]},
}
WRONG: dict[str, Callable[[list[str]], Any]] = {
    "every scope": lambda _scopes: {"scopes": list(SCOPES)},
    "every scope in objects": lambda _scopes: {"scopes": [{"name": s} for s in SCOPES]},
    "every scope as text": lambda _scopes: {"scope": " ".join(SCOPES)},
    "every scope as members": lambda _scopes: {"scopes": dict.fromkeys(SCOPES, True)},
    "every flag set": lambda _scopes: {"scopes": [{"name": s, "granted": True} for s in SCOPES]},
    "one too few": lambda scopes: {"scopes": scopes if len(scopes) > 1 else []},
    "one too many": lambda scopes: {"scopes": [*scopes, "catalog:read"]},
}


def credentials() -> dict[str, Credential]:
    homes = {"other": "B"}
    return {n: Credential(n, SecretSource(env="X"), frozenset(s), homes.get(n, "A")) for n, s in KEYS.items()}


def result_of(judged: Any, answer: Any, form: Callable[[list[str]], Any], key: str, *, stated: str = "") -> Outcome:
    def script(arrived: Any) -> bytes:
        name = "".join(arrived.all("authorization")).removeprefix("Bearer key-of-")
        data = {"name": name, **form(list(KEYS.get(name, SCOPES)))}
        return bytes(answer(200, {"data": data}))

    async def law(case: Any) -> None:
        await identity_shows_the_scopes_of_the_calling_key(case, key)

    keys = {name: f"key-of-{name}" for name in KEYS}
    result, _ = judged(script, law, keys=keys, credentials=credentials(), identity=Identity(stated))
    return result.outcome  # type: ignore[no-any-return]


@pytest.mark.parametrize("key", ["full", "reader", "none", "other"])
@pytest.mark.parametrize("form", FORMS)
def test_whatever_the_form_a_true_identity_passes(judged: Any, answer: Any, form: str, key: str) -> None:
    assert result_of(judged, answer, FORMS[form], key) is Outcome.PASSED


@pytest.mark.parametrize("form", WRONG)
def test_a_wrong_identity_fails_without_a_pointer(judged: Any, answer: Any, form: str) -> None:
    assert result_of(judged, answer, WRONG[form], "reader") is Outcome.FAILED


def test_a_scope_that_no_key_shows_needs_a_pointer(judged: Any, answer: Any) -> None:
    """What is not shown at all may be shown in another form; a stated place binds."""

    def form(scopes: list[str]) -> Any:
        return {"scopes": [scope for scope in scopes if scope != "checkout:quote"]}

    assert result_of(judged, answer, form, "reader") is Outcome.UNSTATED
    assert result_of(judged, answer, form, "reader", stated="/data/scopes") is Outcome.PASSED
    assert result_of(judged, answer, form, "full", stated="/data/scopes") is Outcome.FAILED
    assert result_of(judged, answer, FORMS["list"], "full", stated="/data/nowhere") is Outcome.FAILED


def test_the_list_of_all_scopes_beside_what_differs_needs_a_pointer(judged: Any, answer: Any) -> None:
    """A key's own scopes may be shown in another form there."""

    def form(scopes: list[str]) -> Any:
        return {"available": list(SCOPES), "verbs": [scope.partition(":")[::2] for scope in scopes]}

    assert result_of(judged, answer, form, "full") is Outcome.PASSED
    assert result_of(judged, answer, form, "reader") is Outcome.UNSTATED
    assert result_of(judged, answer, form, "reader", stated="/data/available") is Outcome.FAILED


@pytest.mark.parametrize("differs", [True, False])
@pytest.mark.parametrize("stated", [True, False])
def test_keys_of_two_installations_are_two_identities(judged: Any, answer: Any, *, differs: bool, stated: bool) -> None:
    """Where identity names the installation, as stated. It may show nothing of a key but its scopes."""

    def script(arrived: Any) -> bytes:
        name = "".join(arrived.all("authorization")).removeprefix("Bearer key-of-")
        return bytes(answer(200, {"data": {"scopes": list(KEYS[name]), **({"name": name} if differs else {})}}))

    keys = {name: f"key-of-{name}" for name in KEYS}
    tenancy = Tenancy(installation_in_identity="/data/name" if stated else "")
    facts = {"keys": keys, "credentials": credentials(), "tenancy": tenancy}
    result, _ = judged(script, identity_differs_from_key_to_key, **facts)
    seen = Outcome.FAILED if stated else Outcome.WARNED
    assert result.outcome is (Outcome.PASSED if differs else seen)
    assert differs or "'full' and 'other'" in result.message


@pytest.mark.parametrize("excluded", [True, False])
def test_identity_need_not_show_scopes(judged: Any, answer: Any, *, excluded: bool) -> None:
    """Where the profile says so, two keys of one installation may have the same answer."""
    keys = {name: f"key-of-{name}" for name in KEYS}
    exclusions = {"identity": "it shows the installation alone"} if excluded else {}
    facts = {"keys": keys, "credentials": credentials(), "exclusions": exclusions}
    result, _ = judged(lambda _: answer(200, {"data": {"name": "A"}}), identity_differs_from_key_to_key, **facts)
    assert result.outcome is (Outcome.WARNED if excluded else Outcome.FAILED), result


def test_a_text_inside_a_value_counts_only_where_it_is_nothing_but_scopes() -> None:
    body = {"data": {"note": "may not use webhooks:read", "scope": "webhooks:read a:b"}}
    assert candidates(body, ["webhooks:read"]) == ["/data", "/data/note", "/data/scope"]
    assert scopes_at({"data": {"note": "may not use webhooks:read"}}, "/data") == {}
    assert missing_scopes(scopes_at(body, "/data/scope"), ["webhooks:read", "catalog:read"]) == ["catalog:read"]
    assert extra_scopes(scopes_at(body, "/data/scope"), {}, [], []) == ["webhooks:read"]


@pytest.mark.parametrize(("has_names", "outcome"), [(False, Outcome.PASSED), (True, Outcome.FAILED)])
def test_keys_at_once_are_told_apart_by_what_stays(judged: Any, answer: Any, has_names: bool, outcome: Outcome) -> None:
    """A clock shows the same time to several keys; the name of another key is another matter."""
    names = list(KEYS)
    times = itertools.chain([0, 0, 1, 1, *[1] * 12], itertools.repeat(2))
    calls = iter(range(99))

    def script(arrived: Any) -> bytes:
        name = "".join(arrived.all("authorization")).removeprefix("Bearer key-of-")
        number = next(calls)
        shown = names[-1] if has_names and len(names) < number < len(names) + 3 else name
        data = {"key": shown} if has_names else {"checkedAt": next(times)}
        return bytes(answer(200, {"data": data}))

    keys = {name: f"key-of-{name}" for name in KEYS}
    result, _ = judged(script, keys_at_once_get_their_own_identities, keys=keys, credentials=credentials())
    assert result.outcome is outcome


def test_a_member_with_few_values_is_no_mark_of_a_key(judged: Any, answer: Any) -> None:
    """It differs between two keys by chance, such as the name of the node that has answered."""
    keys = {name: f"key-of-{name}" for name in KEYS}
    nodes = random.Random(5)

    def script(arrived: Any) -> bytes:
        return bytes(answer(200, {"data": {"node": nodes.choice("abc")}}))

    for _ in range(10):
        result, _ = judged(script, keys_at_once_get_their_own_identities, keys=keys, credentials=credentials())
        assert result.outcome is Outcome.PASSED, result
