"""Exclusions: what a profile says is not there, with a reason, is taken at its word and is never silence."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from conformance.core.errors import ProfileError
from conformance.profile.documentation import all_facts
from conformance.profile.exclusions import exclusion_of, extract_exclusions
from conformance.profile.loader import load_profile, profile_from_document
from conformance.profile.model import Profile

BASE = 'name = "x"\nbase_url = "http://127.0.0.1:1"\n[authorization]\nformat = "{key}"\n'


NAMED = "schemas.names.PublicErrorResponse"


def loaded(text: str) -> Profile:
    return profile_from_document(tomllib.loads(BASE + text), directory=Path())


@pytest.mark.parametrize(
    ("text", "key", "where"),
    [
        ('[rate_limit]\nnone = "shared"', "rate_limit.provoke = true", "rate_limit"),
        ('[rate_limit]\nrecovery_s = { none = "shared" }', "rate_limit.recovery_s", "rate_limit.recovery_s"),
        ('[oauth]\nnone = "no codes"', "oauth", "oauth"),
        (
            '[oauth]\nclient_id = "a"\nother_client_id = { none = "one" }',
            "oauth.other_client_id",
            "oauth.other_client_id",
        ),
        ('[effects]\nnone = "unseen"', "effects.quotePublicCart", "effects"),
        ('[effects.quotePublicCart]\nnone = "unseen"', "effects.quotePublicCart", "effects.quotePublicCart"),
        ('[fixtures.cart.foreign]\nnone = "one"', "fixtures.cart.foreign", "fixtures.cart.foreign"),
        ('[operations.quotePublicCart]\nbodies = { none = "one" }', "operations.quotePublicCart.bodies", None),
        ('transitions = { none = "no conflicts" }', "transitions.quotePublicCart", "transitions"),
        (
            '[[transitions]]\noperation = "quotePublicCart"\nnone = "never"',
            "transitions.quotePublicCart.single_winner",
            None,
        ),
        (
            '[schemas]\nnames = { PublicErrorResponse = { none = "free" } }',
            "schemas.PublicErrorResponse",
            "schemas.names.PublicErrorResponse",
        ),
        ('[schemas]\nnone = "not written yet"', "schemas.OAuthTokenRequest", "schemas"),
        ('[idempotency]\nnone = "not built"', "idempotency", "idempotency"),
    ],
)
def test_an_exclusion_covers_the_fact_that_a_check_needs(text: str, key: str, where: str | None) -> None:
    """Table or fact: the key and the reason come back; what is excluded is absent for every other reader."""
    if text.startswith("transitions"):
        profile = profile_from_document(tomllib.loads(text + "\n" + BASE), directory=Path())
    else:
        profile = loaded(text)
    found = exclusion_of(profile, key)
    assert found is not None
    assert found[0] == (where or key.removesuffix(".single_winner"))
    assert found[1]


@pytest.mark.parametrize(
    ("text", "operation", "where"),
    [
        ('[operations.quotePublicCart]\nnone = "later"', "quotePublicCart", "operations.quotePublicCart"),
        ('[oauth]\nnone = "later"', "exchangeOAuthToken", "oauth"),
    ],
)
def test_an_excluded_operation_needs_no_other_fact(text: str, operation: str, where: str) -> None:
    """The exclusion covers schemas, effects and transitions of that operation, and of no other."""
    profile = loaded(text)
    for key in ("schemas.OAuthTokenRequest", f"effects.{operation}", f"transitions.{operation}", "rate_limit.provoke"):
        assert exclusion_of(profile, key, operation=operation) == (where, "later")
        assert exclusion_of(profile, key, operation="revokePublicCart") is None


def test_silence_is_no_exclusion() -> None:
    """What nobody said is not excluded; nor is another fact of the same table."""
    profile = loaded('[search]\nitem_id = { none = "items have none" }')
    assert exclusion_of(profile, "search.item_category") is None
    assert exclusion_of(profile, "search") is None
    assert exclusion_of(profile, "search.item_id") == ("search.item_id", "items have none")
    assert profile.search.item_id is None


@pytest.mark.parametrize(
    ("facts", "covered"),
    [
        ('status = "revoked"', {"revoked"}),
        ('installation = "B"', {"stranger"}),
        ("scopes = []", {"unscoped"}),
    ],
)
def test_a_credential_of_some_sort_can_be_excluded(facts: str, covered: set[str]) -> None:
    """The sort says for which checks: a key that is revoked, of another installation, or without a scope."""
    own = '[credentials.full]\nsecret = { env = "X" }\nscopes = ["catalog:read"]\ninstallation = "A"\n'
    profile = loaded(f'{own}[credentials.other]\n{facts}\nnone = "there is none"\n')
    assert set(profile.credentials) == {"full"}
    wanted = {
        "revoked": lambda one: not one.active,
        "stranger": lambda one: one.active and one.installation == "B",
        "unscoped": lambda one: one.active and not one.installation and "catalog:read" not in one.scopes,
    }
    found = {name for name, suits in wanted.items() if exclusion_of(profile, "credentials", suits)}
    assert found == covered


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[rate_limit]\nnone = ""', "rate_limit.none: must be a reason, in words"),
        ("[rate_limit]\nnone = true", "rate_limit.none: must be a reason, in words"),
        ('[rate_limit]\nnone = "no"\nlimit = 5', "rate_limit.limit: is stated beside none"),
        ('[credentials.a]\nnone = "no"\nsecret = { env = "X" }', "credentials.a.secret: is stated beside none"),
        ('[limits]\nnone = "no"', "limits.none: unknown key"),
        (
            '[hosted]\ntickets_single_use = { none = "no", why = 1 }',
            "hosted.tickets_single_use.why: is stated beside none",
        ),
    ],
)
def test_an_exclusion_needs_a_reason_and_stands_alone(tmp_path: Path, text: str, told: str) -> None:
    """With file, line and key, as any mistake of a profile."""
    path = tmp_path / "p.toml"
    path.write_text(BASE + text)
    with pytest.raises(ProfileError) as raised:
        load_profile(path)
    assert told in str(raised.value)
    assert "p.toml:" in str(raised.value)


@pytest.mark.parametrize(
    "document",
    [
        {"operations": {"quotePublicCart": {"body": {"none": "a value of the body"}}}},
        {"credentials": {"none": {"secret": {"env": "X"}, "scopes": []}}},
        {"fixtures": {"none": {"open": {"values": [{"none": "a member"}]}}}},
        {"search": {"query": {"q": "none", "none": {"a": 1}}}},
    ],
)
def test_what_merely_has_that_name_is_no_exclusion(document: dict[str, Any]) -> None:
    """A member of a body, a credential or a kind may be called `none`."""
    rest, exclusions = extract_exclusions(document)
    assert (rest, exclusions.reasons, exclusions.problems) == (document, {}, [])


def test_an_exclusion_changes_the_digest() -> None:
    """Equal digests judge alike, and an exclusion is part of what a verdict rests on."""
    assert loaded("").digest != loaded('[oauth]\nnone = "no codes"').digest
    assert loaded('[oauth]\nnone = "other"').digest != loaded('[oauth]\nnone = "no codes"').digest


NOT_OF_THE_TARGET = ("name", "base_url", "description", "variables", "tls", "limits", "waivers", "authorization.format")
"""What a run needs, and what no target lacks."""
BEHAVIOR = (
    "answers",
    "authorization",
    "bodies",
    "errors",
    "hosted",
    "idempotency",
    "identity",
    "oauth",
    "oauth.status",
    "rate_limit",
    "revocation",
    "search",
    "tenancy",
    "webhooks",
)
"""Tables whose facts are each a question of its own."""


def _with_tables(key: str) -> list[str]:
    parts = key.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts) + 1)]


def test_every_fact_about_a_target_can_be_excluded_by_itself_or_with_its_table() -> None:
    """Silence and absence are never confused: `none` is possible wherever a target may lack what the fact is about."""
    excludable = {fact.key for fact in all_facts() if fact.excludable}
    rest = [fact.key for fact in all_facts() if not excludable & {*_with_tables(fact.key)}]
    tables = ("authorization", "credentials", "fixtures")  # their members can be excluded, or are the way to the target
    assert [key for key in rest if key not in tables and not {*NOT_OF_THE_TARGET} & {*_with_tables(key)}] == []


@pytest.mark.parametrize("table", BEHAVIOR)
def test_each_fact_of_behavior_can_be_excluded_by_itself(table: str) -> None:
    """A target that has no answer to one question may have one to the next."""
    facts = [fact.key for fact in all_facts() if fact.key.rpartition(".")[0] == table]
    assert facts
    for key in {*facts} - {"authorization.format"}:
        document: dict[str, Any] = {}
        place = document
        for part in key.split(".")[:-1]:
            place = place.setdefault(part, {})
        place[key.rpartition(".")[2]] = {"none": "it has none"}
        assert extract_exclusions(document)[1].reasons == {key: "it has none"}, key


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ('[[transitions]]\noperation = "checkoutPublicCart"\n', ":11: transitions[2]: "),
        (
            '[[transitions]]\noperation = "checkoutPublicCart"\nfixture = "cart.opened"\nstatus = 409\n',
            ":13: transitions[2].fixture: ",
        ),
    ],
    ids=["its form", "its content"],
)
def test_a_problem_behind_an_exclusion_is_shown_where_it_is(tmp_path: Path, entry: str, told: str) -> None:
    """The entries of a list that are exclusions count, too."""
    none = '[[transitions]]\noperation = "{}"\nnone = "it has no states"\n'
    lists = none.format("quotePublicCart") + none.format("revokePublicCart") + entry
    path = tmp_path / "p.toml"
    path.write_text(f'name = "p"\nbase_url = "http://localhost"\n[authorization]\nformat = "Bearer {{key}}"\n{lists}')
    with pytest.raises(ProfileError) as raised:
        load_profile(path)
    assert told in str(raised.value)
